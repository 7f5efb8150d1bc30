// SPDX-License-Identifier: Apache-2.0 OR MIT
// A value or what failed, for the parts that meet the kernel. Pure parts answer with closed types
// of their own instead.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace aegis::confine {

/// What was being done, to what, and why it failed.
struct Error {
  std::string doing;  // "<doing>: <what>", or a whole message when `code` is 0
  int code = 0;       // an errno, or 0
};

/// Takes errno: must be the first thing after the failed call, and its arguments must not call
/// anything.
[[nodiscard]] Error errno_error(std::string_view doing, std::string_view what = {});
/// For a call that returns its error number, and for a refusal that stands for one.
[[nodiscard]] Error code_error(std::string_view doing, std::string_view what, int code);
/// A refusal of our own: "<doing>: <what>: <why>". `why` ends with what to do about it.
[[nodiscard]] Error refusal(std::string_view doing, std::string_view what, std::string_view why);
/// "<doing>: <what>: <strerror>". One line without a newline, unless the caller's own words hold
/// one.
[[nodiscard]] std::string describe(const Error& error);

template <class T>
class [[nodiscard]] Result {
 public:
  // Both are implicit, so that a function can `return value;` and `return errno_error(...);`.
  // NOLINTNEXTLINE(google-explicit-constructor): above
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): above
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool is_ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return is_ok(); }

  /// Only when is_ok().
  [[nodiscard]] T& value() & { return held<0>(state_); }
  [[nodiscard]] const T& value() const& { return held<0>(state_); }
  [[nodiscard]] T value() && { return std::move(held<0>(state_)); }
  [[nodiscard]] T* operator->() { return &held<0>(state_); }
  [[nodiscard]] const T* operator->() const { return &held<0>(state_); }
  [[nodiscard]] T& operator*() & { return held<0>(state_); }
  [[nodiscard]] const T& operator*() const& { return held<0>(state_); }

  /// Only when not is_ok().
  [[nodiscard]] const Error& error() const& { return held<1>(state_); }
  [[nodiscard]] Error error() && { return std::move(held<1>(state_)); }

 private:
  template <std::size_t Index, class State>
  static auto& held(State& state) {
    assert(state.index() == Index);
    return *std::get_if<Index>(&state);
  }
  std::variant<T, Error> state_;
};

/// For what has no value when it succeeds: `return {};`.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): as above
  Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool is_ok() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return is_ok(); }
  void value() const noexcept {}
  [[nodiscard]] const Error& error() const& {
    assert(!is_ok());
    return *error_;
  }
  [[nodiscard]] Error error() && {
    assert(!is_ok());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace aegis::confine

/// The value of the Result `x`, or `return` its error from this function. The project's one macro:
/// only a macro can return for its caller. A statement expression, which g++ and clang both have;
/// do not nest one in another, and put none between the members of a braced initialiser: those
/// before it would not be destroyed.
#define AEGIS_TRY(x)                                                   \
  __extension__({                                                      \
    auto aegis_tried_ = (x);                                           \
    if (!aegis_tried_.is_ok()) return std::move(aegis_tried_).error(); \
    std::move(aegis_tried_).value();                                   \
  })
