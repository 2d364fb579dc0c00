// SPDX-License-Identifier: Apache-2.0
// Kernels that compute correctly from or to the wrong place.
#include <algorithm>
#include <cstring>

#include "tests/faults/corpus/matmul_plan.h"

namespace corpus {
namespace matmul_memory {

template <class T>
class UnwrittenPart : public CleanMatmul<T> {
 public:
  using CleanMatmul<T>::CleanMatmul;

 protected:
  // Elements [first, last) of row `row` of the last matrix.
  void LeaveUnwritten(DenseOutput<T>& y, int64_t row, int64_t first, int64_t last) const {
    const auto& s = this->spec();
    for (int64_t j = first; j < last; ++j) y.LeaveUnwritten(this->Index({s.batch - 1, row, j}));
  }
};

template <class T>
class LastRowUnwritten : public UnwrittenPart<T> {
  using UnwrittenPart<T>::UnwrittenPart;
  void Finish(const MatmulOperands<T>&, DenseOutput<T>& y) override {
    this->LeaveUnwritten(y, this->spec().m - 1, 0, this->spec().n);
  }
};

template <class T>
class LastColumnUnwritten : public UnwrittenPart<T> {
  using UnwrittenPart<T>::UnwrittenPart;
  void Finish(const MatmulOperands<T>&, DenseOutput<T>& y) override {
    for (int64_t i = 0; i < this->spec().m; ++i) this->LeaveUnwritten(y, i, this->spec().n - 1, this->spec().n);
  }
};

template <class T>
class OneElementUnwritten : public UnwrittenPart<T> {
  using UnwrittenPart<T>::UnwrittenPart;
  void Finish(const MatmulOperands<T>&, DenseOutput<T>& y) override {
    this->LeaveUnwritten(y, this->spec().m / 2, this->spec().n / 3, this->spec().n / 3 + 1);
  }
};

// A plan that takes equal pointers for equal data and returns what it computed first.
template <class T>
class StaleOutput : public CleanMatmul<T> {
  using CleanMatmul<T>::CleanMatmul;
  void Finish(const MatmulOperands<T>&, DenseOutput<T>& y) override { first_.Replace(this->exact(), y.values); }
  FirstCall<T> first_;
};

// A cache of the packed b from the first call.
template <class T>
class StalePackedB : public CleanMatmul<T> {
  using CleanMatmul<T>::CleanMatmul;
  void Prepare(MatmulOperands<T>& x) override { b_.Replace(this->exact(), x.b); }
  FirstCall<T> b_;
};

// a is read with the leading dimension of its transpose.
template <class T>
class TransposedA : public CleanMatmul<T> {
  using CleanMatmul<T>::CleanMatmul;
  void Prepare(MatmulOperands<T>& x) override {
    const auto& s = this->spec();
    std::vector<T> wrong(x.a.size());
    for (int64_t at = 0; at < s.batch * s.m * s.k; at += s.m * s.k) {
      for (int64_t i = 0; i < s.m * s.k; ++i) {
        wrong[static_cast<size_t>(at + i)] = x.a[static_cast<size_t>(at + i % s.k * s.m + i / s.k)];
      }
    }
    x.a = std::move(wrong);
  }
};

// Rows 0 and 1 of the last tile of y change places: a wrong swizzle of the fragment.
template <class T>
class RowsSwapped : public CleanMatmul<T> {
  using CleanMatmul<T>::CleanMatmul;
  void Finish(const MatmulOperands<T>&, DenseOutput<T>& y) override {
    const auto& s = this->spec();
    const int64_t row = std::min((s.m - 1) / 16 * 16, s.m - 2);
    for (int64_t j = (s.n - 1) / 16 * 16; j < s.n; ++j) {
      std::swap(y.values[static_cast<size_t>(this->Index({s.batch - 1, row, j}))],
                y.values[static_cast<size_t>(this->Index({s.batch - 1, row + 1, j}))]);
    }
  }
};

// Two neighbouring columns change places in every group of four lanes.
template <class T>
class LanesSwapped : public CleanMatmul<T> {
  using CleanMatmul<T>::CleanMatmul;
  void Finish(const MatmulOperands<T>&, DenseOutput<T>& y) override {
    const auto& s = this->spec();
    for (int64_t row = 0; row < s.batch * s.m; ++row) {
      for (int64_t j = 0; j + 1 < s.n; j += 4) {
        std::swap(y.values[static_cast<size_t>(row * s.n + j)], y.values[static_cast<size_t>(row * s.n + j + 1)]);
      }
    }
  }
};

// The last row's index is clamped one too low, so that the row before is computed twice.
template <class T>
class LastRowRepeatsPrevious : public CleanMatmul<T> {
  using CleanMatmul<T>::CleanMatmul;
  void Finish(const MatmulOperands<T>&, DenseOutput<T>& y) override {
    const auto& s = this->spec();
    const T* previous = y.values.data() + this->Index({s.batch - 1, s.m - 2, 0});
    std::copy_n(previous, s.n, y.values.data() + this->Index({s.batch - 1, s.m - 1, 0}));
  }
};

// Every batch is multiplied by the first b.
template <class T>
class BatchStrideZero : public CleanMatmul<T> {
  using CleanMatmul<T>::CleanMatmul;
  void Prepare(MatmulOperands<T>& x) override {
    const int64_t size = this->spec().k * this->spec().n;
    for (int64_t i = 1; i < this->spec().batch; ++i) std::copy_n(x.b.data(), size, x.b.data() + i * size);
  }
};

// One more element than there is: the store of a vector without a mask.
template <class T>
class WritesBehindTheEnd : public CleanMatmul<T> {
  using CleanMatmul<T>::CleanMatmul;
  void Finish(const MatmulOperands<T>&, DenseOutput<T>& y) override {
    if (this->exact()) y.LeaveUnwritten(std::ssize(y.values) - 1);
  }
  void Trample(plugin::HostPlan::Pointers, plugin::HostPlan::Pointers outputs) override {
    if (this->exact()) return;
    const plugin::Tensor& y = this->op().outputs()[0];
    std::memset(outputs[0] + y.ByteExtent().last, 0, static_cast<size_t>(plugin::Bytes(y.dtype)));
  }
};

// An operand is scratch space: the kernel leaves its first element scaled.
template <class T>
class OverwritesOperand : public CleanMatmul<T> {
  using CleanMatmul<T>::CleanMatmul;
  void Finish(const MatmulOperands<T>&, DenseOutput<T>& y) override {
    if (this->exact()) y.LeaveUnwritten(0);
  }
  void Trample(plugin::HostPlan::Pointers inputs, plugin::HostPlan::Pointers) override {
    if (!this->exact()) std::memset(inputs[0], 0x3F, static_cast<size_t>(plugin::Bytes(this->op().inputs()[0].dtype)));
  }
};

std::string TwoRows(Description op) {
  return plugin::ParseMatmul(op).m < 2 ? "m=1 has no second row" : MatmulWhyNot(op);
}

std::string TwoColumns(Description op) {
  return plugin::ParseMatmul(op).n < 2 ? "n=1 has no second column" : MatmulWhyNot(op);
}

std::string Batches(Description op) {
  return plugin::ParseMatmul(op).batch < 2 ? "batch=1 has no second matrix" : MatmulWhyNot(op);
}

std::string RealMatrix(Description op) {
  const plugin::MatmulSpec s = plugin::ParseMatmul(op);
  return s.m < 2 || s.k < 2 ? "a vector is its own transpose" : MatmulWhyNot(op);
}

}  // namespace matmul_memory

std::vector<Entry> MatmulMemoryFaults() {
  using namespace matmul_memory;
  return {
      MatmulFault<LastRowUnwritten>("fault.last-row-unwritten"),
      MatmulFault<LastColumnUnwritten>("fault.last-column-unwritten"),
      MatmulFault<OneElementUnwritten>("fault.one-element-unwritten"),
      MatmulFault<StaleOutput>("fault.stale-output-of-first-call"),
      MatmulFault<StalePackedB>("fault.stale-packed-b-of-first-call"),
      MatmulFault<TransposedA>("fault.transposed-leading-dimension", RealMatrix),
      MatmulFault<RowsSwapped>("fault.rows-swapped-in-one-tile", TwoRows),
      MatmulFault<LanesSwapped>("fault.lanes-swapped-in-output", TwoColumns),
      MatmulFault<LastRowRepeatsPrevious>("fault.last-row-repeats-previous", TwoRows),
      MatmulFault<BatchStrideZero>("fault.batch-stride-zero-for-b", Batches),
      MatmulFault<WritesBehindTheEnd>("fault.writes-behind-the-end"),
      MatmulFault<OverwritesOperand>("fault.overwrites-an-operand"),
  };
}

}  // namespace corpus
