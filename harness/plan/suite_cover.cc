// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/suite_cover.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "harness/core/base/text.h"
#include "harness/core/model/other_names.h"
#include "harness/plan/design_store.h"

namespace assay {
namespace {

constexpr const char* kForm = "write: cover pairs matmul, or: cover triples matmul max_elements=4096 max_flops=1e6";

Status SetOption(const SuiteLine& line, const Word& word, CoverLine& cover) {
  CoverLimits& limits = cover.options.limits;
  const size_t equals = std::min(word.text.find('='), word.text.size());
  const std::string_view key = word.text.substr(0, equals);
  double* limit = key == "max_elements" ? &limits.elements
                  : key == "max_flops"  ? &limits.flops
                  : key == "thorough"   ? &cover.thorough
                                        : nullptr;
  if (limit == nullptr || equals == word.text.size()) {
    return line.Fail(word.column,
                     fmt::format("'{}' is not max_elements=NUMBER, max_flops=NUMBER or thorough=NUMBER", word.text));
  }
  for (const Word& former : line.words) {
    if (former.column < word.column && former.text.starts_with(word.text.substr(0, equals + 1))) {
      return line.Fail(word.column, fmt::format("{} after {}: write one of them", word.text, former.text));
    }
  }
  const auto number = ParseNumber<double>(word.text.substr(equals + 1));
  if (!number || !(*number >= 1)) {
    return line.Fail(
        word.column,
        fmt::format(
            "{} is not a number of at least 1{}", word.text,
            key == "thorough" ? "; thorough=1 executes the fewest cases in all ways; without it every case is" : ""));
  }
  *limit = *number;
  return {};
}

}  // namespace

Result<CoverLine> ParseCoverLine(const SuiteLine& line, const OpCatalog& ops) {
  const std::vector<Word>& words = line.words;
  if (words.size() < 3) return line.Fail(words[0].column, fmt::format("cover takes two words; {}", kForm));
  CoverLine cover;
  if (words[1].text != "pairs" && words[1].text != "triples") {
    return line.Fail(words[1].column, fmt::format("'{}' is neither pairs nor triples; {}", words[1].text, kForm));
  }
  cover.options.strength = words[1].text == "pairs" ? 2 : 3;
  cover.op = words[2].text;
  const Operator* op = ops.op ? ops.op(cover.op) : nullptr;
  if (op == nullptr) {
    return line.Fail(words[2].column, fmt::format("no operator '{}'; known: {}{}", cover.op, fmt::join(ops.names, " "),
                                                  OperatorHint(cover.op, ops.names)));
  }
  if (op->Space().dimensions.empty()) {
    return line.Fail(words[2].column,
                     fmt::format("{} does not declare what its cases vary in; write its cases out", cover.op));
  }
  for (size_t i = 3; i < words.size(); ++i) {
    if (Status status = SetOption(line, words[i], cover); !status) return tl::unexpected(status.error());
  }
  return cover;
}

std::future<std::vector<CaseSpec>> BeginCover(const CoverLine& cover, const OpCatalog& ops) {
  DesignStore store(ops.designs);
  store.BeforeSearch(ops.before_search);
  return std::async(std::launch::async, [op = ops.op(cover.op), options = cover.options, store = std::move(store)] {
    return store.CasesOf(*op, options);
  });
}

Result<std::vector<PlannedCase>> ExpandCover(const SuiteLine& line, const CoverLine& cover,
                                             std::vector<CaseSpec> design, const OpCatalog& ops) {
  std::vector<PlannedCase> cases;
  std::map<std::string, double> planned;  // cases by their types
  for (CaseSpec& spec : design) {
    const Result<SharedCase> bound = ops.bind ? ops.bind(spec) : SharedCase();
    if (!bound) return line.Fail(line.words[0].column, bound.error().message);
    const bool thorough = planned[DTypeListText(spec.dtypes)]++ < cover.thorough;
    cases.push_back({.spec = std::move(spec), .timed = false, .thorough = thorough});
  }
  return cases;
}

}  // namespace assay
