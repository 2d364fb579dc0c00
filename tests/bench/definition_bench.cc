// SPDX-License-Identifier: Apache-2.0
// Cost of judging by definitions from data. A contraction beside the matmul that is written by hand, of the same shape:
// golden value, and golden value and bound together. Elementwise and reducing nodes: nanoseconds for each element of a
// node, in exponentials of the C library, so that a slow machine slows both.
#include <fmt/format.h>

#include "harness/core/base/parallel.h"
#include "harness/engine/cases/host_memory.h"
#include "ops/bound_case.h"
#include "ops/definition_file.h"
#include "tests/bench/targets.h"

namespace assay {
namespace {

constexpr const char* kDefinitions = R"({"assay_definitions": 1, "operators": [
  {"op": "bench_product", "doc": "y = a b", "types": ["f32"],
   "axes": [{"name": "m"}, {"name": "n"}, {"name": "k"}],
   "inputs": [{"name": "a", "axes": ["m", "k"]}, {"name": "b", "axes": ["k", "n"]}],
   "nodes": [{"name": "t", "f": "contraction", "of": ["a", "b"], "axes": ["k"]}],
   "outputs": [{"name": "y", "is": "t", "axes": ["m", "n"]}]}]})";

class GoldenOfCase {
 public:
  explicit GoldenOfCase(const std::string& id)
      : spec_(ParseId(id).value()),
        op_(OperatorRegistry::Global().Find(spec_.op)),
        problem_(op_->Bind(spec_).value()),
        inputs_(op_->MakeInputs(problem_)) {}
  void Compute() const { benchmark::DoNotOptimize(op_->ComputeGolden(problem_, 0, inputs_, Tier::kFast)); }

 private:
  CaseSpec spec_;
  const Operator* op_;
  Problem problem_;
  std::vector<Tensor> inputs_;
};

void CheckTargets(bench::Targets& targets) {
  const std::string shape = "f32/m=1024,n=1024,k=1024/fill=normal/seed=0";
  const GoldenOfCase by_hand("matmul/" + shape), defined("bench_product/" + shape);
  const double seconds = bench::SecondsOf([&] { by_hand.Compute(); });
  const double seconds2 = bench::SecondsOf([&] { defined.Compute(); });
  fmt::print("by hand {} defined {}\n", seconds, seconds2);
  targets.AtMost("defined_product_golden", 1.5,
                 1 / bench::RelativeSpeed([&] { defined.Compute(); }, [&] { by_hand.Compute(); }, 3));
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  assay::KeepFreedMemory();
  if (!assay::AddDefinitions(assay::kDefinitions, "definition_bench.cc")) return 2;
  return assay::bench::RunWithTargets(argc, argv, assay::CheckTargets);
}
