// SPDX-License-Identifier: Apache-2.0
// assay explain: everything that is known of a wrong result, or which of several is right.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/number_option.h"
#include "harness/cli/options.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/terminal/stage_progress.h"
#include "harness/cli/verbs.h"
#include "harness/engine/trial/record_fields.h"
#include "harness/judge/error_map.h"
#include "harness/tools/check/check_case.h"
#include "harness/tools/check/check_text.h"
#include "harness/tools/check/verb_tensors.h"
#include "harness/tools/explain/evidence.h"
#include "harness/tools/explain/holding_contract.h"
#include "harness/tools/explain/ranking.h"
#include "harness/tools/explain/verb_experiments.h"
#include "harness/tools/explain/verb_explain_sources.h"

namespace assay::cli {
namespace {

struct ExplainOptions {
  std::filesystem::path folder;
  std::string case_id, filter, derive;
  CheckRequest request;
  RunOptions run;
  double search_s = 10;
  bool json = false;
};

using Begin = std::function<void(const char* stage)>;

// The judgement of one result, and what explains it.
struct ExplainedResult {
  RankedResult ranked;
  std::string text;
  Json json;
  NamedCauses named;
};

class ResultExplainer {
 public:
  ResultExplainer(const ExplainOptions& options, const UserTensors& user, const CheckResult& judged)
      : options_(options), user_(user), judged_(judged), output_(judged.findings.worst) {}

  bool Fails() const {
    const auto verdict = ParseVerdict(judged_.record.verdict);
    return verdict && IsFailingResult(*verdict);
  }

  // The causes of a failure have their texts with them.
  NamedCauses NameCauses(const std::string& result) const {
    NamedCauses named{.result = result, .causes = judged_.causes, .texts = {}};
    for (const Cause& cause : judged_.causes)
      named.texts.push_back(DescribeCause(data().problem, cause, AttributeTextFor(user_.asker)));
    return named;
  }

  Status Explain(ExplainedResult& explained) {
    if (Fails()) {
      const BoundModel bound = data().op->Bound(data().problem, output_, golden(), user_.contract);
      const ElementJudge judge(golden(), bound, user_.contract, got().dtype());
      const std::string map = ErrorMapText(judge, got());
      if (!map.empty()) explained.text += fmt::format("map of {}:\n{}", data().problem.outputs[output_].name, map);
      AddCauses(MeasureFit(judge, judged_.worst().observed.runs[0], got()), explained);
    }
    return options_.derive.empty() ? Status() : AddDerivation(explained);
  }

 private:
  const PreparedCase& data() const { return user_.data; }
  const Golden& golden() const { return data().outputs[output_].golden; }
  const Tensor& got() const { return user_.got[output_]; }

  void AddCauses(const ResultFit& meant, ExplainedResult& explained) const {
    explained.json["causes"] = Json::array();
    for (const Cause& cause : judged_.causes) {
      const std::string what = DescribeCause(data().problem, cause, AttributeTextFor(user_.asker));
      explained.text += EvidenceText(what, cause, meant);
      if (!cause.change.key.empty()) explained.text += fmt::format("passes with: {}\n", what);
      explained.json["causes"].push_back(EvidenceJson(what, cause, meant));
    }
    const bool explains = !judged_.causes.empty() || judged_.worst().observed.weaker_arithmetic.has_value();
    explained.json["explained"] = explains;
    explained.json["holds_by"] = Json();
    if (explains) return;
    const WrongResult wrong{.op = *data().op,
                            .problem = data().problem,
                            .inputs = data().inputs,
                            .got = user_.got,
                            .contract = user_.contract,
                            .golden = golden(),
                            .tier = golden().tier,
                            .output = output_};
    const std::string no_search = ExplainNoSearch(wrong);
    explained.json["not_searched"] = no_search;
    explained.text +=
        no_search.empty()
            ? fmt::format(
                  "unexplained: no other value of an attribute, no changed operand, no one place of the formula and no "
                  "weaker arithmetic was found by the work of {:g} s that makes these numbers\n",
                  options_.search_s)
            : fmt::format("unexplained: other causes than a weaker arithmetic were not looked for: {}\n", no_search);
    if (!judged_.record.exact_margin) AddHoldingContract(wrong, explained);
  }

  // A bound that is wide enough proves nothing: it is said beside, and explains nothing.
  void AddHoldingContract(const WrongResult& wrong, ExplainedResult& explained) const {
    const auto found = FindHoldingContract(wrong);
    if (!found) {
      explained.text +=
          fmt::format("would pass by: none of {} that would notice half of single faults\n", UsualContractsText());
      return;
    }
    explained.text += fmt::format(
        "would pass by: --contract '{}', which would notice {:.1f} % of single faults; nothing shows that this is what "
        "was computed\n",
        ToText(found->contract), 100 * found->power);
    explained.json["holds_by"] = {{"contract", ToText(found->contract)}, {"power", found->power}};
  }

  Status AddDerivation(ExplainedResult& explained) const {
    const auto derived = DeriveElement(options_.derive, user_, judged_);
    if (!derived) return tl::unexpected(derived.error());
    explained.text += DerivationText(*derived);
    for (const DerivationLine& line : derived->lines) {
      explained.json["derivation"].push_back({{"symbol", line.symbol},
                                              {"formula", line.formula},
                                              {"value", std::isfinite(line.value) ? Json(line.value) : Json()}});
    }
    return {};
  }

  const ExplainOptions& options_;
  const UserTensors& user_;
  const CheckResult& judged_;
  size_t output_;  // the worst one
};

// Lends the data to the judgement of one result, and takes them back with the golden values.
class CaseExplainer {
 public:
  CaseExplainer(const ExplainOptions& options, CaseWithOutputs& of, const Begin& begin)
      : options_(options), of_(of), begin_(begin) {}

  Result<ExplainedResult> Explain(size_t index) {
    NamedResult& result = of_.results[index];
    UserTensors user;
    user.data = std::move(of_.data), user.got = std::move(result.outputs);
    user.defaults = of_.defaults, user.planned = of_.planned;
    auto explained = ExplainAs(index, user);
    of_.data = std::move(user.data), result.outputs = std::move(user.got);
    return explained;
  }

 private:
  Result<ExplainedResult> ExplainAs(size_t index, UserTensors& user) {
    const NamedResult& result = of_.results[index];
    CheckRequest request = result.judged_by;
    request.op = user.data.problem.spec.op;
    request.search_s = options_.search_s;
    if (auto set = SetContracts(request, user.data.problem, user); !set) return tl::unexpected(set.error());
    auto judged = JudgeUserCase(request, user, begin_);
    if (!judged) return tl::unexpected(judged.error());
    begin_("looking for what explains it");
    ResultExplainer explainer(options_, user, *judged);
    ExplainedResult explained;
    explained.ranked = {.result = index, .verdict = judged->record.verdict, .contract = user.contract};
    explained.ranked.fails = explainer.Fails();
    const bool says_all = explainer.Fails() || of_.results.size() == 1;
    if (says_all) explained.text = CheckText(user, *judged);
    explained.json = {
        {"name", result.name}, {"said", result.said}, {"record", Json::parse(ToJsonLine(judged->record))}};
    if (auto done = explainer.Explain(explained); !done) return tl::unexpected(done.error());
    if (explainer.Fails()) explained.named = explainer.NameCauses(result.name);
    return explained;
  }

  const ExplainOptions& options_;
  CaseWithOutputs& of_;
  const Begin& begin_;
};

// Whether the run in which it was computed found it wrong, perhaps by other executions than this one.
bool SaidWrong(const std::string& said) {
  const auto verdict = ParseVerdict(said.substr(0, said.find(':')));
  return verdict && IsFailingResult(*verdict);
}

std::string HeadingOf(const NamedResult& result, const ExplainedResult* explained) {
  std::string text =
      fmt::format("\n== {}{}\n", result.name, explained == nullptr ? "" : ": " + explained->ranked.verdict);
  if (!result.said.empty()) text += "the run says: " + result.said + "\n";
  if (explained != nullptr && SaidWrong(result.said) && !explained->ranked.fails) {
    text += "the numbers of its first execution hold: what failed is another execution, or exact data\n";
  }
  return text;
}

struct ExplainedCase {
  std::string text;
  Json json;
  bool fails = false;
};

Result<ExplainedCase> ExplainCase(const ExplainOptions& options, CaseWithOutputs& of, const Begin& begin) {
  ExplainedCase all;
  all.json = {{"case_id", of.planned ? of.planned->spec.Id() : of.data.problem.spec.Id()}, {"results", Json::array()}};
  all.text = of.planned ? of.planned->spec.Id() + "\n" : "";
  CaseExplainer explainer(options, of, begin);
  std::vector<RankedResult> ranked;
  for (size_t i = 0; i < of.results.size(); ++i) {
    const NamedResult& result = of.results[i];
    all.fails = all.fails || SaidWrong(result.said);
    if (result.outputs.empty()) {  // a crash, or nothing is offered
      all.text += HeadingOf(result, nullptr);
      all.json["results"].push_back({{"name", result.name}, {"said", result.said}});
      continue;
    }
    auto explained = explainer.Explain(i);
    if (!explained) return tl::unexpected(explained.error());
    if (!options.case_id.empty() && explained->named.causes.size() > 1) {
      begin("executing cases that tell its causes apart");
      ToldApart told = TellCausesApart(explained->named, of.data, options.run, options.request);
      explained->text += told.text;
      explained->json["experiments"] = std::move(told.json);
    }
    all.text += (of.results.size() > 1 || !result.said.empty() ? HeadingOf(result, &*explained) : "") + explained->text;
    all.json["results"].push_back(std::move(explained->json));
    all.fails = all.fails || explained->ranked.fails;
    ranked.push_back(std::move(explained->ranked));
  }
  if (ranked.size() < 2) return all;
  const Ranking ranking = RankResults(of, std::move(ranked));
  all.text += "\n" + RankingText(of, ranking);
  all.json["ranking"] = RankingJson(of, ranking);
  return all;
}

ReadCases ReadAll(const ExplainOptions& options) {
  if (!options.folder.empty()) return ReadFolder(options.folder, options.filter);
  return options.case_id.empty() ? ReadTensors(options.request)
                                 : ExecuteCase(options.case_id, options.run, options.request);
}

int Explain(const ExplainOptions& options) {
  StageProgress progress(Progress::ParseMode(options.run.progress));
  const Begin begin = [&](const char* stage) { progress.Begin(stage); };
  begin(options.case_id.empty() ? "reading the tensors" : "executing the case");
  auto cases = ReadAll(options);
  if (!cases) {
    progress.End();
    return Complain(cases.error().code, cases.error().message);
  }
  std::string text;
  bool fails = false, any = false, breaks = false;
  for (CaseWithOutputs& of : *cases) {
    auto explained = ExplainCase(options, of, begin);
    if (!explained) {
      progress.End();
      return Complain(kExitUsage, explained.error().message);
    }
    if (of.results.empty()) continue;
    text += options.json ? DumpJson(explained->json) + "\n" : explained->text;
    fails = fails || explained->fails;
    breaks = breaks || std::ranges::any_of(of.results, &NamedResult::has_failed);
    any = any || std::ranges::any_of(of.results, [](const NamedResult& r) { return !r.outputs.empty(); });
  }
  progress.End();
  Print(text);
  return fails ? kExitFailed : breaks ? kExitHarness : any ? kExitOk : kExitNothing;
}

// A folder, a case or tensors.
void RequireOneSource(const CLI::App& verb) {
  const std::vector<const char*> sources = {"FOLDER", "--case", "--op"};
  const auto is_given = [&](const char* name) { return verb.count(name) > 0; };
  const auto given = std::ranges::count_if(sources, is_given);
  if (given == 0) {
    throw CLI::RequiredError("FOLDER of a failure, a run or a manifest, --case ID, or --op with its tensors");
  }
  if (given > 1) throw CLI::ValidationError("FOLDER, --case and --op are three sources of results; give one");
  const auto exclude = [&](const char* source, const std::vector<const char*>& others) {
    for (const char* name : others) {
      if (is_given(source) && is_given(name)) throw CLI::ExcludesError(name, source);
    }
  };
  const std::vector<const char*> backends = {"--backend", "--plugin", "--kernels", "--framework", "--impl"};
  const std::vector<const char*> tensors = {"--attr", "--output", "--dtype", "--contract", "--require", "--exact-ulp"};
  exclude("--op", backends), exclude("FOLDER", backends);
  exclude("--op", {"--filter"}), exclude("--case", {"--filter"});
  exclude("--case", tensors), exclude("FOLDER", tensors), exclude("FOLDER", {"--input"});
  for (const char* name : {"--input", "--output"}) {
    if (is_given("--op") && !is_given(name)) throw CLI::RequiredError(name);
  }
}

}  // namespace

void AddExplainVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<ExplainOptions>();
  CLI::App* verb = app.add_subcommand(
      "explain",
      "Explain a wrong result: where, by which mistake or arithmetic, and by what it would pass; or rank several");
  verb->add_option(
      "FOLDER", o->folder,
      "failure folder of a run, failures/<hash>; a run with kept outputs (--evidence); or a folder of assay "
      "inputs in which outputs have come back");
  verb->add_option("--filter", o->filter, "cases of a run or a manifest, as in assay run; default: all that fail")
      ->type_name("GLOBS");
  verb->add_option(
          "--case", o->case_id,
          "id of a case, which each implementation of --backend executes, and others that tell several causes apart")
      ->type_name("ID");
  AddTensorOptions(*verb, o->request);
  verb->get_option("--output")
      ->description(
          "output of the operator; or, with other names, several results of which nobody knows which is right: "
          "--output a=FILE --output b=FILE");
  AddJudgedByOptions(*verb, o->request);
  verb->add_option("--derive", o->derive, "also derive the tolerance of one element: [3,5], or mean[3]")
      ->type_name("ELEMENT");
  AddNumber<double>(*verb, "--search", o->search_s, {0, 100'000},
                    "work of the search for causes of one result, in seconds of one usual core");
  verb->add_flag("--json", o->json, "print one JSON object for each case instead of text");
  AddBackends(*verb, o->run);
  AddOptions(*verb, o->run, {"--impl", "--operators", "--jobs", "--progress"});
  verb->callback([o, verb, &action] {
    RequireOneSource(*verb);
    o->run.tier = o->request.tier;
    action = [o] { return Explain(*o); };
  });
}

}  // namespace assay::cli
