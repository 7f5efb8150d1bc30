// SPDX-License-Identifier: Apache-2.0 OR MIT
// What failed on the way to a running program, in words (child.h).
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "confine/child.h"

namespace aegis::confine {
namespace {

struct StageText {
  Stage stage;
  std::string_view doing;
};
constexpr std::array<StageText, 30> kStages{{
    {Stage::clone, "make new namespaces"},
    {Stage::user_map, "map the user"},
    {Stage::private_mounts, "part the mounts from the host's"},
    {Stage::new_root, "make the private root"},
    {Stage::grant, "mount a grant"},
    {Stage::copy, "copy the workspace"},
    {Stage::bind, "mount what may be written"},
    {Stage::self_bind, "fasten a folder"},
    {Stage::read_only, "make a file read-only"},
    {Stage::devices, "make the private /dev"},
    {Stage::proc, "mount the private /proc"},
    {Stage::scratch, "mount the private /tmp"},
    {Stage::host_view, "show the host's files"},
    {Stage::hide, "hide a secret"},
    {Stage::pivot, "enter the private root"},
    {Stage::network, "set up the private network"},
    {Stage::bounds, "bound the number of processes"},
    {Stage::session, "make a session"},
    {Stage::fork, "fork the program's process"},
    {Stage::tracing, "watch the program (ptrace)"},
    {Stage::stdio, "take the pipes"},
    {Stage::rlimits, "set resource limits"},
    {Stage::working_directory, "enter the working directory"},
    {Stage::capabilities, "drop the capabilities"},
    {Stage::no_new_privs, "set no_new_privs"},
    {Stage::landlock, "enforce the Landlock ruleset"},
    {Stage::supervision, "hand over the network's calls"},
    {Stage::seccomp, "load the seccomp filter"},
    {Stage::exec, "execute"},
    {Stage::running, "execute"},
}};

std::string worker_path(const SetUp& failed, const WorkerFiles& worker) {
  const std::size_t which = failed.which;
  if (failed.stage == Stage::copy && which < worker.copy.entries.size())
    return worker.copy.entries[which].path;
  if (failed.stage == Stage::bind && which < worker.binds.size()) return worker.binds[which].place;
  if (failed.stage == Stage::hide && which < worker.hidden.size()) return worker.hidden[which];
  return {};
}

}  // namespace

std::string_view describe(Stage stage) {
  for (const StageText& each : kStages) {
    if (each.stage == stage) return each.doing;
  }
  return "set up the sandbox";
}

std::string describe_failure(const SetUp& failed, const Spec& spec) {
  std::string what;
  const std::size_t which = failed.which;
  if (failed.stage == Stage::grant && which < spec.paths.paths.size()) {
    what = spec.paths.paths[which].path;
  } else if (failed.stage == Stage::self_bind && which < spec.self_bound.size()) {
    what = spec.self_bound[which];
  } else if (failed.stage == Stage::read_only && which < spec.read_only.size()) {
    what = spec.read_only[which];
  } else if (failed.stage == Stage::hide && spec.host_view &&
             which < spec.host_view->hidden.size()) {
    what = spec.host_view->hidden[which];
  } else if (failed.stage == Stage::working_directory) {
    what = spec.working_directory;
  } else if (failed.stage == Stage::exec) {
    what = spec.program;
  } else if (spec.worker) {
    what = worker_path(failed, *spec.worker);
  }
  return confine::describe(code_error(confine::describe(failed.stage), what, failed.code));
}

}  // namespace aegis::confine
