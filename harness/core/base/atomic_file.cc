// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "harness/core/base/text.h"

namespace assay {
namespace {

Status SystemError(const std::filesystem::path& path, const char* action) {
  return Fail(ErrorCode::kIo, fmt::format("{}: {}: {}", path.string(), action, std::strerror(errno)));
}

bool WriteAll(int fd, const FilePart& part) {
  const char* data = static_cast<const char*>(part.data);
  for (size_t done = 0; done < part.size;) {
    const ssize_t n = ::write(fd, data + done, std::min<size_t>(part.size - done, 1U << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

// A name that no other process or thread uses at this moment.
std::filesystem::path TemporaryName(const std::filesystem::path& path) {
  static std::atomic<uint64_t> counter{0};
  std::filesystem::path temporary = path;
  temporary += fmt::format(".{}.{}.tmp", ::getpid(), counter.fetch_add(1));
  return temporary;
}

enum class Lock { kHeld, kOfAnother, kImpossible };

Lock TryLock(int fd) {
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return Lock::kHeld;
  return errno == EWOULDBLOCK ? Lock::kOfAnother : Lock::kImpossible;
}

bool SameFile(int fd, const std::filesystem::path& path) {
  struct stat open_file {
  }, named_file{};
  return ::fstat(fd, &open_file) == 0 && ::stat(path.c_str(), &named_file) == 0 &&
         open_file.st_dev == named_file.st_dev && open_file.st_ino == named_file.st_ino;
}

// A new file that is closed and removed again whatever happens, also where what writes it throws; not removed once it
// has its final name.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::filesystem::path path)
      : path_(std::move(path)), fd_(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644)) {}
  TemporaryFile(TemporaryFile&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), is_temporary_(other.is_temporary_) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    if (fd_ < 0) return;
    if (is_temporary_) ::unlink(path_.c_str());
    ::close(fd_);
  }

  const std::filesystem::path& path() const { return path_; }
  int fd() const { return fd_; }  // negative, with errno: there is none
  // Rename and Close return false on failure, with the reason in errno.
  bool Rename(const std::filesystem::path& to) {
    is_temporary_ = ::rename(path_.c_str(), to.c_str()) != 0;
    return !is_temporary_;
  }
  bool Close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  std::filesystem::path path_;
  int fd_;
  bool is_temporary_ = true;
};

// A temporary file that this process has locked. Another one that looks for abandoned files may come between creation
// and lock, and remove it: then there is a next name. Where files cannot be locked nobody removes any.
TemporaryFile CreateTemporary(const std::filesystem::path& path) {
  for (;;) {
    TemporaryFile file(TemporaryName(path));
    if (file.fd() < 0) return file;
    const Lock lock = TryLock(file.fd());
    if (lock == Lock::kImpossible || (lock == Lock::kHeld && SameFile(file.fd(), file.path()))) return file;
  }
}

// The rename itself has to reach the disk; a file system that cannot do this for a folder is not an error.
void SyncFolder(const std::filesystem::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

// Whole blocks for the system; small parts are gathered. What comes behind an error is left out.
class BlockWriter {
 public:
  explicit BlockWriter(int fd) : fd_(fd) {}
  void Add(std::string_view part) {
    block_ += part;
    if (block_.size() >= kBlockBytes) Flush();
  }
  bool Flush() {
    if (problem_ == 0 && !WriteAll(fd_, {block_.data(), block_.size()})) problem_ = errno;
    block_.clear();
    errno = problem_;
    return problem_ == 0;
  }

 private:
  static constexpr size_t kBlockBytes = size_t{1} << 20;
  int fd_, problem_ = 0;
  std::string block_;
};

// `write` is given a descriptor and says whether all went there; errno has the reason where it did not.
Status ReplaceFile(const std::filesystem::path& path, const std::function<bool(int)>& write, Durability durability,
                   const std::filesystem::path& shown) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Fail(ErrorCode::kIo, fmt::format("{}: cannot be created: {}", folder.string(), error.message()));

  TemporaryFile file = CreateTemporary(path);
  if (file.fd() < 0) return SystemError(shown, "cannot be written");
  const bool flushed = write(file.fd()) && (durability == Durability::kWhenever || ::fsync(file.fd()) == 0);
  if (!flushed) return SystemError(shown, "cannot be written");
  // Before the lock goes.
  if (!file.Rename(path)) return SystemError(shown, "cannot be replaced");
  if (!file.Close()) return SystemError(shown, "cannot be written");
  if (durability == Durability::kOnDisk) SyncFolder(folder);
  return {};
}

}  // namespace

Status WriteFileAtomically(const std::filesystem::path& path, const std::vector<FilePart>& parts, Durability durability,
                           const std::filesystem::path& shown) {
  const auto write = [&](int fd) {
    return std::ranges::all_of(parts, [fd](const FilePart& part) { return WriteAll(fd, part); });
  };
  return ReplaceFile(path, write, durability, shown.empty() ? path : shown);
}

Status StreamFileAtomically(const std::filesystem::path& path, const std::function<void(const TextSink&)>& write) {
  const auto write_all = [&](int fd) {
    BlockWriter block(fd);
    write([&block](std::string_view part) { block.Add(part); });
    return block.Flush();
  };
  return ReplaceFile(path, write_all, Durability::kOnDisk, path);
}

bool IsTemporaryName(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  const std::vector<std::string_view> parts = Split(name, '.');
  const size_t n = parts.size();
  return n >= 4 && parts[n - 1] == "tmp" && ParseNumber<uint64_t>(parts[n - 2]) && ParseNumber<pid_t>(parts[n - 3]);
}

bool RemoveIfAbandoned(const std::filesystem::path& path, bool dry_run) {
  if (!IsTemporaryName(path)) return false;
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  const bool abandoned = TryLock(fd) == Lock::kHeld && SameFile(fd, path);
  const bool removed = abandoned && (dry_run || ::unlink(path.c_str()) == 0);
  ::close(fd);
  return removed;
}

}  // namespace assay
