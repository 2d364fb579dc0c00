// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/results/durable_lines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "harness/core/base/stopwatch.h"

namespace assay {
namespace {

constexpr std::chrono::milliseconds kBetweenTries{200}, kBetweenSyncs{1000};
constexpr mode_t kOwnersFile = 0644;  // what the umask leaves of it

// A later try may succeed after these: a full disk has room again once something is deleted.
bool MayPass(int problem) {
  return problem == ENOSPC || problem == EDQUOT || problem == EAGAIN;
}

}  // namespace

Result<std::unique_ptr<DurableLines>> DurableLines::Open(const std::filesystem::path& path, Mode mode) {
  const int how = mode == Mode::kCreate ? O_CREAT | O_EXCL : 0;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | how, kOwnersFile);
  const bool locked = fd >= 0 && (::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK);
  const int64_t size = locked ? ::lseek(fd, 0, SEEK_END) : -1;
  if (size >= 0) return std::unique_ptr<DurableLines>(new DurableLines(path, fd, size));
  const int problem = errno;
  if (fd >= 0) ::close(fd);
  return Fail(ErrorCode::kIo, fmt::format("cannot append to {}: {}", path.string(),
                                          fd >= 0 && !locked ? "another run is writing it" : std::strerror(problem)));
}

DurableLines::DurableLines(std::filesystem::path path, int fd, int64_t size)
    : path_(std::move(path)), fd_(fd), size_(size), syncs_([this] { SyncEachSecond(); }) {}

DurableLines::~DurableLines() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  syncs_.join();
  [[maybe_unused]] const Status synced = Sync();  // whoever has to know has asked before
  ::close(fd_);
}

bool DurableLines::IsDeleted() const {
  struct stat about {};
  return ::fstat(fd_, &about) == 0 && about.st_nlink == 0;
}

int DurableLines::Write(std::string_view line) const {
  size_t done = 0;
  while (done < line.size()) {
    const ssize_t wrote = ::pwrite(fd_, line.data() + done, line.size() - done, size_ + static_cast<int64_t>(done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      const int problem = wrote < 0 ? errno : ENOSPC;
      [[maybe_unused]] const int cut = ::ftruncate(fd_, size_);  // where it fails, readers drop a torn last line
      return problem;
    }
    done += static_cast<size_t>(wrote);
  }
  return 0;
}

Status DurableLines::Append(std::string_view line) {
  if (IsDeleted()) {
    return Fail(
        ErrorCode::kIo,
        fmt::format(
            "{} was deleted during the run, and its results are lost; run again with an --out that nobody removes",
            path_.string()));
  }
  if (Status synced = SyncProblem(); !synced) return synced;
  const Stopwatch watch;
  bool waited = false;
  for (;;) {
    const int problem = Write(line);
    if (problem == 0) break;
    const std::string text = fmt::format("cannot append to {}: {}", path_.string(), std::strerror(problem));
    if (!MayPass(problem) || watch.Seconds() >= wait_.seconds || wait_.gives_up()) return Fail(ErrorCode::kIo, text);
    if (!std::exchange(waited, true) && wait_.say) {
      wait_.say(fmt::format("{}; the run waits {} s for room: delete something", text, wait_.seconds));
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
  size_ += static_cast<int64_t>(line.size());
  unsynced_ = true;
  if (waited && wait_.say) wait_.say(fmt::format("there is room again for {}: the run goes on", path_.string()));
  return {};
}

Status DurableLines::Clear() {
  if (::ftruncate(fd_, 0) != 0) {
    return Fail(ErrorCode::kIo, fmt::format("cannot empty {}: {}", path_.string(), std::strerror(errno)));
  }
  size_ = 0;
  unsynced_ = true;
  return {};
}

// EINVAL is no failure of the disk: it comes from files that cannot be synced, such as pipes.
Status DurableLines::Sync() {
  const std::lock_guard lock(sync_mutex_);
  if (unsynced_.exchange(false) && ::fdatasync(fd_) != 0 && errno != EINVAL) {
    int none = 0;
    sync_problem_.compare_exchange_strong(none, errno);
  }
  return SyncProblem();
}

Status DurableLines::SyncProblem() const {
  const int problem = sync_problem_;
  if (problem == 0) return {};
  return Fail(ErrorCode::kIo,
              fmt::format("{} cannot be synced to the disk: {}; its last lines may be lost if the machine stops",
                          path_.string(), std::strerror(problem)));
}

void DurableLines::SyncEachSecond() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kBetweenSyncs, [this] { return stop_; })) {
    lock.unlock();
    [[maybe_unused]] const Status synced = Sync();  // Append says so
    lock.lock();
  }
}

}  // namespace assay
