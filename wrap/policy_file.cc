// SPDX-License-Identifier: Apache-2.0 OR MIT
// A bounded read, then policy's judgement.
#include "wrap/policy_file.h"

#include "wrap/read_file.h"

namespace aegis::wrap {
namespace {

/// One byte more than a policy may have, so that policy sees that it is too large.
constexpr std::size_t kMaxRead = (std::size_t{1} << 20) + 1;

}  // namespace

confine::Result<policy::Loaded> load_policy_file(const std::string& path, policy::Purpose purpose) {
  constexpr std::string_view kDoing = "read the policy";
  const confine::Fd file = AEGIS_TRY(open_regular(kDoing, path));
  const std::string text = AEGIS_TRY(read_up_to(file, {kDoing, path, kMaxRead}));
  return policy::parse_policy(text, purpose);
}

}  // namespace aegis::wrap
