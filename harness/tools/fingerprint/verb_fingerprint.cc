// SPDX-License-Identifier: Apache-2.0
// assay fingerprint: how the implementations of a backend add, measured by probes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/cli/options.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/terminal/stage_progress.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/atomic_file.h"
#include "harness/core/base/json_text.h"
#include "harness/core/base/whole_file.h"
#include "harness/tools/fingerprint/function_passport.h"
#include "harness/tools/fingerprint/passport.h"
#include "harness/tools/fingerprint/prediction.h"
#include "harness/tools/fingerprint/slice_passport.h"
#include "harness/tools/fingerprint/verb_exhaustive.h"
#include "harness/tools/fingerprint/verb_fingerprint_cases.h"
#include "ops/bound_case.h"
#include "reports/compare/passports.h"

namespace assay::cli {
namespace {

class Taking {
 public:
  Taking(const FingerprintOptions& options, SumsOfRun of_run) : options_(options), of_run_(std::move(of_run)) {}

  // Every implementation that a device has for one case. Errors: a drawing cannot be written.
  Status TakeOn(const Device& device, const Fingerprinted& of) {
    const auto offers = device.session->Query(device.device_index, of.bound->problem);
    if (!offers) {
      Tell(device, of, "", offers.error());
      return {};
    }
    for (const ImplementationInfo& offer : *offers) {
      offered_.insert(offer.name);
      const auto& wanted = options_.run.backend.implementations;
      if (!wanted.empty() && std::ranges::find(wanted, offer.name) == wanted.end()) continue;
      if (!options_.run_folder.empty() && FindResults(device, of, offer).empty()) continue;
      if (auto taken = TakeBy(device, of, offer); !taken) return taken;
    }
    return {};
  }

  int Finish() {
    const std::string document = DumpJson(Json{{"schema_version", 1}, {"passports", passports_}}, 2) + "\n";
    if (options_.json) Print(document);
    if (!options_.run_folder.empty() && !passports_.empty()) {
      const auto written =
          WriteFileAtomically(options_.run_folder / kPassportsFile, {{document.data(), document.size()}});
      const Status marked = written ? MarkReordered(options_.run_folder, passports_) : written;
      if (!marked) return Complain(kExitHarness, marked.error().message);
    }
    if (has_failed_) return kExitHarness;
    if (passports_.empty()) {
      const auto& wanted = options_.run.backend.implementations;
      return ComplainOfNone(wanted, wanted.empty() ? std::set<std::string>() : offered_);
    }
    return contradictions_ > 0 ? kExitFailed : kExitOk;
  }

 private:
  // Returns the run's results by this implementation.
  std::vector<RecordedResult> FindResults(const Device& device, const Fingerprinted& of,
                                          const ImplementationInfo& offer) const {
    const auto found = of_run_.results.find(SumsOfRun::Name(device.backend, offer.name, of.bound->problem.spec.Id()));
    return found == of_run_.results.end() ? std::vector<RecordedResult>() : found->second;
  }

  // A case that a backend does not offer is no failure.
  void Tell(const Device& device, const Fingerprinted& of, const std::string& implementation,
            const WorkerFailure& failure) {
    progress_.reset();
    const bool is_lacking = failure.kind == FailureKind::kUnsupported;
    has_failed_ = has_failed_ || !is_lacking;
    if (is_lacking && implementation.empty() && options_.cases.empty()) return;
    Complain(kExitOk, fmt::format("{} {} {}: {}", device.selector, of.bound->problem.spec.Id(), implementation,
                                  failure.message));
  }

  Status TakeBy(const Device& device, const Fingerprinted& of, const ImplementationInfo& offer) {
    const Problem& problem = of.bound->problem;
    const auto contract = ParseDeclaration(offer.contract_text);
    const bool is_direct = !contract || contract->alg == Algorithm::kDirect || contract->alg == Algorithm::kOnePass;
    if (of.sums && !is_direct) {
      Tell(device, of, offer.name,
           {FailureKind::kUnsupported, "it adds operands that were transformed, whose order no probe shows"});
      return {};
    }
    progress_.emplace(Progress::ParseMode(options_.run.progress))
        .Begin(fmt::format("{} {} {}", device.selector, problem.spec.Id(), offer.name));
    auto plan = PreparedPlan::Make(device, problem, offer.name);
    if (!plan) {
      Tell(device, of, offer.name, plan.error());
      return {};
    }
    if (of.is_function) {
      return Keep(device, of, offer, TakeFunctionPassport(*of.bound, *plan, offer.name, offer.contract_text));
    }
    auto slices = TakeSlicePassport(device, *of.bound, offer.name, offer.contract_text);
    if (slices) slices->why_no_order = of.why_no_order;
    if (!of.sums || !slices) {
      contradictions_ += slices ? slices->contradictions.size() : 0;
      return Keep(device, of, offer, slices);
    }
    auto passport = TakePassportOfSums(device, of, offer, *std::move(plan));
    if (passport) {
      for (const std::string& what : slices->contradictions) {
        const bool is_known = std::ranges::find(passport->contradictions, what) != passport->contradictions.end();
        if (!is_known) passport->contradictions.push_back(what);
      }
      contradictions_ += passport->contradictions.size();
      passport->slices = *slices;
      std::vector<RecordedResult> results = FindResults(device, of, offer);
      std::erase_if(results, [&](const RecordedResult& result) { return result.device != device.device.name; });
      ExplainResults(results, *passport);
    }
    if (auto kept = Keep(device, of, offer, passport); !kept || !passport || options_.svg.empty()) return kept;
    const auto drawn = passport->order ? Draw(device, *passport, *passport->order, "") : Status();
    return drawn && passport->squares ? Draw(device, *passport, *passport->squares, " variance") : drawn;
  }

  Result<Passport> TakePassportOfSums(const Device& device, const Fingerprinted& of, const ImplementationInfo& offer,
                                      PreparedPlan plan) const {
    const Problem& problem = of.bound->problem;
    Prober prober(problem, *of.sums, std::move(plan));
    if (!of.variance) {
      auto passport = TakePassport(prober, nullptr, offer.name, offer.contract_text);
      if (passport && passport->why_no_squares.empty()) passport->why_no_squares = of.why_no_variance;
      return passport;
    }
    auto another = PreparedPlan::Make(device, problem, offer.name);
    if (!another) return Fail(ErrorCode::kUnavailable, another.error().message);
    Prober variance(problem, *of.variance, *std::move(another));
    return TakePassport(prober, &variance, offer.name, offer.contract_text);
  }

  template <class P>
  Status Keep(const Device& device, const Fingerprinted& of, const ImplementationInfo& offer,
              const Result<P>& passport) {
    progress_.reset();
    if (!passport) {
      Tell(device, of, offer.name, {FailureKind::kError, passport.error().message});
      return {};
    }
    Json json = {
        {"backend", device.backend}, {"device", device.device.name}, {"library", device.description.library_version}};
    json.update(ToJson(*passport));
    passports_.push_back(std::move(json));
    if (!options_.json) Print(fmt::format("{} {}", device.selector, TextOf(*passport)));
    return {};
  }

  Status Draw(const Device& device, const Passport& passport, const SumTree& tree, const char* of) const {
    const std::string title = fmt::format("{} {} {}{}", device.selector, passport.case_id, passport.implementation, of);
    std::string name = title + ".svg";
    std::ranges::replace_if(
        name, [](char c) { return c == '/' || c == ' ' || c == ',' || c == '='; }, '-');
    const std::string drawing = DrawSumTree(tree, title);
    return WriteFileAtomically(options_.svg / name, {{drawing.data(), drawing.size()}});
  }

  const FingerprintOptions& options_;
  SumsOfRun of_run_;                       // of --run
  std::optional<StageProgress> progress_;  // while one is taken
  std::set<std::string> offered_;          // implementations, whatever --impl says
  Json passports_ = Json::array();
  size_t contradictions_ = 0;
  bool has_failed_ = false;
};

Result<Json> ReadPassports(const std::string& path) {
  const auto text = ReadWholeFile(path);
  if (!text) return tl::unexpected(text.error());
  Json json = ParseJson(*text);
  if (json.is_discarded()) return UsageError(path + " is no JSON; give files that assay fingerprint --json printed");
  return json;
}

int Diff(const FingerprintOptions& options) {
  const auto a = ReadPassports(options.diff[0]), b = ReadPassports(options.diff[1]);
  for (const auto* document : {&a, &b}) {
    if (!*document) return Complain(kExitUsage, document->error().message);
  }
  const auto lines = ComparePassports(*a, *b);
  if (!lines) return Complain(kExitUsage, lines.error().message);
  for (const std::string& line : *lines) Print(line + "\n");
  if (lines->empty()) Print("no difference\n");
  return lines->empty() ? kExitOk : kExitFailed;
}

// Before anything is measured, which may take hours.
Status MakePartsFolder(const std::filesystem::path& folder) {
  if (folder.empty()) return {};
  std::error_code why;
  std::filesystem::create_directories(folder, why);
  if (std::filesystem::is_directory(folder)) return {};
  return UsageError(fmt::format("--out {}: it cannot be a folder: {}; name another one", folder.string(),
                                why ? why.message() : "a file has this name"));
}

int Fingerprint(const FingerprintOptions& options) {
  if (!options.diff.empty()) return Diff(options);
  const auto of_run = options.run_folder.empty() ? SumsOfRun() : ListSums(options.run_folder);
  if (!of_run) return Complain(kExitUsage, of_run.error().message);
  const auto cases = ChooseCases(options, *of_run);
  if (!cases) return Complain(kExitUsage, cases.error().message);
  std::vector<std::string> absent;
  const auto devices = OpenDevices(options.run.backend, absent);
  if (!devices) return Complain(kExitUsage, devices.error().message);
  for (const Device& device : *devices) {
    if (!device.problem.empty()) Complain(kExitOk, fmt::format("{}: {}", device.selector, device.problem));
  }
  if (options.exhaustive && absent.empty()) {
    if (auto made = MakePartsFolder(options.parts_folder); !made) return Complain(kExitUsage, made.error().message);
    std::vector<SharedCase> bound;
    for (const Fingerprinted& of : *cases) bound.push_back(of.bound);
    return ExhaustiveFlow(options.run, options.parts_folder, options.json).Measure(bound, *devices);
  }
  Taking taking(options, *of_run);
  for (const Device& device : *devices) {
    if (!device.problem.empty()) continue;
    for (const Fingerprinted& of : *cases) {
      if (auto taken = taking.TakeOn(device, of); !taken) return Complain(kExitHarness, taken.error().message);
    }
  }
  if (!absent.empty()) {
    return Complain(kExitRequiredAbsent, fmt::format("required and absent: {}", fmt::join(absent, ", ")));
  }
  return taking.Finish();
}

}  // namespace

void AddFingerprintVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<FingerprintOptions>();
  CLI::App* verb = app.add_subcommand(
      "fingerprint",
      "Measure how a backend adds, in which order and rounding, how accurate its functions are, and which bits depend "
      "on the batch; compare two");
  AddBackends(*verb, o->run);
  AddOptions(*verb, o->run, {"--impl", "--dtype", "--progress", "--shard"});
  verb->add_option("--case", o->cases,
                   "ids of the cases to probe instead of the usual ones; orders are found of sums of 2 to 16384 terms")
      ->delimiter('\0');
  verb->add_option("--run", o->run_folder,
                   "take the sums of this run by the implementations that gave its results, write passports.json into "
                   "its folder, for assay compare, and `reordered` into its records")
      ->type_name("DIR")
      ->excludes("--case");
  verb->add_option("--op", o->ops,
                   "of the usual cases, those of these operators: matmul, conv, reduce, cumsum, attention, softmax, "
                   "cross_entropy, rms_norm, layer_norm, exp, ..., and any function of single elements")
      ->delimiter(',');
  CLI::Option* exhaustive =
      verb->add_flag("--exhaustive", o->exhaustive,
                     "functions of single elements: all numbers of the type, for f32 all 2^32 in parts");
  verb->get_option("--shard")->needs(exhaustive);
  verb->add_option("--out", o->parts_folder,
                   "folder in which --exhaustive keeps what it has measured; it goes on there, and shards meet there")
      ->needs(exhaustive);
  exhaustive->excludes("--run");
  verb->add_option("--svg", o->svg, "folder for a drawing of each order")->excludes(exhaustive);
  verb->add_flag("--json", o->json, "print JSON instead of text, for --diff");
  verb->add_option("--diff", o->diff, "two files of --json: print in which fields they differ; exit 1 if they do")
      ->expected(2);
  verb->callback([o, &action] { action = [o] { return Fingerprint(*o); }; });
}

}  // namespace assay::cli
