// SPDX-License-Identifier: Apache-2.0
// Bugs that lose, repeat or mix up terms of a matrix product's sums, everywhere or in one place.
#include <algorithm>
#include <vector>

#include "tests/faults/corpus/matmul_plan.h"

namespace corpus {
namespace matmul_terms {

constexpr int64_t kTile = 16;   // rows and columns of a tile of y
constexpr int64_t kPanel = 32;  // terms that a kernel holds at a time

enum class Region { kEverywhere, kLastTile, kOneElement };

bool Contains(Region region, const plugin::MatmulSpec& s, const Place& at) {
  switch (region) {
    case Region::kLastTile:
      return at.batch == s.batch - 1 && at.row / kTile == (s.m - 1) / kTile && at.column / kTile == (s.n - 1) / kTile;
    case Region::kOneElement:
      return at.batch == 0 && at.row == s.m / 2 && at.column == s.n / 3;
    default:
      return true;
  }
}

// One element's row of a and column of b, and how far the arrays go on behind them: what a load beyond the end of k
// finds.
template <class T>
struct Terms {
  const T* a;
  const T* b;
  int64_t k, readable_a, readable_b;
  int64_t run;  // executions of the plan before this one; the exact arithmetic always has 1

  T Range(int64_t first, int64_t last) const {
    return last <= first ? T{0} : CleanDot(a + first, b + first, last - first);
  }
  T Sum() const { return Range(0, k); }
  T Term(int64_t i) const { return a[i] * b[i]; }
};

// clang-format off
struct LastDropped { template <class T> static T Sum(const Terms<T>& x) { return x.Range(0, x.k - 1); } };
struct FirstDropped { template <class T> static T Sum(const Terms<T>& x) { return x.Range(1, x.k); } };
struct LastRepeated { template <class T> static T Sum(const Terms<T>& x) { return x.Sum() + x.Term(x.k - 1); } };
// The second half begins one term late, or early.
struct SplitGap { template <class T> static T Sum(const Terms<T>& x) { return x.Range(0, x.k / 2) + x.Range(x.k / 2 + 1, x.k); } };
struct SplitOverlap { template <class T> static T Sum(const Terms<T>& x) { return x.Range(0, x.k / 2 + 1) + x.Range(x.k / 2, x.k); } };
// The terms behind the last whole panel are lost.
struct TailLost { template <class T> static T Sum(const Terms<T>& x) { return x.Range(0, x.k / kPanel * kPanel); } };
// The pipeline skips its last stage.
struct PanelLost { template <class T> static T Sum(const Terms<T>& x) { return x.Range(0, (x.k - 1) / kPanel * kPanel); } };
// A reduction of two halves whose second addend is lost, or replaces the first.
struct HalfLost { template <class T> static T Sum(const Terms<T>& x) { return x.Range(0, x.k / 2); } };
// clang-format on

// The panel behind the end is not masked: it multiplies what lies behind the row and the column.
struct TailGarbage {
  template <class T>
  static T Sum(const Terms<T>& x) {
    const int64_t padded = (x.k + kPanel - 1) / kPanel * kPanel;
    return x.Range(0, std::min({padded, x.readable_a, x.readable_b}));
  }
};

// A vector of eight ends at the end of k, to need no mask, and repeats terms of the one before.
struct TailOverlap {
  template <class T>
  static T Sum(const Terms<T>& x) {
    return x.Range(0, x.k / 8 * 8) + x.Range(x.k - 8, x.k);
  }
};

// Two buffers in turn: the last panel of b has not arrived, so that a meets the panel before it.
struct StalePanel {
  template <class T>
  static T Sum(const Terms<T>& x) {
    const int64_t last = (x.k / kPanel - 1) * kPanel;
    return x.Range(0, last) + CleanDot(x.a + last, x.b + last - kPanel, kPanel) + x.Range(last + kPanel, x.k);
  }
};

// Two halves add to one place without an atomic: in every other run one of them is lost.
struct Race {
  template <class T>
  static T Sum(const Terms<T>& x) {
    const T first = x.Range(0, x.k / 2), second = x.Range(x.k / 2, x.k);
    return x.run % 2 == 0 ? first + second : second;
  }
};

// Even terms first, then odd ones, but the odd factors of b are one step behind: a fragment's interleaving is wrong.
struct PairsSwapped {
  template <class T>
  static T Sum(const Terms<T>& x) {
    T sum = 0;
    for (int64_t i = 0; i + 1 < x.k; i += 2) sum += x.a[i] * x.b[i + 1] + x.a[i + 1] * x.b[i];
    return x.k % 2 == 0 ? sum : sum + x.Term(x.k - 1);
  }
};

// An i16 accumulator that saturates, added to an i32 one only every 128 terms.
struct SaturatedI16 {
  template <class T>
  static T Sum(const Terms<T>& x) {
    T sum = 0;
    for (int64_t first = 0; first < x.k; first += 128) {
      T part = 0;
      for (int64_t i = first; i < std::min(first + 128, x.k); ++i) {
        part = std::clamp(part + x.Term(i), T{-32768}, T{32767});
      }
      sum += part;
    }
    return sum;
  }
};

// The unit takes its first operand as unsigned.
struct SignLost {
  template <class T>
  static T Sum(const Terms<T>& x) {
    T sum = 0;
    for (int64_t i = 0; i < x.k; ++i) sum += (x.a[i] < 0 ? x.a[i] + 256 : x.a[i]) * x.b[i];
    return sum;
  }
};

// Exact up to 2^24 and silent beyond.
struct SumInF32 {
  template <class T>
  static T Sum(const Terms<T>& x) {
    float sum = 0;
    for (int64_t i = 0; i < x.k; ++i) sum += static_cast<float>(x.a[i]) * static_cast<float>(x.b[i]);
    return static_cast<T>(sum);
  }
};

// Sums of integers that pass through f32 once, for an epilogue.
struct ConvertedToF32 {
  template <class T>
  static T Sum(const Terms<T>& x) {
    T sum = 0;
    for (int64_t i = 0; i < x.k; ++i) sum += x.a[i] * x.b[i];
    return static_cast<T>(static_cast<float>(sum));
  }
};

template <class T, class Bug>
class TermPlan : public MatmulPlan<T> {
 public:
  TermPlan(Description op, bool exact, Region region) : MatmulPlan<T>(op, exact), region_(region) {}

 protected:
  void Prepare(MatmulOperands<T>& x) override {
    end_a_ = x.a.data() + x.a.size();
    end_b_ = x.b.data() + x.b.size();
  }
  T Dot(const T* a, const T* b, const Place& at) override {
    const int64_t k = this->spec().k;
    if (!Contains(region_, this->spec(), at)) return CleanDot(a, b, k);
    return Bug::Sum(Terms<T>{a, b, k, end_a_ - a, end_b_ - b, this->exact() ? 1 : this->runs()});
  }

 private:
  const Region region_;
  const T* end_a_ = nullptr;
  const T* end_b_ = nullptr;
};

int64_t K(Description op) {
  return plugin::ParseMatmul(op).k;
}

std::string NeedsTwoTerms(Description op) {
  return K(op) < 2 ? "k=1 has no second term for this bug" : MatmulWhyNot(op);
}

std::string NeedsTail(Description op) {
  const int64_t k = K(op);
  return k < kPanel || k % kPanel == 0 ? "k has no tail behind panels of 32" : MatmulWhyNot(op);
}

// The garbage has to exist: the last element of y alone has nothing behind both its row and its column.
std::string NeedsGarbage(Description op) {
  const plugin::MatmulSpec s = plugin::ParseMatmul(op);
  return s.m < 2 || s.n < 2 ? "one row or column has no other behind it" : NeedsTail(op);
}

std::string NeedsVectorTail(Description op) {
  const int64_t k = K(op);
  return k < 8 || k % 8 == 0 ? "k has no tail behind vectors of 8" : MatmulWhyNot(op);
}

std::string NeedsPanels(Description op) {
  return K(op) < 2 * kPanel ? "k has fewer than two panels of 32" : MatmulWhyNot(op);
}

std::string NeedsI8(Description op) {
  return HasInputs(op, plugin::kI8) ? NeedsTwoTerms(op) : "this is a bug of i8 products";
}

std::string NeedsLongI8(Description op) {
  constexpr int64_t kLargestProduct = 128 * 128, kHeld = 1 << 24;
  return K(op) * kLargestProduct <= kHeld ? "f32 holds all sums of so few i8 products" : NeedsI8(op);
}

template <class Bug>
Entry Fault(const char* name, Region region = Region::kEverywhere,
            std::string (*why_not)(Description) = NeedsTwoTerms) {
  return {"matmul", name, MatmulContract, why_not, [region](Description op, bool exact) {
            return WithCarrier(op, exact, [&]<class T>(std::type_identity<T>) -> std::unique_ptr<plugin::Plan> {
              return std::make_unique<TermPlan<T, Bug>>(op, exact, region);
            });
          }};
}

}  // namespace matmul_terms

std::vector<Entry> MatmulTermFaults() {
  using namespace matmul_terms;
  using enum Region;
  return {
      Fault<LastDropped>("fault.last-k-dropped-everywhere"),
      Fault<LastDropped>("fault.last-k-dropped-in-one-tile", kLastTile),
      Fault<LastDropped>("fault.last-k-dropped-in-one-element", kOneElement),
      Fault<FirstDropped>("fault.first-k-dropped-everywhere"),
      Fault<FirstDropped>("fault.first-k-dropped-in-one-element", kOneElement),
      Fault<LastRepeated>("fault.last-k-repeated-everywhere"),
      Fault<LastRepeated>("fault.last-k-repeated-in-one-element", kOneElement),
      Fault<SplitGap>("fault.split-k-leaves-a-gap"),
      Fault<SplitOverlap>("fault.split-k-overlaps-in-one-tile", kLastTile),
      Fault<HalfLost>("fault.split-k-part-lost-in-one-element", kOneElement),
      Fault<TailLost>("fault.tail-panel-reads-zero", kEverywhere, NeedsTail),
      Fault<TailLost>("fault.tail-panel-reads-zero-in-one-tile", kLastTile, NeedsTail),
      Fault<TailGarbage>("fault.tail-panel-reads-garbage", kEverywhere, NeedsGarbage),
      Fault<TailOverlap>("fault.tail-vector-overlaps", kEverywhere, NeedsVectorTail),
      Fault<PanelLost>("fault.last-panel-skipped-in-one-tile", kLastTile, NeedsPanels),
      Fault<StalePanel>("fault.stale-panel-of-b-in-one-tile", kLastTile, NeedsPanels),
      Fault<PairsSwapped>("fault.pairs-of-k-swapped-in-b"),
      Fault<Race>("fault.race-between-halves-of-k-in-one-tile", kLastTile),
      Fault<SaturatedI16>("fault.i8-sums-saturate-in-i16", kEverywhere, NeedsI8),
      Fault<SignLost>("fault.i8-operand-taken-as-unsigned", kEverywhere, NeedsI8),
      Fault<SumInF32>("fault.i8-sums-kept-in-f32", kEverywhere, NeedsLongI8),
      Fault<ConvertedToF32>("fault.i8-sums-converted-to-f32", kEverywhere, NeedsLongI8),
  };
}

}  // namespace corpus
