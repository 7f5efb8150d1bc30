// SPDX-License-Identifier: Apache-2.0 OR MIT
// The Lines that aegis writes, byte for byte, and that nothing put in makes one that is none.
#include "audit/chain.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "mcp/json/canonical.h"
#include "tests/audit/forge.h"
#include "tests/audit/memory_sink.h"

namespace aegis::audit {
namespace {

constexpr std::string_view kSessionId = "0123456789abcdeffedcba9876543210";
constexpr UnixMicros kTime{1796029200123456};  // 2026-11-30T09:00:00.123456Z

Open an_open() {
  Open open{};
  open.version = "0.1.0";
  open.session_id = kSessionId;
  open.durability = "call";
  open.program = "server";
  open.argv_digest = ArgvDigest::of("server");
  return open;
}

Outcome an_outcome(std::uint64_t intent_seq, std::string_view tool) {
  Outcome outcome{};
  outcome.intent_seq = intent_seq;
  outcome.tool_id = tool;
  outcome.request_digest = FrameDigest::of("request");
  outcome.policy_set_hash = PolicySetHash::of(kPassthroughPolicy);
  return outcome;
}

/// One session with one call, and its Lines.
struct Session {
  MemorySink sink;
  Chain chain{dev_key(), sink};

  Session() { chain.open(an_open(), kTime); }
  std::uint64_t intent(std::string_view tool) {
    return chain.intent({tool, FrameDigest::of("request"), 77}, kTime);
  }
  std::vector<std::string> lines() { return split_lines(sink.text); }
};

/// The Line with '#' for every 64 hex digits in a row: digests and signatures are checked
/// elsewhere.
std::string without_hex(std::string_view line) {
  std::string out;
  std::size_t run = 0;
  for (const char c : line) {
    out += c;
    run = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ? run + 1 : 0;
    if (run < 64) continue;
    out.replace(out.size() - 64, 64, "#");
    run = 0;
  }
  return out;
}

}  // namespace

TEST_CASE("a session's Lines have these members in this order") {
  Session session;
  const std::uint64_t seq = session.intent("echo");
  Outcome outcome = an_outcome(seq, "echo");
  outcome.capability = GrantedEmpty{};
  outcome.response_digest = FrameDigest::of("response");
  outcome.response_bytes = 99;
  outcome.wall_ms = 12;
  session.chain.outcome(outcome, kTime);
  session.chain.close({"client closed", 1, 2}, kTime);
  const auto lines = session.lines();
  REQUIRE(lines.size() == 4);
  CHECK(without_hex(lines[0]) ==
        R"({"at":"2026-11-30T09:00:00.123456Z","durability":"call",)"
        R"("emitter":{"name":"aegis","version":"0.1.0"},"key_id":"#","line_type":"open",)"
        R"("prev_hash":"#","profile":"aegis/1","public_key":"#","schema_version":2,"seq":0,)"
        R"("server":{"argv_digest":"#","program":"server"},)"
        R"("session_id":"0123456789abcdeffedcba9876543210","signature":"##"})");
  CHECK(
      without_hex(lines[1]) ==
      R"({"at":"2026-11-30T09:00:00.123456Z","call_id":"0123456789abcdef-1","line_type":"intent",)"
      R"("prev_hash":"#","request_bytes":77,"request_digest":"#","schema_version":2,"seq":1,)"
      R"("tool_id":"echo"})");
  CHECK(
      without_hex(lines[2]) ==
      R"({"at":"2026-11-30T09:00:00.123456Z","call_id":"0123456789abcdef-1","capability":{"grant":)"
      R"({"grant_id":"wrap-passthrough-0123456789abcdef-1","max_memory_bytes":0,)"
      R"("max_output_bytes":0,"max_wall_ms":0,"tool_id":"echo"},"status":"granted"},)"
      R"("decision_axes":{},"execution":{"status":"success"},)"
      R"("grant_id":"wrap-passthrough-0123456789abcdef-1","intent_seq":1,"key_id":"#",)"
      R"("line_type":"outcome","policy":{"status":"allowed"},"policy_set_hash":"#","prev_hash":"#",)"
      R"("request_digest":"#","response_bytes":99,"response_digest":"#","schema_version":2,"seq":2,)"
      R"("signature":"##","tool_id":"echo","wall_ms":12})");
  CHECK(without_hex(lines[3]) ==
        R"({"at":"2026-11-30T09:00:00.123456Z","calls":1,"key_id":"#","line_type":"close",)"
        R"("prev_hash":"#","reason":"client closed","schema_version":2,"seq":3,"signature":"##",)"
        R"("unread":2})");
  CHECK(session.chain.call_id(1) == "0123456789abcdef-1");
  CHECK(verdict(session.sink.text) == "Verified (unpinned)");
}

TEST_CASE("a confined server's Lines say what was enforced and what it may reach") {
  const std::vector<std::string> reads{"/usr", "/home/u/ws"};
  const std::vector<std::string> writes{"/home/u/ws"};
  const std::vector<std::string> namespaces{"mount", "user"};
  const std::vector<Grant::Host> hosts{{"example.org", 443}};
  const Confinement confinement{
      .tier = "full",
      .landlock_abi = 7,
      .is_seccomp_network_denied = false,
      .namespaces = namespaces,
      .profile = "node",
      .profile_hash = ProfileHash::of("read /usr\n"),
      .process_bound = "pid_namespace",
      .memory_bound = "per_process",
      .is_best_effort = false,
      .is_network_unconfined = false,
      .grant = {reads, writes, hosts, 1024, 0},
  };
  MemorySink sink;
  Chain chain(dev_key(), sink);
  Open open = an_open();
  open.confinement = &confinement;
  chain.open(open, kTime);
  const std::uint64_t seq = chain.intent({"echo", FrameDigest::of("request"), 77}, kTime);
  Outcome outcome = an_outcome(seq, "echo");
  outcome.capability = Granted{&confinement.grant};
  const std::vector<std::string> refusals{"connect to 10.0.0.1 port 80, IPv4, refused"};
  outcome.refusals = refusals;
  chain.outcome(outcome, kTime);
  chain.close({"client closed", 1, 0}, kTime);
  const std::string text = without_hex(sink.text);
  const auto holds = [&text](std::string_view part) { return text.find(part) != text.npos; };
  CHECK(holds(R"("confinement":{"best_effort":false,"landlock_abi":7,)"
              R"("landlock_fully_enforced":true,"memory_bound":"per_process",)"
              R"("namespaces":["mount","user"],"net":[{"host":"example.org","ports":[443]}],)"
              R"("process_bound":"pid_namespace","profile":"node","profile_hash":"#",)"
              R"("read_paths":["/usr","/home/u/ws"],"seccomp_applied":true,)"
              R"("seccomp_network_denied":false,"tier":"full","unconfined_network":false,)"
              R"("write_paths":["/home/u/ws"]},"durability":)"));
  CHECK(holds(R"("capability":{"grant":{"fs":{"read_paths":["/usr","/home/u/ws"],)"
              R"("write_paths":["/home/u/ws"]},"grant_id":"confined-0123456789abcdef-1",)"
              R"("max_memory_bytes":1024,"max_output_bytes":0,"max_wall_ms":0,)"
              R"("net":{"http":[{"host":"example.org","ports":[443]}]},"tool_id":"echo"},)"
              R"("status":"granted"})"));
  CHECK(holds(R"("refusals":["connect to 10.0.0.1 port 80, IPv4, refused"],"request_digest")"));
  CHECK(verdict(sink.text) == "Verified (unpinned)");
}

TEST_CASE("the broker's Lines say under which policy, with which grant and on which path") {
  const std::vector<std::string> revealed{".env"};
  const BrokerOn broker{PolicySetHash::of("{}"), revealed};
  const std::vector<std::string> reads{"workspace/a", "workspace/out"};
  const std::vector<std::string> writes{"workspace/out"};
  const Grant grant{reads, writes, {}, 1024, 2048, 15'000};
  MemorySink sink;
  Chain chain(dev_key(), sink);
  Open open = an_open();
  open.broker = &broker;
  chain.open(open, kTime);
  const std::uint64_t seq = chain.intent({"run_python", FrameDigest::of("request"), 77}, kTime);
  Outcome outcome = an_outcome(seq, "run_python");
  outcome.capability = GrantedByBroker{&grant};
  outcome.axes.path = "workspace/a/b.py";
  outcome.execution = ResourceExceeded{"timeout"};
  chain.outcome(outcome, kTime);
  chain.close({"client closed", 1, 0}, kTime);
  const std::string text = without_hex(sink.text);
  const auto holds = [&text](std::string_view part) { return text.find(part) != text.npos; };
  CHECK(holds(R"("broker":{"policy_set_hash":"#","revealed":[".env"]},"durability":)"));
  CHECK(holds(R"("capability":{"grant":{"fs":{"read_paths":["workspace/a","workspace/out"],)"
              R"("write_paths":["workspace/out"]},"grant_id":"broker-0123456789abcdef-1",)"
              R"("max_memory_bytes":1024,"max_output_bytes":2048,"max_wall_ms":15000,)"
              R"("tool_id":"run_python"},"status":"granted"},)"
              R"("decision_axes":{"fs":{"path_canonical":"workspace/a/b.py"}},)"
              R"("execution":{"kind":"timeout","status":"resource_exceeded"},)"
              R"("grant_id":"broker-0123456789abcdef-1")"));
  CHECK(verdict(sink.text) == "Verified (unpinned)");
}

TEST_CASE(
    "an open names the session before, the policy and what was recovered when there are such") {
  MemorySink sink;
  Chain chain{dev_key(), sink};
  Open open = an_open();
  open.prev_session_tail = LineHash::of("x");
  open.policy_set_hash = PolicySetHash::of("policy");
  open.recovered = Recovered{5, TornDigest::of("torn!"), "a.aarl.torn-1"};
  chain.open(open, kTime);
  const std::string line = without_hex(sink.text);
  CHECK(
      line.find(
          R"("line_type":"open","policy_set_hash":"#","prev_hash":"#","prev_session_tail":"#",)") !=
      std::string::npos);
  CHECK(line.find(R"("recovered":{"bytes":5,"digest":"#","file":"a.aarl.torn-1"})") !=
        std::string::npos);
}

TEST_CASE("every status is written with its own members") {
  struct Row {
    const char* name;
    Outcome outcome;
    std::string_view written;
  };
  std::vector<Row> rows;
  const auto row = [&rows](const char* name, std::string_view written) -> Outcome& {
    rows.push_back({name, an_outcome(1, "t"), written});
    return rows.back().outcome;
  };
  row("policy denied", R"("policy":{"reason":"no","status":"denied"})").policy = Denied{"no"};
  row("rate limited", R"("policy":{"reason":"full","status":"rate_limited"})").policy =
      RateLimited{"full"};
  row("pending", R"("policy":{"approval_id":"ap","status":"pending_approval"})").policy =
      PendingApproval{"ap"};
  row("capability denied", R"("capability":{"reason":"c","status":"denied"},"decision_axes")")
      .capability = CapabilityDenied{"c"};
  row("trap", R"("execution":{"message":"SIGSYS","status":"trap"})").execution = Trap{"SIGSYS"};
  row("exceeded", R"("execution":{"kind":"memory","status":"resource_exceeded"})").execution =
      ResourceExceeded{"memory"};
  row("host denied", R"("execution":{"reason":"h","status":"host_denied"})").execution =
      HostDenied{"h"};
  row("axes", R"("decision_axes":{"approval_ref":"a","matched_rule":"m","role":"r"})").axes =
      DecisionAxes{"r", "m", "a"};
  for (const Row& each : rows) {
    CAPTURE(each.name);
    Session session;
    session.intent("t");
    session.chain.outcome(each.outcome, kTime);
    CAPTURE(session.lines()[2]);
    CHECK(session.lines()[2].find(each.written) != std::string::npos);
    session.chain.close({"end", 1, 0}, kTime);
    CHECK(verdict(session.sink.text) == "Verified (unpinned)");
  }
}

TEST_CASE("a refused call has no grant") {
  Session session;
  session.intent("t");
  Outcome outcome = an_outcome(1, "t");
  outcome.capability = CapabilityDenied{"no"};
  session.chain.outcome(outcome, kTime);
  CHECK(session.lines()[2].find("grant") == std::string::npos);
}

TEST_CASE("times are UTC with six decimals, and stay within four digits of year") {
  struct Row {
    std::int64_t micros;
    std::string_view written;
  };
  const std::vector<Row> rows{
      {0, "1970-01-01T00:00:00.000000Z"},
      {-1, "1970-01-01T00:00:00.000000Z"},
      {951782399999999, "2000-02-28T23:59:59.999999Z"},
      {951782400000000, "2000-02-29T00:00:00.000000Z"},
      {951868800000001, "2000-03-01T00:00:00.000001Z"},
      {1709164800000000, "2024-02-29T00:00:00.000000Z"},
      {1735689599000000, "2024-12-31T23:59:59.000000Z"},
      {4107542400000000, "2100-03-01T00:00:00.000000Z"},
      {253402300799999999, "9999-12-31T23:59:59.999999Z"},
      {253402300800000000, "9999-12-31T23:59:59.999999Z"},
  };
  for (const Row& row : rows) {
    Session session;
    session.chain.intent({"t", FrameDigest{}, 0}, {row.micros});
    const std::string line = session.lines()[1];
    CHECK(line.substr(7, 27) == row.written);
  }
}

TEST_CASE("a tool name that a Line cannot hold is written as its hash") {
  struct Row {
    const char* name;
    std::string tool;
    bool is_kept;
  };
  const std::vector<Row> rows{
      {"empty", "", true},
      {"1024 bytes", std::string(1024, 't'), true},
      {"controls and quotes", "\"\\\n\x01", true},
      {"1025 bytes", std::string(1025, 't'), false},
      {"not UTF-8", "caf\xE9", false},
      {"a surrogate", "\xED\xA0\x80", false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    Session session;
    session.intent(row.tool);
    session.chain.outcome(an_outcome(1, row.tool), kTime);
    session.chain.close({"end", 1, 0}, kTime);
    CHECK(verdict(session.sink.text) == "Verified (unpinned)");
    mcp::json::CanonicalReader reader;
    const std::string line = session.lines()[1];
    REQUIRE_FALSE(reader.read(line));
    const std::string expected =
        row.is_kept ? row.tool : "<sha256:" + to_hex(sha256(row.tool)) + ">";
    CHECK(mcp::json::find_string(reader.root(), "tool_id") == expected);
  }
}

TEST_CASE("a long reason ends at a character, within 4 KiB as written") {
  struct Row {
    const char* name;
    std::string reason;
    std::size_t kept;
  };
  const auto repeat = [](std::string_view text, std::size_t times) {
    std::string out;
    for (; times > 0; --times)
      out += text;
    return out;
  };
  const std::vector<Row> rows{
      {"4096 letters", std::string(4096, 'a'), 4096},
      {"4097 letters", std::string(4097, 'a'), 4096},
      {"two bytes each", "a" + repeat("é", 4000), 4095},
      {"three bytes each", repeat("€", 4000), 4095},
      {"four bytes each", "a" + repeat("\xF0\x9F\x98\x80", 4000), 4093},
      {"escapes of two bytes", repeat("\"", 4000), 2048},
      {"escapes of six bytes", repeat("\x01", 4000), 682},
      {"escapes of six bytes that fit", repeat("\x01", 682), 682},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    Session session;
    session.chain.close({row.reason, 0, 0}, kTime);
    mcp::json::CanonicalReader reader;
    const std::string line = session.lines()[1];
    REQUIRE_FALSE(reader.read(line));
    CHECK(mcp::json::find_string(reader.root(), "reason") == row.reason.substr(0, row.kept));
  }
}

TEST_CASE("no Line is longer than 64 KiB, whatever is put in") {
  const std::string name(1024, '\x01');
  const std::string sentence(1U << 20U, '\x01');
  MemorySink sink;
  Chain chain{dev_key(), sink};
  Open open = an_open();
  open.version = open.durability = open.program = name;
  open.prev_session_tail = LineHash{};
  open.policy_set_hash = PolicySetHash{};
  open.recovered = Recovered{~std::uint64_t{0}, TornDigest{}, name};
  chain.open(open, kTime);
  const std::uint64_t seq = chain.intent({name, FrameDigest{}, ~std::uint64_t{0}}, kTime);
  Outcome outcome = an_outcome(seq, name);
  outcome.policy = PendingApproval{name};
  outcome.capability = GrantedEmpty{};
  outcome.execution = HostDenied{sentence};
  outcome.axes = DecisionAxes{name, name, name};
  outcome.response_bytes = outcome.wall_ms = ~std::uint64_t{0};
  outcome.response_digest = FrameDigest{};
  chain.outcome(outcome, kTime);
  outcome.intent_seq = chain.intent({name, FrameDigest{}, 0}, kTime);
  outcome.policy = Denied{sentence};
  outcome.capability = CapabilityDenied{sentence};
  chain.outcome(outcome, kTime);
  chain.close({sentence, ~std::uint64_t{0}, ~std::uint64_t{0}}, kTime);
  mcp::json::CanonicalReader reader;
  for (const std::string& line : split_lines(sink.text)) {
    CHECK(line.size() <= mcp::json::kMaxCanonicalSize);
    CHECK_FALSE(reader.read(line));
  }
}

TEST_CASE("two sessions of one chain of keys make one file") {
  MemorySink sink;
  Session first;
  first.chain.close({"end", 0, 0}, kTime);
  sink.text = first.sink.text;
  Chain chain{key_of(9), sink};
  Open open = an_open();
  open.prev_session_tail = LineHash::of(first.lines().back());
  chain.open(open, kTime);
  chain.close({"end", 0, 0}, kTime);
  const Report report = verify(sink.text);
  CHECK(report.standing == Standing::verified);
  CHECK(report.key_ids.size() == 2);
}

}  // namespace aegis::audit
