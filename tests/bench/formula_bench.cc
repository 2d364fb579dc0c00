// SPDX-License-Identifier: Apache-2.0
// What golden values of formulas cost: value, certified error and deviation together, in nanoseconds of processor time
// for each element of the output and map of the formula over all of them. Sums, broadcasts and copies count as well.
#include <ctime>

#include "harness/base/parallel.h"
#include "ops/formula_operator.h"
#include "tests/bench/targets.h"

namespace assay {
namespace {

double ProcessorSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class FormulaCase {
 public:
  explicit FormulaCase(const std::string& id) {
    const CaseSpec spec = ParseId(id).value();
    op_ = dynamic_cast<const FormulaOperator*>(OperatorRegistry::Global().Find(spec.op));
    problem_ = op_->Bind(spec).value();
    inputs_ = op_->MakeInputs(problem_);
    const formula::Definition definition = op_->DefinitionOf(problem_);
    const formula::AxisSet all = formula::OutputSet(definition.graph().outputs[0]);
    for (const formula::Node& node : definition.graph().nodes) {
      maps_ += node.kind == formula::Kind::kMap && node.axes == all ? 1 : 0;
    }
    steps_ = maps_ * static_cast<double>(definition.graph().ExtentOf(all));
  }
  void Compute() const { benchmark::DoNotOptimize(op_->ComputeGolden(problem_, inputs_, Tier::kFast)); }
  double steps() const { return steps_; }

 private:
  const FormulaOperator* op_ = nullptr;
  Problem problem_;
  std::vector<Tensor> inputs_;
  double maps_ = 0, steps_ = 0;
};

void GoldenFormula(benchmark::State& state, const char* id) {
  const FormulaCase golden(id);
  for (auto _ : state) golden.Compute();
  state.counters["steps/s"] =
      benchmark::Counter(golden.steps() * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(GoldenFormula, layer_norm, "layer_norm/f32/rows=8,n=65536/fill=normal/seed=0");

constexpr double kMostNanoseconds = 50;

struct FormulaTarget {
  const char* name;
  const char* id;
};

const FormulaTarget kFormulaTargets[] = {
    {"formula_layer_norm_1024", "layer_norm/f32/rows=256,n=1024/fill=normal/seed=0"},
    {"formula_layer_norm_65536", "layer_norm/f32/rows=8,n=65536/fill=normal/seed=0"},
    {"formula_rms_norm_65536", "rms_norm/f32/rows=8,n=65536/fill=normal/seed=0"},
    {"formula_softmax_backward_65536", "softmax_backward/f32/rows=8,n=65536/fill=normal/seed=0"},
    {"formula_gelu", "gelu/f32/n=300000/fill=normal/seed=0"},
    {"formula_silu_and_mul", "silu_and_mul/f32/rows=256,n=1024/fill=normal/seed=0"},
    {"formula_exp", "exp/f32/n=300000/fill=normal/seed=0"},
    {"formula_erf", "erf/f32/n=300000/fill=normal/seed=0"},
    {"formula_rope", "rope/f32/b=1,l=64,h=32,d=128/fill=normal/seed=0"},
};

void CheckTargets(bench::Targets& targets) {
  for (const FormulaTarget& target : kFormulaTargets) {
    const FormulaCase golden(target.id);
    golden.Compute();
    std::vector<double> times;
    for (int round = 0; round < 9; ++round) {
      const double before = ProcessorSeconds();
      golden.Compute();
      times.push_back(1e9 * (ProcessorSeconds() - before) / golden.steps());
    }
    targets.AtMost(target.name, kMostNanoseconds, bench::Median(std::move(times)));
  }
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  assay::SetThreadCount(1);
  return assay::bench::RunWithTargets(argc, argv, assay::CheckTargets);
}
