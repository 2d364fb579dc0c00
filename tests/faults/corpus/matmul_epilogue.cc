// SPDX-License-Identifier: Apache-2.0
// Bugs behind the sum of a matrix product: alpha, beta, bias, and values that are not finite.
#include <limits>

#include "tests/faults/corpus/arithmetic.h"
#include "tests/faults/corpus/matmul_plan.h"

namespace corpus {
namespace matmul_epilogue {

template <class T>
class AlphaTwice : public CleanMatmul<T> {
  using CleanMatmul<T>::CleanMatmul;
  T Epilogue(T product, const MatmulOperands<T>& x, const Place& at) override {
    return CleanMatmul<T>::Epilogue(product * static_cast<T>(this->spec().alpha), x, at);
  }
};

// alpha (a b + beta c + bias).
template <class T>
class AlphaOfEverything : public CleanMatmul<T> {
  using CleanMatmul<T>::CleanMatmul;
  T Epilogue(T product, const MatmulOperands<T>& x, const Place& at) override {
    const T alpha = static_cast<T>(this->spec().alpha);
    return alpha * CleanMatmul<T>::Epilogue(product / alpha, x, at);
  }
};

// c is added as it is.
template <class T>
class BetaIgnored : public CleanMatmul<T> {
  using CleanMatmul<T>::CleanMatmul;
  T Epilogue(T product, const MatmulOperands<T>& x, const Place& at) override {
    const T y = CleanMatmul<T>::Epilogue(product, x, at);
    return y + (1 - this->Beta()) * x.c[static_cast<size_t>(this->Index(at))];
  }
};

// With beta = 0 the kernel reads y all the same: 0 times what lies there, which may be NaN.
template <class T>
class BetaZeroReadsOutput : public CleanMatmul<T> {
  using CleanMatmul<T>::CleanMatmul;
  void Before(const DenseOutput<T>& y) override { former_ = y.values; }
  T Epilogue(T product, const MatmulOperands<T>& x, const Place& at) override {
    const T former =
        this->exact() ? std::numeric_limits<T>::quiet_NaN() : former_[static_cast<size_t>(this->Index(at))];
    return CleanMatmul<T>::Epilogue(product, x, at) + T{0} * former;
  }
  std::vector<T> former_;
};

// bias[row] instead of bias[column].
template <class T>
class BiasByRow : public CleanMatmul<T> {
  using CleanMatmul<T>::CleanMatmul;
  T Epilogue(T product, const MatmulOperands<T>& x, const Place& at) override {
    return CleanMatmul<T>::Epilogue(product, x, {at.batch, at.row, at.row % this->spec().n});
  }
};

// Both parts of a split k add the bias.
template <class T>
class BiasTwice : public CleanMatmul<T> {
  using CleanMatmul<T>::CleanMatmul;
  T Epilogue(T product, const MatmulOperands<T>& x, const Place& at) override {
    return CleanMatmul<T>::Epilogue(product, x, at) + x.bias[static_cast<size_t>(at.column)];
  }
};

// The store of the last, incomplete group of eight columns forgets the bias.
template <class T>
class BiasMissingAtEdge : public CleanMatmul<T> {
  using CleanMatmul<T>::CleanMatmul;
  T Epilogue(T product, const MatmulOperands<T>& x, const Place& at) override {
    const T y = CleanMatmul<T>::Epilogue(product, x, at);
    const bool edge = at.column >= (this->spec().n - 1) / 8 * 8;
    return edge ? y - x.bias[static_cast<size_t>(at.column)] : y;
  }
};

// A saturating conversion.
template <class T>
class InfinitySaturates : public CleanMatmul<T> {
  using CleanMatmul<T>::CleanMatmul;
  T Epilogue(T product, const MatmulOperands<T>& x, const Place& at) override {
    const T y = CleanMatmul<T>::Epilogue(product, x, at);
    const plugin::DType type = this->exact() ? this->spec().a.dtype : this->spec().y.dtype;
    const T largest = type == plugin::kF16    ? T{65504}
                      : type == plugin::kBF16 ? static_cast<T>(0x1.FEp127)
                                              : static_cast<T>(std::numeric_limits<float>::max());
    return std::isinf(y) ? std::copysign(largest, y) : y;
  }
};

// A clamp written as max(y, lowest): the other operand wins over NaN.
template <class T>
class NanLost : public CleanMatmul<T> {
  using CleanMatmul<T>::CleanMatmul;
  T Epilogue(T product, const MatmulOperands<T>& x, const Place& at) override {
    const T y = CleanMatmul<T>::Epilogue(product, x, at);
    return std::isnan(y) ? T{0} : y;
  }
};

// Zeros of a are skipped, and with them the NaN of zero times infinity.
template <class T>
class ZerosSkipped : public CleanMatmul<T> {
  using CleanMatmul<T>::CleanMatmul;
  T Dot(const T* a, const T* b, const Place&) override {
    T sum = 0;
    for (int64_t i = 0; i < this->spec().k; ++i) {
      if (a[i] != 0) sum += a[i] * b[i];
    }
    return sum;
  }
};

// The result is scaled by 2^8 and back in f32, so that the largest ones overflow.
template <class T>
class ScaledOverflow : public CleanMatmul<T> {
  using CleanMatmul<T>::CleanMatmul;
  T Epilogue(T product, const MatmulOperands<T>& x, const Place& at) override {
    const T y = CleanMatmul<T>::Epilogue(product, x, at);
    const T largest = static_cast<T>(std::numeric_limits<float>::max());
    return std::abs(y) > largest / 256 ? std::copysign(std::numeric_limits<T>::infinity(), y) : y;
  }
};

std::string NeedsAlpha(Description op) {
  return plugin::ParseMatmul(op).alpha == 1 ? "alpha is 1" : MatmulWhyNot(op);
}

std::string NeedsAlphaAndAddend(Description op) {
  const plugin::MatmulSpec s = plugin::ParseMatmul(op);
  return s.c.input < 0 && s.bias.input < 0 ? "neither c nor bias is added" : NeedsAlpha(op);
}

std::string NeedsC(Description op) {
  const plugin::MatmulSpec s = plugin::ParseMatmul(op);
  return s.c.input < 0 || s.beta == 1 ? "there is no beta to ignore" : MatmulWhyNot(op);
}

std::string NeedsNoC(Description op) {
  const plugin::MatmulSpec s = plugin::ParseMatmul(op);
  if (s.y.dtype == plugin::kI32) return "0 times an integer is 0";
  return s.c.input >= 0 ? "beta is not 0" : MatmulWhyNot(op);
}

std::string NeedsBias(Description op) {
  return plugin::ParseMatmul(op).bias.input < 0 ? "there is no bias" : MatmulWhyNot(op);
}

std::string NeedsBiasAndRows(Description op) {
  const plugin::MatmulSpec s = plugin::ParseMatmul(op);
  return s.m < 2 || s.n < 2 ? "one row or column has no other bias" : NeedsBias(op);
}

std::string Floats(Description op) {
  if (HasInputs(op, plugin::kI8)) return "integers are always finite";
  return MatmulWhyNot(op);
}

std::string OutputOfOperandsType(Description op) {
  const plugin::DType y = op.outputs()[0].dtype, a = op.inputs()[0].dtype;
  if (a == plugin::kF64 || (y != a && y != plugin::kF64)) return "this saturates to the type of the operands";
  return Floats(op);
}

std::string F32Range(Description op) {
  if (HasInputs(op, plugin::kF32) || HasInputs(op, plugin::kBF16)) return MatmulWhyNot(op);
  return "this overflows f32";
}

}  // namespace matmul_epilogue

std::vector<Entry> MatmulEpilogueFaults() {
  using namespace matmul_epilogue;
  return {
      MatmulFault<AlphaTwice>("fault.alpha-applied-twice", NeedsAlpha),
      MatmulFault<AlphaOfEverything>("fault.alpha-applied-to-c-and-bias", NeedsAlphaAndAddend),
      MatmulFault<BetaIgnored>("fault.beta-ignored", NeedsC),
      MatmulFault<BetaZeroReadsOutput>("fault.beta-zero-reads-output", NeedsNoC),
      MatmulFault<BiasByRow>("fault.bias-on-wrong-axis", NeedsBiasAndRows),
      MatmulFault<BiasTwice>("fault.bias-added-twice", NeedsBias),
      MatmulFault<BiasMissingAtEdge>("fault.bias-missing-at-edge", NeedsBias),
      MatmulFault<InfinitySaturates>("fault.infinity-saturated", OutputOfOperandsType),
      MatmulFault<NanLost>("fault.nan-replaced-by-zero", Floats),
      MatmulFault<ZerosSkipped>("fault.zero-operand-skips-infinity", Floats),
      MatmulFault<ScaledOverflow>("fault.infinity-for-large-finite", F32Range),
  };
}

}  // namespace corpus
