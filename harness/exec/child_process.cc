// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace assay {
namespace {

struct Pair {
  UniqueFd host, worker;
};

constexpr double kTerminateSeconds = 10;  // for a supervisor to end what its worker started

// Closes what this process or its parents left open by mistake; kernels before 5.9 keep it open.
void CloseAllBut(int fd) {
#ifdef SYS_close_range
  ::syscall(SYS_close_range, 3, fd - 1, 0);
  ::syscall(SYS_close_range, fd + 1, ~0U, 0);
#endif
}

struct Start {
  const char* folder;  // "": where the host is
  char* const* words;
  char* const* variables;
  int socket, stderr_pipe;
  pid_t host;
};

// Between fork and exec of a program with threads: async-signal-safe calls only. A session of its own: no terminal
// whose keys end it, or into which it could type.
[[noreturn]] void RunWorker(const Start& start) {
  ::setsid();
  // For the supervisor to find, which clears up: a process that is killed on the way there would leave the folder.
  sigset_t end;
  ::sigemptyset(&end);
  ::sigaddset(&end, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &end, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != start.host) {  // it ended before the line above took effect
    ::rmdir(start.folder);
    ::_exit(127);
  }
  // Where memory runs out, the kernel ends the worker, whose case that is, and not the host with the run.
  constexpr char kRatherThanTheHost[] = "500";
  const int score = ::open("/proc/self/oom_score_adj", O_WRONLY);
  [[maybe_unused]] const ssize_t scored = ::write(score, kRatherThanTheHost, sizeof kRatherThanTheHost - 1);
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, STDIN_FILENO);
  ::dup2(start.stderr_pipe, STDOUT_FILENO);
  ::dup2(start.stderr_pipe, STDERR_FILENO);
  CloseAllBut(start.socket);
  ::fcntl(start.socket, F_SETFD, 0);
  if (*start.folder == '\0' || ::chdir(start.folder) == 0) ::execve(start.words[0], start.words, start.variables);
  constexpr char kText[] = "assay: cannot run the worker\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  ::_exit(127);
}

Result<Pair> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Fail(ErrorCode::kIo, fmt::format("cannot create a pipe: {}", std::strerror(errno)));
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<Pair> MakeSocketPair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Fail(ErrorCode::kIo, fmt::format("cannot create a socket pair: {}", std::strerror(errno)));
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace

std::vector<char*> MakeArgumentList(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string ExitStatus::Text() const {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    const char* name = ::sigabbrev_np(signal);
    const char* hint = signal == SIGKILL && !killed_by_host ? "; was the kernel out of memory?" : "";
    return fmt::format("was killed by SIG{} ({}){}", name == nullptr ? "?" : name, ::strsignal(signal), hint);
  }
  return fmt::format("exited with code {} (the plugin called exit(), or closed the connection to assay)",
                     WEXITSTATUS(wait_status));
}

bool AnyThreadRuns(pid_t pid) {
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), error)) {
    std::ifstream file(task.path() / "stat");
    std::string text;
    std::getline(file, text);
    // "12 (name) R 1 ...", and the name may hold anything.
    const size_t name_end = text.rfind(") ");
    if (name_end != std::string::npos && text[name_end + 2] == 'R') return true;
  }
  return false;
}

bool ChildProcess::AnyThreadRuns() const {
  return running() && worker_ > 0 && assay::AnyThreadRuns(worker_);
}

Result<ChildProcess> ChildProcess::Spawn(const std::string& executable, std::vector<std::string> variables,
                                         WorkerFolder folder) {
  if (::access(executable.c_str(), X_OK) != 0) {
    return Fail(ErrorCode::kIo,
                fmt::format("the worker program {} cannot be run: {}", executable, std::strerror(errno)));
  }
  Result<Pair> socket = MakeSocketPair();
  if (!socket) return tl::unexpected(socket.error());
  Result<Pair> pipe = MakePipe();
  if (!pipe) return tl::unexpected(pipe.error());
  std::vector<std::string> words = {executable, "worker", "--fd", std::to_string(socket->worker.get())};
  const std::vector<char*> word_pointers = MakeArgumentList(words), variable_pointers = MakeArgumentList(variables);
  const Start start{folder.path().c_str(), word_pointers.data(), variable_pointers.data(),
                    socket->worker.get(),  pipe->worker.get(),   ::getpid()};
  const pid_t pid = ::fork();
  if (pid < 0) return Fail(ErrorCode::kIo, fmt::format("cannot start a worker process: {}", std::strerror(errno)));
  if (pid == 0) RunWorker(start);
  ChildProcess child;
  child.pid_ = pid;
  child.folder_ = std::move(folder);
  child.socket_ = std::move(socket->host);
  child.stderr_ = std::move(pipe->host);
  child.pidfd_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept {
  *this = std::move(other);
}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(worker_, other.worker_);
  std::swap(folder_, other.folder_);
  std::swap(socket_, other.socket_);
  std::swap(stderr_, other.stderr_);
  std::swap(pidfd_, other.pidfd_);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (running()) Stop(After(0));
}

bool ChildProcess::WaitUntilEnded(Deadline deadline) const {
  for (;;) {
    siginfo_t info{};
    // NOWAIT: it stays a zombie, so that its number cannot be reused before Stop() has waited for it.
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return true;
    if (info.si_pid == pid_) return true;
    const int left = MillisecondsLeft(deadline);
    if (left == 0) return false;
    constexpr int kPollMilliseconds = 10;  // also what is slept where there is no pidfd
    pollfd ended{pidfd_.get(), POLLIN, 0};
    ::poll(&ended, 1, pidfd_ ? left : std::min(left, kPollMilliseconds));
  }
}

ExitStatus ChildProcess::Stop(Deadline deadline) {
  socket_.Close();
  ExitStatus status;
  status.killed_by_host = !WaitUntilEnded(deadline);
  if (status.killed_by_host) {
    ::kill(pid_, SIGTERM);
    ::kill(pid_, SIGCONT);  // it may have been stopped
    if (!WaitUntilEnded(After(kTerminateSeconds))) ::kill(pid_, SIGKILL);
  }
  while (::waitpid(pid_, &status.wait_status, 0) < 0 && errno == EINTR) {
  }
  // Where it was ending by itself, and only what it had started was left, it ends as it would have.
  const int signal = WIFSIGNALED(status.wait_status) ? WTERMSIG(status.wait_status) : 0;
  status.killed_by_host = status.killed_by_host && (signal == SIGKILL || signal == SIGTERM);
  pid_ = worker_ = -1;
  folder_ = {};
  return status;
}

}  // namespace assay
