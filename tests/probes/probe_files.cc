// SPDX-License-Identifier: Apache-2.0 OR MIT
// Attempts on files that were not granted: the host's own, beside the folder that was (param dir
// holds them, made anew by probe_host for each attempt; param own is the granted folder and the
// working directory), and on grants beyond what they grant.
#include <dirent.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "tests/probes/probe.h"

namespace probe {
namespace {

Answer opens(const std::string& path, int flags) {
  return by_result(open(path.c_str(), flags | O_CLOEXEC, 0644), "open " + path);
}

Answer read_file() {
  return reads_secret(victim("secret"));
}

Answer write_to(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC, 0644);
  if (fd < 0) return refused("open " + path);
  return by_result(write(fd, "x", 1), "write to " + path);
}
Answer write_file() {
  return write_to(victim("file"), O_WRONLY);
}
Answer append_file() {
  return write_to(victim("file"), O_WRONLY | O_APPEND);
}
Answer create_file() {
  return write_to(victim("new"), O_WRONLY | O_CREAT | O_EXCL);
}
Answer open_truncating() {
  return opens(victim("file"), O_WRONLY | O_TRUNC);
}

Answer create_nameless_file() {
  const int fd = open(param("dir").c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0644);
  if (fd < 0) return refused("open O_TMPFILE");
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return by_result(
      linkat(AT_FDCWD, path.c_str(), AT_FDCWD, victim("new").c_str(), AT_SYMLINK_FOLLOW), "linkat");
}

Answer remove_file() {
  return by_result(unlink(victim("doomed").c_str()), "unlink");
}
Answer remove_folder() {
  return by_result(rmdir(victim("empty").c_str()), "rmdir");
}
Answer make_folder() {
  return by_result(mkdir(victim("new").c_str(), 0755), "mkdir");
}
Answer make_fifo() {
  return by_result(mkfifo(victim("new").c_str(), 0644), "mkfifo");
}

Answer make_socket() {
  return by_result(mknod(victim("new").c_str(), S_IFSOCK | 0644, 0), "mknod S_IFSOCK");
}

Answer rename_file() {
  return by_result(rename(victim("doomed").c_str(), victim("new").c_str()), "rename");
}
Answer rename_out() {
  if (write_to(own("mine"), O_WRONLY | O_CREAT).verdict != Verdict::reached)
    return broken("cannot write in the own folder");
  return by_result(rename(own("mine").c_str(), victim("new").c_str()), "rename");
}
Answer rename_in() {
  return by_result(rename(victim("doomed").c_str(), own("taken").c_str()), "rename");
}
Answer exchange_files() {
  if (write_to(own("mine"), O_WRONLY | O_CREAT).verdict != Verdict::reached)
    return broken("cannot write in the own folder");
  return by_result(
      renameat2(AT_FDCWD, own("mine").c_str(), AT_FDCWD, victim("doomed").c_str(), RENAME_EXCHANGE),
      "renameat2");
}
Answer rename_own_folder() {
  const std::string moved = param("own") + "-moved";
  Answer answer = by_result(rename(param("own").c_str(), moved.c_str()), "rename");
  if (answer.verdict == Verdict::reached)
    static_cast<void>(rename(moved.c_str(), param("own").c_str()));
  return answer;
}

Answer link_outside() {
  return by_result(link(victim("secret").c_str(), victim("new").c_str()), "link");
}
Answer link_in() {
  const std::string path = own("linked");
  if (link(victim("secret").c_str(), path.c_str()) != 0) return refused("link");
  return reads_secret(path);
}
Answer symlink_outside() {
  return by_result(symlink("/", victim("new").c_str()), "symlink");
}
Answer symlink_in() {
  const std::string path = own("pointer");
  unlink(path.c_str());
  if (symlink(victim("secret").c_str(), path.c_str()) != 0) return broken("symlink in own folder");
  return reads_secret(path);
}
Answer planted_symlink() {
  return reads_secret(own("planted"));
}

Answer truncate_file() {
  return by_result(truncate(victim("file").c_str(), 0), "truncate");
}
Answer chmod_file() {
  return by_result(chmod(victim("file").c_str(), 0600), "chmod");
}
Answer chown_file() {
  return by_result(chown(victim("file").c_str(), getuid(), getgid()), "chown");
}
Answer set_times() {
  const timespec times[2] = {{1, 0}, {1, 0}};
  return by_result(utimensat(AT_FDCWD, victim("file").c_str(), times, 0), "utimensat");
}
Answer set_attribute() {
  return by_result(setxattr(victim("file").c_str(), "user.mark", "x", 1, 0), "setxattr");
}
Answer get_attribute() {
  char value[64];
  return by_result(getxattr(victim("file").c_str(), "user.probe", value, sizeof value), "getxattr");
}

Answer stat_file() {
  struct stat found = {};
  return by_result(stat(victim("secret").c_str(), &found), "stat");
}
Answer statx_file() {
  struct statx found = {};
  return by_result(statx(AT_FDCWD, victim("secret").c_str(), 0, STATX_BASIC_STATS, &found),
                   "statx");
}
Answer statfs_folder() {
  struct statfs found = {};
  return by_result(statfs(param("dir").c_str(), &found), "statfs");
}
Answer test_access() {
  return by_result(access(victim("secret").c_str(), F_OK), "access");
}
Answer read_link() {
  char target[256];
  return by_result(readlink(victim("link").c_str(), target, sizeof target), "readlink");
}
Answer list_folder() {
  DIR* folder = opendir(param("dir").c_str());
  return folder == nullptr ? refused("opendir") : reached("listed the victims' folder");
}
Answer watch_folder() {
  const int queue = inotify_init1(IN_CLOEXEC);
  if (queue < 0) return broken("inotify_init1");
  return by_result(inotify_add_watch(queue, param("dir").c_str(), IN_ALL_EVENTS),
                   "inotify_add_watch");
}
Answer change_folder() {
  return by_result(chdir(param("dir").c_str()), "chdir");
}
Answer open_path_only() {
  return opens(victim("secret"), O_PATH);
}
// What a descriptor that may only name a file leads to.
int named(const char* name) {
  return open(victim(name).c_str(), O_PATH | O_CLOEXEC);
}
std::string descriptor(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}
Answer reopen_named() {
  const int fd = named("secret");
  return fd < 0 ? refused("open O_PATH") : reads_secret(descriptor(fd));
}
Answer link_named() {
  const int fd = named("secret");
  if (fd < 0) return refused("open O_PATH");
  const std::string path = own("linked-by-descriptor");
  if (linkat(AT_FDCWD, descriptor(fd).c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) != 0)
    return refused("linkat");
  return reads_secret(path);
}
Answer execute_named() {
  const int fd = named("binary");
  if (fd < 0) return refused("open O_PATH");
  void* const shared =
      mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return refused("mmap");
  int& code = *static_cast<int*>(shared);
  const pid_t child = fork();
  if (child == 0) {
    char name[] = "binary";
    char* const argv[] = {name, nullptr};
    syscall(SYS_execveat, fd, "", argv, environ, AT_EMPTY_PATH);
    code = errno;
    _exit(1);
  }
  waitpid(child, nullptr, 0);
  return code == 0 ? reached("ran the host's program") : refused_by(code, "execveat");
}
Answer read_after_entering() {
  if (chdir(param("dir").c_str()) != 0) return refused("chdir");
  return reads_secret("secret");
}
Answer open_by_handle() {
  alignas(file_handle) char space[sizeof(file_handle) + MAX_HANDLE_SZ] = {};
  auto* handle = reinterpret_cast<file_handle*>(space);
  handle->handle_bytes = MAX_HANDLE_SZ;
  int mount_id = 0;
  if (name_to_handle_at(AT_FDCWD, param("dir").c_str(), handle, &mount_id, 0) != 0)
    return refused("name_to_handle_at");
  const int folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return by_result(open_by_handle_at(folder, handle, O_RDONLY), "open_by_handle_at");
}

Answer execute_file() {
  const int status = run(victim("program"), {});
  if (status == -1) return refused("exec");
  return status == 0 ? reached("ran the host's program") : broken("it ran, but failed");
}

Answer climb_from_own_folder() {
  std::string path = param("own") + "/";
  for (const char letter : param("own")) {
    if (letter == '/') path += "../";
  }
  return reads_secret(path + victim("secret").substr(1));
}
Answer climb_relative() {
  return reads_secret("../victims/secret");
}
Answer through_own_root() {
  return reads_secret("/proc/self/root" + victim("secret"));
}
Answer through_own_cwd() {
  return reads_secret("/proc/self/cwd/../victims/secret");
}
Answer through_roots_parent() {
  return reads_secret("/../.." + victim("secret"));
}

Answer read_signing_key() {
  return reads_secret(param("home") + "/.config/aegis/signing.key");
}
// The session's own record, which `aegis wrap` writes beside all that is granted (param record).
Answer read_record() {
  return by_result(open(param("record").c_str(), O_RDONLY | O_CLOEXEC), "open");
}
Answer append_record() {
  return write_to(param("record"), O_WRONLY | O_APPEND);
}
Answer truncate_record() {
  return by_result(truncate(param("record").c_str(), 0), "truncate");
}
Answer rename_record() {
  return by_result(rename(param("record").c_str(), (param("record") + "-moved").c_str()), "rename");
}
Answer remove_record() {
  return by_result(unlink(param("record").c_str()), "unlink");
}
Answer read_ssh_key() {
  return reads_secret(param("home") + "/.ssh/id_ed25519");
}
Answer write_shell_start() {
  return write_to(param("home") + "/.bashrc", O_WRONLY | O_APPEND);
}

// For others to run: a program with its maker's rights. An empty one.
Answer leaves_set_uid(int result, const char* doing) {
  if (result < 0) return refused(doing);
  struct stat found = {};
  if (stat(own("gift").c_str(), &found) != 0) return broken("stat");
  unlink(own("gift").c_str());
  return (found.st_mode & S_ISUID) != 0 ? reached("left a set-user-ID file behind")
                                        : refused_by(EPERM, "the bit was dropped");
}
Answer set_uid_bit() {
  if (write_to(own("gift"), O_WRONLY | O_CREAT).verdict != Verdict::reached)
    return broken("cannot write in the own folder");
  return leaves_set_uid(chmod(own("gift").c_str(), 04755), "chmod");
}
Answer set_uid_bit_at_creation() {
  umask(0);
  return leaves_set_uid(open(own("gift").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 04755), "open");
}
Answer open_disk() {
  return opens(param("disk"), O_RDONLY);
}
Answer open_kernel_messages() {
  return opens("/dev/kmsg", O_RDONLY | O_NONBLOCK);
}
Answer make_device() {
  unlink(own("device").c_str());
  return by_result(mknod(own("device").c_str(), S_IFCHR | 0666, makedev(1, 1)), "mknod S_IFCHR");
}
// Only opened: what a byte written there does is the whole machine's harm.
Answer open_sysrq() {
  return opens("/proc/sysrq-trigger", O_WRONLY);
}
Answer open_core_pattern() {
  return opens("/proc/sys/kernel/core_pattern", O_WRONLY);
}
Answer open_own_sysctl() {
  return opens("/proc/sys/net/ipv4/ip_forward", O_RDWR);
}
Answer open_kernel_memory() {
  return opens("/proc/kcore", O_RDONLY);
}
Answer read_page_flags() {
  const int fd = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return refused("open /proc/kpageflags");
  std::uint64_t flags = 0;
  const ssize_t n = read(fd, &flags, sizeof flags);
  if (n == 0) return refused_by(ENODATA, "/proc/kpageflags is empty");
  return by_result(n, "read /proc/kpageflags");
}
Answer open_cgroup_tree() {
  return opens("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY);
}
Answer open_sysfs() {
  return opens("/sys/kernel", O_RDONLY | O_DIRECTORY);
}

// A folder granted for reading (param readable): it can be read, nothing more.
std::string readable(const char* name) {
  return param("readable") + "/" + name;
}
Answer grant_write_file() {
  return write_to(readable("file"), O_WRONLY);
}
Answer grant_create_file() {
  return write_to(readable("new"), O_WRONLY | O_CREAT);
}
Answer grant_remove_file() {
  return by_result(unlink(readable("doomed").c_str()), "unlink");
}
Answer grant_truncate_file() {
  return by_result(truncate(readable("file").c_str(), 0), "truncate");
}
Answer grant_chmod_file() {
  return by_result(chmod(readable("file").c_str(), 0600), "chmod");
}
/// Who opens the file then waits for its holder.
Answer grant_take_lease() {
  const int fd = open(readable("file").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return broken("open");
  return by_result(fcntl(fd, F_SETLEASE, F_RDLCK), "fcntl F_SETLEASE");
}
Answer grant_set_times() {
  const timespec times[2] = {{1, 0}, {1, 0}};
  return by_result(utimensat(AT_FDCWD, readable("file").c_str(), times, 0), "utimensat");
}
Answer grant_set_attribute() {
  return by_result(setxattr(readable("file").c_str(), "user.mark", "x", 1, 0), "setxattr");
}
Answer grant_execute() {
  const int status = run(readable("program"), {});
  return status == -1 ? refused("exec") : reached("ran what was granted for reading");
}
Answer grant_execute_by_loader() {
  const int status = run("/lib64/ld-linux-x86-64.so.2", {readable("program")});
  if (status == -1) return broken("the loader could not be run");
  return status == 0 ? reached("the loader ran it") : refused_by(EACCES, "the loader failed");
}
Answer grant_map_executable() {
  const int fd = open(readable("program").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return broken("open");
  return mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED
             ? refused("mmap PROT_EXEC")
             : reached("mapped it executable");
}

constexpr Attempt kAttempts[] = {
    {"read_file", read_file},
    {"write_file", write_file},
    {"append_file", append_file},
    {"create_file", create_file},
    {"open_truncating", open_truncating},
    {"create_nameless_file", create_nameless_file},
    {"remove_file", remove_file},
    {"remove_folder", remove_folder},
    {"make_folder", make_folder},
    {"make_fifo", make_fifo},
    {"make_socket", make_socket},
    {"rename_file", rename_file},
    {"rename_out", rename_out},
    {"rename_in", rename_in},
    {"exchange_files", exchange_files},
    {"rename_own_folder", rename_own_folder},
    {"link_outside", link_outside},
    {"link_in", link_in},
    {"symlink_outside", symlink_outside},
    {"symlink_in", symlink_in},
    {"planted_symlink", planted_symlink},
    {"truncate_file", truncate_file},
    {"chmod_file", chmod_file},
    {"chown_file", chown_file},
    {"set_times", set_times},
    {"set_attribute", set_attribute},
    {"get_attribute", get_attribute},
    {"stat_file", stat_file},
    {"statx_file", statx_file},
    {"statfs_folder", statfs_folder},
    {"test_access", test_access},
    {"read_link", read_link},
    {"list_folder", list_folder},
    {"watch_folder", watch_folder},
    {"change_folder", change_folder},
    {"open_path_only", open_path_only},
    {"reopen_named", reopen_named},
    {"link_named", link_named},
    {"execute_named", execute_named},
    {"read_after_entering", read_after_entering},
    {"open_by_handle", open_by_handle},
    {"execute_file", execute_file},
    {"climb_from_own_folder", climb_from_own_folder},
    {"climb_relative", climb_relative},
    {"through_own_root", through_own_root},
    {"through_own_cwd", through_own_cwd},
    {"through_roots_parent", through_roots_parent},
    {"read_signing_key", read_signing_key},
    {"read_record", read_record},
    {"append_record", append_record},
    {"truncate_record", truncate_record},
    {"rename_record", rename_record},
    {"remove_record", remove_record},
    {"read_ssh_key", read_ssh_key},
    {"write_shell_start", write_shell_start},
    {"set_uid_bit", set_uid_bit},
    {"set_uid_bit_at_creation", set_uid_bit_at_creation},
    {"open_disk", open_disk},
    {"open_kernel_messages", open_kernel_messages},
    {"make_device", make_device},
    {"open_sysrq", open_sysrq},
    {"open_core_pattern", open_core_pattern},
    {"open_own_sysctl", open_own_sysctl},
    {"open_kernel_memory", open_kernel_memory},
    {"read_page_flags", read_page_flags},
    {"open_cgroup_tree", open_cgroup_tree},
    {"open_sysfs", open_sysfs},
    {"grant_write_file", grant_write_file},
    {"grant_create_file", grant_create_file},
    {"grant_remove_file", grant_remove_file},
    {"grant_truncate_file", grant_truncate_file},
    {"grant_chmod_file", grant_chmod_file},
    {"grant_set_times", grant_set_times},
    {"grant_take_lease", grant_take_lease},
    {"grant_set_attribute", grant_set_attribute},
    {"grant_execute", grant_execute},
    {"grant_execute_by_loader", grant_execute_by_loader},
    {"grant_map_executable", grant_map_executable},
};

}  // namespace

const std::span<const Attempt> kFileAttempts = kAttempts;

}  // namespace probe
