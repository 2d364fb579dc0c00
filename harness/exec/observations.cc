// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/observations.h"

#include <fmt/format.h>

#include <cstring>

namespace assay {
namespace {

using Where = GuardViolation::Where;

struct Damage {
  uint64_t first = 0, last = 0, count = 0;
};

// Positions are of the whole image; `begin` is that of the first byte compared.
Damage Compare(std::span<const std::byte> expected, std::span<const std::byte> got, uint64_t begin) {
  Damage damage;
  if (expected.empty() || std::memcmp(expected.data(), got.data(), expected.size()) == 0) return damage;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == got[i]) continue;
    if (damage.count++ == 0) damage.first = begin + i;
    damage.last = begin + i;
  }
  return damage;
}

Damage ComparePattern(const BufferLayout& layout, std::span<const std::byte> image, uint64_t begin, uint64_t end) {
  std::vector<std::byte> expected(end - begin);
  GuardPattern(layout, begin, expected);
  return Compare(expected, image.subspan(begin, end - begin), begin);
}

Damage CompareGaps(const BufferLayout& layout, std::span<const std::byte> image) {
  // The expected image is the pattern with the returned elements in it. It needs no list of gaps, so any strides work.
  std::vector<std::byte> expected(layout.total_bytes);
  WriteInputImage(layout, ReadImage(layout, image), expected);
  return Compare(std::span(expected).subspan(layout.offset, layout.span_bytes),
                 image.subspan(layout.offset, layout.span_bytes), layout.offset);
}

// Comparing the first byte rules out most elements.
bool IsElement(const std::byte* at, std::span<const std::byte> element) {
  return *at == element[0] && std::memcmp(at, element.data(), element.size()) == 0;
}

// Counts the elements for which matches(byte offset) holds.
template <class Predicate>
ElementReport CountElements(const Tensor& tensor, Predicate matches) {
  ElementReport report;
  const auto size = static_cast<size_t>(SizeOf(tensor.dtype()));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (!matches(static_cast<size_t>(i) * size)) continue;
    if (report.count++ == 0) report.first = i;
  }
  return report;
}

std::string ElementsText(std::string_view operand, const Shape& shape, const ElementReport& report,
                         std::string_view what) {
  if (report.count == 0) return "";
  return fmt::format("{} of {} elements of {} {}, the first is {}", report.count, NumElements(shape), operand, what,
                     IndexText(shape, report.first));
}

}  // namespace

std::string GuardViolation::Text(std::string_view operand) const {
  switch (where) {
    case Where::kBefore:
      return fmt::format("{} bytes before {} were overwritten, the nearest {} bytes before its start", bytes, operand,
                         distance);
    case Where::kGap:
      return fmt::format(
          "{} bytes in the gaps between the rows of {} were overwritten, the first {} bytes after its "
          "start",
          bytes, operand, distance);
    case Where::kAfter:
      break;
  }
  return fmt::format("{} bytes after {} were overwritten, the nearest is byte {} past its end", bytes, operand,
                     distance);
}

std::vector<GuardViolation> CheckGuards(const BufferLayout& layout, std::span<const std::byte> image) {
  std::vector<GuardViolation> violations;
  const uint64_t end = layout.offset + layout.span_bytes;
  if (const Damage d = ComparePattern(layout, image, 0, layout.offset); d.count != 0) {
    violations.push_back({Where::kBefore, layout.offset - d.last, d.count});
  }
  if (layout.HasGaps()) {
    if (const Damage d = CompareGaps(layout, image); d.count != 0) {
      violations.push_back({Where::kGap, d.first - layout.offset, d.count});
    }
  }
  if (const Damage d = ComparePattern(layout, image, end, layout.total_bytes); d.count != 0) {
    violations.push_back({Where::kAfter, d.first - end + 1, d.count});
  }
  return violations;
}

ElementReport FindPrefilledElements(const Tensor& output, Prefill prefill) {
  const std::span<const std::byte> element = PrefillElement(output.dtype(), prefill);
  return CountElements(output, [&](size_t at) { return IsElement(output.data() + at, element); });
}

ElementReport FindUnwrittenElements(const Tensor& after_nan, const Tensor& after_sentinel) {
  const std::span<const std::byte> nan = PrefillElement(after_nan.dtype(), Prefill::kNanPayload);
  const std::span<const std::byte> sentinel = PrefillElement(after_nan.dtype(), Prefill::kSentinel);
  return CountElements(after_nan, [&](size_t at) {
    return IsElement(after_nan.data() + at, nan) && IsElement(after_sentinel.data() + at, sentinel);
  });
}

ElementReport FindChangedElements(const Tensor& before, const Tensor& after) {
  const auto size = static_cast<size_t>(SizeOf(before.dtype()));
  if (before.bytes() == 0 || std::memcmp(before.data(), after.data(), before.bytes()) == 0) return {};
  return CountElements(before,
                       [&](size_t at) { return std::memcmp(before.data() + at, after.data() + at, size) != 0; });
}

std::string UnwrittenText(std::string_view operand, const Shape& shape, const ElementReport& report) {
  return ElementsText(operand, shape, report, "were not written");
}

std::string ChangedText(std::string_view operand, const Shape& shape, const ElementReport& report) {
  return ElementsText(operand, shape, report, "(an input) were changed on the device");
}

}  // namespace assay
