// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <vector>

#include "backends/common/reduce_spec.h"
#include "backends/cpu/elements.h"
#include "backends/cpu/fold.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/workspace.h"

namespace cpu {
namespace {

using plugin::Axis;
using plugin::Offsets;
using plugin::ReduceKind;
using plugin::ReduceSpec;

// Feeds the reduced elements of one output to `consume(Acc* block, count)`, in row-major order, kBlock at a time.
template <class Acc>
class BlockReader {
 public:
  BlockReader(const ReduceSpec& spec, const std::byte* base, Acc* block) : spec_(spec), base_(base), block_(block) {}

  template <class Consume>
  void ForEach(const Consume& consume) {
    std::vector<int64_t> index(spec_.reduced.size(), 0);
    int64_t filled = 0;
    for (bool more = true; more; more = Advance(index)) filled = ReadRun(Offset(index), filled, consume);
    if (filled > 0) consume(block_, filled);
  }

 private:
  int64_t Offset(const std::vector<int64_t>& index) const {
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i) offset += index[i] * spec_.reduced[i].in_stride;
    return offset;
  }

  // The next run: every axis but the last, which is the run itself.
  bool Advance(std::vector<int64_t>& index) const {
    for (size_t i = index.size() - 1; i-- > 0;) {
      if (++index[i] < spec_.reduced[i].size) return true;
      index[i] = 0;
    }
    return false;
  }

  template <class Consume>
  int64_t ReadRun(int64_t offset, int64_t filled, const Consume& consume) {
    const Axis& run = spec_.reduced.back();
    for (int64_t done = 0; done < run.size;) {
      const int64_t count = std::min(kBlock - filled, run.size - done);
      const int64_t first = offset + done * run.in_stride;
      Load(spec_.in, base_ + first * plugin::Bytes(spec_.in), run.in_stride, count, block_ + filled);
      done += count, filled += count;
      if (filled == kBlock) consume(block_, filled), filled = 0;
    }
    return filled;
  }

  const ReduceSpec& spec_;
  const std::byte* base_;
  Acc* block_;
};

// The position of the first greatest (kSign 1) or least (-1) element in row-major order over the reduced axes.
template <class Acc, int kSign>
int64_t ArgExtreme(BlockReader<Acc> reader, bool ignore_nan) {
  int64_t best = 0, position = 0;
  Acc value = std::numeric_limits<Acc>::quiet_NaN();
  bool found = false;  // `value` holds an element
  reader.ForEach([&](const Acc* x, int64_t count) {
    for (int64_t i = 0; i < count; ++i, ++position) {
      const bool is_nan = x[i] != x[i];
      if (is_nan && ignore_nan) continue;
      if (found && (value != value || !(is_nan || (kSign > 0 ? x[i] > value : x[i] < value)))) continue;
      found = true, value = x[i], best = position;
    }
  });
  return best;
}

template <class Acc, template <class, class> class Fold>
class Reducer {
 public:
  static Acc Value(const ReduceSpec& spec, const BlockReader<Acc>& reader) {
    if constexpr (std::is_floating_point_v<Acc>) {
      if (spec.kind == ReduceKind::kMean) return FoldAll<Add<Acc>>(reader) / static_cast<Acc>(spec.count);
      if (spec.kind == ReduceKind::kL2) return std::sqrt(FoldAll<Add<Acc>>(reader, [](Acc x) { return x * x; }));
      if (spec.kind == ReduceKind::kLogSumExp) return LogSumExp(reader);
      if (spec.ignore_nan && spec.kind == ReduceKind::kMax) return FoldAll<ExtremeNumber<Acc, 1>>(reader);
      if (spec.ignore_nan && spec.kind == ReduceKind::kMin) return FoldAll<ExtremeNumber<Acc, -1>>(reader);
    }
    switch (spec.kind) {
      case ReduceKind::kSum:
        return FoldAll<Add<Acc>>(reader);
      case ReduceKind::kProd:
        return FoldAll<Multiply<Acc>>(reader);
      case ReduceKind::kMax:
        return FoldAll<Extreme<Acc, 1>>(reader);
      case ReduceKind::kMin:
        return FoldAll<Extreme<Acc, -1>>(reader);
      default:
        throw plugin::Failure("reduce: this kind is not a fold");
    }
  }

 private:
  struct Same {
    Acc operator()(Acc x) const { return x; }
  };

  template <class Op, class Map = Same>
  static Acc FoldAll(BlockReader<Acc> reader, Map map = {}) {
    Fold<Acc, Op> fold;
    reader.ForEach([&](Acc* x, int64_t count) {
      for (int64_t i = 0; i < count; ++i) x[i] = map(x[i]);
      fold.AddBlock(x, count);
    });
    return fold.Finish();
  }

  // max + log(sum exp(x - max)); the shift keeps exp from overflowing. A non-finite maximum is the result itself.
  static Acc LogSumExp(const BlockReader<Acc>& reader) {
    const Acc max = FoldAll<Extreme<Acc, 1>>(reader);
    if (!std::isfinite(max)) return max;
    return max + std::log(FoldAll<Add<Acc>>(reader, [max](Acc x) { return std::exp(x - max); }));
  }
};

template <class Acc>
class ReducePlan : public plugin::HostPlan {
 public:
  ReducePlan(ReduceSpec spec, SumOrder order) : spec_(std::move(spec)), order_(order) {
    threads_ = ThreadsFor(static_cast<double>(spec_.outputs) * static_cast<double>(spec_.count));
    blocks_.resize(static_cast<size_t>(threads_ * kBlock));
  }

  plugin::PlanInfo Info() const override { return {BytesOf(blocks_), "", ""}; }

 protected:
  void Run(Pointers inputs, Pointers outputs) override {
    ParallelFor(spec_.outputs, threads_, [&](int64_t index, int slot) {
      const Offsets at = plugin::OffsetsOf(spec_, index);
      const BlockReader<Acc> reader(spec_, inputs[0] + at.in * plugin::Bytes(spec_.in), blocks_.data() + slot * kBlock);
      std::byte* y = outputs[0] + at.out * plugin::Bytes(spec_.out);
      if (spec_.IsArg()) {
        const int64_t best = spec_.kind == ReduceKind::kArgMax ? ArgExtreme<Acc, 1>(reader, spec_.ignore_nan)
                                                               : ArgExtreme<Acc, -1>(reader, spec_.ignore_nan);
        std::memcpy(y, &best, sizeof best);
        return;
      }
      const Acc value = Value(reader);
      Store(spec_.out, &value, 1, y, 1);
    });
  }

 private:
  Acc Value(const BlockReader<Acc>& reader) const {
    switch (order_) {
      case SumOrder::kPairwise:
        return Reducer<Acc, PairwiseFold>::Value(spec_, reader);
      case SumOrder::kStrided:
        return Reducer<Acc, StridedFold>::Value(spec_, reader);
      default:
        return Reducer<Acc, SequentialFold>::Value(spec_, reader);
    }
  }

  const ReduceSpec spec_;
  const SumOrder order_;
  int threads_ = 1;
  std::vector<Acc> blocks_;  // [threads, kBlock]
};

}  // namespace

std::unique_ptr<plugin::Plan> CreateReducePlan(const plugin::OpDesc& op, SumOrder order) {
  plugin::ReduceSpec spec = plugin::ParseReduce(op);
  if (plugin::IsInteger(spec.in)) return std::make_unique<ReducePlan<int64_t>>(std::move(spec), order);
  if (spec.IsF64()) return std::make_unique<ReducePlan<double>>(std::move(spec), order);
  return std::make_unique<ReducePlan<float>>(std::move(spec), order);
}

}  // namespace cpu
