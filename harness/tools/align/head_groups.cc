// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/align/head_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>

#include "ops/slices.h"
#include "ops/subproblem.h"

namespace assay {
namespace {

bool IsPaged(const Operand& operand) {
  return operand.name == "keys" || operand.name == "values";
}

// Head axis of an operand of [b,heads,...], [t,heads,...] or [pages,page,heads,...], or of one number for each head;
// -1: it has none, as a mask of [l,s] and integers that say where sequences end.
int64_t HeadAxisOf(const Operand& operand) {
  if (operand.shape.size() >= 3) return IsPaged(operand) ? 2 : 1;
  return operand.shape.size() == 1 && !IsInt(operand.dtype) ? 0 : -1;
}

// Query heads that share a key head; 1 of an operand of key heads.
int64_t HeadsOfGroup(const Operand& operand, int64_t size) {
  static constexpr std::string_view kOfKeys[] = {"k", "v", "dk", "dv"};
  return IsPaged(operand) || std::ranges::find(kOfKeys, operand.name) != std::end(kOfKeys) ? 1 : size;
}

Tensor TakeGroups(const Tensor& tensor, const Operand& operand, const std::vector<int64_t>& groups, int64_t size) {
  const int64_t axis = HeadAxisOf(operand), heads = HeadsOfGroup(operand, size);
  if (axis < 0) return tensor.Clone();
  std::vector<int64_t> taken;
  for (const int64_t group : groups) {
    for (int64_t head = 0; head < heads; ++head) taken.push_back(group * heads + head);
  }
  return TakeAlong(tensor, axis, taken);
}

// Whether an operator of these attributes has its heads where they are taken from: the part is as many of them.
bool HaveGroups(const std::vector<Operand>& whole, const std::vector<Operand>& part, int64_t groups, int64_t size) {
  const auto is_part = [&](const Operand& of_whole, const Operand& of_part) {
    Shape shape = of_whole.shape;
    if (const int64_t axis = HeadAxisOf(of_whole); axis >= 0)
      shape[static_cast<size_t>(axis)] = groups * HeadsOfGroup(of_whole, size);
    return shape == of_part.shape;
  };
  return std::ranges::equal(whole, part, is_part);
}

class HeadGrouping {
 public:
  HeadGrouping(const Operator& op, const Problem& problem)
      : op_(op), problem_(problem), groups_(problem.Int("hkv")), size_(problem.Int("h") / groups_) {}

  std::vector<Configuration> List() {
    const bool is_grouped = HaveGroups(problem_.inputs, problem_.inputs, groups_, size_) &&
                            HaveGroups(problem_.outputs, problem_.outputs, groups_, size_);
    if (!is_grouped) return {};
    for (const int64_t n : ListPartialNumbers(groups_)) {
      for (const int64_t first : std::set<int64_t>{0, (groups_ - n) / 2, groups_ - n}) {
        std::vector<int64_t> taken(static_cast<size_t>(n));
        std::iota(taken.begin(), taken.end(), first);
        Add(fmt::format("hkv: {} of {}, from {}", n, groups_, first), taken);
      }
    }
    if (all_.empty()) return {};  // heads lie elsewhere
    std::vector<int64_t> backwards(static_cast<size_t>(groups_));
    std::iota(backwards.rbegin(), backwards.rend(), int64_t{0});
    Add(fmt::format("hkv: all {} backwards", groups_), backwards);
    return std::move(all_);
  }

 private:
  void Add(std::string name, const std::vector<int64_t>& groups) {
    CaseSpec spec = problem_.spec;
    std::erase_if(spec.attrs, [](const auto& attr) { return attr.first == "h" || attr.first == "hkv"; });
    spec.attrs.emplace_back("h", fmt::format("{}", std::ssize(groups) * size_));
    spec.attrs.emplace_back("hkv", fmt::format("{}", groups.size()));
    auto canonical = Canonicalise(std::move(spec), op_.schema());
    if (!canonical) return;
    auto part = op_.Bind(*canonical);
    const auto count = std::ssize(groups);
    if (!part || !HaveGroups(problem_.inputs, part->inputs, count, size_) ||
        !HaveGroups(problem_.outputs, part->outputs, count, size_))
      return;
    const auto inputs = [groups, size = size_, operands = problem_.inputs](const std::vector<Tensor>& whole) {
      std::vector<Tensor> taken;
      for (size_t i = 0; i < whole.size(); ++i) taken.push_back(TakeGroups(whole[i], operands[i], groups, size));
      return taken;
    };
    const auto expected = [groups, size = size_, operands = problem_.outputs](const Tensor& of_whole, size_t output) {
      return TakeGroups(of_whole, operands[output], groups, size);
    };
    const auto compared = [](const Tensor& tensor, size_t) { return tensor.Clone(); };
    all_.push_back({std::move(name), *std::move(part), {}, 1, inputs, expected, compared});
  }

  const Operator& op_;
  const Problem& problem_;
  int64_t groups_, size_;  // key heads, and query heads of each
  std::vector<Configuration> all_;
};

}  // namespace

std::vector<Configuration> ListHeadGroups(const Operator& op, const Problem& problem) {
  const OpSchema& schema = op.schema();
  const bool has_groups = schema.Find("h") && schema.Find("hkv");
  if (!has_groups || problem.Int("hkv") < 2) return {};
  const std::vector<SliceableAxis> sliced = ListSliceableAxes(op, problem);
  if (std::ranges::any_of(sliced, [](const SliceableAxis& axis) { return axis.cut.inputs[0] == 1; })) return {};
  return HeadGrouping(op, problem).List();
}

}  // namespace assay
