// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "ops/formula/faults.h"
#include "ops/formula/formula_text.h"
#include "tests/support/operator_cases.h"
#include "tests/unit/formula/oracle/generic_cases.h"
#include "tests/unit/formula/oracle/generic_checks.h"

namespace assay::test {
namespace {

// Parts of an output that a kernel can forget: the terms of its longest reduction, and whether it has any other part.
struct Forgettable {
  int64_t terms = 0;
  bool on_any_data = false;
};
Forgettable ForgettableOf(const formula::Graph& graph) {
  Forgettable all;
  for (const formula::FaultyNode& faulty : formula::FaultyNodes(graph)) {
    if (formula::ShowsOnAnyData(graph.At(faulty.node))) {
      all.on_any_data = true;
    } else {
      all.terms = std::max(all.terms, faulty.terms);
    }
  }
  return all;
}

// Names of omitted terms.
using Keys = std::set<int64_t>;
Keys KeysOf(const std::vector<Mutant>& mutants) {
  Keys keys;
  for (const Mutant& mutant : mutants) keys.insert(mutant.key);
  return keys;
}
template <class Accepted>
Keys SeenOf(std::vector<Mutant> mutants, const Accepted& accepted) {
  std::erase_if(mutants, accepted);
  return KeysOf(mutants);
}

// How many terms of which nodes are not seen. FormulaMutants makes a key of lane, node and term.
std::string DescribeUnseen(const formula::Graph& graph, const Keys& all, const Keys& seen) {
  const int64_t terms = std::ranges::max(formula::FaultyNodes(graph), {}, &formula::FaultyNode::terms).terms;
  std::map<int64_t, int64_t> unseen;
  for (const int64_t key : all) {
    if (!seen.contains(key)) ++unseen[key / terms % std::ssize(graph.nodes)];
  }
  std::string text;
  for (const auto& [node, count] : unseen) {
    text +=
        fmt::format("{}{} of {}", text.empty() ? "" : ", ", count, formula::FormulaText(graph, static_cast<int>(node)));
  }
  return text;
}

// Each omitted term that changes a result of case or twin is seen on the twin; what shows on any data, on the case's
// own.
void CheckTwin(const Subject& subject, const CaseOutput& of, bool on_any_data, TwinCount& count, Findings& findings) {
  const auto& [problem, output] = of;
  const DType type = of.dtype();
  const Contract contract = Declared(IsDouble(problem) ? "f64;math=2" : "f32acc;math=2");
  std::vector<int64_t> elements;
  for (int64_t i = 0; i < NumElements(of.shape()); i += 37) elements.push_back(i);
  const std::vector<Tensor> inputs = subject.formula.MakeInputs(problem);
  const Golden golden = subject.judged.ComputeGolden(problem, output, inputs, Tier::kFast);
  const std::vector<Mutant> mutants = subject.formula.OmittedTerms(problem, output, inputs, golden.value, elements);
  Keys all = KeysOf(mutants), seen;
  if (on_any_data) {
    const DeclaredBound bound{subject.judged.Bound(problem, output, golden, contract), contract, type};
    seen = SeenOf(mutants, [&](const Mutant& mutant) {
      return Accepts(bound, golden, mutant.index, RoundedToType(type, mutant.value));
    });
  }
  if (const std::optional<Twin> twin = subject.judged.MakeTwin(problem, output, contract, 0)) {
    const auto on_twin = subject.formula.OmittedTerms(problem, output, twin->inputs, twin->expected, elements);
    all.merge(KeysOf(on_twin));
    seen.merge(SeenOf(on_twin, [&](const Mutant& mutant) {
      return Accepts(*twin, type, mutant.index, RoundedToType(type, mutant.value));
    }));
  }
  const auto count_of = [](const Keys& keys) { return static_cast<int64_t>(keys.size()); };
  findings.checked += count_of(all);
  count.all += count_of(all);
  count.seen += count_of(seen);
  if (seen.size() < all.size()) {
    count.example = fmt::format("{} of {} in {}: {}", all.size() - seen.size(), all.size(), NameOf(of),
                                DescribeUnseen(subject.formula.DefinitionOf(problem, output).graph(), all, seen));
  }
}

// A mean or a sum over many rows hides which class one of them was given: runs call such cases inconclusive.
bool HidesRows(const Problem& problem, const OpSchema& schema) {
  return schema.op == "cross_entropy" && AttrReader(problem.spec, schema).Text("reduction") != "none";
}
// Few draws of avg_pool have an image for a window of 32 elements; adaptive_avg_pool has the same sum. Few of
// cross_entropy are left, and resize has 25 taps at most. Hardly any of reduce_scatter has many ranks, which divide its
// n; all_reduce has the same sum. Long frames of stft need longer signals, and fft_conv has as many terms as results.
bool IsRarelyLong(const OpSchema& schema) {
  return schema.op == "avg_pool" || schema.op == "lp_pool" || schema.op == "causal_conv1d" ||
         schema.op == "cross_entropy" || schema.op == "resize" || schema.op == "reduce_scatter" ||
         schema.op == "stft" || schema.op == "fft_conv";
}

// Shares that are met with one seed and with ten, where kLeastSeen is not: in a sum inside of another one a missing
// term changes nothing on the twin where what it is multiplied with is 0 there, and hardly anything where that is
// small.
struct Floor {
  std::string_view op;
  double least;
};
constexpr Floor kFloors[] = {
    {"alibi_attention", 0.77},     // changes nothing: scores of 942 terms; hardly: one key of 740 in bf16
    {"attention_backward", 0.97},  // hardly: one term of a score of 857 in f16, one key that is not the greatest
    {"attention_lse", 0.82},       // hardly: one key of 310 in bf16, one term of a score of 942
    {"cumprod", 0.80},             // changes nothing: a factor of 1, one of two signs
    {"gated_delta_rule", 0.74},    // changes nothing: a gate of 1, a term of keys of 660 outside of the window
    {"grid_sample", 0.70},       // changes nothing: a place between equal elements; hardly: an element of small weight
    {"linear_attention", 0.77},  // changes nothing: a step of k v = 0, outside of the window
    {"moe_fused", 0.80},         // changes nothing: a term of either product before silu, outside of the window
    {"mx_mm", 0.75},             // changes nothing: the upper code of a byte, which is 0 where bytes are ones
    {"paged_decode", 0.89},      // changes nothing: a term of scores of two keys that become equal
    {"ragged_attention", 0.94},  // changes nothing: a key outside of the window; hardly: one key of 523 in bf16
    {"sink_attention", 0.93},    // changes nothing: a term of a score outside of the window
    {"w4a16_mm", 0.87},          // changes nothing: a code that is its zero, one of 16, as both are drawn
};
double LeastSeenOf(const OpSchema& schema) {
  const auto* floor = std::ranges::find(kFloors, schema.op, &Floor::op);
  return floor == std::end(kFloors) ? kLeastSeen : floor->least;
}

// Every second one without --full: operators begin with the first or with the second.
std::vector<std::vector<DType>> ChooseTypes(const FormulaOperator& op) {
  std::vector<std::vector<DType>> types = RealTypes(op);
  if (kIsFull || types.size() == 1) return types;
  const std::string& name = op.schema().op;
  size_t turn = HashBytes(name.data(), name.size());
  std::erase_if(types, [&](const auto&) { return turn++ % 2 != 0; });
  return types;
}

}  // namespace

// Axes are long in turn, and cases are drawn again until of each output so many terms were asked for.
Findings CheckTwins(const Subject& subject, TwinReport& twins, const TwinLengths& lengths) {
  constexpr int kRounds = 60;
  Findings findings;
  const DrawLimits limits{
      .long_least = lengths.long_least, .long_most = lengths.long_most, .others_most = 4, .most_work = 1e5};
  SizeDrawer drawer(subject.formula, limits, kDrawSeed);
  for (const std::vector<DType>& row : ChooseTypes(subject.formula)) {
    std::set<std::string> open;
    for (int round = 0; round < ASSAY_TEST_SEEDS || (round < kRounds && !open.empty()); ++round) {
      for (const auto& [output, cases] : ByOutput(drawer.DrawFew({row}, drawer.axes()).cases)) {
        if (round >= ASSAY_TEST_SEEDS && !open.contains(output)) continue;
        TwinCount& count = twins[{output, DTypeListText(row)}];
        bool forgets = false;
        for (const CaseOutput& of : cases) {
          if (HidesRows(of.problem, subject.formula.schema())) continue;
          const Forgettable forgettable = ForgettableOf(subject.formula.DefinitionOf(of.problem, of.output).graph());
          forgets = forgets || forgettable.terms > 0;
          const bool selects_alone = forgettable.terms == 0 && forgettable.on_any_data;
          if (forgettable.terms < lengths.least_terms && !selects_alone) continue;
          CheckTwin(subject, of, forgettable.on_any_data, count, findings);
        }
        if (forgets && count.all < kLongSum && !IsRarelyLong(subject.formula.schema())) open.insert(output);
        if (count.all >= kLongSum) open.erase(output);
      }
    }
    for (const auto& [key, count] : twins) {
      if (key.second != DTypeListText(row)) continue;
      if (static_cast<double>(count.seen) >= LeastSeenOf(subject.formula.schema()) * static_cast<double>(count.all))
        continue;
      findings.problems.push_back(fmt::format("{} {} {}: of {} omitted terms {} are seen; not {}",
                                              subject.formula.schema().op, key.second, key.first, count.all, count.seen,
                                              count.example));
    }
    for (const std::string& output : open) {
      findings.problems.push_back(
          fmt::format("{} {}: in no case of {} rounds did {} omitted terms change {}: most of what a kernel may forget "
                      "there changes no result, so that no data show it. Where a sum has one term that counts, picked "
                      "by Select, say what is picked with Gather or At; else give inputs the roles with which each "
                      "term counts (Role in ops/formula/definition.h)",
                      subject.formula.schema().op, DTypeListText(row), kRounds, kLongSum, output));
    }
  }
  return findings;
}

}  // namespace assay::test
