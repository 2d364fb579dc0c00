// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/common/fft_spec.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/parallel.h"

namespace cpu {
namespace {

using plugin::FftKind;
using plugin::FftSpec;

// Row-major coordinates of `flat`, and their dot product with strides [batch first].
int64_t Offset(const std::vector<int64_t>& axes, const std::vector<int64_t>& strides, int64_t batch, int64_t flat) {
  int64_t offset = batch * strides[0];
  for (size_t axis = axes.size(); axis-- > 0; flat /= axes[axis]) offset += flat % axes[axis] * strides[axis + 1];
  return offset;
}

template <class T>
class FftPlan : public plugin::HostPlan {
 public:
  FftPlan(FftSpec spec, FftAlgorithm algorithm) : spec_(std::move(spec)), points_(spec_.Points()), field_(points_) {
    int64_t longest = 1;
    for (const int64_t n : spec_.n) {
      lines_.push_back(MakeLineFft<T>(algorithm, n));
      longest = std::max({longest, n, lines_.back()->WorkSize()});
    }
    threads_ = ThreadsFor(20.0 * static_cast<double>(points_));
    for (int slot = 0; slot < threads_; ++slot) slots_.push_back({Line<T>(longest), Line<T>(longest)});
    half_ = spec_.n;
    half_.back() = half_.back() / 2 + 1;
  }

 protected:
  void Run(Pointers inputs, Pointers outputs) override {
    for (int64_t batch = 0; batch < spec_.batch; ++batch) {
      Read(inputs[0], batch);
      T *re = field_.re.data(), *im = field_.im.data();
      if (spec_.inverse) std::swap(re, im);
      int64_t inner = 1;
      for (size_t axis = spec_.n.size(); axis-- > 0; inner *= spec_.n[axis]) {
        TransformAxis(re, im, spec_.n[axis], inner, *lines_[axis]);
      }
      Write(outputs[0], batch);
    }
  }

 private:
  struct Slot {
    Line<T> line, work;
  };

  static T Get(const std::byte* base, int64_t index) {
    T value;
    std::memcpy(&value, base + index * static_cast<int64_t>(sizeof value), sizeof value);
    return value;
  }
  static void Put(std::byte* base, int64_t index, T value) {
    std::memcpy(base + index * static_cast<int64_t>(sizeof value), &value, sizeof value);
  }

  void Read(const std::byte* x, int64_t batch) {
    for (int64_t i = 0; i < points_; ++i) {
      if (spec_.kind == FftKind::kR2C) {
        field_.re[i] = Get(x, Offset(spec_.n, spec_.x_strides, batch, i)), field_.im[i] = 0;
        continue;
      }
      const auto [at, conjugate] = spec_.kind == FftKind::kC2R ? Half(i) : std::pair(i, false);
      const auto& axes = spec_.kind == FftKind::kC2R ? half_ : spec_.n;
      const int64_t offset = 2 * Offset(axes, spec_.x_strides, batch, at);
      field_.re[i] = Get(x, offset);
      field_.im[i] = conjugate ? -Get(x, offset + 1) : Get(x, offset + 1);
    }
  }

  // The stored element behind a full index, and whether it is the mirror image.
  std::pair<int64_t, bool> Half(int64_t full) const {
    const int64_t last = spec_.n.back(), column = full % last;
    if (column < half_.back()) return {full / last * half_.back() + column, false};
    int64_t row = full / last, mirrored = 0, stride = 1;
    for (size_t axis = spec_.n.size() - 1; axis-- > 0; stride *= spec_.n[axis], row /= spec_.n[axis]) {
      mirrored += (spec_.n[axis] - row % spec_.n[axis]) % spec_.n[axis] * stride;
    }
    return {mirrored * half_.back() + last - column, true};
  }

  void TransformAxis(T* re, T* im, int64_t n, int64_t inner, const LineFft<T>& fft) {
    ParallelFor(points_ / n, threads_, [&](int64_t line, int slot) {
      auto& [values, work] = slots_[static_cast<size_t>(slot)];
      const int64_t first = line / inner * n * inner + line % inner;
      for (int64_t j = 0; j < n; ++j) values.re[j] = re[first + j * inner], values.im[j] = im[first + j * inner];
      fft.Run(values.re.data(), values.im.data(), work);
      for (int64_t j = 0; j < n; ++j) re[first + j * inner] = values.re[j], im[first + j * inner] = values.im[j];
    });
  }

  void Write(std::byte* y, int64_t batch) const {
    const auto& axes = spec_.kind == FftKind::kR2C ? half_ : spec_.n;
    const int64_t rows = points_ / spec_.n.back(), columns = axes.back();
    const T scale = static_cast<T>(spec_.scale);
    for (int64_t i = 0; i < rows * columns; ++i) {
      const int64_t from = i / columns * spec_.n.back() + i % columns;
      const int64_t offset = Offset(axes, spec_.y_strides, batch, i);
      const T re = spec_.scaled ? field_.re[from] * scale : field_.re[from];
      if (spec_.kind == FftKind::kC2R) {
        Put(y, offset, re);
        continue;
      }
      Put(y, 2 * offset, re);
      Put(y, 2 * offset + 1, spec_.scaled ? field_.im[from] * scale : field_.im[from]);
    }
  }

  const FftSpec spec_;
  int64_t points_;
  std::vector<int64_t> half_;  // n with the last axis cut to n/2 + 1
  Line<T> field_;              // one transform
  std::vector<std::unique_ptr<LineFft<T>>> lines_;
  int threads_ = 1;
  std::vector<Slot> slots_;
};

}  // namespace

std::unique_ptr<plugin::Plan> CreateFftPlan(const plugin::OpDesc& op, FftAlgorithm algorithm) {
  FftSpec spec = plugin::ParseFft(op);
  if (spec.wide) return std::make_unique<FftPlan<double>>(std::move(spec), algorithm);
  return std::make_unique<FftPlan<float>>(std::move(spec), algorithm);
}

}  // namespace cpu
