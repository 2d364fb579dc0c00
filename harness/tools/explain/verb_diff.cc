// SPDX-License-Identifier: Apache-2.0
// assay diff RUN --between A,B: how the backends of one run differ, case by case.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/cli/number_option.h"
#include "harness/cli/options.h"
#include "harness/cli/run_pair.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/json_text.h"
#include "harness/core/base/text.h"
#include "harness/core/data/safetensors.h"
#include "harness/tools/bundle/stored_outputs.h"
#include "harness/tools/explain/ranking.h"
#include "reports/compare/between_backends.h"
#include "reports/text.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

struct DiffOptions {
  fs::path run;
  std::string between;
  size_t rows = 20;
  bool json = false;
};

// The records of these backends; all of them where none is named.
Result<std::vector<const Record*>> TakeBackends(const RunToCompare& run, const std::string& between) {
  std::set<std::string> known;
  for (const Record& r : run.records) known.insert(r.backend);
  std::set<std::string> wanted;
  for (const std::string_view name : Split(between, ',')) {
    if (!name.empty()) wanted.emplace(name);
  }
  for (const std::string& name : wanted) {
    if (known.contains(name)) continue;
    return UsageError(
        fmt::format("--between: {} has no backend '{}'; it has {}", run.name, name, fmt::join(known, ", ")));
  }
  std::vector<const Record*> records;
  for (const Record& r : run.records) {
    if (wanted.empty() || wanted.contains(r.backend)) records.push_back(&r);
  }
  return records;
}

// Element by element, of results whose outputs are kept.
class KeptOutputs {
 public:
  explicit KeptOutputs(fs::path run) : run_(std::move(run)) {}

  // How the results of a case differ; nullopt: fewer than two of them are kept.
  std::optional<std::pair<std::string, Json>> Compare(const ComparedResults& of) {
    const auto spec = ParseId(of.case_id);
    if (!spec || OperatorRegistry::Global().Find(spec->op) == nullptr) return std::nullopt;
    CaseWithOutputs read;
    std::vector<RankedResult> ranked;
    for (const Record* record : of.results) {
      auto outputs = Read(*record);
      const auto contract = ParseDeclaration(record->contract);
      if (!outputs || !contract) continue;
      ranked.push_back({.result = read.results.size(),
                        .verdict = record->verdict,
                        .fails = record->verdict != "pass" && record->verdict != "inconclusive",
                        .contract = *contract});
      read.results.push_back({.name = NameBetween(*record), .outputs = *std::move(outputs)});
    }
    if (ranked.size() < 2) return std::nullopt;
    auto data = PrepareCase(*spec, of.results[0]->tier.empty() ? "auto" : of.results[0]->tier,
                            GoldenStore(std::filesystem::path()));
    if (!data || data->input_hash != of.results[0]->input_hash) return std::nullopt;
    read.data = *std::move(data);
    const Ranking ranking = RankResults(read, std::move(ranked));
    return std::pair(RankingText(read, ranking), RankingJson(read, ranking));
  }

 private:
  std::optional<std::vector<Tensor>> Read(const Record& record) const {
    auto file = ReadSafetensors(run_ / StoredOutputFile(record));
    if (!file) return std::nullopt;
    std::vector<Tensor> outputs;
    for (NamedTensor& one : file->tensors) outputs.push_back(std::move(one.tensor));
    return outputs;
  }

  fs::path run_;
};

std::string NumberText(const Number& number) {
  return number ? fmt::format("{:.3g}", *number) : "-";
}

std::string NamesText(const ComparedResults& of, const std::vector<size_t>& set) {
  std::vector<std::string> names;
  for (const size_t i : set) names.push_back(NameBetween(*of.results[i]));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string CaseText(const ComparedResults& of, const std::optional<std::pair<std::string, Json>>& kept) {
  std::string text = of.case_id + "\n";
  size_t width = 0;
  for (const Record* r : of.results) width = std::max(width, NameBetween(*r).size());
  text += fmt::format("  {:<{}} {:<14} {:>8} {:>10} {:>10}\n", "from the golden values", std::max<size_t>(width, 22),
                      "verdict", "ulp", "tolerances", "rms error");
  for (const Record* r : of.results) {
    text += fmt::format("  {:<{}} {:<14} {:>8} {:>10} {:>10}\n", NameBetween(*r), std::max<size_t>(width, 22),
                        r->verdict, NumberText(r->max_ulp_err), NumberText(r->bound_margin), NumberText(r->rms_err));
  }
  for (const std::vector<size_t>& set : of.equal) {
    if (set.size() > 1) text += fmt::format("  equal bits: {}\n", NamesText(of, set));
  }
  if (of.nearest && of.equal.size() > 1)
    text += fmt::format("  nearest to the golden values: {}\n", NameBetween(*of.results[*of.nearest]));
  if (of.odd) text += fmt::format("  odd one out: {}\n", NameBetween(*of.results[*of.odd]));
  if (kept) text += kept->first;
  return text;
}

Json CaseJson(const ComparedResults& of, const std::optional<std::pair<std::string, Json>>& kept) {
  const auto number = [](const Number& n) { return n ? Json(*n) : Json(); };
  Json json = {{"case_id", of.case_id}, {"results", Json::array()}, {"equal_bits", Json::array()}};
  for (const Record* r : of.results) {
    json["results"].push_back({{"name", NameBetween(*r)},
                               {"verdict", r->verdict},
                               {"max_ulp_err", number(r->max_ulp_err)},
                               {"tolerances", number(r->bound_margin)},
                               {"rms_err", number(r->rms_err)}});
  }
  for (const std::vector<size_t>& set : of.equal) {
    Json names = Json::array();
    for (const size_t i : set) names.push_back(NameBetween(*of.results[i]));
    json["equal_bits"].push_back(std::move(names));
  }
  json["nearest"] = of.nearest ? Json(NameBetween(*of.results[*of.nearest])) : Json();
  json["odd_one_out"] = of.odd ? Json(NameBetween(*of.results[*of.odd])) : Json();
  json["elements"] = kept ? kept->second : Json();
  return json;
}

// All cases together: pairs of implementations, and how often each is the odd one out.
std::string SummaryText(const std::vector<ComparedResults>& cases) {
  const std::vector<PairBetween> pairs = ComparePairs(cases);
  const auto name_of = [](const PairBetween& pair) { return pair.first + " and " + pair.second; };
  size_t width = 4;
  for (const PairBetween& pair : pairs) width = std::max(width, name_of(pair).size());
  std::string text = fmt::format("{:<{}} {:>7} {:>11} {:>13} {:>13}\n", "pair", width, "cases", "equal bits",
                                 "first nearer", "second nearer");
  for (const PairBetween& pair : pairs) {
    text += fmt::format("{:<{}} {:>7} {:>11} {:>13} {:>13}\n", name_of(pair), width, pair.cases, pair.equal,
                        pair.first_nearer, pair.second_nearer);
  }
  std::map<std::string, int64_t> odd;
  for (const ComparedResults& of : cases) {
    if (of.odd) ++odd[NameBetween(*of.results[*of.odd])];
  }
  for (const auto& [name, count] : odd)
    text += fmt::format("odd one out in {} of {} cases: {}\n", count, cases.size(), name);
  return text;
}

Json SummaryJson(const std::vector<ComparedResults>& cases) {
  Json json = {{"cases", cases.size()}, {"pairs", Json::array()}, {"odd_one_out", Json::object()}};
  for (const PairBetween& pair : ComparePairs(cases)) {
    json["pairs"].push_back({{"first", pair.first},
                             {"second", pair.second},
                             {"cases", pair.cases},
                             {"equal_bits", pair.equal},
                             {"first_nearer", pair.first_nearer},
                             {"second_nearer", pair.second_nearer}});
  }
  for (const ComparedResults& of : cases) {
    if (!of.odd) continue;
    Json& count = json["odd_one_out"][NameBetween(*of.results[*of.odd])];
    count = count.is_null() ? 1 : count.get<int64_t>() + 1;
  }
  return json;
}

// Names from records may have control characters.
std::string PrintableLines(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : Split(text, '\n')) lines.push_back(Printable(line));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

int Diff(const DiffOptions& options) {
  const auto run = ReadRunToCompare(options.run);
  if (!run) return Complain(kExitUsage, run.error().message);
  const auto records = TakeBackends(*run, options.between);
  if (!records) return Complain(kExitUsage, records.error().message);
  const std::vector<ComparedResults> cases = CompareInCases(*records);
  if (cases.empty()) {
    return Complain(kExitNothing,
                    "no case was computed by two of these implementations on equal inputs; give more with --between");
  }
  std::error_code error;
  KeptOutputs kept_outputs(fs::is_directory(options.run, error) ? options.run : options.run.parent_path());
  std::string text;
  Json json = {{"differing", Json::array()}};
  size_t shown = 0, differing = 0, without = 0;
  for (const ComparedResults& of : cases) {
    if (of.equal.size() < 2 || ++differing > options.rows) continue;
    ++shown;
    const auto kept = kept_outputs.Compare(of);
    without += kept ? 0 : 1;
    text += CaseText(of, kept) + "\n";
    json["differing"].push_back(CaseJson(of, kept));
  }
  if (shown < differing) text += fmt::format("{} more cases differ: --rows {}\n", differing - shown, differing);
  if (without > 0) {
    text += fmt::format(
        "{} of these cases have no distances between elements: their outputs are not kept; run with --evidence 1\n",
        without);
  }
  json["summary"] = SummaryJson(cases), json["differing_cases"] = differing, json["without_outputs"] = without;
  Print(options.json ? DumpJson(json, 2) + "\n" : PrintableLines(text + SummaryText(cases)));
  return kExitOk;
}

}  // namespace

void AddDiffVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<DiffOptions>();
  CLI::App* verb = app.add_subcommand(
      "diff", "Tell how backends of one run differ: equal bits, distances, which is nearer, and the odd one out");
  verb->add_option("RUN", o->run, "output folder of a run, or its results.jsonl")->required();
  verb->add_option("--between", o->between, "backends, as cpu,onednn; default: all of the run")->type_name("NAMES");
  AddNumber<size_t>(*verb, "--rows", o->rows, {0, 1'000'000}, "most cases that are shown one by one");
  verb->add_flag("--json", o->json, "print JSON instead of text");
  verb->callback([o, &action] { action = [o] { return Diff(*o); }; });
}

}  // namespace assay::cli
