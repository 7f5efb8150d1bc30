// SPDX-License-Identifier: Apache-2.0 OR MIT
// See confine_flags.h.
#include "wrap/confine_flags.h"

#include <algorithm>
#include <utility>

#include "confine/limits.h"
#include "confine/profile.h"
#include "wrap/size.h"
#include "wrap/suggest.h"

namespace aegis::wrap {
namespace {

using confine::Error;
using confine::Result;

constexpr SizeRange kSizes{1024, std::uint64_t{1} << 46};  // what a process can address
/// A program opens its libraries one after the other, so few are enough for a start.
constexpr Flags::Bounds kOpenFiles{confine::kFewestOpenFiles,
                                   std::uint64_t{1} << 20};     // fs.nr_open
constexpr Flags::Bounds kProcesses{1, std::uint64_t{1} << 22};  // kernel/pid.c: PID_MAX_LIMIT
constexpr Flags::Bounds kCpuSeconds{1, 100'000'000};
constexpr Flags::Bounds kNewFiles{1, 1'000'000'000};
/// By ConfineFlags::Size.
constexpr std::string_view kSizeFlags[] = {"--max-memory", "--max-file-size", "--max-output"};

Error usage(std::string_view flag, std::string_view value, std::string_view why) {
  return Error{std::string(flag).append(": ").append(value).append(": ").append(why)};
}

}  // namespace

void ConfineFlags::add_to(Flags& flags) {
  add_grants(flags);
  add_bounds(flags);
  flags.add_switch(
      {"--explain", "", "run it once, watched, and print the flags that it would need"},
      is_explained_);
}

void ConfineFlags::add_grants(Flags& flags) {
  flags.add_choice({"--tier",
                    "full|landlock",
                    "how strong: namespaces with a private root and Landlock inside (full, "
                    "default), or Landlock alone"},
                   {"full", "landlock"},
                   tier_);
  flags.add_switch({"--best-effort",
                    "",
                    "take the strongest tier that can be had here instead of refusing to start"},
                   is_best_effort_);
  flags.add_texts({"--allow-read", "PATH", "a file or folder that may be read"}, read_);
  flags.add_texts({"--allow-write", "PATH", "one that may be written and read"}, write_);
  flags.add_texts({"--allow-exec", "PATH", "one whose programs may be run, and read"}, execute_);
  flags.add_texts({"--allow-net",
                   "HOST:PORT|all",
                   "connect there by TCP (tier full), or the host's whole network: unconfined"},
                  net_);
  flags.add_texts({"--allow-env",
                   "NAME[=VALUE]",
                   "let this variable through, or set it (default: PATH HOME LANG LC_* TERM TZ "
                   "TMPDIR)"},
                  variables_);
  flags.add_switch({"--allow-exec-support",
                    "",
                    "the system's programs and libraries, whatever the profile says"},
                   has_exec_support_);
  flags.add_text({"--profile",
                  "NAME|FILE",
                  "what the program needs to run at all: node, python, system, minimal, or a file "
                  "whose path has a '/' (default: by the command)"},
                 profile_);
  flags.add_switch({"--show-profile", "", "print the profile and run nothing"}, shows_profile_);
  flags.add_text(
      {"--workspace", "DIR", "a folder that may be written, and where the program starts"},
      workspace_);
  flags.add_switch({"--allow-config-write",
                    "",
                    "let files that other programs run or obey (.git/hooks, .vscode, .bashrc, "
                    "...) be written"},
                   allows_config_write_);
}

void ConfineFlags::add_bounds(Flags& flags) {
  flags.add_text({"--max-memory", "BYTES", "private memory of a process (default: 4GiB)"},
                 sizes_[memory]);
  flags.add_number({"--max-pids",
                    "N",
                    "processes and threads together (default: 1024; in tier full at least 301)"},
                   kProcesses,
                   counts_[processes]);
  flags.add_number({"--max-cpu-seconds", "N", "processor time of a process (default: no bound)"},
                   kCpuSeconds,
                   counts_[cpu_seconds]);
  flags.add_text({"--max-file-size", "BYTES", "size of a file that it writes (default: 4GiB)"},
                 sizes_[file_size]);
  flags.add_number({"--max-open-files", "N", "descriptors of a process (default: 4096)"},
                   kOpenFiles,
                   counts_[open_files]);
  flags.add_text({"--max-output", "BYTES", "stdout and stderr together (default: no bound)"},
                 sizes_[output]);
  flags.add_number(
      {"--max-new-files", "N", "files in the private /tmp; tier full (default: no bound)"},
      kNewFiles,
      counts_[new_files]);
}

std::optional<std::string_view> ConfineFlags::first_given() const {
  const std::pair<std::string_view, bool> given[] = {
      {"--tier", !tier_.empty()},
      {"--best-effort", is_best_effort_},
      {"--allow-read", !read_.empty()},
      {"--allow-write", !write_.empty()},
      {"--allow-exec", !execute_.empty()},
      {"--allow-net", !net_.empty()},
      {"--allow-env", !variables_.empty()},
      {"--allow-exec-support", has_exec_support_},
      {"--profile", profile_.has_value()},
      {"--show-profile", shows_profile_},
      {"--workspace", workspace_.has_value()},
      {"--allow-config-write", allows_config_write_},
      {"--max-memory", sizes_[memory].has_value()},
      {"--max-pids", counts_[processes] != 0},
      {"--max-cpu-seconds", counts_[cpu_seconds] != 0},
      {"--max-file-size", sizes_[file_size].has_value()},
      {"--max-open-files", counts_[open_files] != 0},
      {"--max-output", sizes_[output].has_value()},
      {"--max-new-files", counts_[new_files] != 0},
      {"--explain", is_explained_},
  };
  for (const auto& [name, is_given] : given) {
    if (is_given) return name;
  }
  return std::nullopt;
}

Result<ConfineRequest> ConfineFlags::request() const {
  ConfineRequest request;
  if (tier_ == "landlock") request.tier = confine::Tier::landlock;
  if (is_best_effort_) request.shortfall = ConfineRequest::Shortfall::take_strongest;
  request.read = read_;
  request.write = write_;
  request.execute = execute_;
  if (has_exec_support_) request.exec_support = ConfineRequest::ExecSupport::system;
  request.workspace = workspace_;
  if (allows_config_write_) request.config_write = ConfineRequest::ConfigWrite::allowed;
  request.is_profile_shown = shows_profile_;
  request.is_explained = is_explained_;
  AEGIS_TRY(take_net(request));
  AEGIS_TRY(take_variables(request));
  AEGIS_TRY(take_profile(request));
  request.bounds = AEGIS_TRY(bounds(request.tier));
  return request;
}

Result<void> ConfineFlags::take_net(ConfineRequest& request) const {
  constexpr std::string_view kFlag = "--allow-net";
  const bool is_all = std::find(net_.begin(), net_.end(), "all") != net_.end();
  if (is_all && net_.size() > 1) {
    return usage(kFlag, "all", "it leaves nothing for another grant to add; give one or the other");
  }
  if (is_all) {
    request.network = confine::Network::unconfined;
    return {};
  }
  for (const std::string& text : net_) {
    auto grant = confine::parse_net_grant(text);
    if (!grant) return std::move(grant).error();  // names the flag itself
    request.net.push_back(std::move(grant).value());
  }
  if (request.net.empty()) return {};
  if (request.tier == confine::Tier::landlock) {
    return usage(kFlag, net_.front(), "a network grant needs --tier full");
  }
  request.network = confine::Network::granted;
  return {};
}

Result<void> ConfineFlags::take_variables(ConfineRequest& request) const {
  for (const std::string& text : variables_) {
    const std::size_t equals = text.find('=');
    ConfineRequest::Variable variable{text.substr(0, equals)};
    if (!confine::is_variable_name(variable.name)) {
      return usage(
          "--allow-env", text, "expected NAME or NAME=VALUE, the name of letters, digits and '_'");
    }
    if (equals != std::string::npos) variable.value = text.substr(equals + 1);
    request.variables.push_back(std::move(variable));
  }
  return {};
}

Result<void> ConfineFlags::take_profile(ConfineRequest& request) const {
  request.profile = profile_;
  if (!profile_ || profile_->find('/') != std::string::npos) return {};
  if (confine::builtin_profile_text(*profile_)) return {};
  std::vector<std::string> known;
  std::string list;
  for (const std::string_view name : confine::builtin_profiles()) {
    known.emplace_back(name);
    list.append(list.empty() ? "" : ", ").append(name);
  }
  return usage("--profile",
               *profile_,
               "there is " + list + ", or a file, whose path must have a '/'" +
                   did_you_mean(*profile_, known));
}

Result<std::optional<std::uint64_t>> ConfineFlags::size(Size which) const {
  const std::optional<std::string>& text = sizes_.at(which);
  if (!text) return std::optional<std::uint64_t>();
  const std::optional<std::uint64_t> size = parse_size(*text, kSizes);
  if (size) return size;
  return usage(kSizeFlags[which],
               "'" + *text + "'",
               "a number of bytes from " + format_size(kSizes.least) + " to " +
                   format_size(kSizes.most) + " is expected, such as 1048576 or 512MiB");
}

Result<confine::Bounds> ConfineFlags::bounds(confine::Tier tier) const {
  confine::Bounds bounds;
  const std::optional<std::uint64_t> most_memory = AEGIS_TRY(size(memory));
  bounds.memory = most_memory.value_or(bounds.memory);
  bounds.is_memory_asked_for = most_memory.has_value();
  bounds.file_size = AEGIS_TRY(size(file_size)).value_or(bounds.file_size);
  bounds.output = AEGIS_TRY(size(output));
  if (const std::uint64_t most = counts_[processes]; most != 0) {
    if (tier == confine::Tier::full && most < kFewestProcesses) {
      return usage("--max-pids",
                   std::to_string(most),
                   "in tier full at least " + std::to_string(kFewestProcesses) +
                       ": the kernel holds a pid namespace to no fewer");
    }
    bounds.processes = most;
    bounds.is_processes_asked_for = true;
  }
  if (counts_[open_files] != 0) bounds.open_files = counts_[open_files];
  if (counts_[cpu_seconds] != 0) bounds.cpu_seconds = counts_[cpu_seconds];
  if (counts_[new_files] != 0) bounds.new_files = counts_[new_files];
  return bounds;
}

}  // namespace aegis::wrap
