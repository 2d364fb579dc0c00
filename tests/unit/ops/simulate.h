// SPDX-License-Identifier: Apache-2.0
// Correct implementations as they differ in practice: order of additions, FMA or not, format of the accumulator,
// flushing of subnormals.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "harness/data/dtype.h"
#include "harness/model/contract.h"
#include "ops/operator.h"

namespace assay::test {

enum class Order : uint8_t { kSequential, kReverse, kPairwise, kBlocked, kSplit, kRandom };
inline constexpr Order kOrders[] = {Order::kSequential, Order::kReverse, Order::kPairwise,
                                    Order::kBlocked,    Order::kSplit,   Order::kRandom};

struct Schedule {
  Order order = Order::kSequential;
  bool fma = false;
  uint64_t seed = 0;  // of kRandom
};

// Every order, with and without FMA.
std::vector<Schedule> AllSchedules(uint64_t seed);

// Operations of the accumulator's format.
struct Arithmetic {
  DType format = DType::kF32;
  bool flush_in = false, flush_out = false;

  double Round(double x) const;            // to the accumulator
  double In(DType type, double x) const;   // an operand as the unit sees it
  double Out(DType type, double x) const;  // the stored result
  double Add(double x, double y) const { return Round(x + y); }
  double Mul(double x, double y) const { return Round(x * y); }
  double Fma(double x, double y, double z) const;
};
Arithmetic ArithmeticOf(const Contract& contract);

// sum a_k b_k (b empty: sum a_k), in the schedule's order. Product: prod a_k.
double Sum(std::span<const double> a, std::span<const double> b, const Schedule& schedule, const Arithmetic& unit);
double Product(std::span<const double> a, const Schedule& schedule, const Arithmetic& unit);

// Whole operators. Outputs rounded to the output's type.
std::vector<double> RunMatmul(const Problem& problem, std::span<const Tensor> inputs, const Schedule& schedule,
                              const Arithmetic& unit);
std::vector<double> RunReduce(const Problem& problem, std::span<const Tensor> inputs, const Schedule& schedule,
                              const Arithmetic& unit);

}  // namespace assay::test
