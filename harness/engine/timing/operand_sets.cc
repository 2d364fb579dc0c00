// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/timing/operand_sets.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace assay {
namespace {

constexpr double kShareOfCache = 1.0 / 8, kMostBytes = 0x1p21;
constexpr double kFewestSets = 8, kMostSets = 32;
constexpr double kCallSeconds = 0.0003;  // executions of all sets may take that long, more sets are not needed
constexpr double kGuards = 2048;         // of an operand
// Operands up to this size are sometimes uploaded whole although few of their elements changed.
constexpr uint64_t kSmallOperand = 1 << 18;
constexpr uint64_t kMostBytesMoved = 1 << 16;
// Numbers whose products and sums stay in a type with the exponents of f32 when they get a factor.
constexpr double kLowest = 0x1p-40, kHighest = 0x1p40;
constexpr int kLargestExponent = 2;

bool HasWideExponent(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kBF16 || IsComplex(dtype);
}

bool StaysInRange(const Tensor& tensor) {
  if (!HasWideExponent(tensor.dtype())) return false;
  return std::ranges::all_of(tensor.ToDoubles(),
                             [](double x) { return x == 0 || (std::abs(x) >= kLowest && std::abs(x) <= kHighest); });
}

Tensor Times(const Tensor& tensor, int exponent) {
  std::vector<double> values = tensor.ToDoubles();
  for (double& x : values) x = std::ldexp(x, exponent);
  Tensor out(tensor.dtype(), tensor.shape());
  out.SetDoubles(values);
  return out;
}

}  // namespace

double BytesOfSet(const Problem& problem) {
  double bytes = 0;
  for (const Operand& output : problem.outputs) {
    if (output.alias == 0) bytes += kGuards + static_cast<double>(BytesOf(output));
  }
  for (const Operand& input : problem.inputs) bytes += kGuards + static_cast<double>(BytesOf(input));
  return bytes;
}

bool IsCheapToRepeat(const Problem& problem) {
  constexpr double kMostFlops = 5e5, kMostBytesOfCheap = 0x1p17;
  return problem.flops <= kMostFlops && problem.bytes <= kMostBytesOfCheap;
}

size_t NumberOfSets(const Problem& problem, double cache_bytes, double expected_s) {
  const double room = cache_bytes > 0 ? std::min(kMostBytes, kShareOfCache * cache_bytes) : kMostBytes;
  const double needed = expected_s > 0 ? std::max(kFewestSets, kCallSeconds / expected_s) : kFewestSets;
  return static_cast<size_t>(std::clamp(room / BytesOfSet(problem), 2.0, std::min(needed, kMostSets)));
}

OperandSets::OperandSets(Session& session, uint64_t plan, const TimedTrial& timed, size_t count, bool unused)
    : session_(session),
      plan_(plan),
      case_(timed),
      count_(count),
      unused_(unused),
      scalable_(timed.contents.size(), -1) {
  std::vector<SliceAxes> all = timed.op->Slices(*timed.problem, 0), sums;
  // A factor of one output is none of another, nor is a sum of one a sum of all.
  if (timed.problem->outputs.size() == 1) {
    scaled_ = timed.op->ScaledInputs(*timed.problem);
    std::ranges::copy_if(all, std::back_inserter(sums), [](const SliceAxes& axes) { return axes.output < 0; });
  }
  std::erase_if(all, [this](const SliceAxes& axes) { return axes.output < 0 || OutputAxes(axes).empty(); });
  output_moves_ = !all.empty();
  axes_ = AxesOf(output_moves_ ? all : sums);
  sets_.resize(count + (unused ? 1 : 0));
  for (size_t set = 0; set < sets_.size(); ++set) sets_[set].content = set % timed.contents.size();
}

// Where each output has the axes along which slices of these inputs move; empty where one of them has none.
std::vector<int64_t> OperandSets::OutputAxes(const SliceAxes& along) const {
  std::vector<int64_t> axes = {along.output};
  for (size_t output = 1; output < case_.problem->outputs.size(); ++output) {
    const std::vector<SliceAxes> others = case_.op->Slices(*case_.problem, output);
    const auto same = std::ranges::find_if(others, [&](const SliceAxes& other) {
      return other.output >= 0 && other.inputs == along.inputs && other.extent == along.extent;
    });
    if (same == others.end()) return {};
    axes.push_back(same->output);
  }
  return axes;
}

std::vector<OperandSets::Axes> OperandSets::AxesOf(const std::vector<SliceAxes>& all) const {
  std::vector<Axes> found;
  for (const SliceAxes& along : all) {
    Axes axes{.axes = along, .outputs = OutputAxes(along), .operands = {}};
    uint64_t slice_bytes = 1;
    for (size_t i = 0; i < along.inputs.size(); ++i) {
      if (along.inputs[i] < 0) continue;
      const Operand& operand = case_.problem->inputs[i];
      axes.operands.emplace_back(i, SlicedOperand(operand, along.inputs[i], along.extent));
      axes.touched_bytes += axes.operands.back().second.TouchedBytes();
      slice_bytes += BytesOf(operand) / static_cast<uint64_t>(along.extent);
    }
    const bool large = axes.touched_bytes > kSmallOperand;
    const int64_t by_bytes = static_cast<int64_t>(kMostBytesMoved / slice_bytes);
    axes.most_exchanges = large ? 1 : std::clamp<int64_t>(by_bytes, 1, along.extent - 1);
    found.push_back(std::move(axes));
  }
  return found;
}

Piece OperandSets::MakeWholePiece(size_t set, size_t operand) const {
  const auto& inputs = case_.problem->inputs;
  const size_t first = inputs.size();
  return {set, operand, 0, BytesOf(operand < first ? inputs[operand] : case_.problem->outputs[operand - first])};
}

void OperandSets::AddPrefills(size_t set, std::vector<Piece>& pieces) const {
  for (size_t i = 0; i < case_.problem->outputs.size(); ++i) {
    const size_t operand = case_.problem->inputs.size() + i;
    const bool is_there =
        std::ranges::any_of(pieces, [&](const Piece& p) { return p.set == set && p.operand == operand; });
    if (case_.problem->outputs[i].alias == 0 && !is_there) pieces.push_back(MakeWholePiece(set, operand));
  }
}

void OperandSets::Renew(size_t set, std::vector<Piece>& pieces) const {
  for (size_t i = 0; i < case_.problem->inputs.size(); ++i) {
    const bool is_there = std::ranges::any_of(pieces, [&](const Piece& p) { return p.set == set && p.operand == i; });
    if (IsOverwritten(*case_.problem, i) && !is_there) pieces.push_back(MakeWholePiece(set, i));
  }
}

bool OperandSets::IsAsInCase(size_t set) const {
  const auto in_order = [](const std::vector<int64_t>& order) { return std::ranges::is_sorted(order); };
  return sets_[set].exponent == 0 && std::ranges::all_of(sets_[set].orders, in_order);
}

// The content as the case has it, with the set's factor.
Call<void> OperandSets::Stage(size_t set) {
  Set& at = sets_[set];
  at.orders.assign(axes_.size(), {});
  for (size_t i = 0; i < axes_.size(); ++i) {
    at.orders[i].resize(static_cast<size_t>(axes_[i].axes.extent));
    std::iota(at.orders[i].begin(), at.orders[i].end(), 0);
  }
  const InputSet& inputs = case_.contents[at.content];
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Call<std::span<std::byte>> to = session_.Staged(plan_, set, i);
    if (!to) return tl::unexpected(to.error());
    if (at.exponent != 0 && std::ranges::find(scaled_, static_cast<int>(i)) != scaled_.end()) {
      const Tensor scaled = Times(*inputs[i], at.exponent);
      std::memcpy(to->data(), scaled.data(), scaled.bytes());
    } else {
      std::memcpy(to->data(), inputs[i]->data(), inputs[i]->bytes());
    }
  }
  return {};
}

Call<void> OperandSets::StagePrefill(size_t set) {
  for (size_t i = 0; i < case_.problem->outputs.size(); ++i) {
    if (case_.problem->outputs[i].alias > 0) continue;
    const Call<std::span<std::byte>> to = session_.Staged(plan_, set, case_.problem->inputs.size() + i);
    if (!to) return tl::unexpected(to.error());
    FillWith(PrefillElement(case_.problem->outputs[i].dtype, PrefillOf(set)), *to);
  }
  return {};
}

Call<void> OperandSets::Fill(std::mt19937_64& random, bool keep_own) {
  if (Call<void> bound = session_.Bind(plan_, sets_.size()); !bound) return bound;
  std::vector<Piece> pieces, changes;
  for (size_t set = 0; set < sets_.size(); ++set) {
    if (Call<void> done = Stage(set); !done) return done;
    if (Call<void> done = StagePrefill(set); !done) return done;
    if (set != unused() && !(keep_own && set < case_.contents.size())) {
      if (Call<void> done = Change(set, random, changes); !done) return done;
    }
    for (size_t i = 0; i < case_.problem->inputs.size(); ++i) pieces.push_back(MakeWholePiece(set, i));
    AddPrefills(set, pieces);
  }
  const Call<double> sent = session_.Upload(plan_, pieces);
  if (!sent) return tl::unexpected(sent.error());
  return {};
}

Call<void> OperandSets::Change(size_t set, std::mt19937_64& random, std::vector<Piece>& pieces) {
  if (!axes_.empty()) {
    if (Call<void> done = Exchange(set, random, pieces); !done) return done;
  }
  if (!output_moves_) {
    // Without this, the previous output might be right for the new data.
    if (Call<void> done = Scale(set, random, pieces); !done) return done;
  }
  if (output_moves_ && Draw(random, 0, 7) != 0) return {};
  AddPrefills(set, pieces);
  return {};
}

// Axes with less to upload come up more often.
Call<void> OperandSets::Exchange(size_t set, std::mt19937_64& random, std::vector<Piece>& pieces) {
  std::vector<double> weights;
  for (const Axes& axes : axes_) weights.push_back(1 / (4096 + static_cast<double>(axes.touched_bytes)));
  const size_t chosen = std::discrete_distribution<size_t>(weights.begin(), weights.end())(random);
  const Axes& axes = axes_[chosen];
  std::vector<int64_t>& order = sets_[set].orders[chosen];
  // One or two exchanges are as likely as many.
  const int64_t most = axes.most_exchanges;
  const int64_t count = Draw<int64_t>(random, 1, Draw<int64_t>(random, 0, 1) == 0 ? std::min<int64_t>(most, 2) : most);
  const bool all = count > 2 || Draw(random, 0, 3) == 0;
  std::vector<std::vector<SlicedOperand::Range>> touched(axes.operands.size());
  for (int64_t n = 0; n < count; ++n) {
    const int64_t i = Draw<int64_t>(random, 0, axes.axes.extent - 1);
    const int64_t j = (i + Draw<int64_t>(random, 1, axes.axes.extent - 1)) % axes.axes.extent;
    std::swap(order[i], order[j]);
    for (size_t k = 0; k < axes.operands.size(); ++k) {
      const auto& [operand, sliced] = axes.operands[k];
      const Call<std::span<std::byte>> staged = session_.Staged(plan_, set, operand);
      if (!staged) return tl::unexpected(staged.error());
      std::ranges::copy(sliced.Exchange(*staged, i, j), std::back_inserter(touched[k]));
    }
  }
  for (size_t k = 0; k < axes.operands.size(); ++k) {
    const Piece whole = MakeWholePiece(set, axes.operands[k].first);
    uint64_t bytes = 0;
    for (const SlicedOperand::Range& range : touched[k]) bytes += range.bytes;
    const bool overwritten = IsOverwritten(*case_.problem, whole.operand);
    if (bytes >= whole.bytes || (all && whole.bytes <= kSmallOperand) || overwritten) {
      pieces.push_back(whole);
      continue;
    }
    for (const SlicedOperand::Range& range : touched[k]) {
      pieces.push_back({set, whole.operand, range.first, range.bytes});
    }
  }
  return {};
}

// Another factor; where the numbers have no room for it, the other content.
Call<void> OperandSets::Scale(size_t set, std::mt19937_64& random, std::vector<Piece>& pieces) {
  Set& at = sets_[set];
  if (scaled_.empty() || !CanBeScaled(at.content)) {
    if (!axes_.empty()) return {};
    at.content = (at.content + 1) % case_.contents.size();
    if (Call<void> done = Stage(set); !done) return done;
    for (size_t i = 0; i < case_.problem->inputs.size(); ++i) pieces.push_back(MakeWholePiece(set, i));
    return {};
  }
  const int before = at.exponent;
  at.exponent = Draw(random, -kLargestExponent, kLargestExponent - 1);
  if (at.exponent >= before) ++at.exponent;
  for (const int i : scaled_) {
    const Call<std::span<std::byte>> staged = session_.Staged(plan_, set, static_cast<size_t>(i));
    if (!staged) return tl::unexpected(staged.error());
    Tensor values(case_.problem->inputs[i].dtype, case_.problem->inputs[i].shape);
    std::memcpy(values.data(), staged->data(), values.bytes());
    const Tensor scaled = Times(values, at.exponent - before);
    std::memcpy(staged->data(), scaled.data(), scaled.bytes());
    pieces.push_back(MakeWholePiece(set, static_cast<size_t>(i)));
  }
  return {};
}

bool OperandSets::CanBeScaled(size_t content) {
  int& known = scalable_[content];
  if (known < 0) {
    known = HasWideExponent(case_.problem->outputs[0].dtype) ? 1 : 0;
    for (const Tensor* input : case_.contents[content]) known = known == 1 && StaysInRange(*input) ? 1 : 0;
  }
  return known == 1;
}

std::vector<Tensor> OperandSets::Restored(size_t set, const std::vector<Tensor>& outputs) const {
  const Set& at = sets_[set];
  std::vector<Tensor> all;
  for (size_t k = 0; k < outputs.size(); ++k) {
    Tensor restored = at.exponent == 0 ? outputs[k].Clone() : Times(outputs[k], -at.exponent);
    for (size_t i = 0; i < axes_.size() && output_moves_; ++i) {
      if (std::ranges::is_sorted(at.orders[i])) continue;
      const SlicedOperand sliced(case_.problem->outputs[k], axes_[i].outputs[k], axes_[i].axes.extent);
      restored = sliced.Restored(restored, at.orders[i]);
    }
    all.push_back(std::move(restored));
  }
  return all;
}

}  // namespace assay
