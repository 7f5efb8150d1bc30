// SPDX-License-Identifier: Apache-2.0 OR MIT
// See resolve.h.
#include "confine/resolve.h"

#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace aegis::confine {
namespace {

/// What goes over the pipe, whole or not at all.
struct Message {
  Resolved::Outcome outcome = Resolved::Outcome::failed;
  std::uint32_t count = 0;
  std::array<IpAddress, kMaxResolved> addresses = {};
};
static_assert(sizeof(Message) <= PIPE_BUF);

std::optional<IpAddress> address_in(const addrinfo& info) {
  if (info.ai_family == AF_INET && info.ai_addrlen >= sizeof(sockaddr_in)) {
    sockaddr_in address{};
    std::memcpy(&address, info.ai_addr, sizeof address);
    std::array<std::uint8_t, 4> bytes{};
    std::memcpy(bytes.data(), &address.sin_addr, bytes.size());
    return make_v4(bytes);
  }
  if (info.ai_family == AF_INET6 && info.ai_addrlen >= sizeof(sockaddr_in6)) {
    sockaddr_in6 address{};
    std::memcpy(&address, info.ai_addr, sizeof address);
    std::array<std::uint8_t, 16> bytes{};
    std::memcpy(bytes.data(), &address.sin6_addr, bytes.size());
    return make_v6(bytes);
  }
  return std::nullopt;
}

[[noreturn]] void work(const ResolveName& resolve, const std::string& name, int pipe) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The listener above all: as long as a copy is open, the program's calls wait for it.
  constexpr int kPipe = 3;
  if (pipe != kPipe && ::dup2(pipe, kPipe) < 0) ::_exit(1);
  if (::syscall(SYS_close_range, kPipe + 1, ~0U, 0U) != 0) ::_exit(1);
  const Resolved resolved = resolve(name);
  Message message;
  message.outcome = resolved.outcome;
  message.count = static_cast<std::uint32_t>(std::min(resolved.addresses.size(), kMaxResolved));
  std::copy_n(resolved.addresses.begin(), message.count, message.addresses.begin());
  ::_exit(::write(kPipe, &message, sizeof message) == static_cast<ssize_t>(sizeof message) ? 0 : 1);
}

}  // namespace

Resolved resolve_by_system(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;  // what this host could not reach need not be tried
  addrinfo* list = nullptr;
  const int code = ::getaddrinfo(name.c_str(), nullptr, &hints, &list);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, ::freeaddrinfo);
  if (code == EAI_NONAME || code == EAI_NODATA) return {Resolved::Outcome::no_such_name, {}};
  if (code != 0) return {Resolved::Outcome::failed, {}};
  Resolved resolved{Resolved::Outcome::found, {}};
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    if (const std::optional<IpAddress> address = address_in(*each))
      resolved.addresses.push_back(*address);
  }
  return resolved;
}

std::optional<LookUp> LookUp::start(const ResolveName& resolve, const std::string& name) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return std::nullopt;
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  const pid_t worker = ::fork();
  if (worker < 0) return std::nullopt;
  if (worker == 0) work(resolve, name, theirs.get());
  return LookUp(worker, std::move(ours));
}

LookUp::LookUp(pid_t worker, Fd pipe) noexcept : worker_(worker), pipe_(std::move(pipe)) {}
LookUp::LookUp(LookUp&& other) noexcept
    : worker_(std::exchange(other.worker_, -1)), pipe_(std::move(other.pipe_)) {}
LookUp& LookUp::operator=(LookUp&& other) noexcept {
  if (this != &other) {
    end();
    worker_ = std::exchange(other.worker_, -1);
    pipe_ = std::move(other.pipe_);
  }
  return *this;
}
LookUp::~LookUp() {
  end();
}

void LookUp::end() noexcept {
  if (worker_ < 0) return;
  ::kill(worker_, SIGKILL);  // not reaped, so it is nobody else's number
  while (::waitpid(worker_, nullptr, 0) < 0 && errno == EINTR) {
  }
  worker_ = -1;
}

Resolved LookUp::take() const {
  Message message;
  const ssize_t size = ::read(pipe_.get(), &message, sizeof message);
  if (size != static_cast<ssize_t>(sizeof message) || message.count > kMaxResolved) return {};
  return {message.outcome, {message.addresses.begin(), message.addresses.begin() + message.count}};
}

}  // namespace aegis::confine
