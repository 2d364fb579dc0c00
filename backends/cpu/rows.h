// SPDX-License-Identifier: Apache-2.0
// Operators that compute lines: the last axis or axes of the output, from a line of each operand. A kernel is a
// function of lines in the accumulator's type and nothing else; loading, rounding, strides and types are here, once.
//
// A kernel's type has
//   static constexpr int kMath;                            the worst of its functions, in ulp; else 0
//   static constexpr const char* kAlgorithm;               the contract's alg=; else direct
//   static void IgnoreShapes(const plugin::OpDesc& op);    names the attributes that the shapes tell
//   static size_t Outputs(const plugin::OpDesc& op);       how many there are; else one
//   static constexpr int kLineAxes;                        how many of the output's axes a line has; else the last one
//   static constexpr bool kWhole = true;                   a line is the whole of each operand and output: no Leads
//   static std::vector<int> Leads(size_t input, int rank); the output's axes before an operand's own line; that is all
//                                                          that follows, in row-major order. Leads(op, input, rank)
//                                                          where attributes say which
//   static bool Takes(const plugin::OpDesc& op);           whether it computes these types; else all of float
//   static constexpr bool kIntegers = true;                it computes integers alone too, in i64
//   static constexpr bool kDoubles = true;                 it computes in f64 whatever the operands' types are
//   static constexpr bool kOrderByPlace = true;            the order of its sums depends on where a result stands
//   explicit Kernel(const plugin::OpDesc& op);
//   template <class Acc> void Line(const Lines<Acc>& x, std::span<Acc> y) const;
// or, of several outputs, which all have the leading axes of the first,
//   template <class Acc> void Line(const Lines<Acc>& x, const Results<Acc>& y) const;
// All of a line is loaded before anything of it is stored, so that an output may lie in the place of an operand that
// has the same lines.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "backends/common/host.h"

namespace cpu {

template <class Acc>
using Lines = std::vector<std::span<const Acc>>;
template <class Acc>
using Results = std::vector<std::span<Acc>>;

// All leading axes, or none of an operand that is the same for all lines.
inline std::vector<int> AllLeads(int rank) {
  std::vector<int> axes(static_cast<size_t>(rank - 1));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// How the operands beside x lie: of its shape, or one number for each row, each column or the whole.
struct PointwiseShape {
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"n", "rows", "per"}); }
  static std::vector<int> Leads(const plugin::OpDesc& op, size_t input, int rank) {
    if (input == 0 || rank < 2) return AllLeads(rank);
    return op.AttrString("per") == "row" ? std::vector<int>{0} : std::vector<int>{};
  }
};

// How many of the output's axes a line has.
template <class Kernel>
size_t LineAxes(const plugin::OpDesc& op) {
  if constexpr (requires { Kernel::kLineAxes; }) {
    return Kernel::kLineAxes;
  } else {
    return requires {
      Kernel::kWhole;
    }
    ? static_cast<size_t>(op.outputs()[0].Rank()) : 1;
  }
}

// How many outputs a kernel has for this description: Kernel::Outputs(op), else one.
template <class Kernel>
size_t OutputsOf(const plugin::OpDesc& op) {
  if constexpr (requires { Kernel::Outputs(op); }) {
    return Kernel::Outputs(op);
  } else {
    return 1;
  }
}

template <class Kernel>
std::vector<int> LeadsOf(const plugin::OpDesc& op, size_t input, int rank) {
  if constexpr (requires { Kernel::kWhole; }) {
    return {};
  } else if constexpr (requires { Kernel::Leads(op, input, rank); }) {
    return Kernel::Leads(op, input, rank);
  } else {
    return Kernel::Leads(input, rank);
  }
}

template <class Kernel>
bool TakesTypes(const plugin::OpDesc& op) {
  if constexpr (requires { Kernel::Takes(op); }) {
    return Kernel::Takes(op);
  } else {
    return op.AllTypes([](plugin::DType type) { return plugin::IsFloat(type); });
  }
}

using LeadsFunction = std::vector<int> (*)(const plugin::OpDesc& op, size_t input, int rank);  // as Kernel::Leads

// Computes a line of each output from one of each operand. A pointer rather than std::function, with which the hundreds
// of kernels take a quarter longer to compile.
template <class Acc>
using LineFunction = void (*)(const void* kernel, const Lines<Acc>& x, const Results<Acc>& y);

// A kernel without its type: the kernel with what deletes it, its lines in each type that it computes in (null: not in
// this one), and how many of the output's axes a line has.
struct AnyKernel {
  std::unique_ptr<const void, void (*)(const void*)> kernel;
  LineFunction<float> line_f32;
  LineFunction<double> line_f64;
  LineFunction<int64_t> line_i64;
  LeadsFunction leads;
  size_t line_axes;
};

// Loads, rounds and strides, of any kernel. Computes in i64 where there is a line for it and all operands are integers,
// in f64 where `is_f64`, else in f32.
std::unique_ptr<plugin::Plan> MakeRows(const plugin::OpDesc& op, AnyKernel kernel, bool is_f64);

// Parts that need no type of a kernel: compiled once, not for each kernel.
bool HasF64(const plugin::OpDesc& op);
bool IsOfIntegers(const plugin::OpDesc& op);
std::string RowsWhyNot(const plugin::OpDesc& op, bool takes_types, size_t outputs);
std::string RowsContract(bool is_f64, int math, bool by_place, const char* algorithm);

// A kernel's entries in the table of implementations. What has an f64 operand is computed in f64, all else in f32.
template <class Kernel>
struct Rows {
  static bool IsF64(const plugin::OpDesc& op) {
    return requires {
      Kernel::kDoubles;
    }
    || HasF64(op);
  }
  // Whether all operands are integers and the kernel computes these.
  static bool IsInteger(const plugin::OpDesc& op) {
    return requires {
      Kernel::kIntegers;
    }
    &&IsOfIntegers(op);
  }
  static std::string WhyNot(const plugin::OpDesc& op) {
    Kernel::IgnoreShapes(op);
    const Kernel read(op);
    return RowsWhyNot(op, IsInteger(op) || TakesTypes<Kernel>(op), OutputsOf<Kernel>(op));
  }
  static std::string Contract(const plugin::OpDesc& op) {
    if (IsInteger(op)) return "acc=i32;det=yes;batchinv=yes";
    int math = 0;
    if constexpr (requires { Kernel::MathOf(op); }) {
      math = Kernel::MathOf(op);
    } else if constexpr (requires { Kernel::kMath; }) {
      math = Kernel::kMath;
    }
    bool by_place = false;
    if constexpr (requires { Kernel::kOrderByPlace; }) by_place = Kernel::kOrderByPlace;
    const char* algorithm = nullptr;
    if constexpr (requires { Kernel::kAlgorithm; }) algorithm = Kernel::kAlgorithm;
    return RowsContract(IsF64(op), math, by_place, algorithm);
  }
  static std::unique_ptr<plugin::Plan> Create(plugin::HostDevice&, const plugin::OpDesc& op) {
    LineFunction<int64_t> line_i64 = nullptr;
    if constexpr (requires { Kernel::kIntegers; }) line_i64 = ComputeLine<int64_t>;
    return MakeRows(op,
                    {{new Kernel(op), [](const void* kernel) { delete static_cast<const Kernel*>(kernel); }},
                     ComputeLine<float>,
                     ComputeLine<double>,
                     line_i64,
                     LeadsOf<Kernel>,
                     LineAxes<Kernel>(op)},
                    IsF64(op));
  }

 private:
  template <class Acc>
  static void ComputeLine(const void* any, const Lines<Acc>& x, const Results<Acc>& y) {
    const Kernel& kernel = *static_cast<const Kernel*>(any);
    if constexpr (requires { kernel.template Line<Acc>(x, y); }) {
      kernel.template Line<Acc>(x, y);
    } else {
      kernel.template Line<Acc>(x, y[0]);
    }
  }
};

}  // namespace cpu
