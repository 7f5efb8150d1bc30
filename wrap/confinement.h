// SPDX-License-Identifier: Apache-2.0 OR MIT
// One confined program from what was asked for to what is said of it: `aegis wrap --confine` and
// `aegis confine` both go this way. It starts nothing (server.h) and forwards nothing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/line.h"
#include "confine/child.h"
#include "confine/guard_watch.h"
#include "confine/result.h"
#include "wrap/confine_flags.h"
#include "wrap/confine_plan.h"
#include "wrap/explained.h"
#include "wrap/exposure.h"
#include "wrap/scratch_folder.h"
#include "wrap/watch.h"

namespace aegis::wrap {

class Confinement {
 public:
  /// All that can fail before the fork: the tier is chosen, the grants resolved, the filter
  /// compiled. That the program is there was seen before.
  static confine::Result<Confinement> prepare(ConfineRequest request,
                                              const std::vector<std::string>& argv,
                                              const Kept& kept);
  Confinement(Confinement&&) noexcept = default;
  Confinement& operator=(Confinement&&) = delete;
  Confinement(const Confinement&) = delete;
  Confinement& operator=(const Confinement&) = delete;
  ~Confinement() = default;

  [[nodiscard]] confine::Prepared& prepared() { return *prepared_; }
  [[nodiscard]] const confine::Spec& spec() const { return prepared_->spec(); }
  /// --explain: it is watched and not confined, and nothing may say otherwise.
  [[nodiscard]] bool is_explained() const { return explained_.has_value(); }
  /// "tier full, profile node, network none", for the line that says what is on.
  [[nodiscard]] std::string describe() const;
  /// What tier landlock cannot do, one line each; nothing for tier full.
  [[nodiscard]] std::vector<std::string> caveats() const;
  /// Why it could not be started, and what to do about it.
  struct Unstarted {
    std::string why;
    int exit_code;
  };
  [[nodiscard]] Unstarted explain_unstarted(const confine::SetUp& failed) const;
  /// Begins to watch what must be watched from before the program runs.
  confine::Result<void> start_watching();
  /// A sentence for stderr and for the record of the calls in flight.
  using Note = std::function<void(const std::string& sentence)>;
  /// What is to be polled while it runs. `net_reports` is Server::net_reports()'s number, or -1.
  [[nodiscard]] std::vector<Watch> watches(int net_reports, const Note& note);
  /// What it writes to its stderr, for explain_end().
  void note_errors(std::string_view text);
  /// When every process of it is gone: the last look at the guarded folders, and what was left.
  void finish(const Note& note);
  /// Says on stderr what probably ended it early, and which flag would have helped.
  void explain_end(int wait_status) const;
  /// For the record, once it runs; not when is_explained(). Views of this, which outlives the
  /// chain's use of them.
  [[nodiscard]] const audit::Confinement& record(const confine::Enforced& enforced);

 private:
  explicit Confinement(const ConfineRequest& request);
  confine::Result<void> explain_instead(ConfinePlan& plan,
                                        const ConfineRequest& request,
                                        const Kept& kept);
  confine::Result<ConfinePlan> plan(const ConfineRequest& request,
                                    const std::vector<std::string>& argv,
                                    const Kept& kept);
  confine::Result<void> complete_spec(confine::Spec& spec);
  confine::Result<void> make_ready(ConfinePlan plan);
  confine::Result<void> plan_guards(const ConfineRequest& request, confine::Spec& spec);
  void read_reports(const Note& note);
  std::optional<Ending> look_after(confine::GuardWatch& guard, const Note& note);
  std::optional<Ending> on_timer(const Note& note);
  [[nodiscard]] bool is_beside_advice(const std::string& path) const;
  void list_grants();

  Kept kept_;
  std::optional<ScratchFolder> scratch_;  // tier landlock
  std::unique_ptr<confine::Prepared> prepared_;
  confine::Profile profile_;
  std::vector<confine::NetGrant> net_;
  confine::Tier asked_;
  std::vector<confine::GuardPlan> plans_;
  std::vector<confine::GuardWatch> guards_;
  confine::Fd timer_;  // timerfd_create(2); fires while a folder is writable

  std::optional<Explained> explained_;
  int net_reports_ = -1;

  std::string errors_;  // the last of its stderr

  // What audit_'s views look at.
  std::vector<std::string> read_paths_;
  std::vector<std::string> write_paths_;
  std::vector<std::string> namespaces_;
  std::vector<audit::Grant::Host> hosts_;
  audit::Confinement audit_{};
};

/// --show-profile: prints the profile's text. Returns the exit code.
int show_profile(const ConfineRequest& request, const std::vector<std::string>& argv);

}  // namespace aegis::wrap
