// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/align/splits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "harness/tools/align/rank_sums.h"
#include "ops/slices.h"
#include "ops/subproblem.h"

namespace assay {
namespace {

constexpr float kNoKey = -HUGE_VALF;

bool IsNarrow(DType type) {
  return IsFloat(type) && SizeOf(type) < SizeOf(DType::kF32);
}

Tensor ConvertTo(const Tensor& tensor, DType type) {
  Tensor made(type, tensor.shape());
  made.SetDoubles(tensor.ToDoubles());
  return made;
}

std::vector<float> FloatsOf(const Tensor& tensor) {
  const std::vector<double> values = tensor.ToDoubles();
  return {values.begin(), values.end()};
}

// Where slices begin, and the end of the last. Empty: two of them would begin at one place.
std::vector<int64_t> BordersOf(int64_t extent, int64_t n, bool is_even) {
  std::vector<int64_t> borders = {0};
  const int64_t shares = n * (n + 1) / 2;
  for (int64_t i = 0, taken = 0; i < n; ++i) {
    taken += n - i;
    borders.push_back(is_even ? extent * (i + 1) / n : extent * taken / shares);
  }
  return std::ranges::adjacent_find(borders) == borders.end() ? borders : std::vector<int64_t>{};
}

// Even slices, and uneven ones where these are others.
std::vector<std::pair<std::string, std::vector<int64_t>>> ListBorders(int64_t extent, int64_t n) {
  std::vector<std::pair<std::string, std::vector<int64_t>>> all = {{"", BordersOf(extent, n, true)}};
  if (auto uneven = BordersOf(extent, n, false); uneven != all[0].second)
    all.emplace_back(", uneven", std::move(uneven));
  std::erase_if(all, [](const auto& of) { return of.second.empty(); });
  return all;
}

std::vector<int64_t> TermsBetween(int64_t begin, int64_t end) {
  std::vector<int64_t> indices(static_cast<size_t>(end - begin));
  std::iota(indices.begin(), indices.end(), begin);
  return indices;
}

Tensor TakeAll(const Tensor& tensor, size_t) {
  return tensor.Clone();
}

// The case with outputs in this type, where its types are one or as many as the operator names.
std::optional<CaseSpec> WithOutputType(CaseSpec spec, const OpSchema& schema, DType type) {
  if (spec.dtypes.size() == 1) spec.dtypes.resize(schema.operands.size(), spec.dtypes[0]);
  if (spec.dtypes.size() != schema.operands.size()) return std::nullopt;
  for (const std::string& output : schema.outputs) {
    const auto at = std::ranges::find(schema.operands, output);
    if (at != schema.operands.end()) spec.dtypes[static_cast<size_t>(at - schema.operands.begin())] = type;
  }
  auto made = Canonicalise(std::move(spec), schema);
  return made ? std::optional(*std::move(made)) : std::nullopt;
}

// The types in which slices give their results, with what the name of the configuration says of them.
std::vector<std::pair<DType, std::string>> ListPartTypes(DType type) {
  if (!IsNarrow(type)) return {{type, ""}};
  return {{DType::kF32, ""}, {type, fmt::format(", each rounded to {}", Name(type))}};
}

class SumSplitter {
 public:
  SumSplitter(const Operator& op, const Problem& problem, int64_t n) : op_(op), problem_(problem), n_(n) {}

  std::vector<Configuration> List() {
    for (const auto& [extent, axes] : ListSummedAxes(op_, problem_)) {
      for (const auto& [type, said] : ListPartTypes(problem_.outputs[0].dtype)) {
        for (const auto& [how, borders] : ListBorders(extent, n_)) Add(axes, borders, type, how + said);
      }
    }
    return std::move(all_);
  }

 private:
  void Add(const std::vector<int64_t>& axes, const std::vector<int64_t>& borders, DType type, const std::string& how) {
    const DType result = problem_.outputs[0].dtype;
    Configuration of{"", problem_, {}, 1, {}, TakeAll, TakeAll};
    of.is_sum = true;
    for (size_t i = 0; i + 1 < borders.size(); ++i) {
      const SliceCut cut{axes, {}, TermsBetween(borders[i], borders[i + 1])};
      const std::optional<Problem> part = BindSlices(op_, problem_, std::span(&cut, 1));
      const auto spec = part ? WithOutputType(part->spec, op_.schema(), type) : std::nullopt;
      if (!spec) return;
      const auto bound = op_.Bind(*spec);
      if (!bound) return;
      if (i == 0) of.name = fmt::format("{}: {} slices{}", ChangedAttribute(problem_, *part), n_, how);
      const auto inputs = [cut, part = *bound](const std::vector<Tensor>& whole) {
        return TakeTerms(whole, cut, part);
      };
      of.parts.push_back({*bound, inputs});
    }
    of.joined = [result](std::span<const std::vector<Tensor>> parts) {
      std::vector<Tensor> sum;
      sum.push_back(SumInF32(parts, result));
      return sum;
    };
    all_.push_back(std::move(of));
  }

  const Operator& op_;
  const Problem& problem_;
  int64_t n_;
  std::vector<Configuration> all_;
};

// Why attention_lse cannot compute slices of the case's keys; "": it can.
std::string RefuseKeySlices(const Problem& problem) {
  if (problem.outputs[0].dtype != DType::kF32 && !IsNarrow(problem.outputs[0].dtype))
    return fmt::format("its result is {}, and slices of keys are merged in f32", Name(problem.outputs[0].dtype));
  if (problem.spec.op == "attention_lse") return "";
  const bool is_plain = problem.Text("mask") == "none" && problem.Int("window") == 0 && problem.Float("softcap") == 0 &&
                        (problem.Int("causal") == 0 || problem.Text("align") == "br");
  return is_plain ? "" : "attention_lse, which computes slices of keys, has no mask, window, softcap or align=tl";
}

class KeySplitter {
 public:
  KeySplitter(const Operator& lse, const Problem& problem, int64_t n) : lse_(lse), problem_(problem), n_(n) {}

  std::vector<Configuration> List() {
    for (const auto& [type, said] : ListPartTypes(problem_.outputs[0].dtype)) {
      for (const auto& [how, borders] : ListBorders(problem_.Int("s"), n_)) Add(borders, type, how + said);
    }
    return std::move(all_);
  }

 private:
  // Each query must see a key of the last slice, and all keys of the others.
  bool IsCut(const std::vector<int64_t>& borders) const {
    return problem_.Int("causal") == 0 || borders[borders.size() - 2] <= problem_.Int("s") - problem_.Int("l");
  }

  void Add(const std::vector<int64_t>& borders, DType type, const std::string& how) {
    Configuration of{fmt::format("s: {} slices{}", n_, how), problem_, {}, 1, {}, TakeAll, TakeAll};
    if (!IsCut(borders)) of.refused = "with causal=1 the last slice must hold as many keys as there are queries";
    for (size_t i = 0; i + 1 < borders.size(); ++i) {
      const bool is_last = i + 2 == borders.size();
      auto part = lse_.Bind(SpecOf(borders[i + 1] - borders[i], type, is_last && of.refused.empty()));
      if (!part) return;  // attention_lse has no such types
      const auto inputs = [keys = TermsBetween(borders[i], borders[i + 1])](const std::vector<Tensor>& whole) {
        std::vector<Tensor> taken;
        taken.push_back(whole[0].Clone());
        for (const size_t k : {1, 2}) taken.push_back(TakeAlong(whole[k], 2, keys));
        return taken;
      };
      of.parts.push_back({*std::move(part), inputs});
    }
    of.joined = [result = problem_.outputs[0].dtype, outputs = problem_.outputs.size()](auto parts) {
      std::vector<Tensor> merged = MergeByLse(parts, result);
      if (outputs == 1) merged.pop_back();
      return merged;
    };
    all_.push_back(std::move(of));
  }

  CaseSpec SpecOf(int64_t keys, DType type, bool is_last) const {
    CaseSpec spec = problem_.spec;
    spec.op = lse_.schema().op, spec.attrs.clear();
    spec.dtypes = {problem_.inputs[0].dtype, problem_.inputs[1].dtype, problem_.inputs[2].dtype, type};
    for (const char* key : {"b", "h", "hkv", "l", "d", "dv"})
      spec.attrs.emplace_back(key, std::to_string(problem_.Int(key)));
    spec.attrs.emplace_back("s", std::to_string(keys));
    if (is_last && problem_.Int("causal") == 1) spec.attrs.emplace_back("causal", "1");
    for (const auto& [key, value] : problem_.spec.attrs) {
      if (key == "scale" && value != "auto") spec.attrs.emplace_back(key, value);
    }
    return Canonicalise(spec, lse_.schema()).value_or(spec);
  }

  const Operator& lse_;
  const Problem& problem_;
  int64_t n_;
  std::vector<Configuration> all_;
};

}  // namespace

std::vector<Tensor> MergeByLse(std::span<const std::vector<Tensor>> parts, DType type) {
  std::vector<std::vector<float>> rows, logs;
  for (const std::vector<Tensor>& part : parts) rows.push_back(FloatsOf(part[0])), logs.push_back(FloatsOf(part[1]));
  std::vector<double> o(rows[0].size()), lse(logs[0].size());
  const size_t n = lse.empty() ? 0 : o.size() / lse.size();
  for (size_t row = 0; row < lse.size(); ++row) {
    float greatest = kNoKey, total = 0;
    for (const auto& log : logs) greatest = std::max(greatest, log[row]);
    std::vector<float> sums(n);
    for (size_t part = 0; part < logs.size(); ++part) {
      if (logs[part][row] == kNoKey) continue;
      const auto weight = static_cast<float>(std::exp(static_cast<double>(logs[part][row] - greatest)));
      for (size_t i = 0; i < n; ++i) sums[i] += weight * rows[part][row * n + i];
      total += weight;
    }
    for (size_t i = 0; i < n; ++i) o[row * n + i] = total == 0 ? 0 : sums[i] / total;
    lse[row] = total == 0 ? kNoKey : greatest + static_cast<float>(std::log(static_cast<double>(total)));
  }
  std::vector<Tensor> merged;
  merged.emplace_back(type, parts[0][0].shape()), merged.emplace_back(DType::kF32, parts[0][1].shape());
  merged[0].SetDoubles(o), merged[1].SetDoubles(lse);
  return merged;
}

Tensor SumInF32(std::span<const std::vector<Tensor>> parts, DType type) {
  const DType of_part = parts[0][0].dtype();
  std::vector<Tensor> slices;
  for (const std::vector<Tensor>& part : parts)
    slices.push_back(ConvertTo(part[0], IsNarrow(of_part) ? DType::kF32 : of_part));
  return ConvertTo(SumOverRanks(slices, RankOrder::kInOrder), type);
}

Result<std::vector<Configuration>> ListSplits(const Operator& op, const Problem& problem, int64_t n) {
  std::vector<Configuration> all;
  if (problem.spec.op == "attention" || problem.spec.op == "attention_lse") {
    const Operator* lse = OperatorRegistry::Global().Find("attention_lse");
    if (const std::string why = RefuseKeySlices(problem); !why.empty()) return UsageError(why);
    all = KeySplitter(*lse, problem, n).List();
    if (all.empty() && problem.Int("causal") == 1)
      return UsageError(
          fmt::format("with causal=1 the last of {} slices must hold more keys than there are queries", n));
  } else if (problem.outputs.size() == 1) {
    all = SumSplitter(op, problem, n).List();
  }
  if (all.empty())
    return UsageError(fmt::format("it has neither {} keys nor a sum of as many terms that is its one output", n));
  return all;
}

}  // namespace assay
