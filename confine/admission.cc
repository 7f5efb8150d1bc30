// SPDX-License-Identifier: Apache-2.0 OR MIT
// See admission.h.
#include "confine/admission.h"

#include <algorithm>
#include <utility>

namespace aegis::confine {
namespace {

/// The outermost folder around `path` that may be written, or null.
const PathGrant* find_writable_folder(const PathGrants& grants, const std::string& path) {
  const auto found =
      std::find_if(grants.paths.begin(), grants.paths.end(), [&path](const PathGrant& each) {
        return each.rights.may_write && each.is_directory && is_within(path, each.path);
      });
  return found == grants.paths.end() ? nullptr : &*found;
}

void add(Candidate candidate, PathGrants& grants) {
  PathGrant& grant = candidate.resolved.grant;
  if (candidate.kind == Candidate::Kind::guessed && !grant.rights.may_write) {
    if (const PathGrant* around = find_writable_folder(grants, grant.path)) {
      const Rights asked = grant.rights;
      grant = *around;
      grant.rights.may_execute |= asked.may_execute;
    }
  }
  grants.add(std::move(candidate.resolved));
}

bool holds(const PathGrants& grants, const PathGrant& wanted) {
  const PathGrant* decides = grants.find(wanted.path);
  if (decides == nullptr) return false;
  const Rights& rights = decides->rights;
  return (rights.may_write || !wanted.rights.may_write) &&
         (rights.may_execute || !wanted.rights.may_execute);
}

bool stays_inside(const Candidate& candidate, const Writable& writable) {
  const PathGrant& grant = candidate.resolved.grant;
  if (grant.rights.may_write) return false;
  const auto tree = writable.find(grant.path);
  return tree &&
         std::all_of(candidate.planted.begin(),
                     candidate.planted.end(),
                     [&](const std::string& place) { return writable.find(place) == tree; });
}

std::string describe(const Candidate& candidate) {
  return std::string(candidate.said)
      .append(": ")
      .append(candidate.resolved.grant.path)
      .append(" is not granted: ")
      .append(candidate.planted.front())
      .append(
          ", which leads there, can be written by the program, so an earlier run may have put "
          "it there; if it is meant, grant it by its own name:");
}

std::string flag_of(const Candidate& candidate) {
  return " " + candidate.instead + " " + candidate.resolved.grant.path;
}

/// What cannot start without `refused`, with the flags for all that the same file or link led to:
/// an interpreter is of no use without its libraries.
Error refuse(const Candidate& refused, const std::vector<Candidate>& left_out) {
  std::vector<std::string> flags = {flag_of(refused)};
  for (const Candidate& each : left_out) {
    const bool is_same = each.planted.front() == refused.planted.front();
    std::string flag = flag_of(each);
    if (is_same && std::find(flags.begin(), flags.end(), flag) == flags.end())
      flags.push_back(std::move(flag));
  }
  std::string text = describe(refused);
  for (const std::string& flag : flags)
    text.append(flag);
  return Error{std::move(text), 0};
}

/// By whether a program could have led to them, and of those that none did the ones that were asked
/// for before the guesses: a guess depends on what may be written.
struct Sorted {
  std::vector<Candidate> asked;
  std::vector<Candidate> guessed;
  std::vector<Candidate> doubtful;
};

Sorted sort(std::vector<Candidate> candidates, const Writable& writable) {
  Sorted sorted;
  for (Candidate& each : candidates) {
    const std::vector<std::string> links = writable.links_of(each.resolved);
    each.planted.insert(each.planted.begin(), links.begin(), links.end());
    const bool is_guess = each.kind == Candidate::Kind::guessed;
    std::vector<Candidate>& rest = is_guess ? sorted.guessed : sorted.asked;
    (each.planted.empty() ? rest : sorted.doubtful).push_back(std::move(each));
  }
  return sorted;
}

}  // namespace

Result<Admitted> admit(std::vector<Candidate> candidates, const Writable& writable) {
  Admitted admitted;
  Sorted sorted = sort(std::move(candidates), writable);
  for (Candidate& each : sorted.asked)
    add(std::move(each), admitted.paths);
  for (Candidate& each : sorted.guessed)
    add(std::move(each), admitted.paths);
  std::vector<Candidate> left_out;
  for (Candidate& each : sorted.doubtful) {
    if (holds(admitted.paths, each.resolved.grant) || stays_inside(each, writable)) {
      add(std::move(each), admitted.paths);
    } else {
      left_out.push_back(std::move(each));
    }
  }
  for (const Candidate& each : left_out) {
    if (each.otherwise == Candidate::Otherwise::refuse) return refuse(each, left_out);
    admitted.left_out.push_back(describe(each) + flag_of(each));
  }
  std::vector<std::string>& notes = admitted.left_out;
  std::sort(notes.begin(), notes.end());
  notes.erase(std::unique(notes.begin(), notes.end()), notes.end());
  return admitted;
}

}  // namespace aegis::confine
