// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/sandbox/syscall_filter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace assay {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

// System calls that the C library of Debian 12 does not name. Their numbers are equal on every architecture.
constexpr uint32_t kFchmodat2 = 452, kSetxattrat = 463, kRemovexattrat = 466, kFileSetattr = 469;

constexpr uint32_t kRefused[] = {
    // Memory and descriptors of other processes.
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_getfd, SYS_process_madvise,
    // Other views of the system; they would also undo what a folder's rules say.
    SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_move_mount, SYS_open_tree,
    SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr, SYS_open_by_handle_at,
    // The kernel's own workings; io_uring does what this list refuses without a system call.
    SYS_bpf, SYS_perf_event_open, SYS_io_uring_setup, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_init_module,
    SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_userfaultfd,
    // Landlock says nothing about who may use a file and what its times are, only about opening it. An open file may
    // have been opened to read alone; fchmod remains, which CUDA's runtime links.
    SYS_fchmodat, kFchmodat2, SYS_fchownat, SYS_fchown, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr,
    SYS_lremovexattr, SYS_fremovexattr, kSetxattrat, kRemovexattrat, kFileSetattr, SYS_utimensat,
#if defined(__x86_64__)
    SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat, SYS_kexec_file_load,
#endif
    // Nor does it keep anybody from being told what is made and opened in a folder that he may not look into.
    SYS_inotify_init1, SYS_fanotify_init,
#if defined(__x86_64__)
    SYS_inotify_init,
#endif
    // Objects that have no name in a folder and outlive every process.
    SYS_shmget, SYS_msgget, SYS_semget, SYS_mq_open,
    // A session's bus or a daemon would start programs outside, at a word over a socket. CUDA binds and listens to one,
    // but nobody outside has an answer from it.
    SYS_connect, SYS_accept, SYS_accept4};

constexpr uint32_t kNamespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

class Filter {
 public:
  Filter() {
    Add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
    Skip(BPF_JEQ, kArchitecture, 1, 0);
    Refuse(ENOSYS);  // the calls of another architecture have other numbers
    LoadNumber();
#if defined(__x86_64__)
    Skip(BPF_JGE, 0x40000000, 0, 1);  // and so have those of x32
    Refuse(ENOSYS);
#endif
  }

  void RefuseCall(uint32_t number, int error = EPERM) {
    Skip(BPF_JEQ, number, 0, 1);
    Refuse(error);
  }
  // Unless the lower half of the argument is one of these: the kernel takes processes and signals as 32 bits.
  void RefuseUnless(uint32_t number, size_t argument, std::initializer_list<uint32_t> allowed) {
    const auto rest = static_cast<uint8_t>(allowed.size() + 2);
    Skip(BPF_JEQ, number, 0, rest + 1);
    LoadArgument(argument);
    uint8_t left = static_cast<uint8_t>(allowed.size());
    for (const uint32_t value : allowed) Skip(BPF_JEQ, value, left--, 0);
    Refuse(EPERM);
    LoadNumber();
  }
  void RefuseIf(uint32_t number, size_t argument, std::initializer_list<uint32_t> refused) {
    for (const uint32_t value : refused) {
      Skip(BPF_JEQ, number, 0, 4);
      LoadArgument(argument);
      Skip(BPF_JEQ, value, 0, 1);
      Refuse(EPERM);
      LoadNumber();
    }
  }
  void RefuseBits(uint32_t number, size_t argument, uint32_t bits) {
    Skip(BPF_JEQ, number, 0, 4);
    LoadArgument(argument);
    Skip(BPF_JSET, bits, 0, 1);
    Refuse(EPERM);
    LoadNumber();
  }

  Status Install() {
    Add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const sock_fprog program{static_cast<uint16_t>(lines_.size()), lines_.data()};
    if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0) return {};
    return Fail(ErrorCode::kIo, fmt::format("seccomp: the filter is refused: {}", std::strerror(errno)));
  }

 private:
  void Add(uint32_t code, uint32_t value) {
    lines_.push_back(BPF_STMT(static_cast<uint16_t>(code), value));
  }
  void Skip(uint32_t test, uint32_t value, uint8_t if_true, uint8_t if_false) {
    lines_.push_back(BPF_JUMP(static_cast<uint16_t>(BPF_JMP | test | BPF_K), value, if_true, if_false));
  }
  void Refuse(int error) {
    Add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(error));
  }
  void LoadNumber() {
    Add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  }
  void LoadArgument(size_t i) {
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the lower half is the second one elsewhere");
    Add(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offsetof(seccomp_data, args) + i * sizeof(uint64_t)));
  }

  std::vector<sock_filter> lines_;
};

// To itself and its group. A file's owner can be told of its changes with any signal as well.
void RefuseSignals(Filter& filter, uint32_t self) {
  constexpr uint32_t kOwnerOfFile = 0x8901, kOwnerOfSocket = 0x8902;  // FIOSETOWN, SIOCSPGRP
  filter.RefuseUnless(SYS_kill, 0, {self, 0, static_cast<uint32_t>(-static_cast<int32_t>(self))});
  filter.RefuseUnless(SYS_tgkill, 0, {self});
  filter.RefuseUnless(SYS_rt_sigqueueinfo, 0, {self});
  filter.RefuseUnless(SYS_rt_tgsigqueueinfo, 0, {self});
  filter.RefuseCall(SYS_tkill);
  filter.RefuseCall(SYS_pidfd_send_signal);
  filter.RefuseIf(SYS_fcntl, 1, {F_SETOWN, F_SETOWN_EX});
  filter.RefuseIf(SYS_ioctl, 1, {kOwnerOfFile, kOwnerOfSocket});
}

constexpr uint32_t kSetFlags = FS_IOC_SETFLAGS, kSetAttributes = FS_IOC_FSSETXATTR;  // of a file, as chattr does

}  // namespace

Status RefuseSystemCalls(bool signals) {
  const auto self = static_cast<uint32_t>(::getpid());
  Filter filter;
  for (const uint32_t number : kRefused) filter.RefuseCall(number);
  // Its flags lie in memory, where a filter does not see them; the C library then takes clone.
  filter.RefuseCall(SYS_clone3, ENOSYS);
  filter.RefuseBits(SYS_clone, 0, kNamespaces);
  filter.RefuseUnless(SYS_socket, 0, {AF_UNIX});
  filter.RefuseUnless(SYS_prlimit64, 0, {0, self});
  // A datagram reaches a daemon without a connection, also from one of a pair; SOCK_RAW makes such sockets as well.
  constexpr uint32_t kStream = SOCK_STREAM, kPackets = SOCK_SEQPACKET, kExec = SOCK_CLOEXEC, kNow = SOCK_NONBLOCK;
  for (const uint32_t number : {uint32_t{SYS_socket}, uint32_t{SYS_socketpair}}) {
    filter.RefuseUnless(number, 1,
                        {kStream, kStream | kExec, kStream | kNow, kStream | kExec | kNow, kPackets, kPackets | kExec,
                         kPackets | kNow, kPackets | kExec | kNow});
  }
  filter.RefuseIf(SYS_ioctl, 1, {kSetFlags, kSetAttributes});
  filter.RefuseIf(SYS_prctl, 0, {PR_SET_DUMPABLE});  // which libraries it has loaded is seen from outside
  filter.RefuseIf(SYS_setpriority, 0, {uint32_t{PRIO_PGRP}, uint32_t{PRIO_USER}});  // the host, and workers of others
  filter.RefuseCall(SYS_ioprio_set);
  if (signals) RefuseSignals(filter, self);
  return filter.Install();
}

}  // namespace assay
