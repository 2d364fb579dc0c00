// SPDX-License-Identifier: Apache-2.0
#include "harness/perf/roofline.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/perf/contradiction.h"

namespace assay {
namespace {

constexpr const char* kRooflineSays = "roofline: ";

Number Share(const Number& work, const Number& giga_per_s, double seconds) {
  if (!work || !giga_per_s || *giga_per_s <= 0 || seconds <= 0) return std::nullopt;
  return *work / (*giga_per_s * 1e9) / seconds;
}

// Only what the caches did not serve, and what does the operations that are counted, can be told from a false time.
std::string Invalid(const Record& r, const Ceiling& ceiling, bool direct) {
  if (!direct || !r.time_cold_median_s || r.bytes.value_or(0) <= kCachesToExceed * ceiling.cache_bytes) return "";
  const auto faster = [](const Number& share, const char* what, const Number& giga, const char* unit) {
    return share.value_or(0) <= kFasterThanPossible
               ? std::string()
               : fmt::format("{}{:.3g} times the measured {} of {:.4g} {}: the time, the work or the ceiling is wrong",
                             kRooflineSays, *share, what, *giga, unit);
  };
  std::string why = faster(r.memory_fraction, "bandwidth", ceiling.gbytes_per_s, "GB/s");
  return why.empty() ? faster(r.compute_fraction, "compute rate", ceiling.gflops, "GFLOP/s") : why;
}

std::string Note(const Record& r, bool direct) {
  if (!r.memory_fraction) return "no ceiling of the bandwidth was measured";
  if (r.memory_fraction.value_or(0) > 1 && !r.time_cold_median_s) return "warm: the caches serve a part";
  if (r.compute_fraction.value_or(0) > 1 && !direct) return "the algorithm does fewer operations than are counted";
  if (r.roofline_fraction.value_or(0) > 1) return "above the measured ceiling";
  return r.compute_fraction ? "" : "no compute rate was measured for these types";
}

}  // namespace

std::string_view Name(Limiter limiter) {
  return limiter == Limiter::kMemory ? "memory" : limiter == Limiter::kCompute ? "compute" : "";
}

Limiter LimiterOf(double flops, double bytes, const Ceiling& ceiling) {
  if (!ceiling.gflops || !ceiling.gbytes_per_s) return Limiter::kUnknown;
  return bytes / *ceiling.gbytes_per_s >= flops / *ceiling.gflops ? Limiter::kMemory : Limiter::kCompute;
}

void SetRoofline(Record& record, const Ceiling& ceiling, bool direct) {
  if (!record.time_median_s) return;
  const double seconds = record.time_cold_median_s.value_or(*record.time_median_s);
  record.ceiling_gbytes_per_s = ceiling.gbytes_per_s;
  record.ceiling_gflops = ceiling.gflops;
  record.memory_fraction = Share(record.bytes, ceiling.gbytes_per_s, seconds);
  record.compute_fraction = Share(record.flops, ceiling.gflops, seconds);
  record.roofline_fraction.reset();
  for (const Number& share : {record.memory_fraction, record.compute_fraction}) {
    if (share) record.roofline_fraction = std::max(*share, record.roofline_fraction.value_or(0));
  }
  record.bound_by = Name(LimiterOf(record.flops.value_or(0), record.bytes.value_or(0), ceiling));
  record.roofline_note = Note(record, direct);
  const std::string invalid = Invalid(record, ceiling, direct);
  WithdrawContradictions(record, kRooflineSays);
  if (!invalid.empty()) AddContradiction(record, invalid);
  SetRates(record);
}

}  // namespace assay
