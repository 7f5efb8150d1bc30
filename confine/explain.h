// SPDX-License-Identifier: Apache-2.0 OR MIT
// From what a watched program wanted to the grants that it would need: no more than it wanted, but
// folders where many files would have to be named. Pure. How it was watched: tracer.h. What comes
// out is advice for a person: a program may want what it does not need.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "confine/egress.h"
#include "confine/grants.h"
#include "confine/net_report.h"
#include "confine/sensitive.h"
#include "confine/wish.h"

namespace aegis::confine {

struct Watched {
  const PathGrants& grants;                // what a confined run with the same flags would have
  std::string_view home;                   // absolute, without links, or empty
  const std::vector<std::string>& hidden;  // what was empty in this run; sorted, without links
  const std::vector<Wish>& wishes;
  IsSensitiveName is_sensitive;
};

struct Explanation {
  struct Grant {
    std::string_view flag;  // "--allow-read"
    std::string path;
    friend bool operator==(const Grant&, const Grant&) = default;
  };
  // All sorted, none twice.
  std::vector<Grant> grants = {};
  std::set<std::string> folders_to_make = {};  // before they can be granted
  std::set<std::string> files_to_make = {};
  std::set<std::string> secrets = {};    // wanted and hidden
  std::set<std::string> too_wide = {};   // listed or changed, and too much to be granted
  std::set<std::string> looked_at = {};  // and not opened; may be missed or not
};

/// Never suggests a folder that holds `hidden` things, the home folder or one above it, or one that
/// programs share, such as /etc or ~/.config.
Explanation explain(const Watched& watched);

/// What the same program wanted of the network, which it had none of.
class NetWishes {
 public:
  /// `granted` is what a confined run with the same flags would have.
  explicit NetWishes(std::vector<NetGrant> granted) : granted_(std::move(granted)) {}
  void note(const NetReport& report);
  /// "HOST:PORT", as --allow-net takes it.
  [[nodiscard]] const std::set<std::string>& grants() const { return grants_; }
  /// Names that were looked up; that no address was answered hides which port was wanted.
  [[nodiscard]] const std::set<std::string>& names() const { return names_; }
  /// What cannot be granted, in words.
  [[nodiscard]] const std::set<std::string>& refused() const { return refused_; }

 private:
  std::vector<NetGrant> granted_;
  std::set<std::string> grants_;
  std::set<std::string> names_;
  std::set<std::string> refused_;
};

}  // namespace aegis::confine
