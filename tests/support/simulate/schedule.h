// SPDX-License-Identifier: Apache-2.0
// Sums and products as correct implementations differ in practice: order of additions, FMA or not, rounding of
// operands, format of the accumulator, matrix units that truncate, flushing of subnormals.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/core/data/dtype.h"
#include "harness/core/model/contract.h"

namespace assay::test {

// kLanes: a random number of running sums over terms in random order, joined at random.
enum class Order : uint8_t { kSequential, kReverse, kPairwise, kBlocked, kSplit, kRandom, kLanes };
inline constexpr Order kOrders[] = {Order::kSequential, Order::kReverse, Order::kPairwise, Order::kBlocked,
                                    Order::kSplit,      Order::kRandom,  Order::kLanes};

struct Schedule {
  Order order = Order::kSequential;
  bool fma = false;
  uint64_t seed = 0;  // of kRandom and kLanes
};

// Every order, with and without FMA.
std::vector<Schedule> AllSchedules(uint64_t seed);

// x as a unit of this class reads a number of f32 or narrower. tf32 has the exponents of bf16 and three bits more; of
// three bf16 parts the first may be infinite, and else they keep the number.
double RoundOperand(InputRounding rounding, double x);

// Operations of the accumulator's format.
struct Arithmetic {
  DType format = DType::kF32;
  bool flush_in = false, flush_out = false;
  InputRounding in = InputRounding::kExact;
  bool toward_zero = false;           // results are cut off when they are stored
  int unit_bits = 0, unit_block = 0;  // a matrix unit that truncates (acc=tc<F,b>); 0: none

  double Round(double x) const;                // to the accumulator
  double In(DType type, double x) const;       // an operand of the epilogue as the unit sees it
  double Operand(DType type, double x) const;  // a term or factor as the unit sees it
  double Out(DType type, double x) const;      // the stored result
  double Add(double x, double y) const { return Round(x + y); }
  double Mul(double x, double y) const { return Round(x * y); }
  double Fma(double x, double y, double z) const;
};
Arithmetic ArithmeticOf(const Contract& contract);

// sum a_k b_k (b empty: sum a_k), in the schedule's order. Product: prod a_k. Precondition: a is not empty.
double Sum(std::span<const double> a, std::span<const double> b, const Schedule& schedule, const Arithmetic& unit);
double Product(std::span<const double> a, const Schedule& schedule, const Arithmetic& unit);

}  // namespace assay::test
