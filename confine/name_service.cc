// SPDX-License-Identifier: Apache-2.0 OR MIT
// See name_service.h.
#include "confine/name_service.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

namespace aegis::confine {
namespace {

constexpr std::size_t kMaxRunning = 16;
constexpr std::size_t kMaxWaiters = 64;         // of one name
constexpr int kMaxQueriesAtOnce = 32;           // then others have their turn
constexpr Egress::Time kPatience{20};           // with the host's own resolver
constexpr Egress::Time kFreshness{30};          // of what it said
constexpr Egress::Time kFreshnessOfFailure{2};  // so that asking again costs no fork each time
constexpr Egress::Time kOnePair{1};             // within which A and AAAA are one look-up
constexpr std::size_t kMaxQuery = 1024;         // bytes; a longer one is cut, and so malformed

}  // namespace

NameService::NameService(Fd socket, Egress& egress, Reporter& reporter, ResolveName resolve)
    : socket_(std::move(socket)),
      egress_(egress),
      reporter_(reporter),
      resolve_(std::move(resolve)) {}

void NameService::watch(std::vector<pollfd>& polled) {
  watched_from_ = polled.size();
  polled.push_back({socket_.get(), POLLIN, 0});
  for (const Running& each : running_)
    polled.push_back({each.look_up.fd(), POLLIN, 0});
}

void NameService::serve(const std::vector<pollfd>& polled, Egress::Time now) {
  std::size_t kept = 0;
  for (std::size_t at = 0; at < running_.size(); ++at) {
    const bool is_ready = polled[watched_from_ + 1 + at].revents != 0;
    if (is_ready || now > running_[at].deadline) {
      finish(running_[at], now);
      continue;
    }
    if (kept != at) running_[kept] = std::move(running_[at]);
    ++kept;
  }
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(kept), running_.end());
  if (polled[watched_from_].revents != 0) take_queries(now);
}

void NameService::take_queries(Egress::Time now) {
  std::array<char, kMaxQuery> packet;
  for (int count = 0; count < kMaxQueriesAtOnce; ++count) {
    sockaddr_in client{};
    socklen_t client_size = sizeof client;
    const ssize_t size = ::recvfrom(socket_.get(),
                                    packet.data(),
                                    packet.size(),
                                    MSG_DONTWAIT,
                                    reinterpret_cast<sockaddr*>(&client),
                                    &client_size);
    if (size < 0) return;
    if (client_size != sizeof client || client.sin_family != AF_INET) continue;
    take_query({packet.data(), static_cast<std::size_t>(size)}, client, now);
  }
}

void NameService::take_query(std::string_view packet, const sockaddr_in& client, Egress::Time now) {
  std::variant<DnsQuery, DnsFault> parsed = parse_query(packet);
  if (const auto* fault = std::get_if<DnsFault>(&parsed)) {
    if (fault->id) send(encode_fault(*fault->id, fault->code), client);
    return;
  }
  Waiter waiter{std::get<DnsQuery>(std::move(parsed)), client};
  if (waiter.query.class_code != kDnsClassIn) {
    send(encode_answer(waiter.query, DnsCode::refused, {}), client);
    return;
  }
  const std::optional<std::size_t> name = egress_.find_name(waiter.query.name);
  if (!name) return refuse_name(waiter, now);
  if (waiter.query.type != kDnsTypeA && waiter.query.type != kDnsTypeAaaa) {
    send(encode_answer(waiter.query, DnsCode::no_error, {}), client);
    return;
  }
  if (*name < cached_.size() && now < cached_[*name].until) {
    answer(waiter, cached_[*name], *name, now);
    return;
  }
  look_up(*name, std::move(waiter), now);
}

void NameService::look_up(std::size_t name, Waiter waiter, Egress::Time now) {
  auto running = std::find_if(
      running_.begin(), running_.end(), [&](const Running& each) { return each.name == name; });
  if (running == running_.end() && running_.size() < kMaxRunning) {
    if (std::optional<LookUp> started = LookUp::start(resolve_, egress_.name(name))) {
      running_.push_back({name, std::move(*started), now + kPatience});
      running = running_.end() - 1;
    }
  }
  if (running == running_.end() || running->waiters.size() >= kMaxWaiters) {
    send(encode_answer(waiter.query, DnsCode::server_failure, {}), waiter.client);
    return;
  }
  running->waiters.push_back(std::move(waiter));
}

void NameService::finish(Running& running, Egress::Time now) {
  const Resolved resolved = running.look_up.take();
  Cached fresh{now + kFreshness, DnsCode::no_error, egress_.admit(resolved.addresses)};
  if (resolved.outcome == Resolved::Outcome::failed) fresh.code = DnsCode::server_failure;
  // Also of a name of which nothing may be told: to the program there is no such host.
  else if (fresh.addresses.empty())
    fresh.code = DnsCode::no_such_name;
  if (fresh.code != DnsCode::no_error) fresh.until = now + kFreshnessOfFailure;
  if (fresh.addresses.empty() && !resolved.addresses.empty()) {
    NetReport report;
    report.kind = NetReport::Kind::refused_answer;
    report.endpoint.address = resolved.addresses.front();
    report.set_name(egress_.name(running.name));
    reporter_.send(report);
  }
  for (const Waiter& waiter : running.waiters)
    answer(waiter, fresh, running.name, now);
  if (cached_.size() <= running.name) cached_.resize(running.name + 1);
  cached_[running.name] = std::move(fresh);
}

void NameService::answer(const Waiter& waiter,
                         const Cached& cached,
                         std::size_t name,
                         Egress::Time now) {
  const std::vector<IpAddress> answers = pick_answers(waiter.query, cached.addresses);
  // Before the answer goes out: the connection may follow at once.
  egress_.remember(name, answers, now);
  send(encode_answer(waiter.query, cached.code, answers), waiter.client);
}

void NameService::refuse_name(const Waiter& waiter, Egress::Time now) {
  const DnsQuery& query = waiter.query;
  const bool is_other_half = last_refused_ && last_refused_->name == query.name &&
                             last_refused_->type != query.type &&
                             now - last_refused_->at <= kOnePair;
  if (is_other_half) {
    last_refused_.reset();
  } else {
    last_refused_ = Refused{query.name, query.type, now};
    NetReport report;
    report.kind = NetReport::Kind::refused_name;
    report.set_name(query.name);
    reporter_.send(report);
  }
  send(encode_answer(query, DnsCode::no_such_name, {}), waiter.client);
}

void NameService::send(const std::string& message, const sockaddr_in& client) const {
  // A client that does not read loses its answer.
  static_cast<void>(::sendto(socket_.get(),
                             message.data(),
                             message.size(),
                             MSG_DONTWAIT | MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&client),
                             sizeof client));
}

}  // namespace aegis::confine
