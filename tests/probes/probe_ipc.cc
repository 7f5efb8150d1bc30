// SPDX-License-Identifier: Apache-2.0 OR MIT
// Attempts on the host's System V and POSIX objects (params shm, msg, sem: their keys; shm_id;
// name: of the POSIX ones), and on its keys (param key: a serial; in the caller's session keyring).
#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "tests/probes/probe.h"

namespace probe {
namespace {

key_t key_of(const char* name) {
  return static_cast<key_t>(number(name));
}

Answer attach_shared(int id) {
  const void* held = shmat(id, nullptr, SHM_RDONLY);
  if (held == MAP_FAILED) return refused("shmat");
  return kSecret == static_cast<const char*>(held) ? reached("read the secret in it")
                                                   : broken("no secret there");
}
Answer shared_memory_by_key() {
  const int id = shmget(key_of("shm"), 0, 0);
  return id < 0 ? refused("shmget") : attach_shared(id);
}
Answer shared_memory_by_id() {
  return attach_shared(static_cast<int>(number("shm_id")));
}
Answer list_shared_memory() {
  shmid_ds found = {};
  return by_result(shmctl(static_cast<int>(number("shm_id")), IPC_STAT, &found), "shmctl");
}

Answer message_queue() {
  const int id = msgget(key_of("msg"), 0);
  if (id < 0) return refused("msgget");
  struct {
    long type;
    char text[64];
  } message = {};
  return by_result(msgrcv(id, &message, sizeof message.text, 0, IPC_NOWAIT), "msgrcv");
}
Answer semaphores() {
  const int id = semget(key_of("sem"), 0, 0);
  if (id < 0) return refused("semget");
  sembuf step = {0, 1, 0};
  return by_result(semop(id, &step, 1), "semop");
}

Answer posix_shared_memory() {
  const int fd = shm_open(param("name").c_str(), O_RDWR, 0);
  if (fd < 0) return refused("shm_open");
  return reads_secret("/dev/shm" + param("name"));
}
Answer posix_remove_shared_memory() {
  return by_result(shm_unlink(param("name").c_str()), "shm_unlink");
}
Answer posix_message_queue() {
  const mqd_t queue = mq_open(param("name").c_str(), O_RDWR | O_NONBLOCK);
  if (queue < 0) return refused("mq_open");
  char text[8192];
  return by_result(mq_receive(queue, text, sizeof text, nullptr), "mq_receive");
}

Answer read_key() {
  char held[64] = {};
  if (syscall(SYS_keyctl, KEYCTL_READ, number("key"), held, sizeof held) < 0)
    return refused("keyctl READ");
  return kSecret == held ? reached("read the caller's key") : broken("no secret in it");
}
Answer search_key() {
  return by_result(
      syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "aegis-probe", 0),
      "keyctl SEARCH");
}
Answer change_key() {
  return by_result(syscall(SYS_keyctl, KEYCTL_UPDATE, number("key"), "X", 1), "keyctl UPDATE");
}
Answer add_key() {
  return by_result(
      syscall(SYS_add_key, "user", "aegis-probe-new", "x", 1, KEY_SPEC_SESSION_KEYRING), "add_key");
}
Answer request_key() {
  return by_result(syscall(SYS_request_key, "user", "aegis-probe", nullptr, 0), "request_key");
}
Answer new_session_keyring() {
  return by_result(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr), "keyctl JOIN");
}

// No more than its name and its size.
Answer list_keys() {
  std::ifstream table("/proc/keys");
  if (!table) return refused_by(EACCES, "open /proc/keys");
  for (std::string line; std::getline(table, line);) {
    if (line.find("aegis-probe") != std::string::npos) return reached("saw the caller's key");
  }
  return refused_by(ENOENT, "no key of the caller's is shown");
}

constexpr Attempt kAttempts[] = {
    {"shared_memory_by_key", shared_memory_by_key},
    {"shared_memory_by_id", shared_memory_by_id},
    {"list_shared_memory", list_shared_memory},
    {"message_queue", message_queue},
    {"semaphores", semaphores},
    {"posix_shared_memory", posix_shared_memory},
    {"posix_remove_shared_memory", posix_remove_shared_memory},
    {"posix_message_queue", posix_message_queue},
    {"read_key", read_key},
    {"search_key", search_key},
    {"change_key", change_key},
    {"add_key", add_key},
    {"request_key", request_key},
    {"list_keys", list_keys},
    {"new_session_keyring", new_session_keyring},
};

}  // namespace

const std::span<const Attempt> kIpcAttempts = kAttempts;

}  // namespace probe
