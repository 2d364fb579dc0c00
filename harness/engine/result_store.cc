// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/result_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/base/profile.h"
#include "harness/engine/cases/host_memory.h"
#include "harness/engine/results/exit_code.h"
#include "harness/engine/timing/timing_fields.h"
#include "harness/engine/trial/record_fields.h"
#include "harness/engine/trial/reproduction.h"
#include "harness/engine/trial/tries.h"

namespace assay {
namespace {

constexpr size_t kLatestOffers = 1024;  // at least those of the cases that have not ended

bool IsQuiet(const Record& record) {
  return record.outcome == Name(Verdict::kUnsupported) ||
         (record.outcome == Name(Verdict::kPass) && record.result_class != Name(ResultClass::kSuspect));
}

ResultKey KeyOf(const Record& record) {
  return {record.case_id, record.backend, PlannedDevice(record), record.implementation};
}

// Merges a passed result of the resumed run with its rerun for times. A rerun that says nothing about correctness
// changes nothing.
Record MergePasses(const Record& before, const Record& now) {
  const auto verdict = ParseVerdict(now.verdict);
  if (!verdict || *verdict == Verdict::kUnavailable || *verdict == Verdict::kUnsupported) return before;
  Tries tries(before);
  tries.Add(*verdict);
  Record after = now;
  if (*verdict == Verdict::kFlaky) return after;
  if (!tries.Differ()) {
    if (!before.tries.empty()) tries.Describe(after);
    return after;
  }
  SetVerdict(after, Verdict::kFlaky, ResultClass::kNone,
             fmt::format("it ends differently from try to try. First, before the run went on, pass. Then {}: {}",
                         now.verdict, now.reason));
  tries.Describe(after);
  ClearTiming(after);
  return after;
}

bool IsFromBrokenBackend(const Record& record) {
  const auto verdict = ParseVerdict(record.verdict);
  return verdict == Verdict::kCrash || verdict == Verdict::kTimeout || verdict == Verdict::kError;
}

}  // namespace

ResultStore::ResultStore(RunFolder& folder, const std::vector<Expectation>& expectations, RunObserver& observer,
                         const ResultStoreLimits& limits)
    : folder_(folder),
      expectations_(expectations),
      observer_(observer),
      failures_(folder.path(), ProgramWord()),
      limits_(limits) {}

void ResultStore::Restore(ResumedRun& resumed, const std::vector<PlannedCase>& cases,
                          const std::vector<Device>& devices) {
  std::map<std::string, size_t> case_index;
  for (size_t i = 0; i < cases.size(); ++i) case_index.emplace(cases[i].spec.Id(), i);
  // A record of a pool may be of a device that is not there any more: it then stands at another of the pool.
  std::map<std::pair<std::string, std::string>, size_t> device_index;
  for (size_t i = 0; i < devices.size(); ++i) {
    device_index.try_emplace({devices[i].backend, devices[i].PlannedName()}, i);
    device_index[{devices[i].backend, devices[i].device.name}] = i;
  }
  std::map<std::pair<size_t, size_t>, size_t> implementations;
  resumed.records.Drain([&](const Record& record) {
    const auto at = case_index.find(record.case_id);
    auto on = device_index.find({record.backend, record.device});
    if (on == device_index.end()) on = device_index.find({record.backend, PlannedDevice(record)});
    if (at == case_index.end() || on == device_index.end()) return;  // the plan has them: see ReadResumedRun
    const auto* begun = resumed.FindBegun(record.case_id, record.backend, PlannedDevice(record));
    RecordPlace place{at->second, on->second};
    place.implementation =
        begun != nullptr ? begun->PlaceOf(record.implementation) : implementations[{place.case_index, place.device}]++;
    Restore(place, record);
    if (begun != nullptr && !begun->judged.contains(record.implementation)) earlier_.emplace(KeyOf(record), place);
  });
  for (const Offer& offer : resumed.offers) Restore(offer);
}

void ResultStore::Restore(const RecordPlace& place, const Record& record) {
  const std::lock_guard lock(mutex_);
  Keep(place, record);
}

void ResultStore::Restore(Offer offer) {
  const std::lock_guard lock(mutex_);
  offers_.push_back(std::move(offer));
}

void ResultStore::Add(Offer offer) {
  const std::lock_guard lock(mutex_);
  NoteWriteError(folder_.Append(offer));
  offers_.push_back(std::move(offer));
}

void ResultStore::Add(const RecordPlace& place, Attempt attempt) {
  ApplyExpectations(expectations_, attempt.memory_fault, attempt.record);
  const Span span(Phase::kRecord);
  const std::lock_guard lock(mutex_);
  if (limits_.followed) new_records_.emplace(place, attempt.record);
  if (IsQuiet(attempt.record) && ++passes_ > limits_.most_passes) {
    quiet_.emplace(place, std::move(attempt.record));
  } else if (IsFailingResult(attempt.verdict) && !IsKnown(attempt.record)) {
    failing_.emplace(place, std::move(attempt));
  } else {
    Append(place, attempt.record);
  }
}

void ResultStore::EndCase(size_t index, const PreparedCase& data, const TrialRunner& runner) {
  const std::lock_guard lock(mutex_);
  const auto begin = failing_.lower_bound(RecordPlace{index}), end = failing_.lower_bound(RecordPlace{index + 1});
  std::vector<Attempt*> failing;
  for (auto it = begin; it != end; ++it) failing.push_back(&it->second);
  if (!failing.empty()) WriteFailures(data, runner, failing);
  for (auto it = begin; it != end; ++it) Append(it->first, it->second.record);
  failing_.erase(begin, end);
  KeepOrDropQuiet(index);
  if (earlier_replaced_ && IsFlushDue()) WriteAgain();
}

void ResultStore::KeepOrDropQuiet(size_t index) {
  const auto begin = quiet_.lower_bound(RecordPlace{index}), end = quiet_.lower_bound(RecordPlace{index + 1});
  if (begin == end) return;
  const auto kept = places_.lower_bound(RecordPlace{index});
  const bool is_quiet = kept == places_.end() || kept->first.case_index != index;
  if (is_quiet) {
    const auto latest = offers_.end() - static_cast<std::ptrdiff_t>(std::min(offers_.size(), kLatestOffers));
    const std::string& id = begin->second.case_id;
    offers_.erase(std::remove_if(latest, offers_.end(), [&](const Offer& offer) { return offer.case_id == id; }),
                  offers_.end());
    forgotten_ += static_cast<size_t>(std::distance(begin, end));
  } else {
    for (auto it = begin; it != end; ++it) Append(it->first, it->second);
  }
  quiet_.erase(begin, end);
}

std::vector<Record> ResultStore::TakeNewRecords() {
  const std::lock_guard lock(mutex_);
  std::vector<Record> records;
  for (auto& [place, record] : new_records_) records.push_back(std::move(record));
  new_records_.clear();
  return records;
}

void ResultStore::Change(const RecordPlace& place, Attempt& attempt, const PreparedCase& data,
                         const TrialRunner& runner) {
  const std::lock_guard lock(mutex_);
  if (!attempt.holds_as_declared) ClearTiming(attempt.record);  // it held in the rounds before
  Record changed = attempt.record;
  ApplyExpectations(expectations_, attempt.memory_fault, changed);
  const bool has_outputs = !attempt.holds_as_declared && (IsFailingResult(attempt.verdict) || !attempt.kept.empty());
  if (has_outputs && FailsRun(changed)) {
    WriteFailures(data, runner, {&attempt});
    changed.failure_dir = attempt.record.failure_dir;
  }
  const size_t index = places_.at(place);
  Replace(index, records_[index], changed);
}

void ResultStore::Amend(const RecordPlace& place, const std::function<void(Record&)>& change) {
  const std::lock_guard lock(mutex_);
  const size_t index = places_.at(place);
  const Record record = records_[index];
  Record changed = record;
  change(changed);
  if (changed.verdict != record.verdict) {
    ClearTiming(changed);
    ApplyExpectations(expectations_, false, changed);
  }
  Replace(index, record, changed);
}

void ResultStore::Replace(size_t index, const Record& record, const Record& changed) {
  const bool failed_before = FailsRun(record), fails = FailsRun(changed);
  failed_ += fails;
  failed_ -= failed_before;
  if (fails && !failed_before) observer_.Failed(changed);
  records_.Set(index, changed);
  file_is_current_ = false;
}

bool ResultStore::ReplaceEarlier(const RecordPlace& place, const Record& record) {
  const auto earlier = earlier_.find(KeyOf(record));
  if (earlier == earlier_.end()) return false;
  const auto was = places_.extract(earlier->second);  // of a pool, another device may have it now
  const size_t index = was.mapped();
  places_.emplace(place, index);
  const Record before = records_[index];
  Record after = MergePasses(before, record);
  if (after.verdict == Name(Verdict::kFlaky)) ApplyExpectations(expectations_, false, after);
  Replace(index, before, after);
  earlier_.erase(earlier);
  earlier_replaced_ = true;
  return true;
}

void ResultStore::Flush() {
  const std::lock_guard lock(mutex_);
  WriteAgain();
}

void ResultStore::FlushWhenDue() {
  const std::lock_guard lock(mutex_);
  if (IsFlushDue()) WriteAgain();
}

bool ResultStore::IsFlushDue() const {
  constexpr double kSecondsBetween = 30;
  return since_flush_.Seconds() >= kSecondsBetween;
}

void ResultStore::WriteAgain() {
  earlier_replaced_ = false;
  since_flush_ = Stopwatch();
  if (file_is_current_) return;
  PutInOrder();
  const Status written = folder_.Rewrite(records_);
  NoteWriteError(written);
  file_is_current_ = written.has_value();
}

void ResultStore::PutInOrder() {
  std::vector<uint32_t> order;
  for (auto& [place, index] : places_) order.push_back(static_cast<uint32_t>(std::exchange(index, order.size())));
  records_.Reorder(order);
}

void ResultStore::ForEach(const std::function<void(const RecordPlace&, const Record&)>& look) const {
  const std::lock_guard lock(mutex_);
  Record record;
  for (const auto& [place, index] : places_) {
    records_.Read(index, record);
    look(place, record);
  }
}

std::vector<RecordPlace> ResultStore::ListAnswered() const {
  std::vector<RecordPlace> answered;
  ForEach([&](const RecordPlace& place, const Record& record) {
    const bool is_refusal =
        record.verdict == Name(Verdict::kUnsupported) || record.verdict == Name(Verdict::kUnavailable);
    if (!record.implementation.empty() && !is_refusal) answered.push_back(place);
  });
  return answered;
}

Record ResultStore::At(const RecordPlace& place) const {
  const std::lock_guard lock(mutex_);
  return records_[places_.at(place)];
}

std::pair<RecordList, std::vector<Offer>> ResultStore::Finish() {
  const std::lock_guard lock(mutex_);
  PutInOrder();
  if (!file_is_current_) NoteWriteError(folder_.Rewrite(records_));
  NoteWriteError(folder_.Sync());
  return {std::move(records_), std::move(offers_)};
}

size_t ResultStore::failed() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

size_t ResultStore::forgotten() const {
  const std::lock_guard lock(mutex_);
  return forgotten_;
}

std::string ResultStore::write_error() const {
  const std::lock_guard lock(mutex_);
  return write_error_;
}

void ResultStore::Append(const RecordPlace& place, const Record& record) {
  if (ReplaceEarlier(place, record)) return;
  // After an error the run ends. What it recorded then would have no offer, or a gap before it.
  if (write_error_.empty()) NoteWriteError(folder_.Append(record));
  if (IsFromBrokenBackend(record)) NoteWriteError(folder_.Sync());  // the next case may take the machine with it
  if (FailsRun(record)) observer_.Failed(record);
  Keep(place, record);
}

void ResultStore::Keep(const RecordPlace& place, const Record& record) {
  failed_ += FailsRun(record);
  file_is_current_ = file_is_current_ && (places_.empty() || places_.rbegin()->first < place);
  if (places_.emplace(place, records_.size()).second) records_.push_back(record);
}

void ResultStore::WriteFailures(const PreparedCase& data, const TrialRunner& runner,
                                const std::vector<Attempt*>& failing) {
  const Span span(Phase::kFailures);
  std::string problem;
  try {
    if (auto status = failures_.Write(data, runner, failing); !status) problem = status.error().message;
  } catch (const std::exception& e) {  // inputs are made once more for it
    problem = DescribeException(e);
  }
  if (!problem.empty()) observer_.Noted("the failure's tensors are not kept: " + problem);
}

void ResultStore::NoteWriteError(const Status& status) {
  if (!status && write_error_.empty()) write_error_ = status.error().message;
}

}  // namespace assay
