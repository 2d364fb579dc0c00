// SPDX-License-Identifier: Apache-2.0
// Landlock: a process gives up the file system, but for what it names. Raw system calls, as the C library has none; the
// kernel's header of the machine that builds may be older than the kernel that runs.
#pragma once

#include <span>
#include <string>

#include "harness/core/base/result.h"

namespace assay {

enum class FileUse { kList, kRead, kWrite };  // names alone; also what stands in files; and to change it

struct FileGrant {
  std::string path;  // with all that is below it
  FileUse use = FileUse::kRead;
};

// Landlock features of this kernel.
struct LandlockSupport {
  int version = 0;  // of its interface; 0: none
  // Before version 2, no file can be renamed to another folder, which caches of compiled kernels need.
  bool files() const { return version >= 2; }
  bool devices() const { return version >= 5; }  // ioctl
  bool signals() const { return version >= 6; }  // to processes outside
};
LandlockSupport FindLandlock();

// The calling thread and what it starts may open nothing but `grants` (those that do not exist are left out) and, where
// the kernel can, signal only each other. Precondition: no_new_privs, and support.files().
Status RestrictFiles(const LandlockSupport& support, std::span<const FileGrant> grants);

}  // namespace assay
