// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/perf/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace assay {
namespace {

constexpr const char* kRooflineSays = "roofline: ";

Number Share(const Number& work, const Rate& rate, double seconds) {
  if (!work || rate.giga_per_s.value_or(0) <= 0 || seconds <= 0) return std::nullopt;
  return *work / (*rate.giga_per_s * 1e9) / seconds;
}

// Returns the shorter of both times, which claims more. Caches do not speed up arithmetic.
double ShortestSeconds(const Record& r) {
  return std::min(*r.time_median_s, r.time_cold_median_s.value_or(*r.time_median_s));
}

// Bytes that certainly pass through the memory. A cache may hold some of them from the execution before, and some of
// the output at the end. Null for small data, and if an implementation may skip some.
Number BytesPastCaches(const Record& r, const Ceiling& ceiling, bool direct) {
  const double bytes = r.bytes.value_or(0);
  if (!direct || bytes <= kCachesToExceed * ceiling.cache_bytes) return std::nullopt;
  return bytes - ceiling.cache_bytes;
}

std::string Faster(const Number& share, const char* what, const Rate& rate, const char* unit) {
  if (!rate.bounds || share.value_or(0) <= kFasterThanPossible) return "";
  return fmt::format("{}{:.3g} times the {} of {:.4g} {} ({}): the time, the work or the ceiling is wrong",
                     kRooflineSays, *share, what, *rate.giga_per_s, unit, rate.from);
}

std::string Note(const Record& r, const Ceiling& ceiling, bool direct) {
  if (!r.memory_fraction) return "the peak bandwidth is unknown";
  if (ceiling.compute.own || ceiling.memory.own) {
    return fmt::format("the only witness of the {} is this backend itself", !ceiling.memory.own ? "compute rate"
                                                                            : !ceiling.compute.own
                                                                                ? "bandwidth"
                                                                                : "bandwidth and of the compute rate");
  }
  if (r.memory_fraction.value_or(0) > 1 && !r.time_cold_median_s) return "warm: the caches serve a part";
  if (r.compute_fraction.value_or(0) > 1 && !direct) return "the algorithm does fewer operations than are counted";
  if (r.roofline_fraction.value_or(0) > 1) {
    const bool compute = r.compute_fraction.value_or(0) > 1;
    return fmt::format("above the ceiling ({})", (compute ? ceiling.compute : ceiling.memory).from);
  }
  return r.compute_fraction ? "" : "the peak compute rate of these types is unknown";
}

std::vector<std::string> ReasonsOf(const Record& record) {
  std::vector<std::string> reasons;
  for (size_t begin = 0; begin < record.timing_invalid.size();) {
    const size_t end =
        std::min(record.timing_invalid.find(kBetweenContradictions, begin), record.timing_invalid.size());
    reasons.push_back(record.timing_invalid.substr(begin, end - begin));
    begin = end + kBetweenContradictions.size();
  }
  return reasons;
}

void SetReasons(Record& record, const std::vector<std::string>& reasons) {
  record.timing_invalid.clear();
  for (const std::string& reason : reasons) {
    if (!record.timing_invalid.empty()) record.timing_invalid += kBetweenContradictions;
    record.timing_invalid += reason;
  }
  SetRates(record);
}

}  // namespace

std::string_view Name(Limiter limiter) {
  return limiter == Limiter::kMemory ? "memory" : limiter == Limiter::kCompute ? "compute" : "";
}

Limiter LimiterOf(double flops, double bytes, const Ceiling& ceiling) {
  if (!ceiling.compute.giga_per_s || !ceiling.memory.giga_per_s) return Limiter::kUnknown;
  return bytes / *ceiling.memory.giga_per_s >= flops / *ceiling.compute.giga_per_s ? Limiter::kMemory
                                                                                   : Limiter::kCompute;
}

Above SetRoofline(Record& record, const Ceiling& ceiling, double fewest_flops) {
  if (!record.time_median_s) return {};
  const double seconds = record.time_cold_median_s.value_or(*GetBelievedSeconds(record));
  record.ceiling_gbytes_per_s = ceiling.memory.giga_per_s;
  record.ceiling_gflops = ceiling.compute.giga_per_s;
  record.memory_fraction = Share(record.bytes, ceiling.memory, seconds);
  record.compute_fraction = Share(record.flops, ceiling.compute, seconds);
  record.roofline_fraction.reset();
  for (const Number& share : {record.memory_fraction, record.compute_fraction}) {
    if (share) record.roofline_fraction = std::max(*share, record.roofline_fraction.value_or(0));
  }
  record.bound_by = Name(LimiterOf(record.flops.value_or(0), record.bytes.value_or(0), ceiling));
  record.roofline_note = Note(record, ceiling, fewest_flops > 0);

  const double shortest = ShortestSeconds(record);
  const Number passed = Share(BytesPastCaches(record, ceiling, fewest_flops > 0), ceiling.memory, shortest);
  WithdrawContradictions(record, kRooflineSays);
  for (const std::string& why :
       {Faster(passed, "bandwidth", ceiling.memory, "GB/s"),
        Faster(Share(fewest_flops, ceiling.most_compute, shortest), "compute rate", ceiling.most_compute, "GFLOP/s")}) {
    if (!why.empty()) AddContradiction(record, why);
  }
  SetRates(record);
  return {passed.value_or(0) > 1, Share(fewest_flops, ceiling.compute, shortest).value_or(0) > 1};
}

void AddContradiction(Record& record, std::string_view reason) {
  std::vector<std::string> reasons = ReasonsOf(record);
  if (std::ranges::find(reasons, reason) == reasons.end()) reasons.emplace_back(reason);
  SetReasons(record, reasons);
}

void WithdrawContradictions(Record& record, std::string_view begin) {
  if (record.timing_invalid.empty()) return;
  std::vector<std::string> reasons = ReasonsOf(record);
  std::erase_if(reasons, [&](const std::string& reason) { return reason.starts_with(begin); });
  SetReasons(record, reasons);
}

void SetRates(Record& record) {
  const double seconds = GetBelievedSeconds(record).value_or(0);
  const bool counts = seconds > 0 && record.timing_invalid.empty();
  const auto rate = [&](const Number& work) { return counts && work ? Number(*work / seconds * 1e-9) : std::nullopt; };
  record.gflops = rate(record.flops);
  record.gbytes_per_s = rate(record.bytes);
  if (record.timing_invalid.empty()) return;
  for (Number Record::*share : {&Record::roofline_fraction, &Record::memory_fraction, &Record::compute_fraction}) {
    (record.*share).reset();
  }
}

}  // namespace assay
