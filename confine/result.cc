// SPDX-License-Identifier: Apache-2.0 OR MIT
// The wording of errors.
#include "confine/result.h"

#include <cerrno>
#include <system_error>

namespace aegis::confine {
namespace {

std::string join(std::string_view doing, std::string_view what) {
  std::string text(doing);
  if (!what.empty()) text.append(": ").append(what);
  return text;
}

}  // namespace

Error errno_error(std::string_view doing, std::string_view what) {
  const int code = errno;
  return Error{join(doing, what), code};
}

Error code_error(std::string_view doing, std::string_view what, int code) {
  return Error{join(doing, what), code};
}

Error refusal(std::string_view doing, std::string_view what, std::string_view why) {
  return Error{join(doing, what).append(": ").append(why), 0};
}

std::string describe(const Error& error) {
  if (error.code == 0) return error.doing;
  return error.doing + ": " + std::generic_category().message(error.code);
}

}  // namespace aegis::confine
