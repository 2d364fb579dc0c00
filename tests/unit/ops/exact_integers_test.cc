// SPDX-License-Identifier: Apache-2.0
// Sums, products, extremes and orders of integers: golden values are those of 128-bit arithmetic modulo 2^bits of the
// output's type, in every bit, and nothing else is accepted, whatever accumulator a contract names.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "harness/judge/judge_output.h"
#include "ops/reduce/reduce.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

__extension__ typedef __int128 Wide;

std::vector<int64_t> IntegersOf(const Tensor& tensor) {
  std::vector<int64_t> values(static_cast<size_t>(tensor.size()));
  ToI64(tensor.dtype(), tensor.data(), values);
  return values;
}

Tensor TensorOf(const Operand& operand, const std::vector<int64_t>& values) {
  Tensor tensor(operand.dtype, operand.shape);
  for (size_t i = 0; i < values.size(); ++i) {
    std::memcpy(tensor.data() + i * static_cast<size_t>(SizeOf(operand.dtype)), &values[i],
                static_cast<size_t>(SizeOf(operand.dtype)));
  }
  return tensor;
}

// By the definition of two's complement, without shifts.
int64_t Wrapped(DType type, Wide x) {
  const Wide modulus = Wide{1} << (8 * SizeOf(type));
  const bool is_signed = type != DType::kU8;
  Wide rest = x % modulus;
  if (rest < 0) rest += modulus;
  return static_cast<int64_t>(is_signed && rest >= modulus / 2 ? rest - modulus : rest);
}

struct Case {
  explicit Case(const std::string& id)
      : problem(Bind(id)), inputs(Op(problem.spec.op).MakeInputs(problem)), x(IntegersOf(inputs[0])) {}

  ErrorMetrics Judge(Tensor got, std::string_view contract, size_t output = 0) const {
    const Operator& op = Op(problem.spec.op);
    const Golden golden = op.ComputeGolden(problem, output, inputs, Tier::kFast);
    const Contract declared = Declared(contract);
    const BoundModel bound = op.Bound(problem, output, golden, declared);
    return JudgeOutput({op, problem, output, inputs, golden, bound, declared}, got);
  }
  // Accepts exactly these numbers, under contracts of narrow accumulators too.
  void ExpectExactly(const std::vector<int64_t>& right, size_t output = 0) const {
    const Operand& operand = problem.outputs[output];
    for (const char* contract : {"acc=i32", "acc=f32", "acc=f64"}) {
      EXPECT_TRUE(Judge(TensorOf(operand, right), contract, output).Holds()) << problem.spec.Id() << " " << contract;
      std::vector<int64_t> wrong = right;
      wrong[wrong.size() / 2] = Wrapped(operand.dtype, Wide{wrong[wrong.size() / 2]} + 1);
      if (operand.dtype == DType::kBool) wrong[wrong.size() / 2] = 1 - right[right.size() / 2];
      const ErrorMetrics metrics = Judge(TensorOf(operand, wrong), contract, output);
      EXPECT_FALSE(metrics.Holds()) << problem.spec.Id() << " " << contract;
      EXPECT_FALSE(metrics.bit_exact);
    }
  }

  Problem problem;
  std::vector<Tensor> inputs;
  std::vector<int64_t> x;
};

const std::vector<std::string> kFillsOfIntegers = {"normal", "uniform", "special", "extremes", "negative", "large"};

TEST(ExactIntegers, SumsAndProductsWrapAround) {
  for (const std::string types :
       {"i8", "u8", "i16", "i32", "i64", "i8-i64", "u8-i32", "i16-i64", "i32-i64", "bool-i64"}) {
    for (const std::string& fill : kFillsOfIntegers) {
      for (const std::string kind : {"sum", "prod"}) {
        const Case c("reduce/" + types + "/shape=5x33,axes=1,kind=" + kind + "/fill=" + fill + "/seed=3");
        const DType out = c.problem.outputs[0].dtype;
        std::vector<int64_t> right;
        for (int64_t row = 0; row < 5; ++row) {
          Wide y = kind == "sum" ? 0 : 1;
          for (int64_t k = 0; k < 33; ++k) {
            const Wide term = c.x[static_cast<size_t>(row * 33 + k)];
            y = kind == "sum" ? y + term : Wide{Wrapped(DType::kI64, y * term)};
          }
          right.push_back(Wrapped(out, y));
        }
        c.ExpectExactly(right);
      }
    }
  }
}

TEST(ExactIntegers, SumsOverTheFirstAxisToo) {
  const Case c("reduce/i64/shape=33x5,axes=0/fill=normal/seed=1");
  std::vector<int64_t> right;
  for (size_t column = 0; column < 5; ++column) {
    Wide y = 0;
    for (size_t k = 0; k < 33; ++k) y += c.x[k * 5 + column];
    right.push_back(Wrapped(DType::kI64, y));
  }
  c.ExpectExactly(right);
}

TEST(ExactIntegers, ExtremesAreOfAnySign) {
  for (const std::string type : {"i8", "u8", "i16", "i32", "i64", "bool"}) {
    for (const std::string& fill : kFillsOfIntegers) {
      const std::string tail = "/fill=" + fill + "/seed=5";
      const Case max("reduce/" + type + "/shape=7x16,axes=1,kind=max" + tail);
      const Case min("reduce/" + type + "/shape=7x16,axes=1,kind=min" + tail);
      const Case first("reduce/" + (type == "i64" ? type : type + "-i64") + "/shape=7x16,axes=1,kind=argmax" + tail);
      std::vector<int64_t> largest, smallest, places;
      for (auto row = max.x.begin(); row != max.x.end(); row += 16) {
        largest.push_back(*std::max_element(row, row + 16));
        smallest.push_back(*std::min_element(row, row + 16));
        places.push_back(std::max_element(row, row + 16) - row);
      }
      max.ExpectExactly(largest);
      min.ExpectExactly(smallest);
      first.ExpectExactly(places);
    }
  }
}

TEST(ExactIntegers, RunningSumsWrapAround) {
  for (const std::string types : {"i8", "u8", "i16", "i32", "i64", "i8-i64", "u8-i32", "i32-i64", "bool-i64"}) {
    for (const std::string& fill : kFillsOfIntegers) {
      const Case c("cumsum/" + types + "/rows=3,n=77/fill=" + fill + "/seed=2");
      std::vector<int64_t> right;
      Wide y = 0;
      for (size_t i = 0; i < c.x.size(); ++i) {
        y = (i % 77 == 0 ? 0 : y) + c.x[i];
        right.push_back(Wrapped(c.problem.outputs[0].dtype, y));
      }
      c.ExpectExactly(right);
    }
  }
}

// Neighbours beyond 2^53, which are one double.
TEST(ExactIntegers, OrdersAndMaximaTellNeighboursBeyondDouble) {
  const int64_t far = (int64_t{1} << 60) + 1;
  Case sort("sort/i64/rows=1,n=8/fill=normal/seed=0"), max("reduce/i64/shape=1x8,axes=1,kind=max/fill=normal/seed=0"),
      any("reduce/i64/shape=1x8,axes=1,kind=argmax,tie=any/fill=normal/seed=0");
  const std::vector<int64_t> x = {far, far + 5, far + 2, far - 1, -far, -far - 3, far + 5, far + 4};
  for (Case* c : {&sort, &max, &any}) c->inputs[0] = TensorOf(c->problem.inputs[0], x);
  sort.ExpectExactly({-far - 3, -far, far - 1, far, far + 2, far + 4, far + 5, far + 5});
  sort.ExpectExactly({5, 4, 3, 0, 2, 7, 1, 6}, 1);
  max.ExpectExactly({far + 5});
  for (const int64_t place : {1, 6})
    EXPECT_TRUE(any.Judge(TensorOf(any.problem.outputs[0], {place}), "acc=i32").Holds());
  for (const int64_t place : {0, 7})
    EXPECT_FALSE(any.Judge(TensorOf(any.problem.outputs[0], {place}), "acc=i32").Holds());
}

TEST(ExactIntegers, OmittedTermsAreFound) {
  const Case c("reduce/i64/shape=2x9,axes=1/fill=normal/seed=0");
  const Operator& op = Op("reduce");
  const Golden golden = op.ComputeGolden(c.problem, 0, c.inputs, Tier::kFast);
  const std::vector<int64_t> elements = {0, 1};
  const std::vector<Mutant> mutants = op.OmittedTerms(c.problem, 0, c.inputs, golden.value, elements);
  ASSERT_EQ(mutants.size(), 18U);
  for (const Mutant& mutant : mutants) {
    const auto row = static_cast<size_t>(mutant.index) * 9;
    Wide sum = -Wide{c.x[row + static_cast<size_t>(mutant.term)]};
    for (size_t k = 0; k < 9; ++k) sum += c.x[row + k];
    EXPECT_EQ(mutant.value, static_cast<double>(Wrapped(DType::kI64, sum)));
  }
}

TEST(ExactIntegers, TypesThatHaveNoMeaningAreRefused) {
  for (const char* id :
       {"reduce/i32-i8/shape=4x4,axes=1/fill=normal/seed=0", "reduce/i8/shape=4x4,axes=1,kind=mean/fill=normal/seed=0",
        "reduce/bool/shape=4x4,axes=1/fill=normal/seed=0",
        "reduce/e4m3/shape=4x4,axes=1,kind=max/fill=normal/seed=0"}) {
    EXPECT_FALSE(TryBind(id).has_value()) << id;
  }
}

// Products of two i64 have up to 128 bits.
TEST(ExactIntegers, ProductsAndQuotientsOfElementsAreThoseOfRegisters) {
  using Function = Wide (*)(const Wide*);
  const std::pair<const char*, Function> functions[] = {
      {"mul", [](const Wide* x) { return x[0] * x[1]; }},
      {"square", [](const Wide* x) { return x[0] * x[0]; }},
      {"fma", [](const Wide* x) { return Wide{Wrapped(DType::kI64, x[0] * x[1])} + x[2]; }},
      {"floor_divide", [](const Wide* x) { return x[0] / x[1] - (x[0] % x[1] != 0 && (x[0] < 0) != (x[1] < 0)); }},
  };
  for (const auto& [op, function] : functions) {
    for (const char* type : {"i8", "u8", "i16", "i32", "i64"}) {
      for (const std::string& fill : kFillsOfIntegers) {
        const Case c(fmt::format("{}/{}/n=99/fill={}/seed=1", op, type, fill));
        std::vector<std::vector<int64_t>> operands;
        for (const Tensor& input : c.inputs) operands.push_back(IntegersOf(input));
        std::vector<int64_t> right;
        for (size_t i = 0; i < 99; ++i) {
          Wide x[3] = {};
          for (size_t k = 0; k < operands.size(); ++k) x[k] = operands[k][i];
          right.push_back(Wrapped(c.problem.outputs[0].dtype, function(x)));
        }
        c.ExpectExactly(right);
      }
    }
  }
}

// The known answers of Random123, the library of the paper; words count modulo 2^32.
TEST(ExactIntegers, PhiloxHasTheWordsOfItsAuthors) {
  struct Known {
    std::vector<int64_t> counter, key, words;
  };
  const Known known[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{-1, -1, -1, -1}, {-1, -1}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0 + (int64_t{5} << 40)},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const Known& one : known) {
    Case c("philox/i64/n=1/fill=normal/seed=0");
    c.inputs[0] = TensorOf(c.problem.inputs[0], one.counter);
    c.inputs[1] = TensorOf(c.problem.inputs[1], one.key);
    c.ExpectExactly(one.words);
  }
}

}  // namespace
}  // namespace assay::test
