// SPDX-License-Identifier: Apache-2.0 OR MIT
// The host's listeners and its shared objects.
#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "tests/probes/host.h"

namespace host {

void Listeners::open_inet(int type, const char* name) {
  const auto fd = static_cast<int>(check(socket(AF_INET, type | SOCK_CLOEXEC, 0), "socket"));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  check(bind(fd, generic, size), "bind to loopback");
  check(getsockname(fd, generic, &size), "getsockname");
  if (type == SOCK_STREAM) check(listen(fd, 8), "listen");
  facts_[name] = std::to_string(ntohs(address.sin_port));
  char hex[16];
  static_cast<void>(std::snprintf(hex, sizeof hex, ":%04X", ntohs(address.sin_port)));
  if (type == SOCK_STREAM) facts_["tcp_in_hex"] = hex;
  listeners_.push_back({name, fd});
}

void Listeners::open_unix(int type, const char* name, const std::string& address_text) {
  const auto fd = static_cast<int>(check(socket(AF_UNIX, type | SOCK_CLOEXEC, 0), "socket"));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (address_text.size() >= sizeof address.sun_path) fail("a path too long: " + address_text);
  std::memcpy(address.sun_path, address_text.data(), address_text.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_text.size());
  check(bind(fd, reinterpret_cast<const sockaddr*>(&address), size), "bind");
  if (type == SOCK_STREAM) check(listen(fd, 8), "listen");
  facts_[name] = address_text[0] == '\0' ? address_text.substr(1) : address_text;
  listeners_.push_back({name, fd});
}

void Listeners::open(const std::string& folder, const std::string& shared_folder) {
  open_inet(SOCK_STREAM, "tcp");
  open_inet(SOCK_DGRAM, "udp");
  open_unix(SOCK_STREAM, "socket", folder + "/socket");
  open_unix(SOCK_DGRAM, "dgram", folder + "/dgram");
  const std::string name = std::string(1, '\0') + "aegis-probe-" + std::to_string(getpid()) + "-";
  open_unix(SOCK_STREAM, "abstract", name + "stream");
  open_unix(SOCK_DGRAM, "abstract_dgram", name + "dgram");
  open_unix(SOCK_DGRAM, "granted_dgram", shared_folder + "/dgram");
  open_unix(SOCK_STREAM, "granted_socket", shared_folder + "/socket");
}

void Listeners::tell(Facts& facts) const {
  facts.insert(facts_.begin(), facts_.end());
}

void Listeners::report(Harm& harm) const {
  for (const Listener& listener : listeners_) {
    pollfd waiting = {listener.fd, POLLIN, 0};
    if (poll(&waiting, 1, 0) == 1) harm.push_back("somebody reached " + listener.name);
  }
}

// --- Shared objects
// -------------------------------------------------------------------------------

void Objects::make() {
  key_ = 0x61670000 ^ getpid();
  shared_memory_ =
      static_cast<int>(check(shmget(key_, 4096, IPC_CREAT | IPC_EXCL | 0600), "shmget"));
  void* held = shmat(shared_memory_, nullptr, 0);
  if (held == MAP_FAILED) fail("shmat");
  std::memcpy(held, kSecret.data(), kSecret.size());
  shmdt(held);
  messages_ = static_cast<int>(check(msgget(key_, IPC_CREAT | IPC_EXCL | 0600), "msgget"));
  struct {
    long type;
    char text[64];
  } message = {1, {}};
  std::memcpy(message.text, kSecret.data(), kSecret.size());
  check(msgsnd(messages_, &message, sizeof message.text, IPC_NOWAIT), "msgsnd");
  semaphores_ = static_cast<int>(check(semget(key_, 1, IPC_CREAT | IPC_EXCL | 0600), "semget"));

  name_ = "/aegis-probe-" + std::to_string(getpid());
  const auto fd =
      static_cast<int>(check(shm_open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600), "shm_open"));
  check(write(fd, kSecret.data(), kSecret.size()), "write");
  close(fd);
  const mqd_t queue = mq_open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, 0600, nullptr);
  check(queue, "mq_open");
  check(mq_send(queue, kSecret.data(), kSecret.size(), 0), "mq_send");
  mq_close(queue);

  // Descendants inherit the session keyring, whatever namespaces they are put in.
  check(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr), "keyctl JOIN_SESSION_KEYRING");
  secret_key_ = check(syscall(SYS_add_key,
                              "user",
                              "aegis-probe",
                              kSecret.data(),
                              kSecret.size(),
                              KEY_SPEC_SESSION_KEYRING),
                      "add_key");
}

void Objects::tell(Facts& facts) const {
  for (const char* name : {"shm", "msg", "sem"})
    facts[name] = std::to_string(key_);
  facts["shm_id"] = std::to_string(shared_memory_);
  facts["name"] = name_;
  facts["key"] = std::to_string(secret_key_);
}

void Objects::report(Harm& harm) const {
  shmid_ds memory = {};
  shmctl(shared_memory_, IPC_STAT, &memory);
  // SHM_DEST aside: who attaches leaves its process id (ours was the first).
  if (memory.shm_lpid != getpid()) harm.push_back("the shared memory was attached");
  msqid_ds messages = {};
  msgctl(messages_, IPC_STAT, &messages);
  if (messages.msg_qnum != 1) harm.push_back("the message was taken");
  if (semctl(semaphores_, 0, GETVAL) != 0) harm.push_back("the semaphore was moved");
  const int fd = shm_open(name_.c_str(), O_RDONLY, 0);
  if (fd < 0) harm.push_back("the POSIX shared memory is gone");
  close(fd);
  const mqd_t queue = mq_open(name_.c_str(), O_RDONLY);
  mq_attr found = {};
  if (mq_getattr(queue, &found) != 0 || found.mq_curmsgs != 1)
    harm.push_back("the POSIX message was taken");
  mq_close(queue);
  char held[64] = {};
  syscall(SYS_keyctl, KEYCTL_READ, secret_key_, held, sizeof held);
  if (kSecret != held) harm.push_back("the key was changed");
  if (syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "aegis-probe-new", 0) >=
      0)
    harm.push_back("a key was added");
}

void Objects::remove() const {
  shmctl(shared_memory_, IPC_RMID, nullptr);
  msgctl(messages_, IPC_RMID, nullptr);
  semctl(semaphores_, 0, IPC_RMID);
  shm_unlink(name_.c_str());
  mq_unlink(name_.c_str());
}

}  // namespace host
