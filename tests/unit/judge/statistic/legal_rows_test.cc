// SPDX-License-Identifier: Apache-2.0
// Legal kernels of the operators whose rows share numbers do not lean: with weights, in f32 and f64, with sums and
// functions in f64 behind an output of f32, and with roots that are off by as much as declared, all to one side.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <set>

#include "harness/judge/statistic/row_lean.h"
#include "ops/formula_operator/cases.h"
#include "ops/formula_operator/formula_operator.h"
#include "tests/support/full.h"
#include "tests/unit/judge/statistic/statistic_case.h"

namespace assay::test::legal_rows {
namespace {

enum class Order : uint8_t { kForward, kBackward, kLanes, kPairs };
constexpr Order kOrders[] = {Order::kForward, Order::kBackward, Order::kLanes, Order::kPairs};

template <class T>
using Row = std::vector<T>;

template <class T>
T Add(Row<T> terms, Order order) {
  if (order == Order::kBackward) std::ranges::reverse(terms);
  if (order == Order::kLanes) {
    Row<T> lanes(8);
    for (size_t i = 0; i < terms.size(); ++i) lanes[i % 8] += terms[i];
    terms = lanes;
  }
  for (size_t n = terms.size(); order == Order::kPairs && n > 1; n = (n + 1) / 2) {
    for (size_t i = 0; i < n / 2; ++i) terms[i] = terms[2 * i] + terms[2 * i + 1];
    if (n % 2 == 1) terms[n / 2] = terms[n - 1];
  }
  if (order == Order::kPairs) return terms[0];
  T sum = 0;
  for (const T x : terms) sum += x;
  return sum;
}

template <class T>
Row<T> Multiply(Row<T> x, const Row<T>& y) {
  for (size_t i = 0; i < x.size(); ++i) x[i] *= y[i];
  return x;
}

struct Kernel {
  Order order = Order::kForward;
  int root_ulp = 0;  // by which each inverse root is off
  bool scales_weights = false;
  bool one_pass = false;
};

template <class T>
T Mean(const Row<T>& x, const Kernel& kernel) {
  const T sum = Add(x, kernel.order), n = static_cast<T>(x.size());
  return kernel.scales_weights ? sum * (1 / n) : sum / n;
}

template <class T>
T InverseRoot(T x, const Kernel& kernel) {
  T y = 1 / std::sqrt(x);
  for (int k = 0; k < std::abs(kernel.root_ulp); ++k) y = std::nextafter(y, kernel.root_ulp > 0 ? T(INFINITY) : T(0));
  return y;
}

// The operands of a row; weights have been expanded.
template <class T>
using Operands = std::vector<Row<T>>;

template <class T>
Row<T> Weigh(const Row<T>& x, T scale, const Row<T>& gamma, const Kernel& kernel) {
  Row<T> y;
  for (size_t i = 0; i < x.size(); ++i) {
    y.push_back(kernel.scales_weights ? x[i] * (scale * gamma[i]) : x[i] * scale * gamma[i]);
  }
  return y;
}

template <class T>
Row<T> RmsNorm(const Operands<T>& in, const Kernel& kernel) {
  return Weigh(in[0], InverseRoot(Mean(Multiply(in[0], in[0]), kernel) + T(1e-5), kernel), in[1], kernel);
}

template <class T>
Row<T> FusedRmsNorm(const Operands<T>& in, const Kernel& kernel) {
  Row<T> sum = in[0];
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += in[1][i];
  return RmsNorm<T>({sum, in[2]}, kernel);
}

template <class T>
Row<T> LayerNorm(const Operands<T>& in, const Kernel& kernel) {
  const T mean = Mean(in[0], kernel);
  Row<T> centred = in[0];
  for (T& x : centred) x -= mean;
  const T of_centred = Mean(Multiply(centred, centred), kernel);
  const T of_all = std::max(T(0), Mean(Multiply(in[0], in[0]), kernel) - mean * mean);
  const T variance = kernel.one_pass ? of_all : of_centred;
  Row<T> y = Weigh(centred, InverseRoot(variance + T(1e-5), kernel), in[1], kernel);
  for (size_t i = 0; i < y.size(); ++i) y[i] += in[2][i];
  return y;
}

template <class T>
Row<T> LayerNormBackward(const Operands<T>& in, const Kernel& kernel) {  // dy, x, mean, rstd, gamma
  const T mean = in[2][0], rstd = in[3][0];
  Row<T> z = in[1];
  for (T& x : z) x = (x - mean) * rstd;
  Row<T> g = Multiply(in[0], in[4]);
  const T of_g = Mean(g, kernel), of_both = Mean(Multiply(g, z), kernel);
  for (size_t i = 0; i < g.size(); ++i) g[i] = rstd * (g[i] - of_g - z[i] * of_both);
  return g;
}

template <class T>
Row<T> RmsNormBackward(const Operands<T>& in, const Kernel& kernel) {  // dy, x, rstd, gamma
  const T rstd = in[2][0];
  Row<T> z = in[1];
  for (T& x : z) x *= rstd;
  Row<T> g = Multiply(in[0], in[3]);
  const T of_both = Mean(Multiply(g, z), kernel);
  for (size_t i = 0; i < g.size(); ++i) g[i] = rstd * (g[i] - z[i] * of_both);
  return g;
}

template <class T>
Row<T> SoftmaxBackward(const Operands<T>& in, const Kernel& kernel) {  // y, dy
  const T sum = Add(Multiply(in[0], in[1]), kernel.order);
  Row<T> dx;
  for (size_t i = 0; i < in[0].size(); ++i) dx.push_back(in[0][i] * (in[1][i] - sum));
  return dx;
}

template <class T>
Row<T> LogSoftmaxBackward(const Operands<T>& in, const Kernel& kernel) {  // y, dy
  const T sum = Add(in[1], kernel.order);
  Row<T> dx;
  for (size_t i = 0; i < in[0].size(); ++i) dx.push_back(in[1][i] - std::exp(in[0][i]) * sum);
  return dx;
}

struct Formula {
  const char* op;
  Row<float> (*in_f32)(const Operands<float>&, const Kernel&);
  Row<double> (*in_f64)(const Operands<double>&, const Kernel&);
  const char* more = "";
};
const Formula kFormulas[] = {
    {"rms_norm", RmsNorm<float>, RmsNorm<double>},
    {"fused_add_rms_norm", FusedRmsNorm<float>, FusedRmsNorm<double>},
    {"layer_norm", LayerNorm<float>, LayerNorm<double>},
    {"layer_norm", LayerNorm<float>, LayerNorm<double>, ";alg=onepass"},
    {"group_norm", LayerNorm<float>, LayerNorm<double>},
    {"layer_norm_backward", LayerNormBackward<float>, LayerNormBackward<double>},
    {"rms_norm_backward", RmsNormBackward<float>, RmsNormBackward<double>},
    {"softmax_backward", SoftmaxBackward<float>, SoftmaxBackward<double>},
    {"log_softmax_backward", LogSoftmaxBackward<float>, LogSoftmaxBackward<double>},
};

using Draw = std::function<double(std::mt19937_64&, double row)>;  // `row`: a normal number of the row
double DrawNormal(std::mt19937_64& random, double) {
  return std::normal_distribution<double>()(random);
}
struct Data {
  const char* name;
  Draw draw;
};
const Data kData[] = {
    {"normal", DrawNormal},
    {"from 1 to 2", [](auto& random, double) { return 1 + std::uniform_real_distribution<double>()(random); }},
    {"lognormal", [](auto& random, double row) { return std::exp(DrawNormal(random, row)); }},
    {"a mean of 100 deviations", [](auto& random, double row) { return 100 + DrawNormal(random, row); }},
    {"one and minus one", [](auto& random, double row) { return DrawNormal(random, row) > 0 ? 1 : -1; }},
    {"integers", [](auto& random, double row) { return std::round(9 * DrawNormal(random, row)); }},
    {"bf16", [](auto& random, double row) { return RoundTo(FormatOf(DType::kBF16), DrawNormal(random, row)); }},
};

struct Arithmetic {
  const char* type;
  const char* contract;
  bool in_f64;
};
constexpr Arithmetic kAll[] = {
    {"f32", "acc=f32;math=4", false}, {"f32", "acc=f64;math=4", true}, {"f64", "acc=f64;math=4", true}};

std::string AttributesOf(const std::string& op, int rows, int n) {
  if (op == "group_norm") return fmt::format("b={},g=2,c=1,n={},eps=1e-05", rows / 2, n);
  const bool has_epsilon = op.find("norm") != std::string::npos && op.find("backward") == std::string::npos;
  return fmt::format("rows={},n={}{}", rows, n, has_epsilon ? ",eps=1e-05" : "");
}

class RowsCase {
 public:
  RowsCase(const Formula& formula, const Arithmetic& by, int rows, int n, const Data& data)
      : formula_(formula),
        by_(by),
        n_(static_cast<size_t>(n)),
        case_(fmt::format("{}/{}/{}/fill=normal/seed=0", formula.op, by.type, AttributesOf(formula.op, rows, n)),
              fmt::format("{}{}", by.contract, formula.more).c_str()) {
    std::mt19937_64 random(n + rows);
    for (Tensor& input : case_.inputs) {
      std::vector<double> x;
      const bool is_wide = input.size() == int64_t{rows} * n;
      double row = 0;
      for (int64_t i = 0; i < input.size(); ++i) {
        if (i % n == 0) row = DrawNormal(random, 0);
        x.push_back(is_wide ? data.draw(random, row) : 1 + 0.1 * DrawNormal(random, row));
      }
      if (std::string(formula.op) == "softmax_backward" && x_.empty()) MakeShares(x);
      input.SetDoubles(x);
      x_.push_back(input.ToDoubles());
    }
    case_.golden = case_.op.ComputeGolden(case_.problem, 0, case_.inputs,
                                          std::string(by.type) == "f64" ? Tier::kReproducible : Tier::kFast);
    case_.bound = case_.op.Bound(case_.problem, 0, case_.golden, case_.contract);
  }

  std::vector<double> Compute(const Kernel& kernel) const {
    return by_.in_f64 ? ComputeIn<double>(kernel, formula_.in_f64) : ComputeIn<float>(kernel, formula_.in_f32);
  }
  // Results that the output's type rounds.
  std::optional<RowLean> Find(const std::vector<double>& values) const {
    const DType type = case_.problem.outputs[0].dtype;
    const ElementJudge judge(case_.golden, case_.bound, case_.contract, type);
    return FindRowLean(case_.op, case_.problem, 0, case_.inputs, judge, case_.contract, case_.Output(values));
  }
  const StatisticCase& data() const { return case_; }

 private:
  void MakeShares(std::vector<double>& x) const {
    for (size_t row = 0; row < x.size(); row += n_) {
      double sum = 0;
      for (size_t i = row; i < row + n_; ++i) sum += x[i] = std::fabs(x[i]) + 0.01;
      for (size_t i = row; i < row + n_; ++i) x[i] /= sum;
    }
  }
  template <class T, class F>
  std::vector<double> ComputeIn(const Kernel& kernel, const F& formula) const {
    std::vector<double> y;
    const size_t rows = x_[0].size() / n_;
    const bool by_group = std::string(formula_.op) == "group_norm";
    for (size_t row = 0; row < rows; ++row) {
      Operands<T> operands;
      for (const std::vector<double>& x : x_) {
        Row<T> of_row;
        for (size_t i = 0; i < n_; ++i) {
          const bool is_wide = x.size() == rows * n_;
          const size_t narrow = by_group ? row % 2 : x.size() == n_ ? i : row;
          of_row.push_back(static_cast<T>(x[is_wide ? row * n_ + i : narrow]));
        }
        operands.push_back(std::move(of_row));
      }
      const Row<T> of_row = formula(operands, kernel);
      y.insert(y.end(), of_row.begin(), of_row.end());
    }
    return y;
  }

  Formula formula_;
  Arithmetic by_;
  size_t n_;
  StatisticCase case_;
  std::vector<std::vector<double>> x_;
};

void ExpectQuiet(const RowsCase& rows, const std::string& what) {
  for (const Order order : kOrders) {
    for (const int ulp : {3, -3}) {
      const bool one_pass = what.find("onepass") != std::string::npos;
      const std::vector<double> y =
          rows.Compute({.order = order, .root_ulp = ulp, .scales_weights = ulp > 0, .one_pass = one_pass});
      EXPECT_TRUE(rows.data().Judge(y).Holds()) << what << " is no legal kernel";
      const auto found = rows.Find(y);
      EXPECT_FALSE(found) << what << " order " << static_cast<int>(order) << " root " << ulp << ": " << found->Text();
    }
  }
}

// Without --full each length of rows has a third of the data, which begins one further for the next one.
TEST(LegalRows, DoNotLean) {
  int first = 0;
  for (const Formula& formula : kFormulas) {
    for (const Arithmetic& by : kAll) {
      for (const auto& [rows, n] : {std::pair(120, 2), {40, 24}, {32, 256}}) {
        if (n == 256 && by.type == std::string("f64")) continue;  // golden values take long
        int turn = ++first;
        for (const Data& data : kData) {
          if (!kIsFull && turn++ % 3 != 0) continue;
          ExpectQuiet(RowsCase(formula, by, rows, n, data), fmt::format("{} {} {}{}, {} of {}", formula.op, by.type,
                                                                        by.contract, formula.more, n, data.name));
        }
      }
    }
  }
}

TEST(LegalRows, CoverTheOperatorsWhoseRowsShareNumbers) {
  // Movement has no roundings, instance_norm is group_norm of one channel, and legal schedules of the others stand in
  // tests/faults alone.
  const std::set<std::string> others = {"concat",          "kv_cache_write",     "pad",
                                        "instance_norm",   "grouped_gemm",       "cross_entropy_backward",
                                        "alibi_attention", "attention_backward", "attention_lse",
                                        "lse_merge",       "paged_decode",       "ragged_attention",
                                        "sink_attention"};
  for (const FormulaOperator* op : AllFormulas()) {
    for (const CaseSpec& spec : op->FewCases()) {
      const Result<Problem> problem = op->Bind(spec);
      if (!problem || op->TraitsOf(*problem, 0).sharing_slices < 2 || others.contains(spec.op)) continue;
      const DType type = problem->outputs[0].dtype;
      if (!IsFloat(type) || FormatOf(type).precision < FormatOf(DType::kF32).precision) continue;
      EXPECT_TRUE(std::ranges::any_of(kFormulas, [&](const Formula& f) { return spec.op == f.op; })) << spec.Id();
    }
  }
}

// Short rows of a norm are alike, so that rounding the exact result to the output's type moves all of them.
TEST(LegalRows, OfExactResultsDoNotLean) {
  for (const char* of : {"layer_norm/f32/rows=300,n=2,eps=1e-09", "rms_norm/f32/rows=300,n=1,eps=1e-09",
                         "rms_norm/f32/rows=300,n=2,eps=1e-09"}) {
    StatisticCase c(fmt::format("{}/fill=normal/seed=0", of), "acc=f64;math=4");
    for (size_t k = 1; k < c.inputs.size(); ++k) {
      c.inputs[k].SetDoubles(std::vector<double>(static_cast<size_t>(c.inputs[k].size()), k == 1 ? 1 : 0));
    }
    c.golden = c.op.ComputeGolden(c.problem, 0, c.inputs, Tier::kFast);
    c.bound = c.op.Bound(c.problem, 0, c.golden, c.contract);
    const ElementJudge judge(c.golden, c.bound, c.contract, DType::kF32);
    const auto found = FindRowLean(c.op, c.problem, 0, c.inputs, judge, c.contract, c.Output(c.golden.value));
    EXPECT_FALSE(found) << of << ": " << found->Text();
  }
}

// Results of a formula whose rows share a sum, and a factor made of weights `w`.
struct SharedCase {
  SharedCase(const char* name, const std::function<formula::Expr(const formula::Expr& w, formula::Axis n)>& factor)
      : op(name, [factor](formula::Definition& d) {
          d.SetDoc("y = (x - sum of x) times a factor");
          const formula::Axis rows = d.Axis("rows", "rows"), n = d.Axis("n", "elements of a row");
          const formula::Expr x = d.In("x", rows + n), w = d.In("w", n);
          d.Out("y", (x - Sum(x, n)) * factor(w, n), rows + n);
        }) {
    problem = op.Bind(ParseId(fmt::format("{}/f32/rows=300,n=4/fill=normal/seed=0", name)).value()).value();
    inputs = op.MakeInputs(problem);
    std::vector<double> x = inputs[0].ToDoubles();
    for (double& value : x) value = std::round(1000 * value);  // so that their sums are exact
    inputs[0].SetDoubles(x);
    inputs[1].SetDoubles(std::vector<double>(4, 0.75 * 0x1p-24));
    golden = op.ComputeGolden(problem, 0, inputs, Tier::kFast);
  }
  FormulaOperator op;
  Problem problem;
  std::vector<Tensor> inputs;
  Golden golden;
  Contract contract = Declared("acc=f32;math=1");
};

// 1 + w is 1 in f32, in each of four places and in all rows.
TEST(LegalRows, OfWeightsThatRoundAlikeDoNotLean) {
  const SharedCase c("sum_times_weights", [](const formula::Expr& w, formula::Axis) {
    const formula::Expr p = 1.0 + w;
    return p * p * p * p;
  });
  const std::vector<double> x = c.inputs[0].ToDoubles();
  std::vector<double> y;
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t row = i / 4 * 4;
    y.push_back(x[i] - (x[row] + x[row + 1] + x[row + 2] + x[row + 3]));
  }
  Tensor got(DType::kF32, c.problem.outputs[0].shape);
  got.SetDoubles(y);
  const BoundModel bound = c.op.Bound(c.problem, 0, c.golden, c.contract);
  const ElementJudge judge(c.golden, bound, c.contract, DType::kF32);
  const auto found = FindRowLean(c.op, c.problem, 0, c.inputs, judge, c.contract, got);
  EXPECT_FALSE(found) << found->Text();
  for (double& value : y) value *= 1 - 0x1p-20;
  got.SetDoubles(y);
  EXPECT_TRUE(FindRowLean(c.op, c.problem, 0, c.inputs, judge, c.contract, got))
      << "these may not be off by 16 roundings";
}

// All rows have the roundings of a sum that they share, whatever these are.
TEST(LegalRows, NothingIsSaidOfRowsThatShareASum) {
  const SharedCase own("sum_times_own", [](const formula::Expr& w, formula::Axis) { return w; });
  EXPECT_FALSE(own.op.LeanOfSlices(own.problem, 0, own.golden, own.contract, 0).empty());
  const SharedCase shared("sum_times_sum", [](const formula::Expr& w, formula::Axis n) { return Sum(w, n); });
  EXPECT_TRUE(shared.op.LeanOfSlices(shared.problem, 0, shared.golden, shared.contract, 0).empty());
}

}  // namespace
}  // namespace assay::test::legal_rows
