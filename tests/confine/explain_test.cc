// SPDX-License-Identifier: Apache-2.0 OR MIT
// From wishes to grants: what is named, what is folded, and what is never suggested.
#include "confine/explain.h"

#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "confine/address.h"

namespace aegis::confine {
namespace {

using Need = Wish::Need;
using Kind = Wish::Kind;
using Grants = std::vector<Explanation::Grant>;
using Names = std::set<std::string>;

constexpr std::string_view kHome = "/home/u";
constexpr std::string_view kRead = "--allow-read";
constexpr std::string_view kWrite = "--allow-write";
constexpr std::string_view kExec = "--allow-exec";

Wish wish(Need need, const std::string& path, Kind kind = Kind::file) {
  return {need, kind, path, path};
}
Wish read(const std::string& path) {
  return wish(Need::read, path);
}

PathGrants granted() {
  PathGrants grants;
  grants.add({{"/usr", {.may_execute = true}, true, {1, 1}}, {{"/bin", "usr/bin"}}});
  grants.add({{"/wks", {.may_write = true}, true, {1, 2}}, {}});
  return grants;
}

bool is_secret(std::string_view name) {
  return name == ".ssh" || name.ends_with(".PEM");
}

Explanation explained(const std::vector<Wish>& wishes,
                      const std::vector<std::string>& hidden = {}) {
  const PathGrants grants = granted();
  return explain({grants, kHome, hidden, wishes, is_secret});
}

}  // namespace

TEST_CASE("one file is named as it is, several of a folder by the folder") {
  CHECK(explained({read("/opt/x/a.conf")}).grants == Grants{{kRead, "/opt/x/a.conf"}});
  CHECK(explained({read("/opt/x/a.conf"), read("/opt/x/b.conf")}).grants ==
        Grants{{kRead, "/opt/x"}});
  CHECK(explained({wish(Need::read, "/opt/x/d", Kind::folder), read("/opt/x/d/e/f")}).grants ==
        Grants{{kRead, "/opt/x/d"}});
}

TEST_CASE("what is granted or the sandbox's own is not suggested") {
  CHECK(explained({read("/usr/lib/x"),
                   wish(Need::execute, "/usr/bin/x"),
                   wish(Need::write, "/wks/x", Kind::absent_file),
                   read("/proc/self/status"),
                   read("/etc/passwd"),
                   wish(Need::write, "/sys/class/x", Kind::absent_file),
                   read("/sys/devices/system/cpu/online")})
            .grants.empty());
  CHECK(explained({wish(Need::write, "/usr/x/y")}).grants == Grants{{kWrite, "/usr/x"}});
  CHECK(explained({wish(Need::execute, "/wks/run")}).grants == Grants{{kExec, "/wks/run"}});
}

TEST_CASE("three places in one folder stand for it, and so on upwards") {
  CHECK(
      explained({read("/opt/app/a/1"), read("/opt/app/b/1"), read("/opt/app/c/1")}).grants.size() ==
      3);
  const Explanation folded = explained({wish(Need::read, "/opt/app/a", Kind::folder),
                                        wish(Need::read, "/opt/app/b", Kind::folder),
                                        read("/opt/app/c/1"),
                                        read("/opt/app/c/2")});
  CHECK(folded.grants == Grants{{kRead, "/opt/app"}});
}

TEST_CASE("no folder that everybody shares is suggested for what is in it") {
  std::vector<Wish> wishes;
  for (const char* folder : {"/etc", "/var/lib", "/home/u", "/home/u/.config", "/home", "/opt"}) {
    for (const char* name : {"/a", "/b", "/c", "/d"})
      wishes.push_back(read(std::string(folder) + name));
  }
  const Explanation all = explained(wishes);
  CHECK(all.grants.size() == 24);
  for (const Explanation::Grant& each : all.grants)
    CHECK(each.path.back() >= 'a');
  const Explanation listed = explained({wish(Need::read, "/home/u", Kind::folder),
                                        wish(Need::read, "/home", Kind::folder),
                                        wish(Need::write, "/etc", Kind::folder)});
  CHECK(listed.grants.empty());
  CHECK(listed.too_wide == Names{"/etc", "/home", "/home/u"});
}

TEST_CASE("a folder that holds a hidden thing is not suggested") {
  const Explanation kept =
      explained({read("/srv/app/a"), read("/srv/app/b")}, {"/srv/app/sub/key.pem"});
  CHECK(kept.grants == Grants{{kRead, "/srv/app/a"}, {kRead, "/srv/app/b"}});
}

TEST_CASE("secrets are named and not suggested, whether they were hidden or only bear the name") {
  const Explanation found = explained({read("/home/u/.ssh/id_rsa"),
                                       read("/opt/x/server.PEM"),
                                       read("/home/u/.config/aegis/signing.one")},
                                      {"/home/u/.config/aegis", "/home/u/.ssh"});
  CHECK(found.grants.empty());
  CHECK(found.secrets ==
        Names{"/home/u/.config/aegis/signing.one", "/home/u/.ssh/id_rsa", "/opt/x/server.PEM"});
}

TEST_CASE("what was written is granted by its folder, or made first where that is too wide") {
  CHECK(explained({wish(Need::write, "/home/u/.config/foo/x.json")}).grants ==
        Grants{{kWrite, "/home/u/.config/foo"}});
  const Explanation made = explained({wish(Need::write, "/home/u/.foo", Kind::absent_folder),
                                      wish(Need::write, "/home/u/.cache", Kind::absent_folder),
                                      wish(Need::write, "/home/u/.foorc", Kind::absent_file),
                                      wish(Need::write, "/home/u/.old")});
  CHECK(made.folders_to_make == Names{"/home/u/.cache", "/home/u/.foo"});
  CHECK(made.files_to_make == Names{"/home/u/.foorc"});
  CHECK(made.grants ==
        Grants{{kWrite, "/home/u/.foo"}, {kWrite, "/home/u/.foorc"}, {kWrite, "/home/u/.old"}});
}

TEST_CASE("caches and node_modules are whole") {
  CHECK(explained({read("/home/u/.cache/foo/a/b")}).grants ==
        Grants{{kRead, "/home/u/.cache/foo"}});
  CHECK(explained({wish(Need::write, "/home/u/.cache/foo/a/b", Kind::absent_file)}).grants ==
        Grants{{kWrite, "/home/u/.cache/foo"}});
  CHECK(explained({read("/srv/n/node_modules/a/index.js"),
                   wish(Need::execute, "/srv/n/node_modules/b/node_modules/c/c.node")})
            .grants == Grants{{kExec, "/srv/n/node_modules"}});
}

TEST_CASE("reading is not said where writing or executing is") {
  CHECK(explained({read("/opt/x/a"), read("/opt/x/b"), wish(Need::write, "/opt/x/c")}).grants ==
        Grants{{kWrite, "/opt/x"}});
  CHECK(explained({read("/home/u/bin/tool"), wish(Need::execute, "/home/u/bin/tool")}).grants ==
        Grants{{kExec, "/home/u/bin/tool"}});
}

TEST_CASE("what was named by a link is granted by that name") {
  Wish tool = wish(Need::execute, "/opt/tool-3/main");
  tool.written = "/home/u/bin/tool";
  tool.link = "/home/u/bin/tool";
  tool.link_target = tool.path;
  CHECK(explained({tool}).grants == Grants{{kExec, "/home/u/bin/tool"}});

  // All of the link's folder was wanted, so the link may stand for it.
  Wish one = read("/opt/v3/lib/a");
  one.written = "/opt/current/lib/a";
  one.link = "/opt/current";
  one.link_target = "/opt/v3";
  Wish two = one;
  two.path = "/opt/v3/lib/b";
  two.written = "/opt/current/lib/b";
  CHECK(explained({one, two}).grants ==
        Grants{{kRead, "/opt/current/lib/a"}, {kRead, "/opt/current/lib/b"}});
  CHECK(explained({one, two, wish(Need::read, "/opt/v3", Kind::folder)}).grants ==
        Grants{{kRead, "/opt/current"}, {kRead, "/opt/v3"}});

  // The link lies in what is granted, and what it leads to does not.
  Wish out = read("/srv/x");
  out.written = "/usr/share/x";
  out.link = "/usr/share/x";
  out.link_target = out.path;
  CHECK(explained({out}).grants == Grants{{kRead, "/srv/x"}});

  // The file is granted, and only its name is not there.
  Wish name = read("/usr/share/x");
  name.written = "/opt/x";
  name.link = "/opt/x";
  name.link_target = name.path;
  CHECK(explained({name}).grants == Grants{{kRead, "/opt/x"}});
  name.written = "/bin/x";
  name.link = "/bin";
  name.link_target = "/usr/bin";
  CHECK(explained({name}).grants.empty());
}

TEST_CASE("a link into the home folder is never granted for a file behind it") {
  Wish file = read("/home/u/notes/a");
  file.written = "/opt/home/notes/a";
  file.link = "/opt/home";
  file.link_target = "/home/u";
  CHECK(explained({file}).grants == Grants{{kRead, "/opt/home/notes/a"}});
}

TEST_CASE("what was only looked at is told apart") {
  const Explanation looked = explained({wish(Need::look, "/home/u", Kind::folder),
                                        wish(Need::look, "/opt", Kind::folder),
                                        wish(Need::look, "/opt/x/a"),
                                        wish(Need::look, "/home/u/.rc"),
                                        read("/opt/x/a")});
  CHECK(looked.grants == Grants{{kRead, "/opt/x/a"}});
  CHECK(looked.looked_at == Names{"/home/u/.rc"});
}

TEST_CASE("the network: addresses with their port, names, and what cannot be granted") {
  const std::vector<NetGrant> had{{"known.example", 443}};
  NetWishes wishes(had);
  NetReport report;
  report.kind = NetReport::Kind::refused_connect;
  report.endpoint = {*parse_address("192.0.2.7"), 8080};
  wishes.note(report);
  wishes.note(report);
  report.kind = NetReport::Kind::refused_name;
  for (const char* name : {"known.example", "api.example"}) {
    report.set_name(name);
    wishes.note(report);
  }
  report.kind = NetReport::Kind::refused_socket;
  report.family = AF_NETLINK;
  wishes.note(report);
  report.family = AF_PACKET;
  wishes.note(report);
  CHECK(wishes.grants() == Names{"192.0.2.7:8080"});
  CHECK(wishes.names() == Names{"api.example"});
  CHECK(wishes.refused().size() == 1);
}

}  // namespace aegis::confine
