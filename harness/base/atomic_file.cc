// SPDX-License-Identifier: Apache-2.0
#include "harness/base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>

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

// The rename itself has to reach the disk; a file system that cannot do this for a folder is not an error.
void SyncFolder(const std::filesystem::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

Status WriteFileAtomically(const std::filesystem::path& path, const std::vector<FilePart>& parts) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Fail(ErrorCode::kIo, fmt::format("{}: cannot be created: {}", folder.string(), error.message()));

  const std::filesystem::path temporary = TemporaryName(path);
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return SystemError(path, "cannot be written");
  const bool written =
      std::all_of(parts.begin(), parts.end(), [&](const FilePart& part) { return WriteAll(fd, part); });
  const bool flushed = written && ::fsync(fd) == 0;
  Status status;
  if (!flushed) status = SystemError(path, "cannot be written");
  if (::close(fd) != 0 && status) status = SystemError(path, "cannot be written");
  if (status && ::rename(temporary.c_str(), path.c_str()) != 0) status = SystemError(path, "cannot be replaced");
  if (!status) {
    ::unlink(temporary.c_str());
    return status;
  }
  SyncFolder(folder);
  return {};
}

}  // namespace assay
