// SPDX-License-Identifier: Apache-2.0 OR MIT
// The verbs' entry points, each in wrap/verb_<name>.cc; wrap/main.cc has the table of them.
#pragma once

#include "wrap/cli.h"

namespace aegis::wrap {

// Each returns the program's exit code.
int verb_wrap(const Arguments& arguments);
int verb_mcp(const Arguments& arguments);
int verb_run(const Arguments& arguments);
int verb_check(const Arguments& arguments);
int verb_init(const Arguments& arguments);
int verb_keygen(const Arguments& arguments);
int verb_verify(const Arguments& arguments);
int verb_key(const Arguments& arguments);
int verb_recheck(const Arguments& arguments);
int verb_confine(const Arguments& arguments);
int verb_doctor(const Arguments& arguments);

}  // namespace aegis::wrap
