// SPDX-License-Identifier: Apache-2.0 OR MIT
// The one place that compiles doctest's runner; every part's test program links it.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
