// SPDX-License-Identifier: Apache-2.0
// Operators with a block for each row, channel or head.
#pragma once

#include "backends/gpu/device/operands.h"

namespace gpu {

struct ProductOf {
  template <class A>
  GPU_DEVICE A operator()(A a, A b) const {
    return a * b;
  }
};

// Each index below `count` by one thread of a block.
template <int kThreads, class Visit>
GPU_DEVICE void ForEachOfBlock(int64_t count, const Visit& visit) {
  for (int64_t i = threadIdx.x; i < count; i += kThreads) visit(i);
}

// x [rows,n] -> y [rows,n], all elements up to each combined: threads combine a part of the row each, then parts.
template <class Combine, int kNeutral>
struct ScanKernel {
  static constexpr int kThreads = kItemThreads;
  template <class A>
  using Shared = A;
  template <class A>
  GPU_DEVICE static void Run(const Operands<A>& x, int64_t row) {
    const int thread = static_cast<int>(threadIdx.x);
    const int64_t n = x.Size(0), part = CeilDiv(n, kThreads);
    const int64_t begin = Least(thread * part, n), end = Least(begin + part, n);
    const Combine combine;
    A own = kNeutral;
    for (int64_t i = begin; i < end; ++i) own = combine(own, x.X(0, row, i));
    x.shared()[thread] = own;
    for (int width = 1; width < kThreads; width *= 2) {
      Sync();
      const A before = thread >= width ? x.shared()[thread - width] : A{kNeutral};
      own = combine(before, own);
      Sync();
      x.shared()[thread] = own;
    }
    Sync();
    A all = thread > 0 ? x.shared()[thread - 1] : A{kNeutral};
    for (int64_t i = begin; i < end; ++i) {
      all = combine(all, x.X(0, row, i));
      x.Write(0, all, row, i);
    }
  }
};
using CumSumKernel = ScanKernel<SumOf, 0>;
using CumProdKernel = ScanKernel<ProductOf, 1>;

template <class A>
struct Ranked {
  A value;
  int64_t at;  // -1: none
};

// Whether a stands before b among elements of a row: NaN is the largest, and of equals the first stands first.
template <class A>
GPU_DEVICE bool StandsBefore(bool largest_first, const Ranked<A>& a, const Ranked<A>& b) {
  const bool a_is_nan = IsNan(a.value), b_is_nan = IsNan(b.value);
  if (a_is_nan != b_is_nan) return a_is_nan == largest_first;
  if (a_is_nan || a.value == b.value) return a.at < b.at;
  return (a.value > b.value) == largest_first;
}

// x [rows,n] -> values and places [rows,k]: in each round the first of those that stand behind the last one. The option
// asks for the smallest.
struct TopKKernel {
  static constexpr int kThreads = kItemThreads;
  template <class A>
  using Shared = Ranked<A>;
  template <class A>
  GPU_DEVICE static void Run(const Operands<A, Ranked<A>>& x, int64_t row) {
    const bool largest_first = x.params().option == 0;
    const auto first_of = [&](const Ranked<A>& a, const Ranked<A>& b) {
      if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;
      return StandsBefore(largest_first, b, a) ? b : a;
    };
    Ranked<A> last{A{0}, -1};
    for (int64_t rank = 0; rank < x.Size(1); ++rank) {
      Ranked<A> own{A{0}, -1};
      ForEachOfBlock<kThreads>(x.Size(0), [&](int64_t i) {
        const Ranked<A> next{x.X(0, row, i), i};
        if (last.at < 0 || StandsBefore(largest_first, last, next)) own = first_of(own, next);
      });
      last = BlockCombine<kThreads>(own, x.shared(), first_of);
      if (threadIdx.x != 0) continue;
      x.Write(0, last.value, row, rank);
      x.Write(1, last.at, row, rank);
    }
  }
};

// u, delta [b,c,l], a_log [c,s], b_t, c_t [b,s,l], d_skip [c] -> y [b,c,l]: a block per channel, whose threads keep
// states.
struct SelectiveScanKernel {
  static constexpr int kThreads = kStateThreads;
  template <class A>
  using Shared = A;
  template <class A>
  GPU_DEVICE static void Run(const Operands<A>& x, int64_t item) {
    const int64_t l = x.Size(0), states = x.Size(1), b = item / x.Size(2), c = item % x.Size(2);
    A rate[kStatesOfAThread], state[kStatesOfAThread];
    const auto for_each_state = [&](const auto& visit) {
      for (int i = 0; i < kStatesOfAThread; ++i) {
        const int64_t s = threadIdx.x + static_cast<int64_t>(i) * kThreads;
        if (s < states) visit(i, s);
      }
    };
    for_each_state([&](int i, int64_t s) { rate[i] = -Exp(x.X(2, c, s)), state[i] = 0; });
    for (int64_t t = 0; t < l; ++t) {
      const A u = x.X(0, b, c, t), delta = x.X(1, b, c, t);
      A own = 0;
      for_each_state([&](int i, int64_t s) {
        state[i] = Exp(delta * rate[i]) * state[i] + delta * u * x.X(3, b, s, t);
        own += state[i] * x.X(4, b, s, t);
      });
      const A sum = BlockCombine<kThreads>(own, x.shared(), SumOf{});
      if (threadIdx.x == 0) x.Write(0, sum + x.X(5, c) * u, b, c, t);
    }
  }
};

// q [b,h,d], keys and values [pages,page,hkv,d], table [b,blocks], lengths [b] -> o [b,h,d]: a block per head, whose
// scores lie in the workspace.
struct PagedDecodeKernel {
  static constexpr int kThreads = kItemThreads;
  template <class A>
  using Shared = A;
  template <class A>
  GPU_DEVICE static void Run(const Operands<A>& x, int64_t item) {
    const int64_t h = x.Size(0), hkv = x.Size(1), d = x.Size(2), page = x.Size(3), most = x.Size(4);
    const int64_t b = item / h, head = item % h, key_head = head / (h / hkv), length = x.Integer(4, b);
    A* const scores = static_cast<A*>(x.params().workspace) + item * most;
    const A scale = static_cast<A>(x.params().factor);
    const auto element = [&](int input, int64_t place, int64_t i) {
      return x.X(input, x.Integer(3, b, place / page), place % page, key_head, i);
    };
    A own = -Infinity<A>();
    ForEachOfBlock<kThreads>(length, [&](int64_t place) {
      A dot = 0;
      for (int64_t i = 0; i < d; ++i) dot = MultiplyAdd(x.X(0, b, head, i), element(1, place, i), dot);
      scores[place] = scale * dot;
      own = Greatest(own, scores[place]);
    });
    const A greatest = BlockCombine<kThreads>(own, x.shared(), GreatestOf{});
    own = 0;
    ForEachOfBlock<kThreads>(length, [&](int64_t place) { own += scores[place] = Exp(scores[place] - greatest); });
    const A sum = BlockCombine<kThreads>(own, x.shared(), SumOf{});
    ForEachOfBlock<kThreads>(d, [&](int64_t i) {
      A all = 0;
      for (int64_t place = 0; place < length; ++place) all = MultiplyAdd(scores[place], element(2, place, i), all);
      x.Write(0, length > 0 ? all / sum : A{0}, b, head, i);
    });
  }
};

// logits [rows,n], labels [rows] -> a loss for each row in the workspace, 0 where the label is the integer of the
// parameters. The factor is how much of a label is spread over all classes.
struct RowLossKernel {
  static constexpr int kThreads = kItemThreads;
  template <class A>
  using Shared = A;
  template <class A>
  GPU_DEVICE static void Run(const Operands<A>& x, int64_t row) {
    const int64_t n = x.Size(0), label = x.Integer(1, row);
    const A spread = static_cast<A>(x.params().factor);
    A own = -Infinity<A>();
    ForEachOfBlock<kThreads>(n, [&](int64_t i) { own = Greatest(own, x.X(0, row, i)); });
    const A greatest = BlockCombine<kThreads>(own, x.shared(), GreatestOf{});
    own = 0;
    ForEachOfBlock<kThreads>(n, [&](int64_t i) { own += Exp(x.X(0, row, i) - greatest); });
    const A sum = BlockCombine<kThreads>(own, x.shared(), SumOf{});
    own = 0;
    if (spread != 0) ForEachOfBlock<kThreads>(n, [&](int64_t i) { own += greatest - x.X(0, row, i); });
    const A below = BlockCombine<kThreads>(own, x.shared(), SumOf{});
    if (threadIdx.x != 0) return;
    A loss = Log(sum) + static_cast<A>(1 - x.params().factor) * (greatest - x.X(0, row, label));
    if (spread != 0) loss += spread * below / static_cast<A>(n);
    static_cast<A*>(x.params().workspace)[row] = label == x.params().integer ? A{0} : loss;
  }
};

// Losses of rows in the workspace -> each, their sum, or their mean over the rows that count, as the option says: 0, 1
// and 2.
struct SumOfLossesKernel {
  static constexpr int kThreads = kItemThreads;
  template <class A>
  using Shared = A;
  template <class A>
  GPU_DEVICE static void Run(const Operands<A>& x, int64_t) {
    const A* const losses = static_cast<const A*>(x.params().workspace);
    const int64_t rows = x.Size(1);
    if (x.params().option == 0) {
      ForEachOfBlock<kThreads>(rows, [&](int64_t row) { x.Write(0, losses[row], row); });
      return;
    }
    A own = 0, counted = 0;
    ForEachOfBlock<kThreads>(rows, [&](int64_t row) {
      own += losses[row];
      counted += static_cast<A>(x.Integer(1, row) != x.params().integer ? 1 : 0);
    });
    const A sum = BlockCombine<kThreads>(own, x.shared(), SumOf{});
    const A count = BlockCombine<kThreads>(counted, x.shared(), SumOf{});
    if (threadIdx.x == 0) x.Write(0, x.params().option == 1 ? sum : sum / count);
  }
};

}  // namespace gpu
