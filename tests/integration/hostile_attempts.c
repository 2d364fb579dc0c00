/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tests/integration/hostile_attempts.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

/* The socket to the host, and the host itself, which made it. */
static int host_socket(pid_t* host) {
  for (int fd = 3; fd < 1024; ++fd) {
    struct ucred who;
    socklen_t size = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 || who.pid <= 0) continue;
    *host = who.pid;
    return fd;
  }
  *host = getppid();
  return -1;
}
static pid_t host_process(void) {
  pid_t host;
  host_socket(&host);
  return host;
}

static int opens(const char* path, int flags) {
  const int fd = open(path, flags | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
  return fd >= 0;
}
static int opens_of_host(const char* file, int flags) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)host_process(), file);
  return opens(path, flags);
}

/* Tries the attempt on each file listed in a variable. The list has the paths without their first slash, so that they
   do not count as paths that the user names to drivers. */
static int any_file(int (*attempt)(const char* path)) {
  const char* list = getenv("ASSAY_TEST_FILES");
  char copy[8192], *rest = copy, *name;
  int done = 0;
  snprintf(copy, sizeof copy, "%s", list == NULL ? "" : list);
  while ((name = strsep(&rest, ":")) != NULL) {
    char path[4096];
    snprintf(path, sizeof path, "/%s", name);
    if (attempt(path)) fprintf(stderr, "%s is open to a plugin\n", path), done = 1;
  }
  return done || list == NULL;
}

/* ---- processes ---- */

static int stop_host(void) {
  return kill(host_process(), SIGSTOP) == 0;
}
static int kill_host(void) {
  return kill(host_process(), SIGKILL) == 0;
}
static int kill_supervisor(void) {
  return kill(getppid(), SIGKILL) == 0;
}
/* Whether it might: nothing is sent. */
static int may_signal(void) {
  const pid_t host = host_process();
  const int descriptor = (int)syscall(SYS_pidfd_open, host, 0);
  return kill(host, 0) == 0 || kill(getppid(), 0) == 0 || syscall(SYS_tgkill, host, host, 0) == 0 ||
         syscall(SYS_tkill, host, 0) == 0 || (descriptor >= 0 && syscall(424, descriptor, 0, NULL, 0) == 0);
}
/* Any signal can be what a file's owner is told of its changes with. */
static int signal_by_pipe(void) {
  int ends[2];
  if (pipe(ends) != 0) return 0;
  fcntl(ends[0], F_SETOWN, host_process());
  fcntl(ends[0], F_SETSIG, SIGKILL);
  fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK);
  const int wrote = write(ends[1], "x", 1) == 1;
  close(ends[0]), close(ends[1]);
  return !wrote; /* the test looks at whether the host is still there */
}
static int trace_host(void) {
  return ptrace(PTRACE_SEIZE, host_process(), NULL, NULL) == 0;
}
static int read_memory(void) {
  char byte;
  const struct iovec here = {&byte, 1}, there = {NULL, 1};
  const int may = process_vm_readv(host_process(), &here, 1, &there, 1, 0) >= 0 || errno == EFAULT;
  return may || opens_of_host("mem", O_RDWR) || opens_of_host("maps", O_RDONLY);
}
static int read_environment(void) {
  return opens_of_host("environ", O_RDONLY) || opens_of_host("fd/1", O_RDONLY);
}
static int read_command_line(void) {
  return opens_of_host("cmdline", O_RDONLY);
}
static int limit_host(void) {
  struct rlimit limit;
  return prlimit(host_process(), RLIMIT_CPU, NULL, &limit) == 0;
}

/* ---- files, variables, network ---- */

static int reads(const char* path) {
  return opens(path, O_RDONLY);
}
static int writes(const char* path) {
  char inside[4200];
  struct stat info;
  if (stat(path, &info) != 0) return 0;
  if (!S_ISDIR(info.st_mode)) return opens(path, O_WRONLY);
  snprintf(inside, sizeof inside, "%s/planted", path);
  return opens(inside, O_CREAT | O_WRONLY);
}
static int changes_mode(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 && chmod(path, info.st_mode & 0777) == 0;
}
static int read_files(void) {
  return any_file(reads);
}
static int write_files(void) {
  return any_file(writes);
}
static int change_modes(void) {
  return any_file(changes_mode);
}
static int changes_times(const char* path) {
  return utimensat(AT_FDCWD, path, NULL, 0) == 0 || utimes(path, NULL) == 0 || utime(path, NULL) == 0 ||
         syscall(SYS_futimesat, AT_FDCWD, path, NULL) == 0;
}
static int change_times(void) {
  return any_file(changes_times);
}
/* An open file needs no path: that of its own library, which it may read. */
static int change_open_file(void) {
  static const char mark = 0;
  Dl_info own;
  const int fd = dladdr(&mark, &own) == 0 ? -1 : open(own.dli_fname, O_RDONLY | O_CLOEXEC);
  int flags = 0;
  return fd < 0 || futimens(fd, NULL) == 0 || fchown(fd, (uid_t)-1, (gid_t)-1) == 0 ||
         (fsetxattr(fd, "user.assay", "x", 1, 0) == 0 && fremovexattr(fd, "user.assay") == 0) ||
         (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0);
}
static int watches(const char* path) {
  const int fd = inotify_init1(IN_CLOEXEC);
  return fd >= 0 && inotify_add_watch(fd, path, IN_ALL_EVENTS) >= 0;
}
static int watch_files(void) {
  return any_file(watches);
}
static int read_variables(void) {
  return getenv("ASSAY_GOLDEN_STORE") != NULL || getenv("ASSAY_TEST_API_KEY") != NULL ||
         getenv("USER_OWN_VARIABLE") != NULL;
}
/* The home and current folder are its own, and empty. */
static int find_home(void) {
  const char* home = getenv("HOME");
  char here[4096];
  if (home == NULL || getcwd(here, sizeof here) == NULL || strcmp(home, here) != 0) return 1;
  FILE* file = fopen("stray/left", "w"); /* has to be gone after the run, whatever it is */
  if (file != NULL || mkdir("stray", 0700) != 0) return 1;
  file = fopen("stray/left", "w");
  if (file == NULL) return 1;
  fclose(file);
  return chdir("stray") != 0 || fchmod(open("..", O_RDONLY), 0500) != 0;
}
static int use_network(void) {
  struct sockaddr_un name = {AF_UNIX, "/nowhere"};
  if (socket(AF_INET, SOCK_DGRAM, 0) >= 0) return 1;
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  return connect(fd, (struct sockaddr*)&name, sizeof name) == 0 || errno == ENOENT || errno == ECONNREFUSED;
}
static int use_netlink(void) {
  return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) >= 0;
}
/* A datagram needs no connection, and raw sockets of this family are of datagrams. */
static int make_datagrams(void) {
  int pair[2];
  return socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0 || socket(AF_UNIX, SOCK_RAW, 0) >= 0 ||
         socketpair(AF_UNIX, SOCK_RAW | SOCK_CLOEXEC, 0, pair) == 0;
}
/* A name in no folder, like CUDA's: binding it is permitted, and nobody can connect to it. */
static int serve_socket(void) {
  struct sockaddr_un name = {AF_UNIX, ""};
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
  snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "assay-test-%d", (int)getpid());
  if (fd < 0 || bind(fd, (struct sockaddr*)&name, sizeof name) != 0 || listen(fd, 1) != 0) return 1;
  return accept(fd, NULL, NULL) >= 0 || errno == EAGAIN || accept4(fd, NULL, NULL, 0) >= 0 || errno == EAGAIN;
}
static int enter_namespace(void) {
  return syscall(SYS_unshare, 0x10000000 /* CLONE_NEWUSER */) == 0;
}

/* ---- what stays behind ---- */

/* A process that leaves group, session and parents, and says who it is. */
static int leave_daemon(void) {
  const char* file = getenv("ASSAY_TEST_DAEMON_FILE");
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    setsid();
    FILE* out = fopen(file, "w");
    if (out != NULL) fprintf(out, "%d\n", (int)getpid()), fclose(out);
    signal(SIGTERM, SIG_IGN);
    for (int fd = 0; fd < 1024; ++fd) close(fd);
    for (;;) pause();
  }
  for (int wait = 0; wait < 500 && access(file, R_OK) != 0; ++wait) usleep(10000);
  return 0;
}
static int leave_daemon_and_hang(void) {
  leave_daemon();
  while (pause() == -1) continue;
  return 0;
}
/* Folders so deep that no path reaches the innermost. */
static int leave_deep_folders(void) {
  for (int i = 0; i < 1000; ++i) {
    if (mkdir("deep", 0700) != 0 || chdir("deep") != 0) return 1;
  }
  const int fd = open("file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  return fd < 0 || fchmod(open("..", O_RDONLY | O_CLOEXEC), 0) != 0;
}
static int fill_file(void) {
  char bytes[65536] = {0};
  const int fd = open("large", O_CREAT | O_WRONLY, 0600);
  for (int i = 0; i < 1024; ++i) {
    if (write(fd, bytes, sizeof bytes) < 0) break;
  }
  return 0;
}
static int fill_memory(void) {
  for (size_t filled = 0; filled < (size_t)4 << 30; filled += (size_t)64 << 20) {
    char* bytes = malloc((size_t)64 << 20);
    if (bytes == NULL) abort();
    memset(bytes, 1, (size_t)64 << 20);
  }
  return 1;
}
static int start_processes(void) {
  for (int i = 0; i < 200; ++i) {
    const pid_t child = fork();
    if (child < 0) {
      fprintf(stderr, "fork: %s\n", strerror(errno));
      abort();
    }
    if (child == 0) {
      for (;;) pause();
    }
  }
  return 1;
}

/* ---- frames that nobody asked for ---- */

static void send_frame(const char* text, size_t size) {
  const uint32_t length = (uint32_t)size;
  pid_t host;
  const int fd = host_socket(&host);
  char header[8] = "asy1";
  memcpy(header + 4, &length, sizeof length);
  if (send(fd, header, sizeof header, 0) < 0) return;
  for (ssize_t sent; size > 0 && (sent = send(fd, text, size, 0)) > 0; text += sent) size -= (size_t)sent;
}
static const char kForged[] = "{\"status\":0,\"seq\":7,\"seconds\":1e-9,\"begin_ns\":1}";
static int forge_answer(void) {
  send_frame(kForged, sizeof kForged - 1);
  return 0;
}
static void* send_later(void* unused) {
  (void)unused;
  usleep(100000);
  send_frame(kForged, sizeof kForged - 1);
  return NULL;
}
static int answer_late(void) {
  pthread_t thread;
  return pthread_create(&thread, NULL, send_later, NULL);
}
static int nest_deeply(void) {
  enum { kDepth = 1900000 };
  static char text[2 * kDepth + 16];
  memcpy(text, "{\"a\":", 5);
  memset(text + 5, '[', kDepth);
  memset(text + 5 + kDepth, ']', kDepth);
  text[5 + 2 * kDepth] = '}';
  send_frame(text, 6 + 2 * (size_t)kDepth);
  return 0;
}

static const struct {
  const char* name;
  int (*run)(void);
} kAttempts[] = {{"stop_host", stop_host},
                 {"kill_host", kill_host},
                 {"kill_supervisor", kill_supervisor},
                 {"may_signal", may_signal},
                 {"signal_by_pipe", signal_by_pipe},
                 {"trace_host", trace_host},
                 {"read_memory", read_memory},
                 {"read_environment", read_environment},
                 {"read_command_line", read_command_line},
                 {"limit_host", limit_host},
                 {"read_files", read_files},
                 {"write_files", write_files},
                 {"change_modes", change_modes},
                 {"change_times", change_times},
                 {"change_open_file", change_open_file},
                 {"watch_files", watch_files},
                 {"read_variables", read_variables},
                 {"find_home", find_home},
                 {"use_network", use_network},
                 {"use_netlink", use_netlink},
                 {"make_datagrams", make_datagrams},
                 {"serve_socket", serve_socket},
                 {"enter_namespace", enter_namespace},
                 {"leave_daemon", leave_daemon},
                 {"leave_daemon_and_hang", leave_daemon_and_hang},
                 {"leave_deep_folders", leave_deep_folders},
                 {"fill_file", fill_file},
                 {"fill_memory", fill_memory},
                 {"start_processes", start_processes},
                 {"forge_answer", forge_answer},
                 {"answer_late", answer_late},
                 {"nest_deeply", nest_deeply}};
enum { kAttemptCount = sizeof kAttempts / sizeof kAttempts[0] };

static int attempt(const char* name, size_t length) {
  for (int i = 0; i < kAttemptCount; ++i) {
    if (strlen(kAttempts[i].name) == length && memcmp(kAttempts[i].name, name, length) == 0) return kAttempts[i].run();
  }
  return 1;
}

int hostile_attempt(const char* names) {
  int any = 0;
  for (const char* end = strchr(names, ','); end != NULL; names = end + 1, end = strchr(names, ',')) {
    any |= attempt(names, (size_t)(end - names));
  }
  return attempt(names, strlen(names)) | any;
}
