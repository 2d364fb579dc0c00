// SPDX-License-Identifier: Apache-2.0
#include "backends/common/canary.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "backends/common/status.h"

namespace plugin {
namespace {

// None is 0 or 0xFF, which stray bytes most often are.
constexpr std::array<std::byte, kCanaryBytes> MakeZone() {
  std::array<std::byte, kCanaryBytes> zone{};
  uint32_t state = 0x9E3779B9u;
  for (std::byte& byte : zone) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(1 + (state >> 24) % 254);
  }
  return zone;
}

constexpr std::array<std::byte, kCanaryBytes> kZone = MakeZone();

// Range and number of bytes that differ from the canary; positions count from the memory's first byte.
struct Damage {
  int64_t first = 0, last = 0;
  uint64_t bytes = 0;
};

void Compare(std::span<const std::byte> zone, int64_t position, Damage& damage) {
  if (zone.size() == kZone.size() && std::memcmp(zone.data(), kZone.data(), kZone.size()) == 0) return;
  for (size_t i = 0; i < std::min(zone.size(), kZone.size()); ++i) {
    if (zone[i] == kZone[i]) continue;
    damage.last = position + static_cast<int64_t>(i);
    if (damage.bytes++ == 0) damage.first = damage.last;
  }
}

}  // namespace

std::span<const std::byte> Canary() {
  return kZone;
}

void CheckCanaries(const Loan& loan, std::span<const std::byte> before, std::span<const std::byte> behind) {
  Damage damage;
  Compare(before, -static_cast<int64_t>(kCanaryBytes), damage);
  Compare(behind, static_cast<int64_t>(loan.bytes), damage);
  if (damage.bytes == 0) return;
  throw StrayWrite(
      "{} wrote outside of its memory: {} bytes changed at bytes {} to {} of {}, which has {} bytes; nothing that this "
      "process computes can be relied on",
      loan.borrower, damage.bytes, damage.first, damage.last, loan.memory, loan.bytes);
}

GuardedMemory::GuardedMemory(Loan loan)
    : loan_(std::move(loan)),
      whole_(static_cast<std::byte*>(::operator new(loan_.bytes + 2 * kCanaryBytes, kAlignment))) {
  std::ranges::copy(kZone, whole_.get());
  std::ranges::copy(kZone, data() + loan_.bytes);
}

void GuardedMemory::Check() const {
  CheckCanaries(loan_, {whole_.get(), kCanaryBytes}, {data() + loan_.bytes, kCanaryBytes});
}

}  // namespace plugin
