// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/sandbox/supervisor.h"

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "harness/exec/sandbox/worker_folder.h"

namespace assay {
namespace {

// Returns the parent of a process from /proc; 0 if the process has ended.
pid_t ParentOf(pid_t pid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/status", static_cast<int>(pid));
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return 0;
  char line[256];
  int parent = 0;
  while (std::fgets(line, sizeof line, file) != nullptr && std::sscanf(line, "PPid: %d", &parent) != 1) {
  }
  std::fclose(file);
  return parent;
}

void KillChildren() {
  DIR* processes = ::opendir("/proc");
  if (processes == nullptr) return;
  while (const dirent* entry = ::readdir(processes)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid > 0 && ParentOf(pid) == ::getpid()) ::kill(pid, SIGKILL);
  }
  ::closedir(processes);
}

// The children of a child that ends become children of this process: there are none left once it has none. Given up
// after some seconds, which only processes that start others faster than they are found can take.
void EndDescendants(const sigset_t& awaited) {
  constexpr int kMostRounds = 500;
  constexpr timespec kRound{0, 10'000'000};
  for (int round = 0; round < kMostRounds; ++round) {
    pid_t ended;
    while ((ended = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (ended < 0 && errno == ECHILD) return;
    KillChildren();
    ::sigtimedwait(&awaited, nullptr, &kRound);
  }
  std::fprintf(stderr, "assay worker: the plugin started processes that could not be ended\n");
}

// Until the worker has ended; what else ends meanwhile was left to this process by its parent. The worker stays a
// zombie: its group's number is not used again before the group is killed.
void AwaitWorker(pid_t worker, const sigset_t& awaited) {
  for (;;) {
    for (;;) {
      siginfo_t ended{};
      if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) break;
      if (ended.si_pid == worker) return;
      ::waitpid(ended.si_pid, nullptr, 0);
    }
    if (::sigwaitinfo(&awaited, nullptr) == SIGTERM) ::kill(worker, SIGKILL);
  }
}

// Ends this process in the same way as the worker ended.
[[noreturn]] void EndAs(int status) {
  if (WIFSIGNALED(status)) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    std::signal(WTERMSIG(status), SIG_DFL);
    sigset_t one;  // another that waits, as SIGTERM of an impatient host, would tell another end
    ::sigemptyset(&one);
    ::sigaddset(&one, WTERMSIG(status));
    ::kill(::getpid(), WTERMSIG(status));
    ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
  }
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

[[noreturn]] void Supervise(pid_t worker, const sigset_t& awaited) {
  ::prctl(PR_SET_NAME, "assay-supervise");
  ::prctl(PR_SET_DUMPABLE, 0);
  AwaitWorker(worker, awaited);
  ::kill(-worker, SIGKILL);
  int status = 0;
  ::waitpid(worker, &status, 0);
  EndDescendants(awaited);
  if (const char* folder = std::getenv(kFolderVariable); folder != nullptr) {
    if (const std::string problem = RemoveFolder(folder); !problem.empty()) {
      std::fprintf(stderr, "assay: a plugin's temporary folder cannot be removed (%s); rm -r %s\n", problem.c_str(),
                   folder);
    }
  }
  EndAs(status);
}

}  // namespace

void RunSupervised(int socket) {
  const pid_t supervisor = ::getpid();
  sigset_t awaited, before;
  ::sigemptyset(&awaited);
  ::sigaddset(&awaited, SIGCHLD);
  ::sigaddset(&awaited, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &awaited, &before);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t worker = ::fork();
  if (worker < 0) {
    std::perror("assay: cannot start the worker");
    ::_exit(1);
  }
  if (worker > 0) {
    ::close(socket);
    Supervise(worker, awaited);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(1);  // it ended before the line above took effect
  ::setsid();
  ::sigdelset(&before, SIGTERM);  // which the host blocked for the supervisor
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace assay
