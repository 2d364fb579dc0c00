// SPDX-License-Identifier: Apache-2.0
// Cost of judging by definitions from data, each beside a yardstick of the same run: a contraction beside the matmul
// that is written by hand, with the golden value alone, and with a bound; a norm before a product, whose errors are
// products of matrices as well. Elements of mapping and reducing nodes are measured by formula_bench.cc.
#include <fmt/format.h>

#include "harness/engine/cases/host_memory.h"
#include "ops/definition_file.h"
#include "ops/operator.h"
#include "tests/bench/targets.h"

namespace assay {
namespace {

constexpr const char* kDefinitions = R"({"assay_definitions": 1, "operators": [
  {"op": "bench_product", "doc": "y = a b", "types": ["f32"],
   "axes": [{"name": "m"}, {"name": "n"}, {"name": "k"}],
   "inputs": [{"name": "a", "axes": ["m", "k"]}, {"name": "b", "axes": ["k", "n"]}],
   "nodes": [{"name": "t", "f": "contraction", "of": ["a", "b"], "axes": ["k"]}],
   "outputs": [{"name": "y", "is": "t", "axes": ["m", "n"]}]},
  {"op": "bench_norm_product", "doc": "y = rms_norm(a) b", "types": ["f32"],
   "axes": [{"name": "m"}, {"name": "n"}, {"name": "k"}],
   "inputs": [{"name": "a", "axes": ["m", "k"]}, {"name": "b", "axes": ["k", "n"]}],
   "nodes": [{"name": "square", "f": "multiply", "of": ["a", "a"]},
             {"name": "mean", "f": "mean", "of": ["square"], "axes": ["k"]},
             {"name": "moved", "f": "add", "of": ["mean", "1e-5"]},
             {"name": "scale", "f": "rsqrt", "of": ["moved"]},
             {"name": "normal", "f": "multiply", "of": ["a", "scale"]},
             {"name": "t", "f": "contraction", "of": ["normal", "b"], "axes": ["k"]}],
   "outputs": [{"name": "y", "is": "t", "axes": ["m", "n"]}]}]})";

constexpr const char* kShape = "/f32/m=1024,n=1024,k=1024/fill=normal/seed=0";

class MeasuredCase {
 public:
  explicit MeasuredCase(const std::string& op)
      : op_(OperatorRegistry::Global().Find(op)),
        problem_(op_->Bind(ParseId(op + kShape).value()).value()),
        inputs_(op_->MakeInputs(problem_)) {}
  void ComputeGolden() const { benchmark::DoNotOptimize(Golden()); }
  void ComputeBound() const {
    const assay::Golden golden = Golden();
    benchmark::DoNotOptimize(op_->Bound(problem_, 0, golden, ParseDeclaration("f32").value()));
  }

 private:
  assay::Golden Golden() const { return op_->ComputeGolden(problem_, 0, inputs_, Tier::kFast); }

  const Operator* op_;
  Problem problem_;
  std::vector<Tensor> inputs_;
};

void GoldenOfDefinition(benchmark::State& state, const std::string& op) {
  const MeasuredCase one(op);
  for (auto _ : state) one.ComputeGolden();
}

// By how many times it takes longer.
double TimesAsLong(const std::function<void()>& subject, const std::function<void()>& yardstick) {
  return 1 / bench::RelativeSpeed(subject, yardstick, 9);
}

void CheckTargets(bench::Targets& targets) {
  const MeasuredCase by_hand("matmul"), product("bench_product"), norm("bench_norm_product");
  const auto golden_by_hand = [&] { by_hand.ComputeGolden(); };
  targets.AtMost("defined_product_golden", 1.5, TimesAsLong([&] { product.ComputeGolden(); }, golden_by_hand));
  targets.AtMost("defined_product_golden_and_bound", 4, TimesAsLong([&] { product.ComputeBound(); }, golden_by_hand));
  targets.AtMost("defined_norm_product_golden", 8, TimesAsLong([&] { norm.ComputeGolden(); }, golden_by_hand));
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  assay::KeepFreedMemory();
  if (!assay::AddDefinitions(assay::kDefinitions, "definition_bench.cc")) return 2;
  for (const char* op : {"matmul", "bench_product", "bench_norm_product"}) {
    benchmark::RegisterBenchmark(fmt::format("golden_{}", op).c_str(), assay::GoldenOfDefinition, op)->UseRealTime();
  }
  return assay::bench::RunWithTargets(argc, argv, assay::CheckTargets);
}
