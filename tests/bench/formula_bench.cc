// SPDX-License-Identifier: Apache-2.0
// Cost of golden values of formulas: value, certified error and deviation together, in exponentials of the C library (5
// to 8 ns each) for each map of the formula and element that it maps. Sums, recurrences, broadcasts and copies take
// time as well. All operators that are formulas are measured, without a line of their own. Freed memory is kept, as the
// program keeps it.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include "harness/core/base/parallel.h"
#include "harness/engine/cases/host_memory.h"
#include "ops/formula_operator/cases.h"
#include "tests/bench/targets.h"

namespace assay {
namespace {

constexpr int kExponentials = 1 << 18;

void ComputeExponentials() {
  static const std::vector<double> x = [] {
    std::vector<double> values(1024);
    std::iota(values.begin(), values.end(), -512);
    for (double& value : values) value /= 64;
    return values;
  }();
  double sum = 0;
  for (int i = 0; i < kExponentials; ++i) sum += std::exp(x[static_cast<size_t>(i) % x.size()]);
  benchmark::DoNotOptimize(sum);
}

constexpr int64_t kElements = int64_t{1} << 18;
constexpr double kMostSteps = 1 << 26;  // of a case: fewer elements are computed where each has many terms
constexpr double kMostExponentials = 8;
constexpr const char* kName = "formula_{}_{}";  // operator, elements of a line

// In its first list of types, with all attributes at their defaults: the last axis as long as a line, the first one as
// long as makes `elements` of both, others as short as they can be. An error: the operator has no such case.
Result<Problem> BindLines(const FormulaOperator& op, int64_t line, int64_t elements) {
  std::vector<std::string> axes;
  for (const AttrDef& attr : op.schema().attrs) {
    if (attr.default_value.empty()) axes.push_back(attr.key);
  }
  CaseSpec spec{.op = op.schema().op, .dtypes = op.types()[0], .attrs = {}, .fill = "normal", .seed = 0};
  for (const std::string& axis : axes) {
    const bool is_first = axis == axes.front(), is_last = axis == axes.back();
    const int64_t first = is_last ? elements : std::max<int64_t>(1, elements / line);  // a single axis has them all
    spec.attrs.emplace_back(axis, std::to_string(is_first ? first : is_last ? line : 1));
  }
  return op.Bind(spec);
}

class FormulaCase {
 public:
  FormulaCase(const FormulaOperator& op, Problem problem)
      : op_(op), problem_(std::move(problem)), inputs_(op.MakeInputs(problem_)) {
    const formula::Definition definition = op_.DefinitionOf(problem_, 0);
    for (const formula::Node& node : definition.graph().nodes) {
      if (node.kind == formula::Kind::kMap) steps_ += static_cast<double>(definition.graph().ExtentOf(node.axes));
    }
  }
  void Compute() const { benchmark::DoNotOptimize(op_.ComputeGolden(problem_, 0, inputs_, Tier::kFast)); }
  double steps() const { return steps_; }  // 0: it maps nothing, and has no target

 private:
  const FormulaOperator& op_;
  Problem problem_;
  std::vector<Tensor> inputs_;
  double steps_ = 0;
};

constexpr rlim_t kMostBytes = rlim_t{6} << 30;

// Null: so many elements have too many steps, or need too much memory, as kernels of conv_transpose as wide as a line.
std::shared_ptr<FormulaCase> MakeCase(const FormulaOperator& op, const Problem& problem) try {
  auto made = std::make_shared<FormulaCase>(op, problem);
  return made->steps() > kMostSteps ? nullptr : made;
} catch (const std::bad_alloc&) {
  return nullptr;
}

Result<Problem> TryLines(const FormulaOperator& op, int64_t line, int64_t elements) try {
  return BindLines(op, line, elements);
} catch (const std::bad_alloc&) {
  return UsageError("it takes too much memory");
}

// Calls visit(name, case) for every operator that is a formula and maps something, with short lines and long ones.
template <class Visit>
void ForEachCase(const Visit& visit) {
  for (const FormulaOperator* formula : AllFormulas()) {
    std::string known;
    for (const int64_t line : {1024, 65536}) {
      for (int64_t elements = kElements; elements >= line; elements /= 16) {
        const Result<Problem> problem = TryLines(*formula, line, elements);
        if (!problem || problem->spec.Id() == known) break;  // one axis has no lines
        const auto one = MakeCase(*formula, *problem);
        if (one == nullptr) continue;
        known = problem->spec.Id();
        if (one->steps() > 0) visit(fmt::format(fmt::runtime(kName), formula->schema().op, line), one);
        break;
      }
    }
  }
}

void RegisterBenchmarks() {
  ForEachCase([](const std::string& name, const std::shared_ptr<FormulaCase>& golden) {
    benchmark::RegisterBenchmark(name.c_str(), [golden](benchmark::State& state) {
      for (auto _ : state) golden->Compute();
      state.counters["steps/s"] =
          benchmark::Counter(golden->steps() * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
    });
  });
}

void CheckTargets(bench::Targets& targets) {
  ForEachCase([&](const std::string& name, const std::shared_ptr<FormulaCase>& golden) {
    const double times_as_fast = bench::RelativeSpeed([&] { golden->Compute(); }, ComputeExponentials, 9);
    targets.AtMost(name, kMostExponentials, kExponentials / times_as_fast / golden->steps());
  });
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  const rlimit limit = {assay::kMostBytes, assay::kMostBytes};
  setrlimit(RLIMIT_AS, &limit);
  assay::KeepFreedMemory();
  assay::SetThreadCount(1);
  assay::RegisterBenchmarks();
  return assay::bench::RunWithTargets(argc, argv, assay::CheckTargets);
}
