// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/import/benchdnn_conv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "harness/core/base/text.h"
#include "harness/tools/import/extents.h"

namespace assay {
namespace {

using Entries = std::map<std::string, int64_t, std::less<>>;

constexpr std::string_view kKnown[] = {"g",  "mb", "ic", "oc", "id", "ih", "iw", "od", "oh", "ow", "kd",
                                       "kh", "kw", "sd", "sh", "sw", "pd", "ph", "pw", "dd", "dh", "dw"};

Result<Entries> ParseEntries(std::string_view text) {
  Entries entries;
  while (!text.empty()) {
    if (text.front() == '_') {
      text.remove_prefix(1);
      continue;
    }
    const size_t digits = std::min(text.find_first_of("0123456789"), text.size());
    const std::string key(text.substr(0, digits));
    const size_t end = std::min(text.find_first_not_of("0123456789", digits), text.size());
    const auto value = ParseNumber<int64_t>(text.substr(digits, end - digits));
    if (std::find(std::begin(kKnown), std::end(kKnown), key) == std::end(kKnown) || !value) {
      return UsageError(kNoForm);
    }
    if (*value > kLargestExtent) return UsageError(kNoExtent);
    entries[key] = *value;
    text.remove_prefix(end);
  }
  return entries;
}

Result<Entries> EntriesWith(std::string_view descriptor, std::string_view mb) {
  auto entries = ParseEntries(descriptor);
  if (!entries) return entries;
  entries->try_emplace("mb", 2);
  entries->try_emplace("g", 1);
  if (!mb.empty() && mb != "0") {
    const auto extent = ParseExtent(mb);
    if (!extent) return tl::unexpected(extent.error());
    (*entries)["mb"] = *extent;
  }
  for (const char* key : {"mb", "g", "ic"}) {
    if (const auto at = entries->find(key); at == entries->end() || at->second < 1) {
      return UsageError(fmt::format("the descriptor has no {} from 1 on", key));
    }
  }
  return entries;
}

std::optional<int64_t> Find(const Entries& entries, char what, char axis) {
  const auto at = entries.find(std::string{what, axis});
  return at == entries.end() ? std::nullopt : std::optional(at->second);
}

// The axes "dhw", "hw" or "w", from the first that has an entry.
std::string_view AxesOf(const Entries& entries) {
  for (const std::string_view axes : {"dhw", "hw", "w"}) {
    for (const char what : {'i', 'k', 'o'}) {
      if (Find(entries, what, axes[0])) return axes;
    }
  }
  return "";
}

struct ConvAxis {
  int64_t i, k, stride, pad, dilation;  // dilation: 1 for dense kernels
};

// One axis as it is stated and deduced: the output from the padding, or the padding from the output.
Result<ConvAxis> DeduceAxis(const Entries& entries, char axis) {
  const int64_t i = Find(entries, 'i', axis).value_or(0), k = Find(entries, 'k', axis).value_or(0);
  const int64_t stride = Find(entries, 's', axis).value_or(1), dilation = Find(entries, 'd', axis).value_or(0) + 1;
  const auto o = Find(entries, 'o', axis), pad = Find(entries, 'p', axis);
  if (i < 1 || k < 1 || stride < 1) return UsageError(fmt::format("the descriptor lacks i{0}, k{0} or s{0}", axis));
  const int64_t reach = (k - 1) * dilation + 1;
  if (reach > kLargestExtent) return UsageError(kNoExtent);
  const int64_t deduced = o && *o > 0 ? std::max<int64_t>((*o - 1) * stride - i + reach, 0) / 2 : 0;
  const int64_t begin = pad.value_or(deduced);
  if (begin > kLargestExtent) return UsageError(kNoExtent);
  const int64_t outputs = i + 2 * begin < reach ? 0 : (i + 2 * begin - reach) / stride + 1;
  if (o && *o > 0 && *o != outputs) return UsageError("padding that differs between both ends");
  return ConvAxis{i, k, stride, begin, dilation};
}

Result<std::vector<ConvAxis>> DeduceAxes(const Entries& entries) {
  std::vector<ConvAxis> axes;
  for (const char axis : AxesOf(entries)) {
    bool stated = false;
    for (const char what : {'i', 'k', 'o'}) stated = stated || Find(entries, what, axis);
    if (!stated && !axes.empty()) {  // square, or a cube
      axes.push_back(axes.back());
      continue;
    }
    const auto deduced = DeduceAxis(entries, axis);
    if (!deduced) return tl::unexpected(deduced.error());
    axes.push_back(*deduced);
  }
  if (axes.empty()) return UsageError("the descriptor has no extent of an image");
  return axes;
}

// The product of the image's extents; 1 without an image.
Result<int64_t> PositionsOf(const Entries& entries) {
  std::vector<int64_t> extents;
  for (const char axis : AxesOf(entries)) {
    const auto stated = Find(entries, 'i', axis);
    if (!stated && extents.empty()) return UsageError("the descriptor has no extent of an image");
    extents.push_back(stated ? *stated : extents.back());
  }
  return ElementsOf(extents);
}

}  // namespace

Result<AttrList> ConvAttrs(std::string_view descriptor, std::string_view mb) {
  const auto entries = EntriesWith(descriptor, mb);
  if (!entries) return tl::unexpected(entries.error());
  const auto o = entries->find("oc");
  if (o == entries->end()) return UsageError("the descriptor has no oc from 1 on");
  const auto axes = DeduceAxes(*entries);
  if (!axes) return tl::unexpected(axes.error());
  const auto list = [&](int64_t ConvAxis::*field) {
    std::vector<int64_t> values;
    for (const ConvAxis& axis : *axes) values.push_back(axis.*field);
    return DimsText(values);
  };
  return AttrList{{"n", std::to_string(entries->at("mb"))},
                  {"c", std::to_string(entries->at("ic"))},
                  {"o", std::to_string(o->second)},
                  {"i", list(&ConvAxis::i)},
                  {"k", list(&ConvAxis::k)},
                  {"stride", list(&ConvAxis::stride)},
                  {"pad", list(&ConvAxis::pad)},
                  {"dilation", list(&ConvAxis::dilation)},
                  {"groups", std::to_string(entries->at("g"))}};
}

Result<AttrList> InnerProductAttrs(std::string_view descriptor, std::string_view mb) {
  const auto entries = EntriesWith(descriptor, mb);
  if (!entries) return tl::unexpected(entries.error());
  const auto o = entries->find("oc");
  if (o == entries->end()) return UsageError("the descriptor has no oc from 1 on");
  const auto positions = PositionsOf(*entries);
  if (!positions) return tl::unexpected(positions.error());
  const auto k = ElementsOf(std::array{entries->at("ic"), *positions});
  if (!k) return tl::unexpected(k.error());
  return AttrList{{"m", std::to_string(entries->at("mb"))},
                  {"n", std::to_string(o->second)},
                  {"k", std::to_string(*k)},
                  {"transb", "1"}};
}

Result<AttrList> GroupNormAttrs(std::string_view descriptor, std::string_view mb) {
  const auto entries = EntriesWith(descriptor, mb);
  if (!entries) return tl::unexpected(entries.error());
  const auto positions = PositionsOf(*entries);
  if (!positions) return tl::unexpected(positions.error());
  const int64_t groups = entries->at("g"), channels = entries->at("ic");
  if (channels % groups != 0) return UsageError("the groups do not divide the channels");
  return AttrList{{"b", std::to_string(entries->at("mb"))},
                  {"g", std::to_string(groups)},
                  {"c", std::to_string(channels / groups)},
                  {"n", std::to_string(*positions)}};
}

}  // namespace assay
