// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "harness/exec/sandbox/worker_folder.h"

namespace assay {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

// Null, with errno, where there is no such folder or it cannot be opened by its owner either.
Folder OpenFolder(int parent, const char* name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  // Reading, removing and moving all need rights that the program may have taken away.
  struct stat info {};
  if (::fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode) &&
      (info.st_mode & S_IRWXU) != S_IRWXU) {
    ::fchmodat(parent, name, S_IRWXU, 0);
  }
  const int fd = ::openat(parent, name, kFlags);
  return Folder(fd < 0 ? nullptr : ::fdopendir(fd));
}

constexpr int kMostOpen = 100;  // folders at a time

// Removes folders from the inside. Those that lie deeper than there are folders open at a time are moved up first, and
// no path is long.
class Emptying {
 public:
  explicit Emptying(DIR* top) : top_(top) {}

  std::string Run() {
    // A pass that moves folders up leaves them to the next one.
    for (bool goes_on = true; goes_on;) {
      problem_.clear();
      goes_on = false;
      ForEachEntry(top_, [&](const char* name) { goes_on = RemoveEntry(::dirfd(top_), name, 1) || goes_on; });
    }
    return problem_;
  }

 private:
  template <class Visit>
  static void ForEachEntry(DIR* folder, Visit visit) {
    ::rewinddir(folder);
    while (const dirent* entry = ::readdir(folder)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") visit(entry->d_name);
    }
  }

  // Whether less is left than before; else `problem_` says why.
  bool RemoveEntry(int parent, const char* name, int depth) {
    if (Unlink(parent, name)) return true;
    const int why = errno;
    const Folder folder = OpenFolder(parent, name);
    if (folder == nullptr) return Fail(name, errno == ENOTDIR || errno == ELOOP ? why : errno);
    const int fd = ::dirfd(folder.get());
    bool progressed = false;
    ForEachEntry(folder.get(), [&](const char* inner) {
      const bool removed =
          depth < kMostOpen ? RemoveEntry(fd, inner, depth + 1) : Unlink(fd, inner) || MoveUp(fd, inner);
      progressed = removed || progressed;
    });
    return ::unlinkat(parent, name, AT_REMOVEDIR) == 0 || progressed || Fail(name, errno);
  }

  // A file, or a folder with nothing in it. errno is of the attempt that fits what it is.
  static bool Unlink(int folder, const char* name) {
    if (::unlinkat(folder, name, 0) == 0) return true;
    const int why = errno;
    if (::unlinkat(folder, name, AT_REMOVEDIR) == 0) return true;
    if (errno == ENOTDIR) errno = why;
    return false;
  }

  bool MoveUp(int from, const char* name) {
    // To move a folder, its owner has to be allowed to write in it.
    if (OpenFolder(from, name) == nullptr) return Fail(name, errno);
    for (;;) {
      const std::string free = fmt::format("moved-{}", next_++);
      if (::renameat(from, name, ::dirfd(top_), free.c_str()) == 0) return true;
      if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR && errno != EISDIR) return Fail(name, errno);
    }
  }

  bool Fail(const char* name, int error) {
    problem_ = fmt::format("{}: {}", name, std::strerror(error));
    return false;
  }

  DIR* const top_;
  std::string problem_;
  size_t next_ = 0;
};

}  // namespace

std::string RemoveFolder(const std::filesystem::path& folder) {
  const Folder top = OpenFolder(AT_FDCWD, folder.c_str());
  if (top == nullptr) return errno == ENOENT ? "" : std::strerror(errno);
  const std::string problem = Emptying(top.get()).Run();
  if (::rmdir(folder.c_str()) == 0 || errno == ENOENT) return "";
  return problem.empty() ? std::strerror(errno) : problem;
}

}  // namespace assay
