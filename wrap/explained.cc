// SPDX-License-Identifier: Apache-2.0 OR MIT
// See explained.h.
#include "wrap/explained.h"

#include <fcntl.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "confine/command.h"
#include "confine/hint_text.h"
#include "confine/sensitive.h"
#include "policy/sensitive.h"
#include "wrap/log.h"
#include "wrap/places.h"
#include "wrap/read_file.h"

namespace aegis::wrap {
namespace {

using confine::Explanation;
using confine::PathGrants;
using confine::Result;
using confine::Rights;
using confine::shell_word;

constexpr std::size_t kMostNamed = 12;  // of what is no flag
constexpr std::string_view kGuessedPort = ":443";

/// `path` without links; what of it is still to be made, or is never shown (/dev), stays as it is.
/// Empty when it cannot be said.
std::string without_links(const std::string& path) {
  std::string there = path;
  std::string to_be_made;
  for (;;) {
    if (auto resolved = confine::resolve_grant(there, {})) return resolved->grant.path + to_be_made;
    if (there == "/") return to_be_made;
    if (there == ".") return {};
    to_be_made.insert(0, "/" + base_name_of(there));
    there = folder_of(there);
  }
}

Result<std::vector<std::string>> find_hidden(const confine::Spec& spec, const Kept& kept) {
  std::vector<std::string> roots{"/etc", "/root", "/home"};
  if (!spec.home.empty()) roots.push_back(spec.home);
  confine::SensitiveFound found =
      AEGIS_TRY(confine::find_sensitive(roots, policy::is_sensitive_name));
  if (!found.is_whole) {
    log("explain: there are so many files that not every name was looked at: a secret that lies "
        "deep in a folder may be readable to the program");
  }
  std::vector<std::string> hidden = std::move(found.paths);
  const auto is_granted = [&spec](const std::string& path) {
    return spec.paths.find(path) != nullptr;
  };
  hidden.erase(std::remove_if(hidden.begin(), hidden.end(), is_granted), hidden.end());
  for (const auto* each : {&kept.key, &kept.record}) {
    if (!each->has_value()) continue;
    std::string path = without_links(**each);
    if (path.empty()) {
      return confine::refusal("--explain", **each, "it must be hidden and cannot be found");
    }
    hidden.push_back(std::move(path));
  }
  std::sort(hidden.begin(), hidden.end());
  hidden.erase(std::unique(hidden.begin(), hidden.end()), hidden.end());
  return hidden;
}

/// The program's /tmp is private: what the command has to do with in the host's is shown in it.
void add_from_scratch(const confine::Spec& spec, PathGrants& paths) {
  constexpr std::string_view kScratch = "/tmp";
  std::vector<std::string> places{spec.home, spec.working_directory, spec.program};
  places.insert(places.end(), spec.argv.begin(), spec.argv.end());
  for (const std::string& place : places) {
    if (place == kScratch || !confine::is_within(place, kScratch)) continue;
    const std::string top = place.substr(0, place.find('/', kScratch.size() + 1));
    constexpr Rights kExecute{.may_write = false, .may_execute = true};
    if (auto resolved = confine::resolve_grant(top, kExecute))
      paths.add(std::move(resolved).value());
  }
  for (const confine::PathGrant& each : spec.paths.paths) {
    if (each.rights.may_write || confine::is_within(each.path, kScratch)) paths.add({each, {}});
  }
  paths.add_links(spec.paths.links);
}

void say(const std::string& line) {
  log("explain: " + line);
}

/// "a, b and 3 more"
std::string list(const std::set<std::string>& names) {
  std::string text;
  std::size_t count = 0;
  for (const std::string& name : names) {
    if (count++ == kMostNamed) break;
    text.append(text.empty() ? "" : ", ").append(shell_word(name));
  }
  if (names.size() > kMostNamed)
    text.append(" and ").append(std::to_string(names.size() - kMostNamed)).append(" more");
  return text;
}

/// This process's command line.
std::vector<std::string> own_words() {
  const std::string path = "/proc/self/cmdline";
  constexpr std::size_t kMost = 1UL << 20U;
  std::vector<std::string> words;
  const confine::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto text = read_up_to(file, {"read", path, kMost});
  if (!text) return words;
  for (std::size_t begin = 0; begin < text->size();) {
    const std::size_t end = std::min(text->find('\0', begin), text->size());
    words.push_back(text->substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace

Result<Explained> Explained::instead_of(ConfinePlan& plan,
                                        const ConfineRequest& request,
                                        const Kept& kept) {
  if (request.tier != confine::Tier::full)
    return confine::Error{"--explain: it needs tier full, whichever the flags are then used with"};
  confine::Spec& spec = plan.spec;
  Explained made(spec.paths, std::move(plan.net));
  made.home_ = spec.home;
  made.hidden_ = AEGIS_TRY(find_hidden(spec, kept));
  confine::HostView view{made.hidden_};
  if (auto resolver = confine::resolve_grant("/etc/resolv.conf", {}))
    view.resolver = std::move(resolver->grant.path);
  PathGrants paths;
  add_from_scratch(spec, paths);
  spec.paths = std::move(paths);
  spec.host_view = std::move(view);
  // Whatever is granted: the program could send away what it reads. This kind tells of each try.
  spec.network = confine::Network::granted;
  plan.net.clear();
  return made;
}

void Explained::report(const confine::Wishes& wishes) const {
  const Explanation explanation =
      confine::explain({grants_, home_, hidden_, wishes.all, policy::is_sensitive_name});
  say("this was no confined run: the program could read the host's files");
  report_files(explanation);
  report_net();
  if (wishes.is_cut) say("not all that it wanted could be seen or kept");
  report_command(explanation);
}

void Explained::report_files(const Explanation& explanation) const {
  for (const std::string& path : explanation.folders_to_make)
    say("it would make " + shell_word(path) + ": mkdir -p " + shell_word(path));
  for (const std::string& path : explanation.files_to_make)
    say("it would make " + shell_word(path) + ": touch " + shell_word(path));
  for (const Explanation::Grant& each : explanation.grants)
    say(std::string(each.flag) + " " + shell_word(each.path));
  for (const std::string& path : explanation.secrets)
    say("wanted, and hidden, since it may hold secrets (think twice): " + shell_word(path));
  if (!explanation.too_wide.empty())
    say("listed or changed, and too much to be granted: " + list(explanation.too_wide));
  if (!explanation.looked_at.empty())
    say("looked at and not opened, so perhaps not needed: " + list(explanation.looked_at));
}

void Explained::report_net() const {
  for (const std::string& grant : net_.grants())
    say("--allow-net " + shell_word(grant));
  for (const std::string& name : net_.names()) {
    say("--allow-net " + shell_word(name).append(kGuessedPort) +
        " (the name was looked up; which port was wanted is a guess)");
  }
  for (const std::string& each : net_.refused())
    say("cannot be granted: " + each);
}

void Explained::report_command(const Explanation& explanation) const {
  std::vector<std::string> added;
  for (const Explanation::Grant& each : explanation.grants) {
    added.emplace_back(each.flag);
    added.push_back(each.path);
  }
  for (const std::string& grant : net_.grants())
    added.insert(added.end(), {"--allow-net", grant});
  for (const std::string& name : net_.names())
    added.insert(added.end(), {"--allow-net", name + std::string(kGuessedPort)});
  const bool makes = !explanation.folders_to_make.empty() || !explanation.files_to_make.empty();
  if (added.empty() && !makes) {
    say("no flag is missing, as far as it came");
    return;
  }
  const bool wrote = std::any_of(explanation.grants.begin(),
                                 explanation.grants.end(),
                                 [](const auto& each) { return each.flag == "--allow-write"; });
  if (wrote || makes || !net_.grants().empty() || !net_.names().empty()) {
    say("something was refused, so it may have ended early or gone another way: run it again with "
        "these flags and --explain to see what it wants then");
  }
  std::string line;
  for (const std::string& path : explanation.folders_to_make)
    line.append("mkdir -p ").append(shell_word(path)).append(" && ");
  for (const std::string& path : explanation.files_to_make)
    line.append("touch ").append(shell_word(path)).append(" && ");
  say("all in one: " + line + command_with(own_words(), added));
}

std::string command_with(const std::vector<std::string>& words,
                         const std::vector<std::string>& added) {
  std::string line;
  const auto append = [&line](const std::string& word) {
    line.append(line.empty() ? "" : " ").append(shell_word(word));
  };
  bool is_ours = true;
  for (const std::string& word : words) {
    if (is_ours && word == "--explain") continue;
    if (is_ours && word == "--") {
      is_ours = false;
      std::for_each(added.begin(), added.end(), append);
    }
    append(word);
  }
  return line;
}

}  // namespace aegis::wrap
