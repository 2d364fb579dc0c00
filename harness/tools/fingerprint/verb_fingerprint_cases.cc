// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/fingerprint/verb_fingerprint_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "harness/engine/results/finished_run.h"
#include "harness/plan/catalog.h"
#include "harness/plan/selection.h"
#include "harness/tools/fingerprint/function_passport.h"
#include "harness/tools/fingerprint/slice_passport.h"
#include "harness/tools/fingerprint/verb_exhaustive.h"

namespace assay::cli {
namespace {

// Results of whole tiles and of a single row, and lengths whose counts the 16-bit types hold.
constexpr const char* kUsualCases[] = {
    "matmul/f32/m=64,n=64,k=256/fill=normal/seed=0",
    "matmul/f32/m=1,n=256,k=256/fill=normal/seed=0",
    "matmul/f64/m=64,n=64,k=256/fill=normal/seed=0",
    "matmul/bf16/m=64,n=64,k=256/fill=normal/seed=0",
    "matmul/bf16-bf16-f32/m=64,n=64,k=256/fill=normal/seed=0",
    "matmul/f16/m=64,n=64,k=256/fill=normal/seed=0",
    "matmul/f16-f16-f32/m=64,n=64,k=256/fill=normal/seed=0",
    "conv/f32/n=8,c=16,o=16,i=16x16,k=3x3/fill=normal/seed=0",
    "conv/bf16/n=8,c=16,o=16,i=16x16,k=3x3/fill=normal/seed=0",
    "reduce/f32/shape=64x1024,axes=1/fill=normal/seed=0",
    "reduce/f64/shape=64x1024,axes=1/fill=normal/seed=0",
    "reduce/bf16/shape=64x256,axes=1/fill=normal/seed=0",
    "reduce/f16/shape=64x256,axes=1/fill=normal/seed=0",
    "reduce/f32/shape=64x1024,axes=1,kind=max/fill=normal/seed=0",
    "reduce/f32/shape=64x1024,axes=1,kind=min/fill=normal/seed=0",
    "cumsum/f32/rows=64,n=256/fill=normal/seed=0",
    "associative_scan/f32/rows=64,n=256/fill=normal/seed=0",
    "attention/f32/b=1,h=2,l=64,s=256,d=64/fill=normal/seed=0",
    "attention/bf16/b=1,h=2,l=64,s=256,d=64/fill=normal/seed=0",
    "attention/f32/b=1,h=2,l=200,s=200,d=64,causal=1/fill=normal/seed=0",
    "softmax/f32/shape=64x256/fill=normal/seed=0",
    "rms_norm/f32/rows=64,n=300/fill=normal/seed=0",
    "cross_entropy/f32-i64-f32/rows=64,n=128,reduction=none/fill=normal/seed=0",
    "layer_norm/f32/rows=64,n=300/fill=normal/seed=0",
};
// Functions of single elements, of which all numbers of a type or many of each power of two are tried.
constexpr const char* kUsualFunctions[] = {"exp", "log", "sin", "cos", "tanh", "erf", "rsqrt", "gelu"};

// Operators whose results show the order of their sums in some types and extents alone.
constexpr const char* kHideTheirSums[] = {"softmax",    "cross_entropy", "rms_norm",           "layer_norm",
                                          "group_norm", "instance_norm", "batch_norm_training"};

Result<Fingerprinted> CaseOf(const std::string& id, bool exhaustive = false) {
  auto spec = ParseId(id);
  if (!spec) return tl::unexpected(spec.error());
  const Operator* op = OperatorRegistry::Global().Find(spec->op);
  if (op == nullptr) return UsageError(fmt::format("there is no operator {}; assay list ops shows all", spec->op));
  auto canonical = Canonicalise(*std::move(spec), op->schema());
  if (!canonical) return tl::unexpected(canonical.error());
  auto bound = BindCase(*canonical);
  if (!bound) return tl::unexpected(bound.error());
  if (exhaustive) {
    const auto chunk = BindExhaustive(**bound);
    if (!chunk) return tl::unexpected(chunk.error());
    return Fingerprinted{.bound = *chunk, .sums = std::nullopt, .is_function = true};
  }
  Fingerprinted of{.bound = *bound, .sums = std::nullopt, .is_function = IsFunction(**bound)};
  if (of.is_function) return of;
  auto sums = SumProbe::Make((*bound)->problem);
  if (sums) {
    of.sums = *std::move(sums);
    if (!of.sums->is_mean()) return of;
    auto variance = SumProbe::MakeOfVariance((*bound)->problem);
    if (variance) of.variance = *std::move(variance);
    if (!variance) of.why_no_variance = variance.error().message;
  } else if (sums.error().code != ErrorCode::kUnsupported || !HasComparableSlices(**bound)) {
    return tl::unexpected(sums.error());
  } else if (std::ranges::find(kHideTheirSums, canonical->op) != std::end(kHideTheirSums)) {
    of.why_no_order = sums.error().message;
  }
  return of;
}

// Cases of the usual functions, and of further ones that --op names, in the types that they have.
std::vector<std::string> ListFunctions(const std::vector<std::string>& ops) {
  std::vector<std::string> functions(std::begin(kUsualFunctions), std::end(kUsualFunctions)), ids;
  for (const std::string& op : ops) {
    if (std::ranges::find(functions, op) == functions.end()) functions.push_back(op);
  }
  for (const std::string& function : functions) {
    for (const DType type : {DType::kF32, DType::kBF16, DType::kF16}) {
      const std::string id =
          fmt::format("{}/{}/n={}/fill=normal/seed=0", function, Name(type), FunctionSampleSize(type));
      const auto made = CaseOf(id);
      if (made && made->is_function) ids.push_back(id);
    }
  }
  return ids;
}

}  // namespace

Result<SumsOfRun> ListSums(const std::filesystem::path& folder) {
  const auto run = ReadRun(folder);
  if (!run) return tl::unexpected(run.error());
  SumsOfRun sums;
  std::set<std::string> seen;
  for (const Record& r : run->records) {
    if (r.implementation.empty()) continue;
    sums.results[SumsOfRun::Name(r.backend, r.implementation, r.case_id)].push_back(
        {r.case_id, r.input_hash, r.output_hash, r.device});
    if (!seen.insert(ProblemKey(r.case_id)).second) continue;
    const auto made = CaseOf(r.case_id);
    if (made && made->sums) sums.cases.push_back(r.case_id);
  }
  if (!sums.cases.empty()) return sums;
  return UsageError(
      fmt::format("--run {}: it has no result of a sum whose order can be found: matmul, conv, reduce, cumsum, "
                  "attention, softmax, cross_entropy "
                  "or a norm",
                  folder.string()));
}

Result<std::vector<Fingerprinted>> ChooseCases(const FingerprintOptions& options, const SumsOfRun& of_run) {
  std::vector<std::string> ids = options.run_folder.empty() ? options.cases : of_run.cases;
  if (ids.empty()) {
    if (!options.exhaustive) ids.assign(std::begin(kUsualCases), std::end(kUsualCases));
    const std::vector<std::string> functions = ListFunctions(options.ops);
    ids.insert(ids.end(), functions.begin(), functions.end());
  }
  if (auto known = CheckDTypes(options.run.selection.dtypes); !known) return tl::unexpected(known.error());
  for (const std::string& op : options.ops) {
    if (auto known = CheckOperator(op, Catalog()); !known) return tl::unexpected(known.error());
  }
  std::vector<Fingerprinted> chosen;
  for (const std::string& id : ids) {
    auto made = CaseOf(id, options.exhaustive);
    if (!made) return UsageError(fmt::format("--case {}: {}", id, made.error().message));
    const CaseSpec& spec = made->bound->problem.spec;
    const bool is_wanted = options.ops.empty() || std::ranges::find(options.ops, spec.op) != options.ops.end();
    if (is_wanted && SelectsDTypes(options.run.selection.dtypes, spec.dtypes)) chosen.push_back(*std::move(made));
  }
  if (chosen.empty() && options.exhaustive) {
    return UsageError(
        "no case is left: --exhaustive measures functions of one operand, which --op names, in f32, bf16 or f16; "
        "--case names another");
  }
  if (chosen.empty()) {
    return UsageError(
        "no case is left: the usual ones are of matmul, conv, reduce, cumsum, attention, softmax, norms and functions; "
        "--op and --dtype choose among the usual ones, --case names another");
  }
  return chosen;
}

}  // namespace assay::cli
