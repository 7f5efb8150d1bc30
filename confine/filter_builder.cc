// SPDX-License-Identifier: Apache-2.0 OR MIT
// libseccomp 2.5: rules in, a BPF program out, by way of an unnamed file (its export to memory came
// with 2.6).
#include "confine/filter_builder.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cerrno>

#include <seccomp.h>

#include "confine/fd.h"
#include "confine/seccomp.h"

namespace aegis::confine {
namespace {

constexpr std::size_t kArguments = 6;  // of a system call

scmp_arg_cmp translate(const Comparison& comparison) {
  const std::uint64_t value = comparison.value;
  switch (comparison.test) {
    case Comparison::Test::low_bits:
      return {comparison.index, SCMP_CMP_MASKED_EQ, comparison.mask, value};
    case Comparison::Test::equal:
      return {comparison.index, SCMP_CMP_EQ, value, 0};
    case Comparison::Test::not_equal:
      return {comparison.index, SCMP_CMP_NE, value, 0};
    case Comparison::Test::greater:
      return {comparison.index, SCMP_CMP_GT, value, 0};
  }
  return {};
}

std::uint32_t action_of(FilterBuilder::Otherwise otherwise) {
  switch (otherwise) {
    case FilterBuilder::Otherwise::allow:
      return SCMP_ACT_ALLOW;
    case FilterBuilder::Otherwise::enosys:
      return SCMP_ACT_ERRNO(ENOSYS);
    case FilterBuilder::Otherwise::kill_process:
      break;
  }
  return SCMP_ACT_KILL_PROCESS;
}

Result<void> set(scmp_filter_ctx context, scmp_filter_attr attribute, std::uint32_t value) {
  const int code = ::seccomp_attr_set(context, attribute, value);
  if (code < 0) return code_error("seccomp_attr_set", {}, -code);
  return {};
}

}  // namespace

void FilterBuilder::Release::operator()(void* context) const {
  ::seccomp_release(context);
}

Result<FilterBuilder> FilterBuilder::make(Otherwise otherwise) {
  FilterBuilder builder;
  builder.context_.reset(::seccomp_init(action_of(otherwise)));
  if (builder.context_ == nullptr) return code_error("seccomp_init", {}, ENOMEM);
  AEGIS_TRY(set(builder.context_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
  AEGIS_TRY(set(builder.context_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2));  // a tree over the numbers
  return builder;
}

Result<void> FilterBuilder::refuse(int call, int error, std::span<const Comparison> when) {
  return add(SCMP_ACT_ERRNO(static_cast<unsigned>(error)), call, when);
}

Result<void> FilterBuilder::trace(int call, std::span<const Comparison> when) {
  return add(SCMP_ACT_TRACE(0), call, when);
}

Result<void> FilterBuilder::allow(int call, std::span<const Comparison> when) {
  return add(SCMP_ACT_ALLOW, call, when);
}

Result<void> FilterBuilder::add(std::uint32_t action, int call, std::span<const Comparison> when) {
  assert(when.size() <= kArguments);
  std::array<scmp_arg_cmp, kArguments> comparisons = {};
  for (std::size_t i = 0; i < when.size(); ++i)
    comparisons[i] = translate(when[i]);
  const int code = ::seccomp_rule_add_array(
      context_.get(), action, call, static_cast<unsigned>(when.size()), comparisons.data());
  if (code < 0) return code_error("seccomp_rule_add_array", syscall_name(call), -code);
  return {};
}

Result<std::vector<std::uint64_t>> FilterBuilder::program() const {
  const Fd file(::memfd_create("filter", MFD_CLOEXEC));
  if (!file.is_open()) return errno_error("memfd_create");
  const int code = ::seccomp_export_bpf(context_.get(), file.get());
  if (code < 0) return code_error("seccomp_export_bpf", {}, -code);
  struct stat status = {};
  if (::fstat(file.get(), &status) < 0) return errno_error("fstat", "filter");
  const auto size = static_cast<std::size_t>(status.st_size);
  std::vector<std::uint64_t> program(size / sizeof(std::uint64_t));
  const ssize_t got = ::pread(file.get(), program.data(), size, 0);
  if (got < 0) return errno_error("read", "filter");
  if (got != status.st_size) return code_error("read", "filter", EIO);
  return program;
}

}  // namespace aegis::confine
