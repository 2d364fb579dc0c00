// SPDX-License-Identifier: Apache-2.0
// The corpus of operators that are formulas, whose schedules and faults follow from their graphs, on cases that follow
// from their schemas: no operator is named but for what is known of one alone.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "harness/core/data/fill/fill.h"
#include "harness/plan/catalog.h"
#include "harness/plan/suite.h"
#include "ops/formula_operator/cases.h"
#include "tests/faults/corpus_checks.h"
#include "tests/faults/corpus_fixture.h"
#include "tests/support/full.h"

namespace assay {
namespace {

bool IsOfIntegers(const std::vector<DType>& row) {
  return IsInt(row.front()) && IsInt(row.back());
}

// Types of which the corpus has a kernel: of integers alone quotients, which never wrap around, in up to 32 bits.
std::vector<std::vector<DType>> TypesOfCorpus(const FormulaOperator& op) {
  std::vector<std::vector<DType>> types = op.types();
  const bool divides = op.schema().op == "floor_divide";
  std::erase_if(types, [divides](const std::vector<DType>& row) {
    return IsOfIntegers(row) && (!divides || row.front() == DType::kI64);
  });
  return types;
}

// One of twelve from `first` on, but for the long tests.
std::vector<const FormulaOperator*> FormulasOfCorpus(int first) {
  std::vector<const FormulaOperator*> operators = AllFormulas();
  int turn = 12 - first;
  std::erase_if(operators, [&turn](const FormulaOperator* op) {
    const bool is_left_out = !test::kIsFull && turn++ % 12 != 0;
    return is_left_out || TypesOfCorpus(*op).empty();
  });
  return operators;
}

// Cases of every type, choice and fill, with sums that have tails.
std::vector<Problem> CasesOf(const FormulaOperator& op, std::vector<std::string> fills, uint64_t seed) {
  const DrawLimits limits{
      .long_least = 18, .long_most = 40, .others_most = 5, .most_work = 3000, .fills = std::move(fills)};
  SizeDrawer drawer(op, limits, seed);
  return drawer.DrawFew(TypesOfCorpus(op), std::max<size_t>(3, drawer.axes())).cases;
}

// The long tests take all cases, the others one of six, from a place that differs between operators.
std::vector<Problem> ChooseCases(const FormulaOperator& op, std::vector<Problem> cases) {
  if (ASSAY_TEST_SEEDS > 1) return cases;
  const std::string& name = op.schema().op;
  const size_t step = std::min<size_t>(6, cases.size());
  size_t place = HashBytes(name.data(), name.size());
  std::erase_if(cases, [&](const Problem&) { return place++ % step != 0; });
  return cases;
}

TEST(CorpusFormulas, LegalSchedulesPass) {
  Corpus corpus;
  for (const FormulaOperator* op : FormulasOfCorpus(0)) {
    const size_t schedules = 1 + 8 * op->traits().algorithms.size();  // a plain one, and others by seed
    for (uint64_t seed = 0; seed < ASSAY_TEST_SEEDS; ++seed) {
      for (const Problem& problem : ChooseCases(*op, CasesOf(*op, {"normal", "outlier"}, seed))) {
        const std::string id = problem.spec.Id();
        const std::vector<Judged> judged = corpus.Judge(id, "legal.");
        EXPECT_EQ(judged.size(), schedules) << id;
        for (const Judged& one : judged) {
          EXPECT_TRUE(one.verdict == Verdict::kPass || one.verdict == Verdict::kInconclusive)
              << one.implementation << " on " << id << ": " << Name(one.verdict) << ": " << one.reason;
        }
      }
    }
  }
}

// Reductions of a graph, and those that the corpus has faults for.
int64_t CountPlaces(const FormulaOperator& op, const Problem& problem) {
  const formula::Definition definition = op.WholeDefinitionOf(problem);
  return std::ranges::count_if(definition.graph().nodes,
                               [](const formula::Node& node) { return formula::IsReduction(node.kind); });
}
int64_t CountPlaces(const std::set<std::string>& faults, const std::string& place) {
  const std::string prefix = "fault." + place + "-";
  std::set<std::string> numbers;
  for (const std::string& fault : faults) {
    const size_t end = fault.find('-', prefix.size());
    if (fault.starts_with(prefix)) numbers.insert(fault.substr(prefix.size(), end - prefix.size()));
  }
  return std::ssize(numbers);
}

// Few draws of attention_backward, which has seven axes, have several key heads.
constexpr const char* kFurtherCase = "attention_backward/f64/b=1,h=4,hkv=2,l=3,s=5,d=3,dv=3/fill=normal/seed=0";

// A NaN that goes into these reductions makes the whole result NaN by way of another one, too: the mean and the
// variance of group_norm and instance_norm, and the means of g and of g z in the gradient's dx.
bool IsHiddenByAnother(const std::string& op, const std::string& fault) {
  const bool is_blind = fault.ends_with("-blind-to-nan");
  const auto begins = [&](const char* place) { return fault.starts_with(place); };
  const bool is_blind_reduction = is_blind && begins("fault.reduction-");
  // NaN is the largest logit, and so among those that are chosen, and in every sum of exponentials.
  if (op == "moe_route" || op == "cross_entropy") return is_blind_reduction;
  // Counts of labels and of ends are small integers in any order; the last end is behind all rows.
  if (op == "cross_entropy_backward") return is_blind_reduction || begins("fault.sum-2-");
  if (op == "grouped_gemm") {
    return is_blind_reduction || fault == "fault.ends-shifted-by-one" ||
           begins("fault.reduction-1-last-term-dropped") || begins("fault.sum-1-");
  }
  // Places are never NaN, and all or the first alone are taken, whatever is second.
  const bool is_second = begins("fault.selection-") && fault.find("-second-rank-overlooked") != fault.npos;
  if (op == "moe_permute") return is_blind || is_second;
  // The place of a window's largest element is one number, whose maximum (the second one) has no other term.
  if (op == "max_pool") {
    return is_blind || is_second || begins("fault.reduction-2-") || fault == "fault.constant-2-dropped" ||
           fault == "fault.reduction-1-middle-term-dropped";
  }
  // Beyond its edge an image is its edge, so that a coordinate that stays there has weights for it alone. The two parts
  // of the cubic function meet where the 30th constant parts them. Of few elements is the last place of taps one.
  if (op == "resize") {
    return begins("fault.limit-") || begins("fault.reduction-1-last-term-dropped") ||
           fault == "fault.constant-30-off-by-a-thousandth";
  }
  // A number of the grid is a sum of one term, of which nothing can be forgotten, and never NaN.
  if (op == "grid_sample") {
    return begins("fault.move-1-") || begins("fault.move-2-") || begins("fault.reduction-1-") ||
           begins("fault.reduction-2-") || begins("fault.sum-1-") || begins("fault.sum-2-");
  }
  // Powers of two are exact in any format. A quotient of a byte and a comparison hardly change with their constants,
  // and any number below zero has the logarithm NaN. One scale has no neighbour, and the last place of lower codes is
  // that of an upper one.
  if (op == "mx_mm") {
    const std::set<std::string> idle = {"fault.constant-47-dropped", "fault.constant-49-dropped",
                                        "fault.constant-50-dropped", "fault.constant-52-dropped",
                                        "fault.move-3-off-by-one",   "fault.scale-shifted-by-one"};
    return begins("fault.function-") || fault.ends_with("-off-by-a-thousandth") || idle.contains(fault);
  }
  // These cases have up to five positions: the first sees none and the second the first alone, whose places lie
  // together. NaN reaches a result by the state as well.
  if (op == "gated_delta_rule") {
    const std::set<std::string> idle = {"fault.move-3-off-by-one", "fault.move-4-off-by-one", "fault.move-5-off-by-one",
                                        "fault.move-6-off-by-one", "fault.sum-4-in-bf16",     "fault.sum-6-in-bf16",
                                        "fault.sum-8-in-bf16"};
    const bool is_of_positions =
        begins("fault.reduction-4-") || begins("fault.reduction-6-") || begins("fault.reduction-9-");
    return is_blind || (is_of_positions && fault.find("-term-dropped") != fault.npos) || idle.contains(fault);
  }
  // Words are never NaN.
  if (op == "philox_uniform") return is_blind;
  // A NaN leaves no token, whichever step sees it. Few probabilities lie so near the border that a digit decides, small
  // counts are exact in any format, and the greatest of sorted logits is the first.
  if (op == "top_p_mask" || op == "min_p_mask") {
    const bool is_of_sorted =
        op == "top_p_mask" && begins("fault.reduction-1-") && !fault.ends_with("first-term-dropped");
    return is_blind || is_of_sorted || begins("fault.function-") || (op == "min_p_mask" && begins("fault.constant-")) ||
           begins("fault.sum-2-") || fault == "fault.move-1-off-by-one";
  }
  // Each rank has the sum of all ranks, in whatever order these are read, and takes it, or all parts, from one place.
  if (op == "all_reduce") return fault == "fault.move-1-off-by-one" || fault == "fault.move-2-off-by-one";
  if (op == "all_gather") return fault == "fault.move-2-off-by-one";
  // The table of a gradient is zero before rows are added; writers of a cache are places, and nobody is any number
  // below them.
  if (op == "embedding_backward") return fault == "fault.move-1-off-by-one" || fault == "fault.scatter-1-base-dropped";
  // Any number near the greatest score may be subtracted, since weights are divided by their sum: the third sum with a
  // tail is one of two that look for it.
  if (op == "attention_backward" && (begins("fault.reduction-2-") || begins("fault.reduction-4-"))) return true;
  if (op == "attention_backward" && fault == "fault.reduction-3-tail-dropped") return true;
  // The fifth reduction, the fourth sum and the fourth with a tail count the keys that a query sees, and it matters
  // only whether there are any.
  const bool is_count =
      begins("fault.reduction-5-") || begins("fault.sum-4-") || fault == "fault.reduction-4-tail-dropped";
  if ((op == "alibi_attention" || op == "paged_decode") &&
      (is_count || fault == "fault.reduction-2-last-term-dropped-in-last-slice")) {
    return true;
  }
  // A score of NaN is the greatest and in the sum of exponentials too; -infinity off by a thousandth is -infinity.
  if (op.find("attention") != op.npos || op == "paged_decode") {
    return is_blind_reduction || (op == "attention_lse" && fault == "fault.constant-2-off-by-a-thousandth");
  }
  if (op == "lse_merge") return is_blind_reduction;  // NaN is the largest sum, and in all others
  if (op == "kv_cache_write") return is_blind_reduction || fault == "fault.constant-1-off-by-a-thousandth";
  if (op == "group_norm" || op == "instance_norm") return is_blind_reduction;
  return op == "layer_norm_backward" && is_blind && begins("fault.reduction-2-");
}

// The faults of the corpus that change nothing of any of these cases, but for those that another hides.
std::vector<std::string> IdleFaults(Corpus& corpus, const FormulaOperator& op) {
  constexpr uint64_t kRounds = 12;  // of other cases, until each strikes: some do on some values alone
  std::set<std::string> offered, effective;
  std::vector<std::string> idle;
  if (op.schema().op == "attention_backward") effective.merge(FaultsOf(corpus, kFurtherCase).effective);
  for (uint64_t round = 0; round < kRounds && (round == 0 || !idle.empty()); ++round) {
    for (const Problem& problem : CasesOf(op, {"normal", "special", "edges"}, round)) {
      CaseFaults faults = FaultsOf(corpus, problem.spec.Id(), effective);
      // The fifth of cross_entropy comes with smoothing and a mean at once, which no case has by which places are
      // counted.
      const int64_t most = problem.spec.op == "cross_entropy" ? 4 : INT64_MAX;
      EXPECT_EQ(CountPlaces(faults.offered, "reduction"), std::min(CountPlaces(op, problem), most))
          << problem.spec.Id();
      offered.merge(faults.offered);
      effective.merge(faults.effective);
    }
    idle.clear();
    std::ranges::set_difference(offered, effective, std::back_inserter(idle));
    std::erase_if(idle, [&](const std::string& fault) { return IsHiddenByAnother(op.schema().op, fault); });
  }
  EXPECT_GE(offered.size(), op.schema().operands.size()) << op.schema().op;  // one of each input, and of the output
  return idle;
}

TEST(CorpusFormulas, EachBugChangesTheExactResultOfSomeCase) {
  Corpus corpus;
  for (const FormulaOperator* op : FormulasOfCorpus(3)) {
    const std::vector<std::string> idle = IdleFaults(corpus, *op);
    EXPECT_TRUE(idle.empty()) << op->schema().op << ": " << fmt::format("{}", fmt::join(idle, ", "))
                              << " changes nothing of any case";
  }
}

std::vector<std::string> SpecialPowersOf(const std::string& suite) {
  const auto cases = LoadSuite(fmt::format("{}/{}.suite", ASSAY_TEST_SUITES, suite), Catalog());
  EXPECT_TRUE(cases) << cases.error().message;
  std::vector<std::string> ids;
  for (const PlannedCase& planned : cases.value_or(std::vector<PlannedCase>())) {
    if (planned.spec.op == "pow" && HasNaN(ParseFill(planned.spec.fill).value())) ids.push_back(planned.spec.Id());
  }
  return ids;
}

// Each is wrong about one class of powers that have a rule of their own, such as -infinity with odd exponents.
TEST(CorpusFormulas, EachWrongPowerIsSeenInTheSuiteOfFormulas) {
  Corpus corpus;
  const std::vector<std::string> ids = SpecialPowersOf("formulas");
  EXPECT_GE(ids.size(), 2U);
  for (const std::string& id : ids) {
    const std::vector<Judged> judged = corpus.Judge(id, "fault.power-1-");
    EXPECT_EQ(judged.size(), 7U) << id;
    for (const Judged& one : judged) {
      EXPECT_EQ(one.verdict, Verdict::kMismatch) << one.implementation << " on " << id << ": " << one.reason;
    }
  }
}

// Divisions of C and of hardware leave the fraction off, which is another integer below zero.
TEST(CorpusFormulas, QuotientsThatAreRoundedTowardsZeroAreSeenInTheSuiteOfFormulas) {
  Corpus corpus;
  for (const char* type : {"i8", "i16", "i32"}) {
    const std::string id = fmt::format("floor_divide/{}/n=257/fill=normal/seed=0", type);
    const std::vector<Judged> wrong = corpus.Judge(id, "fault.quotient-1-rounded-towards-zero");
    ASSERT_EQ(wrong.size(), 1U) << id;
    EXPECT_EQ(wrong[0].verdict, Verdict::kMismatch) << id << ": " << wrong[0].reason;
    const std::vector<Judged> right = corpus.Judge(id, "legal.");
    ASSERT_FALSE(right.empty()) << id;
    for (const Judged& one : right) EXPECT_EQ(one.verdict, Verdict::kPass) << id << ": " << one.reason;
  }
}

// On data whose mean is a hundred deviations a variance of one pass is out of what two passes may be off.
TEST(CorpusFormulas, OnePassVariancesPassAsWhatTheyAreAlone) {
  ExpectLegalSchedulesPass("layer_norm/f32/rows=9,n=67,stats=1", {"offset"}, 17);
  ExpectLegalSchedulesPass("layer_norm/bf16-f32-f32-bf16/rows=9,n=67", {"offset"}, 17);
  ExpectLegalSchedulesPass("group_norm/f32/b=2,g=3,c=5,n=33", {"offset"}, 17);
  Corpus corpus;
  for (const char* id :
       {"layer_norm/f32/rows=9,n=67/fill=offset/seed=0", "layer_norm/f32/rows=9,n=67,stats=1/fill=offset/seed=0",
        "group_norm/f32/b=2,g=3,c=5,n=7/fill=offset/seed=0"}) {
    const std::vector<Judged> judged = corpus.Judge(id, "fault.undeclared-onepass");
    ASSERT_EQ(judged.size(), 1U) << id;
    EXPECT_EQ(judged[0].verdict, Verdict::kMismatch) << id << ": " << judged[0].reason;
  }
}

}  // namespace
}  // namespace assay
