// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/results/resumed_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "harness/core/base/whole_file.h"
#include "harness/core/model/record_file.h"
#include "harness/judge/verdict.h"

namespace assay {
namespace fs = std::filesystem;
namespace {

// How a record is treated. A pass that lacks times stays until its result has them.
enum class Fate : uint8_t { kDropped, kUntilRunAgain, kStands };

// Records and offer of one case on one device.
struct Part {
  struct Line {
    size_t index = 0;  // among the records
    std::string device, implementation;
    Fate fate = Fate::kDropped;

    bool Stands() const { return fate == Fate::kStands; }
  };
  std::vector<Line> lines;
  const Offer* offer = nullptr;  // the last that was made
};

std::string DevicesText(const std::vector<PlanDevice>& devices) {
  std::string text;
  for (const PlanDevice& c : devices) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", c.backend, c.device.empty() ? "" : " (" + c.device + ")");
  }
  return text;
}

// Names one of the cases, with what is required of it, that `plan` has and `other` lacks.
std::string FirstMissingIn(const Plan& other, const Plan& plan) {
  std::set<std::pair<std::string_view, std::string_view>> there;
  for (const PlanEntry& entry : other.entries) there.emplace(entry.id, entry.requirement);
  for (const PlanEntry& entry : plan.entries) {
    if (!there.contains({entry.id, entry.requirement})) return fmt::format("{} ({})", entry.id, entry.requirement);
  }
  return "";
}

std::string DescribeOtherCases(const Plan& was, const Plan& plan) {
  const std::string gone = FirstMissingIn(plan, was), added = FirstMissingIn(was, plan);
  return fmt::format("the run has other cases: {} of suite {}, now {} of suite {}{}{}", was.entries.size(), was.suite,
                     plan.entries.size(), plan.suite, gone.empty() ? "" : "; now without " + gone,
                     added.empty() ? "" : "; now with " + added);
}

// Results of one operator by two formulas would stand beside each other.
Status CheckSameDefinitions(const std::string& name, const Plan& was, const Plan& plan) {
  const auto before = DigestsOf(was.definitions), now = DigestsOf(plan.definitions);
  for (const auto& [op, digest] : before) {
    const auto found = now.find(op);
    if (found == now.end() || found->second == digest) continue;
    return UsageError(
        fmt::format("{}: the definition of {} was changed since the run began: its digest was {} and is {}. Give the "
                    "file of --operators as it was, or another --out for a new run",
                    name, op, digest, found->second));
  }
  return {};
}

Status CheckSamePlan(const fs::path& dir, const Plan& was, const Plan& plan) {
  const std::string name = (dir / "plan.json").string();
  if (Status same = CheckSameDefinitions(name, was, plan); !same) return same;
  if (was.hash != plan.hash) {
    return UsageError(fmt::format("{}: {}. Give the same selection to continue it, or another --out for a new run",
                                  name, DescribeOtherCases(was, plan)));
  }
  if (was.shard != plan.shard) {
    return UsageError(fmt::format("{}: the run was shard {}/{}, not {}/{}: give the same --shard to continue it", name,
                                  was.shard.index, was.shard.count, plan.shard.index, plan.shard.count));
  }
  if (was.devices != plan.devices) {
    return UsageError(
        fmt::format("{}: the run was on {}, and now there are {}: give the same --backend, --device, --devices, "
                    "--plugin, --kernels and --framework; assay backends shows what is missing",
                    name, DevicesText(was.devices), DevicesText(plan.devices)));
  }
  return {};
}

// Commas separate the medians of rounds.
int RoundsOf(const Record& record) {
  const std::string& medians = record.round_medians_s;
  return medians.empty() ? 0 : static_cast<int>(std::ranges::count(medians, ',')) + 1;
}

Fate DecideFate(const Record& record, const ResumeTerms& terms) {
  if (record.verdict == Name(Verdict::kMissing)) return Fate::kDropped;
  if (record.verdict == Name(Verdict::kUnavailable)) {
    return terms.usable.contains({record.backend, PlannedDevice(record)}) ? Fate::kDropped : Fate::kStands;
  }
  if (record.verdict != Name(Verdict::kPass)) return Fate::kStands;
  const int rounds = RoundsOf(record);
  const bool is_timed = rounds > 0 ? rounds >= terms.rounds : !terms.timed.contains(record.case_id);
  return is_timed ? Fate::kStands : Fate::kUntilRunAgain;
}

// Whether the record repeats an earlier line, for instance after two copies of a file were joined.
bool IsCopy(const Part& part, const RecordList& records, const Record& record) {
  return std::ranges::any_of(part.lines, [&](const Part::Line& other) {
    return other.implementation == record.implementation && ToJsonLine(records[other.index]) == ToJsonLine(record);
  });
}

// Drops all records of a result that has several, since it is unknown which one counts.
void DropContradictions(Part& part) {
  std::map<std::pair<std::string, std::string>, int> results;
  for (const Part::Line& line : part.lines) ++results[{line.device, line.implementation}];
  for (Part::Line& line : part.lines) {
    if (results[{line.device, line.implementation}] > 1) line.fate = Fate::kDropped;
  }
}

// A device that made no offer has one record, which says why. Where others are beside it, the device had offered them
// before, and is asked again.
bool IsComplete(const Part& part) {
  if (!std::ranges::all_of(part.lines, &Part::Line::Stands)) return false;
  if (part.offer == nullptr) return part.lines.size() == 1 && part.lines[0].implementation.empty();
  const auto has = [&](const std::string& name) {
    return std::ranges::find(part.lines, name, &Part::Line::implementation) != part.lines.end();
  };
  return std::ranges::all_of(part.offer->implementations, has);
}

// Collects the final records of a case that had not ended on a device. If it had no implementation, the reason is found
// out again.
ResumedRun::Begun TakeBegun(Part& part) {
  ResumedRun::Begun begun;
  if (part.offer != nullptr) begun.offered = part.offer->implementations;
  for (Part::Line& line : part.lines) {
    if (line.implementation.empty()) line.fate = Fate::kDropped;
    if (line.Stands()) begun.judged.insert(line.implementation);
    if (line.fate == Fate::kDropped) continue;
    // A kill may have come between the run's going on and its new offer.
    if (std::ranges::find(begun.offered, line.implementation) == begun.offered.end()) {
      begun.offered.push_back(line.implementation);
    }
  }
  return begun;
}

}  // namespace

Result<ResumedRun> ReadResumedRun(const fs::path& dir, const Plan& plan, const ResumeTerms& terms) {
  const auto text = ReadWholeFile(dir / "plan.json");
  if (!text) {
    return UsageError(fmt::format("{}: there is no run to continue: {}; leave out --resume to begin one", dir.string(),
                                  text.error().message));
  }
  const auto was = ParsePlanJson(*text);
  if (!was) return UsageError(fmt::format("{}: {}", (dir / "plan.json").string(), was.error().message));
  if (Status same = CheckSamePlan(dir, *was, plan); !same) return tl::unexpected(same.error());
  for (const char* name : {"results.jsonl", kOffersFile}) {
    std::error_code error;
    if (fs::exists(dir / name, error)) continue;
    return UsageError(fmt::format(
        "{}: {} is missing, so it is unknown what has run: restore it from a copy, or run again with another --out",
        dir.string(), name));
  }
  auto file = ReadRecords(dir / "results.jsonl");
  if (!file) return tl::unexpected(file.error());
  auto offers = ReadOffers(dir / kOffersFile, file->records);
  if (!offers) return tl::unexpected(offers.error());

  std::map<ResumedRun::Place, Part> parts;
  for (const Offer& offer : *offers) parts[{offer.case_id, offer.backend, offer.device}].offer = &offer;
  std::vector<bool> standing(file->records.size());
  ForEachRecord(file->records, [&](size_t index, const Record& r) {
    Part& part = parts[{r.case_id, r.backend, PlannedDevice(r)}];
    if (IsCopy(part, file->records, r)) return;
    part.lines.push_back({index, r.device, r.implementation, DecideFate(r, terms)});
  });
  ResumedRun run;
  run.torn = std::move(file->torn);
  for (auto& [place, part] : parts) {
    if (std::get<1>(place) == kHarnessBackend) continue;
    DropContradictions(part);
    if (IsComplete(part)) {
      run.complete.insert(place);
      if (part.offer != nullptr) run.offers.push_back(*part.offer);
    } else if (ResumedRun::Begun begun = TakeBegun(part); terms.same_environment && !begun.offered.empty()) {
      run.begun.emplace(place, std::move(begun));
    } else {
      continue;
    }
    for (const Part::Line& line : part.lines) standing[line.index] = line.fate != Fate::kDropped;
  }
  size_t index = 0;
  file->records.Drain([&](const Record& r) {
    if (standing[index++]) run.records.push_back(r);
  });
  return run;
}

}  // namespace assay
