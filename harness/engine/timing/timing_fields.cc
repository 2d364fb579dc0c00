// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/timing/timing_fields.h"

#include <algorithm>

#include "reports/compare/compare_times.h"

namespace assay {

void SetTiming(Record& record, std::span<const TimingSummary> rounds, bool clock_is_device) {
  const auto all = [&](double TimingSummary::*field) {
    std::vector<double> values;
    for (const TimingSummary& round : rounds) values.push_back(round.*field);
    return values;
  };
  const std::vector<double> medians = all(&TimingSummary::median_s);
  const double median = Quantile(medians, 0.5);
  record.time_median_s = median;
  record.time_p10_s = Quantile(all(&TimingSummary::p10_s), 0.5);
  record.time_p90_s = Quantile(all(&TimingSummary::p90_s), 0.5);
  record.samples = 0;
  for (const TimingSummary& round : rounds) *record.samples += round.samples;
  record.round_medians_s = RoundsText(medians);
  record.timing_clock = clock_is_device ? "device" : "host";
  SetRates(record);
}

void AddSlices(Record& record, std::span<const double> medians_s) {
  if (!record.round_slices_s.empty()) record.round_slices_s += ',';
  record.round_slices_s += SlicesText(medians_s);
}

void AddWall(Record& record, double wall_s) {
  if (!record.round_walls_s.empty()) record.round_walls_s += ',';
  record.round_walls_s += RoundsText({&wall_s, 1});
}

void SetFirstRound(Record& record, const Timing& timing) {
  record.stop_reason = Name(timing.stop);
  record.time_wall_s = timing.wall_s;
  const auto set = [](double seconds, uint64_t bytes, assay::Number& time, assay::Number& rate) {
    time = seconds;
    if (seconds > 0) rate = static_cast<double>(bytes) / seconds * 1e-9;
  };
  const TransferTimes& t = timing.transfers;
  set(t.upload_s, t.upload_bytes, record.upload_s, record.upload_gbytes_per_s);
  set(t.download_s, t.download_bytes, record.download_s, record.download_gbytes_per_s);
}

void AddLimit(Record& record, const Timing& timing) {
  if (timing.at_most_s > 0) record.time_at_most_s = std::max(timing.at_most_s, record.time_at_most_s.value_or(0));
  if (record.timing_unsure.empty()) record.timing_unsure = timing.unsure;
  SetRates(record);
}

void SetCold(Record& record, const Timing& timing) {
  if (!timing.cache_was_flushed) {
    record.cold_note = "the plugin has no way to flush the caches of its device";
    return;
  }
  const TimingSummary summary = Summarise(timing.seconds);
  record.time_cold_median_s = summary.median_s;
  record.cold_samples = summary.samples;
}

void SetPackagePower(Record& record, const PackageState& before, const PackageState& after, bool computes_on_host) {
  if (before.throttle_events && after.throttle_events) {
    record.throttle_events = *after.throttle_events - *before.throttle_events;
  }
  if (computes_on_host) record.package_power_w = MeanPackagePower(before, after);
}

void ClearTiming(Record& record) {
  for (assay::Number Record::*field :
       {&Record::time_median_s, &Record::time_p10_s, &Record::time_p90_s, &Record::gflops, &Record::gbytes_per_s,
        &Record::time_cold_median_s, &Record::time_wall_s, &Record::time_at_most_s, &Record::launch_fraction,
        &Record::roofline_fraction, &Record::memory_fraction, &Record::compute_fraction, &Record::ceiling_gbytes_per_s,
        &Record::ceiling_gflops, &Record::upload_s, &Record::upload_gbytes_per_s, &Record::download_s,
        &Record::download_gbytes_per_s, &Record::package_power_w}) {
    (record.*field).reset();
  }
  record.samples.reset(), record.cold_samples.reset(), record.throttle_events.reset();
  for (std::string Record::*text : {&Record::round_medians_s, &Record::round_slices_s, &Record::round_walls_s,
                                    &Record::timing_clock, &Record::stop_reason, &Record::cold_note, &Record::bound_by,
                                    &Record::roofline_note, &Record::timing_unsure, &Record::timing_invalid}) {
    (record.*text).clear();
  }
}

}  // namespace assay
