// SPDX-License-Identifier: Apache-2.0
// Canaries: known bytes before and behind memory that a plugin itself gives to a library, such as the copies that it
// reorders for it and the workspaces that it allocates. The harness's guards surround the operands of a case and no
// more, so that a library's stray write here would show as damage somewhere else, or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>

namespace plugin {

// Size of each zone. It is a page, so that memory behind the first zone is as aligned as the allocation.
inline constexpr uint64_t kCanaryBytes = 4096;

// The bytes of a zone.
std::span<const std::byte> Canary();

struct Loan {
  std::string borrower;  // library and kernel: "oneDNN 2.6.3, kernel brg-avx512_core"
  std::string memory;    // "the copy of y"
  uint64_t bytes = 0;
};

// Throws Failure that names borrower, memory and which bytes were written, counted from the memory's first, unless both
// zones are as they were.
void CheckCanaries(const Loan& loan, std::span<const std::byte> before, std::span<const std::byte> behind);

// Host memory between canaries, aligned to a page.
class GuardedMemory {
 public:
  explicit GuardedMemory(Loan loan);
  std::byte* data() const { return whole_.get() + kCanaryBytes; }
  const Loan& loan() const { return loan_; }
  void Check() const;  // CheckCanaries()

 private:
  static constexpr std::align_val_t kAlignment{4096};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };
  Loan loan_;
  std::unique_ptr<std::byte, Free> whole_;
};

}  // namespace plugin
