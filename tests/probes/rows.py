# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What must become of each attempt of the probe program: the errno that it is refused with in each tier, or the reason
why a tier does not stop it. Every attempt that `probe --list` names stands here, and no other."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Open:
    """The tier does not stop it, and does not say that it does."""
    why: str
    harm: str = ""  # the beginning of what then becomes of a victim


@dataclass(frozen=True)
class Row:
    name: str
    full: object         # errnos (or SIGSYS) of the refusal in tier full, or Open
    landlock: object     # the same in tier landlock, or Open
    needs: object = None      # why the control may not succeed: (reason, errnos that it then ends with)
    full_only: bool = False   # made only where the tree is private: it would change the caller's
    harms: bool = False       # the control must leave its mark on the victims
    ordinary: object = None   # in tier landlock, as an ordinary user, where that differs
    alone: bool = False       # has a test of its own, with what it needs


ROWS = {}


def expected(name, tier, is_root):
    """The errnos of its refusal, or Open."""
    found = ROWS[name]
    if tier == "full":
        return found.full
    return found.landlock if is_root or found.ordinary is None else found.ordinary


def row(name, full, landlock=None, **more):
    def errnos(words):
        return words if isinstance(words, Open) else frozenset(words.split())
    assert name not in ROWS, name
    ROWS[name] = Row(name, errnos(full), errnos(landlock if landlock is not None else full), **more)


# Errnos that say that a kernel has no such thing: a control that ends so is counted as absent. What the sandbox then
# answers cannot be told apart from the kernel where the two are equal.
ABSENT = frozenset("ENOSYS EAFNOSUPPORT EPROTONOSUPPORT ESOCKTNOSUPPORT".split())

NAMES = Open("Landlock hides no names: stat, readlink, getxattr, inotify and their kind")
METADATA = Open("Landlock does not govern chmod, chown, utimes and setxattr on the user's own files", "file was: ")
PROC = Open("without a pid namespace the names in /proc are the host's")
SHM = Open("without a mount namespace /dev/shm is the host's", "the POSIX shared memory is gone")
BOUNDING = Open("an ordinary user cannot drop what no_new_privs keeps it from ever getting")
NET = Open("without a net namespace /proc/net is the host's")
LOADER = Open("Landlock asks at execve, not at mmap: what can be read, the loader can run")
MACHINE = Open("/proc has files that are the whole machine's")
CARVED = Open("without a mount namespace no path in a writable folder can be made read-only")
REAL_ROOT = "it needs root of the initial user namespace"


def rows_of_files():
    for name in ("read_file", "write_file", "append_file", "open_truncating", "create_nameless_file", "remove_file",
                 "remove_folder", "make_folder", "make_fifo", "make_socket", "symlink_outside", "truncate_file",
                 "list_folder", "execute_file", "create_file", "rename_file", "symlink_in", "planted_symlink",
                 "climb_from_own_folder", "climb_relative", "through_roots_parent", "reopen_named", "execute_named",
                 "read_after_entering", "read_signing_key",
                 "read_ssh_key", "write_shell_start"):
        harms = name in ("write_file", "append_file", "open_truncating", "create_nameless_file", "remove_file",
                         "remove_folder", "make_folder", "make_fifo", "make_socket", "symlink_outside",
                         "truncate_file", "create_file", "rename_file")
        row(name, "ENOENT", "EACCES", harms=harms)
    for name in ("read_record", "append_record", "truncate_record", "rename_record", "remove_record"):
        row(name, "ENOENT", "EACCES", alone=True)
    for name in ("rename_out", "rename_in", "exchange_files", "link_in", "link_outside", "link_named"):
        row(name, "ENOENT", "EACCES EXDEV EPERM", harms=True)
    row("rename_own_folder", "EACCES EBUSY EROFS EXDEV ENOENT", "EACCES EXDEV")
    for name in ("through_own_root", "through_own_cwd"):
        row(name, "ENOENT EACCES", "EACCES")
    for name in ("chmod_file", "set_times", "set_attribute"):
        row(name, "ENOENT", METADATA, harms=True)
    row("chown_file", "ENOENT", METADATA)
    for name in ("get_attribute", "stat_file", "statx_file", "statfs_folder", "test_access", "read_link",
                 "watch_folder", "change_folder", "open_path_only"):
        row(name, "ENOENT", NAMES)
    row("open_by_handle", "EPERM", needs=(REAL_ROOT, "EPERM"))
    for name in ("set_uid_bit", "set_uid_bit_at_creation"):
        row(name, "EPERM", "EPERM")
    row("open_disk", "ENOENT", "EACCES", needs=("it needs root", "EACCES ENOENT"))
    row("open_kernel_messages", "ENOENT", "EACCES", needs=(REAL_ROOT, "EPERM EACCES"))
    row("make_device", "EPERM EACCES", needs=(REAL_ROOT, "EPERM"))
    for name in ("open_sysrq", "open_core_pattern", "open_kernel_memory"):
        row(name, "ENOENT EACCES EROFS", "ENOENT EACCES",
            needs=("it needs root, and a kernel that has the file", "EACCES EPERM ENOENT"))
    row("open_own_sysctl", "ENOENT EACCES EROFS", "EACCES")
    row("read_page_flags", "ENODATA EACCES", MACHINE, needs=("it needs root", "EACCES ENOENT"), ordinary=frozenset(["EACCES"]))
    row("open_cgroup_tree", "ENOENT EACCES")
    row("open_sysfs", "ENOENT EACCES")


def rows_of_grants():
    """A folder that was granted for reading."""
    for name in ("grant_write_file", "grant_create_file", "grant_remove_file", "grant_truncate_file"):
        row(name, "EROFS EACCES", "EACCES")
    for name in ("grant_chmod_file", "grant_set_times", "grant_set_attribute"):
        row(name, "EROFS", METADATA)
    row("grant_take_lease", "EINVAL", "EINVAL")
    row("grant_execute", "EACCES")
    row("grant_execute_by_loader", "EACCES", LOADER)
    row("grant_map_executable", "EPERM EACCES", LOADER)


def rows_of_inherited():
    for name in ("fd_read_beside", "fd_climb", "fd_enter", "fd_create_beside", "fd_remove_beside"):
        row(name, "ENOTDIR", alone=True)
    for name in ("fd_read_log", "fd_overwrite_log", "fd_truncate_log", "fd_allocate_log", "fd_seek_log"):
        row(name, "ESPIPE EINVAL EBADF", alone=True)
    for name in ("fd_kind", "fd_set_times", "fd_lock", "fd_set_flags", "fd_reopen"):
        row(name, "ESPIPE EBADF EACCES ENOENT", alone=True)
    for name in ("fd_chmod", "fd_set_attribute"):
        row(name, "ESPIPE EBADF EPERM EOPNOTSUPP", alone=True)
    for name in ("fd_peer", "fd_send_descriptor"):
        row(name, "ENOTSOCK EBADF", alone=True)
    row("fd_beyond_stdio", "EBADF", alone=True)


def rows_of_processes():
    for name in ("attach", "seize", "trace_me", "read_memory", "write_memory", "take_descriptor", "compare"):
        row(name, "EPERM ESRCH", harms=name == "write_memory")
    for name in ("open_memory", "read_environment", "through_its_root", "through_its_cwd", "through_its_descriptor",
                 "read_maps", "read_parents_environment"):
        row(name, "ENOENT", "EACCES EPERM ENOENT")
    for name in ("read_command_line", "list_its_descriptors", "see_in_proc"):
        row(name, "ENOENT", PROC)
    row("read_first_environment", "EACCES EPERM ENOENT")
    for name in ("through_first_root", "through_first_cwd", "through_first_memory", "through_first_descriptors"):
        row(name, "EACCES EPERM ENOENT EROFS")
    row("own_environment", "ENOENT")
    row("all_environments", "ENOENT EACCES")
    row("open_pidfd", "ESRCH", Open("a pidfd gives no right over its process"))
    row("signal_by_pidfd", "ESRCH EPERM", harms=True)
    row("advise_memory", "ESRCH EPERM", needs=(REAL_ROOT, "EPERM"))
    for name in ("read_limits", "set_limits", "set_priority", "set_io_priority", "set_scheduler", "set_affinity"):
        row(name, "ESRCH EPERM", harms=name in ("set_limits", "set_priority", "set_scheduler"))
    row("read_session", "ESRCH", PROC)
    row("robust_list", "ESRCH EPERM")
    row("move_its_pages", "ESRCH EPERM")
    for name in ("signal_one", "signal_thread", "signal_queued", "signal_its_group"):
        row(name, "ESRCH EPERM", harms=True)
    row("signal_runner", "ESRCH EPERM")
    for name in ("signal_all", "signal_own_group", "signal_by_owner"):
        row(name, "ESRCH EPERM", harms=True)


def rows_of_ipc():
    for name in ("shared_memory_by_key", "message_queue", "semaphores", "posix_message_queue"):
        row(name, "ENOENT", "ENOSYS", harms=True)
    row("shared_memory_by_id", "EINVAL", "ENOSYS", harms=True)
    row("list_shared_memory", "EINVAL", "ENOSYS")
    row("posix_shared_memory", "ENOENT", SHM)
    row("posix_remove_shared_memory", "ENOENT", SHM, harms=True)
    for name in ("read_key", "search_key", "change_key", "add_key", "request_key", "new_session_keyring"):
        row(name, "EPERM", harms=name in ("change_key", "add_key"))
    row("list_keys", "ENOENT", MACHINE)


def rows_of_kernel():
    for name in ("unshare_user", "unshare_mount", "unshare_pid", "unshare_net", "unshare_ipc", "unshare_uts",
                 "unshare_cgroup", "unshare_time", "unshare_user_and_net", "clone_user", "clone_mount", "clone_net",
                 "clone_pid", "clone_user_high_bit", "enter_namespaces", "enter_no_namespace", "bpf_lookup",
                 "perf_events", "user_faults", "watch_all_files", "load_module", "load_module_file", "unload_module",
                 "load_kernel", "load_kernel_file", "swap_on", "restart", "set_clock", "set_clock_finely",
                 "set_host_name", "set_domain_name", "change_personality", "raise_io_level",
                 "reach_io_ports", "control_quota", "push_input", "push_input_high_bit", "control_console",
                 "has_capability", "can_gain_privileges", "has_no_filter"):
        row(name, "EPERM")
    row("has_bounding_capability", "EPERM", ordinary=BOUNDING)
    for name in ("tune_clock", "account"):
        row(name, "EPERM", needs=(REAL_ROOT, "EPERM"))
    row("change_user", "EPERM EINVAL", needs=("one user alone is mapped", "EINVAL"))
    for name in ("clone3_user", "uring_setup", "uring_enter", "uring_register"):
        row(name, "ENOSYS")
    for name in ("i386_getpid", "i386_socket", "i386_socketcall"):
        row(name, "SIGSYS")
    for name in ("x32_getpid", "x32_socket"):
        row(name, "SIGSYS ENOSYS")
    for name in ("run_as_owner", "run_system_setuid", "run_with_capabilities"):
        row(name, "EPERM EACCES", alone=True)


def rows_of_mounts():
    for name in ("mount_unknown", "unmount_unknown", "pivot", "change_root", "clone_tree", "move_no_mount",
                 "open_file_system", "pick_file_system", "mount_no_file_system", "set_no_attributes"):
        row(name, "EPERM")
    for name in ("real_mount_over", "real_bind", "real_remount_writable", "real_mount_proc", "real_unmount"):
        row(name, "EPERM", full_only=True)


def rows_of_network():
    for name in ("inet_stream", "inet_datagram", "inet_raw", "inet_ping", "inet_multipath", "inet_smc", "inet_sctp",
                 "inet_udplite", "inet_nonblocking", "inet_high_bit", "inet6_stream", "inet6_datagram", "inet6_raw",
                 "netlink_route", "netlink_diag", "netlink_uevent", "netlink_generic", "netlink_netfilter",
                 "netlink_audit", "packet", "vsock", "xdp", "crypto", "bluetooth", "can", "ipsec_keys", "rds", "tipc",
                 "smc", "kcm", "rxrpc", "qualcomm_router", "phonet", "nfc", "appletalk", "unix_datagram", "unix_raw",
                 "unix_seqpacket", "unix_type_high_bit", "connect_tcp", "connect_granted", "connect_any_address",
                 "fast_open", "send_udp", "listen_unbound", "bind_port", "send_abstract", "send_path",
                 "send_path_raw", "pair_datagram", "pair_raw", "pair_high_bit", "pair_nonblocking"):
        harms = name in ("connect_tcp", "connect_granted", "connect_any_address", "send_udp", "send_abstract",
                         "send_path", "send_path_raw", "pair_datagram", "pair_raw", "pair_high_bit",
                         "pair_nonblocking", "fast_open")
        row(name, "EAFNOSUPPORT", harms=harms)
    row("connect_beside", "EAFNOSUPPORT", needs=("nobody listens there", "ECONNREFUSED"))
    row("connect_abstract", "ECONNREFUSED EPERM", "EAFNOSUPPORT", harms=True)
    row("connect_path", "ENOENT", "EAFNOSUPPORT", harms=True)
    row("list_interfaces", "ENODEV", "EAFNOSUPPORT")
    row("read_connections", "ENOENT EACCES", NET)
    row("read_unix_sockets", "ENOENT EACCES", NET)


def rows_of_workspace():
    for name in ("guard_new_hook", "guard_old_hook", "guard_chmod_hook", "guard_hooks_folder", "guard_remove_hook",
                 "guard_config", "guard_config_through_proc", "guard_replace_config", "guard_exchange_config",
                 "guard_remove_config", "guard_truncate_config", "guard_link_config", "guard_move_git",
                 "guard_exchange_git", "guard_remove_git", "guard_common_dir", "guard_replace_common_dir",
                 "guard_servers", "guard_replace_servers", "guard_tasks", "guard_new_task_file", "guard_move_tasks"):
        row(name, "EROFS EBUSY EXDEV", CARVED, alone=True)
    row("guard_unmount_config", "EPERM", needs=("there is no mount", "EINVAL EPERM"), alone=True)
    for name in ("new_shell_start", "new_editor_folder", "new_agent_by_rename", "new_link_to_folder",
                 "new_locked_folder"):
        row(name, "ENOENT", alone=True)  # moved away meanwhile, or tried: what is left of it decides


for rows in (rows_of_files, rows_of_grants, rows_of_inherited, rows_of_processes, rows_of_ipc, rows_of_kernel,
             rows_of_mounts, rows_of_network, rows_of_workspace):
    rows()
