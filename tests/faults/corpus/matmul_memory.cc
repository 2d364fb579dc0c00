// SPDX-License-Identifier: Apache-2.0
// Kernels that compute correctly from or to the wrong place.
#include <cstring>

#include "tests/faults/corpus/matmul_kernel.h"

namespace corpus {
namespace matmul_memory {

using Spec = const plugin::MatmulSpec&;
using enum Strike;

// Axes as in LogicalTensor.
constexpr IoBug kPlaces[] = {
    IoBug{"fault.last-row-unwritten", kOutput, -2, Last(), kUnwritten}.And(-3, Last()),
    IoBug{"fault.last-column-unwritten", kOutput, -1, Last(), kUnwritten}.And(-3, Last()),
    {"fault.batch-stride-zero-for-b", 1, -3, From(1), kFirst},
};
// A plan that takes equal pointers for equal data and returns what it computed first, or a cache of the first b.
constexpr IoBug kCaches[] = {
    {"fault.stale-output-of-first-call", kOutput, kFlat, All(), kKept},
    {"fault.stale-packed-b-of-first-call", 1, kFlat, All(), kKept},
};

constexpr auto kTwoRows = [](Spec s) { return s.m > 1; };
constexpr auto kTwoColumns = [](Spec s) { return s.n > 1; };
constexpr auto kMatrix = [](Spec s) { return s.m > 1 && s.k > 1; };  // a vector is its own transpose

// A change of a before the product, or of y after it.
template <class T>
struct Change {
  void (*of_a)(std::vector<T>&, Spec) = nullptr;
  void (*of_y)(DenseOutput<T>&, Spec) = nullptr;
};

template <class T>
class ChangedMatmul : public CleanMatmul<T> {
 public:
  ChangedMatmul(Description op, bool exact, Change<T> change) : CleanMatmul<T>(op, exact), change_(change) {}

 private:
  void Prepare(MatmulOperands<T>& x) override {
    if (change_.of_a != nullptr) change_.of_a(x.a, this->spec());
  }
  void Finish(const MatmulOperands<T>&, DenseOutput<T>& y) override {
    if (change_.of_y != nullptr) change_.of_y(y, this->spec());
  }
  const Change<T> change_;
};

template <class T>
auto RowOf(DenseOutput<T>& y, Spec s, int64_t row) {
  return y.values.begin() + ((s.batch - 1) * s.m + row) * s.n;
}

template <class T>
void Changes(Edits<Change<T>, plugin::MatmulSpec>& of) {
  of("fault.one-element-unwritten").of_y = [](DenseOutput<T>& y, Spec s) {
    y.LeaveUnwritten(((s.batch - 1) * s.m + s.m / 2) * s.n + s.n / 3);
  };
  // a is read with the leading dimension of its transpose.
  of("fault.transposed-leading-dimension", kMatrix).of_a = [](std::vector<T>& a, Spec s) {
    const std::vector<T> right = a;
    for (int64_t e = 0; e < std::ssize(a); ++e) {
      const int64_t i = e % (s.m * s.k);
      a[static_cast<size_t>(e)] = right[static_cast<size_t>(e - i + i % s.k * s.m + i / s.k)];
    }
  };
  // Rows 0 and 1 of the last tile of y change places: a wrong swizzle of the fragment.
  of("fault.rows-swapped-in-one-tile", kTwoRows).of_y = [](DenseOutput<T>& y, Spec s) {
    const int64_t row = std::min((s.m - 1) / 16 * 16, s.m - 2), column = (s.n - 1) / 16 * 16;
    std::swap_ranges(RowOf(y, s, row) + column, RowOf(y, s, row) + s.n, RowOf(y, s, row + 1) + column);
  };
  // Two neighbouring columns change places in every group of four lanes.
  of("fault.lanes-swapped-in-output", kTwoColumns).of_y = [](DenseOutput<T>& y, Spec s) {
    for (auto row = y.values.begin(); row != y.values.end(); row += s.n) {
      for (int64_t j = 0; j + 1 < s.n; j += 4) std::swap(row[j], row[j + 1]);
    }
  };
  // The last row's index is clamped one too low, so that the row before is computed twice.
  of("fault.last-row-repeats-previous", kTwoRows).of_y = [](DenseOutput<T>& y, Spec s) {
    std::copy_n(RowOf(y, s, s.m - 2), s.n, RowOf(y, s, s.m - 1));
  };
}

// The store of a vector without a mask, or an operand that is scratch space: its first element is left scaled.
template <class T, bool kOperand>
class Tramples : public KernelMatmul<T> {
 public:
  using KernelMatmul<T>::KernelMatmul;

 private:
  void Finish(const MatmulOperands<T>&, DenseOutput<T>& y) override {
    if (this->exact()) y.LeaveUnwritten(kOperand ? 0 : std::ssize(y.values) - 1);
  }
  void Trample(plugin::HostPlan::Pointers inputs, plugin::HostPlan::Pointers outputs) override {
    if (this->exact()) return;
    if (!kOperand) return ClearBehindTheEnd(this->op().outputs()[0], outputs[0]);
    std::memset(inputs[0], 0x3F, static_cast<size_t>(plugin::Bytes(this->op().inputs()[0].dtype)));
  }
};
template <class T>
using WritesBehindTheEnd = Tramples<T, false>;
template <class T>
using OverwritesOperand = Tramples<T, true>;

}  // namespace matmul_memory

std::vector<Entry> MatmulMemoryFaults() {
  using namespace matmul_memory;
  return Joined({MatmulPlaceBugs(kPlaces), MatmulIoBugs(kCaches),
                 EntriesOf<ChangedMatmul, Change>("matmul", MatmulContract, MatmulWhyNot, plugin::ParseMatmul,
                                                  [](auto& of) { Changes(of); }),
                 MatmulRows<WritesBehindTheEnd>([](auto& of) { of("fault.writes-behind-the-end"); }),
                 MatmulRows<OverwritesOperand>([](auto& of) { of("fault.overwrites-an-operand"); })});
}

}  // namespace corpus
