// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010  // Linux 5.1
#endif

namespace assay {
namespace {

// All of what is handed to the worker is written and read, and of smaller images also what comes back: mapping the
// pages at once saves a fault for each. Of larger downloads not all need be there at a time (Discard).
constexpr size_t kMostPopulatedDownload = size_t{16} << 20;

int MapFlags(size_t bytes, Access worker_access) {
  const bool all = worker_access == Access::kReadOnly || bytes <= kMostPopulatedDownload;
  return MAP_SHARED | (all ? MAP_POPULATE : 0);
}

tl::unexpected<Error> SystemError(const char* what, size_t bytes) {
  return Fail(ErrorCode::kIo,
              fmt::format("{} of {} bytes of shared memory failed: {}", what, bytes, std::strerror(errno)));
}

// Forbids new writable mappings; the host's own stays. Kernels before 5.1 lack that seal. There the descriptor is
// exchanged for a read-only one of the same file: mmap refuses PROT_WRITE on it just the same, only a worker that
// reopens the file through /proc on purpose gets past it.
bool ForbidNewWriters(UniqueFd& fd) {
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0) return true;
  UniqueFd read_only(::open(fmt::format("/proc/self/fd/{}", fd.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!read_only) return false;
  fd = std::move(read_only);
  return true;
}

}  // namespace

SharedMemory::SharedMemory(SharedMemory&& other) noexcept {
  *this = std::move(other);
}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

Result<SharedMemory> SharedMemory::Create(size_t bytes, Access worker_access) {
  UniqueFd fd(::memfd_create("assay", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return SystemError("creation", bytes);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return SystemError("allocation", bytes);
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) return SystemError("sealing", bytes);
  Result<SharedMemory> memory = MapPages(std::move(fd), bytes, PROT_READ | PROT_WRITE, MapFlags(bytes, worker_access));
  if (!memory) return memory;
  if (worker_access == Access::kReadOnly && !ForbidNewWriters(memory->fd_)) return SystemError("sealing", bytes);
  return memory;
}

void SharedMemory::Discard(size_t at, size_t size) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t begin = (at + page - 1) / page * page, end = (at + size) / page * page;
  if (begin < end) ::madvise(data_ + begin, end - begin, MADV_REMOVE);  // failing leaves them where they are
}

Result<SharedMemory> SharedMemory::Map(UniqueFd fd, size_t bytes, Access access) {
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return SystemError("inspection", bytes);
  if (static_cast<size_t>(info.st_size) < bytes) {
    return Fail(ErrorCode::kIo, fmt::format("shared memory has {} bytes where {} are expected", info.st_size, bytes));
  }
  const int protection = access == Access::kReadOnly ? PROT_READ : PROT_READ | PROT_WRITE;
  return MapPages(std::move(fd), bytes, protection, MapFlags(bytes, access));
}

Result<SharedMemory> SharedMemory::MapPages(UniqueFd fd, size_t bytes, int protection, int flags) {
  void* data = ::mmap(nullptr, bytes, protection, flags, fd.get(), 0);
  if (data == MAP_FAILED) return SystemError("mapping", bytes);
  SharedMemory memory;
  memory.fd_ = std::move(fd);
  memory.data_ = static_cast<std::byte*>(data);
  memory.size_ = bytes;
  return memory;
}

}  // namespace assay
