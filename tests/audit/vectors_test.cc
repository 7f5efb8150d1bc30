// SPDX-License-Identifier: Apache-2.0 OR MIT
// The published vectors of the format, when they are at hand: AEGIS_SHARED, or beside the source
// folder. They are not part of this project; without them the test says so and proves nothing.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "audit/verify.h"
#include "tests/audit/forge.h"

namespace aegis::audit {
namespace {

std::filesystem::path vectors_folder() {
  const char* const shared = std::getenv("AEGIS_SHARED");
  const std::filesystem::path root = shared != nullptr
                                         ? std::filesystem::path{shared}
                                         : std::filesystem::path{AEGIS_SOURCE_DIR} / "../shared";
  return root / "vectors";
}

std::optional<std::string> read_vector(const std::string& name) {
  std::ifstream file(vectors_folder() / name, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

struct Row {
  const char* file;
  const char* report;
};
constexpr const char* kDevKeyId =
    "77a2c2f5952039243c043b69e7e812a2deb69e3271adb3013b8f24d3b8ea40f6";

}  // namespace

TEST_CASE("the published vectors have the published verdicts") {
  const std::vector<Row> rows{
      {"pinned/one_call.aarl", "Verified (unpinned)\nkey_id #\ncoverage session 0 seq 3\n"},
      {"tampered/bad_signature.aarl",
       "Tampered: no signature on a Line of type outcome\nat session 0 seq 2 byte 682\nkey_id #\n"
       "coverage session 0 seq 0\n"},
      {"tampered/duplicate_decision.aarl",
       "Tampered: a second decision for one approval_id\nat session 0 seq 2 byte 864\nfound "
       "apr-vector-8\n"
       "key_id #\ncoverage session 0 seq 2\n"},
      {"indeterminate/reserved_checkpoint.aarl",
       "Indeterminate: a checkpoint, which is reserved, at session 0 seq 4\nkey_id #\ncoverage "
       "session 0 seq 4\n"},
      {"indeterminate/golden_first_three_lines.aarl",
       "Indeterminate: session 0 has no close, calls in flight: 1\nkey_id #\ncoverage session 0 "
       "seq 2\n"
       "in_flight session 0 seq 1 call call-golden-0 tool smoke\n"
       "unpaired session 0 seq 2 outcome call call-golden-1\n"},
  };
  if (!read_vector(rows.front().file)) {
    MESSAGE("SKIPPED: the published vectors are not in ", vectors_folder().string());
    return;
  }
  for (const Row& row : rows) {
    CAPTURE(row.file);
    const auto text = read_vector(row.file);
    REQUIRE(text);
    std::string expected = row.report;
    expected.replace(expected.find('#'), 1, kDevKeyId);
    CHECK(encode_text(verify(*text)) == expected);
  }
}

TEST_CASE("the published call is pinned by its key and by no other") {
  const auto text = read_vector("pinned/one_call.aarl");
  if (!text) {
    MESSAGE("SKIPPED: the published vectors are not in ", vectors_folder().string());
    return;
  }
  CHECK(verdict(*text, TrustSet{dev_key().public_key()}) ==
        std::string{"Verified (pinned to "} + kDevKeyId + ")");
  CHECK(verify(*text, TrustSet{key_of(1).public_key()}).standing == Standing::tampered);
}

TEST_CASE("our own forge makes the published Lines, so that the format is the published one") {
  const auto text = read_vector("pinned/one_call.aarl");
  if (!text) {
    MESSAGE("SKIPPED: the published vectors are not in ", vectors_folder().string());
    return;
  }
  const auto lines = split_lines(*text);
  REQUIRE(lines.size() == 4);
  CHECK(to_hex(LineHash::of(lines[0]).bytes) ==
        "ace4118a6a4ec1bf47503431aaa769ebb74de9c61174bf64470561a99abf4066");
  const std::string digest =
      R"("request_digest":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a")";
  const std::string policy =
      R"("policy_set_hash":"d19fc5aa391e8220c634b40bef26894b83ae1493f8a8628e8ab667a6fd7e0e67")";
  Forge forge{dev_key()};
  forge.open();
  forge.intent("call-vector-7", {"{" + digest + "}"});
  forge.outcome("call-vector-7", {"{" + digest + "," + policy + "}"});
  forge.close();
  CHECK(forge.text() == *text);
}

}  // namespace aegis::audit
