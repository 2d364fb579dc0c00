// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/fingerprint/verb_exhaustive.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/cli/process.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/terminal/stage_progress.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/json_text.h"

namespace assay::cli {
namespace {

std::vector<ExhaustiveSubject> FindSubjects(const BoundCase& chunk, const std::vector<Device>& devices,
                                            const std::vector<std::string>& wanted, std::set<std::string>& offered,
                                            bool& has_failed) {
  std::vector<ExhaustiveSubject> subjects;
  const auto tell = [&](const Device& device, const std::string& of, const WorkerFailure& failure) {
    has_failed = has_failed || failure.kind != FailureKind::kUnsupported;
    Complain(kExitOk, fmt::format("{} {} {}: {}", device.selector, chunk.problem.spec.Id(), of, failure.message));
  };
  for (const Device& device : devices) {
    if (!device.problem.empty()) continue;
    const auto offers = device.session->Query(device.device_index, chunk.problem);
    if (!offers) {
      tell(device, "", offers.error());
      continue;
    }
    for (const ImplementationInfo& offer : *offers) {
      offered.insert(offer.name);
      if (!wanted.empty() && std::ranges::find(wanted, offer.name) == wanted.end()) continue;
      auto plan = PreparedPlan::Make(device, chunk.problem, offer.name);
      if (plan) {
        subjects.push_back({&device, offer.name, offer.contract_text, *std::move(plan), {}, ""});
      } else {
        tell(device, offer.name, plan.error());
      }
    }
  }
  return subjects;
}

}  // namespace

int ComplainOfNone(const std::vector<std::string>& wanted, const std::set<std::string>& offered) {
  if (offered.empty()) return Complain(kExitNothing, "no backend takes the cases; assay backends says which there are");
  const auto is_offered = [&](const std::string& name) { return offered.contains(name); };
  if (std::ranges::any_of(wanted, is_offered))
    return Complain(kExitNothing, "no implementation was fingerprinted, as the lines above say");
  return Complain(kExitNothing, fmt::format("--impl {}: no backend has it for these cases, but {}; name one of these, "
                                            "or leave --impl out to take all",
                                            fmt::join(wanted, ","), fmt::join(offered, ", ")));
}

Status ExhaustiveFlow::MeasureParts(const Exhaustive& exhaustive, const std::string& id,
                                    std::vector<ExhaustiveSubject>& subjects) const {
  StageProgress progress(Progress::ParseMode(run_.progress));
  TimeLeft left;
  std::vector<int> missing = exhaustive.OwnParts();
  const size_t own = missing.size();
  std::erase_if(missing, [&](int part) {
    return std::ranges::all_of(subjects, [&](const ExhaustiveSubject& each) { return each.parts.contains(part); });
  });
  const size_t known = own - missing.size();
  WatchForInterrupts();
  for (size_t i = 0; i < missing.size(); ++i) {
    if (Interrupted()) {
      return tl::unexpected(
          Error{ErrorCode::kInternal,
                fmt::format("{}: interrupted after {} of {} parts; {}", id, known + i, own,
                            folder_.empty() ? "give --out, so that a further call goes on where it ended"
                                            : "the same command goes on from " + folder_.string())});
    }
    left.Expect(static_cast<double>(i), static_cast<double>(missing.size() - i));
    progress.Begin(fmt::format("{}: part {} of {}, {} implementation{}{}", id, known + i + 1, own, subjects.size(),
                               subjects.size() == 1 ? "" : "s", left.Text()));
    if (auto done = exhaustive.MeasurePart(missing[i], subjects); !done) return done;
  }
  return {};
}

int ExhaustiveFlow::Measure(const std::vector<SharedCase>& cases, const std::vector<Device>& devices) const {
  const auto shard =
      ResolveShard(run_.selection.shard.value_or(""), [](const char* name) { return std::getenv(name); });
  if (!shard) return Complain(kExitUsage, shard.error().message);
  Json passports = Json::array();
  bool has_failed = false;
  std::set<std::string> offered;
  for (const SharedCase& chunk : cases) {
    const Exhaustive exhaustive(*chunk, *shard, folder_);
    std::vector<ExhaustiveSubject> subjects =
        FindSubjects(*chunk, devices, run_.backend.implementations, offered, has_failed);
    for (ExhaustiveSubject& subject : subjects) {
      if (folder_.empty()) break;
      if (auto loaded = exhaustive.Load(subject); !loaded) return Complain(kExitUsage, loaded.error().message);
    }
    if (auto measured = MeasureParts(exhaustive, chunk->problem.spec.Id(), subjects); !measured) {
      return Complain(Interrupted() ? kExitInterrupted : kExitHarness, measured.error().message);
    }
    for (const ExhaustiveSubject& subject : subjects) {
      const Device& device = *subject.device;
      if (!subject.failure.empty()) {
        has_failed = true;
        Complain(kExitOk, fmt::format("{} {} {}: {}", device.selector, chunk->problem.spec.Id(), subject.implementation,
                                      subject.failure));
        continue;
      }
      const FunctionPassport passport = exhaustive.PassportOf(subject);
      Json one = {
          {"backend", device.backend}, {"device", device.device.name}, {"library", device.description.library_version}};
      one.update(ToJson(passport));
      passports.push_back(std::move(one));
      if (!json_) Print(fmt::format("{} {}", device.selector, TextOf(passport)));
    }
  }
  if (json_) Print(DumpJson(Json{{"schema_version", 1}, {"passports", passports}}, 2) + "\n");
  if (has_failed) return kExitHarness;
  return passports.empty() ? ComplainOfNone(run_.backend.implementations, offered) : kExitOk;
}

}  // namespace assay::cli
