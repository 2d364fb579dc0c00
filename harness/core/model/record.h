// SPDX-License-Identifier: Apache-2.0
// One record per (case, backend, device, implementation): a flat JSON line with units in the names, so that
// pandas.read_json(path, lines=True) simply works. The records are the truth; every report is derived from them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/base/result.h"

namespace assay {

inline constexpr int kRecordSchemaVersion = 1;

// A number that may be absent (null). A present non-finite one is written as null plus "<key>_nonfinite".
using Number = std::optional<double>;

// Result of one output of an operator that has several.
struct OutputRecord {
  std::string name, dtype, shape, verdict, result_class;  // the last is written as "class"
  std::optional<bool> in_place;
  Number exact_margin, bound_margin, stat_margin, self_margin, exceptional_margin, metamorphic_margin;
  Number max_abs_err, max_ulp_err, mutation_power;
  std::optional<int64_t> elements, violations, nonfinite_mismatch, not_judged;
  std::optional<bool> deterministic, twin;
  std::string where, properties, property_breaks;
};

// Calls f(key, member) for every field in the order of the file.
template <class R, class F>
void VisitOutputFields(R& r, F&& f) {
  f("name", r.name), f("dtype", r.dtype), f("shape", r.shape), f("in_place", r.in_place), f("verdict", r.verdict);
  f("class", r.result_class), f("elements", r.elements), f("exact_margin", r.exact_margin);
  f("bound_margin", r.bound_margin), f("stat_margin", r.stat_margin), f("self_margin", r.self_margin);
  f("exceptional_margin", r.exceptional_margin), f("metamorphic_margin", r.metamorphic_margin);
  f("max_abs_err", r.max_abs_err), f("max_ulp_err", r.max_ulp_err), f("mutation_power", r.mutation_power);
  f("violations", r.violations), f("nonfinite_mismatch", r.nonfinite_mismatch), f("not_judged", r.not_judged);
  f("deterministic", r.deterministic), f("twin", r.twin), f("where", r.where), f("properties", r.properties);
  f("property_breaks", r.property_breaks);
}

struct Record {
  int64_t schema_version = kRecordSchemaVersion;
  std::string case_id, op, dtype, shape, fill;
  uint64_t seed = 0;
  std::string backend, device, driver, library_version, implementation;
  std::string pool;  // devices that shared the cases (--devices pool), of which `device` took this one; "": none did
  std::string contract, required_contract;
  std::string verdict;       // README.md#verdicts-and-exit-codes
  std::string result_class;  // written as "class"
  std::string outcome;       // the verdict after expectations; equal to verdict without any
  std::string reason;
  // For a known failure: its rule ("int8-sums-in-f32", or file:line if it has no name), the cause ("library", "driver"
  // or "device") and where to read the proof. The cause is "assay" if the harness itself failed.
  std::string known_issue, fault, read_on;
  Number max_abs_err, max_rel_err, max_ulp_err, rms_err, nmse;
  Number exact_margin, bound_margin, stat_margin, self_margin, exceptional_margin, metamorphic_margin;
  Number effective_bits, bias_z, mutation_power;
  std::optional<int64_t> outliers, elements, nonfinite_mismatch, worst_index, reps;
  std::optional<bool> deterministic, twin;
  // Relations to other executions: "batch1=yes;columns=no", and the first differing element of what does not hold:
  // "columns: element [0,1] is 1, expected 2; 3 of 12 elements" joined by " | ". "agreement(first)=0.1": how far this
  // result lies from that implementation's, over the sum of both bounds.
  std::string properties, property_breaks;
  std::string tier;
  // Preparing (compiling) for the first time in a worker process, and once more in the same process, where the backend
  // may have kept what it made; null where it was not prepared twice in one process, as without timing.
  Number prepare_s, prepare_cached_s;
  // Properties of the prepared kernel, from the plugin: device memory beside the operands (null: unknown), the
  // library's name for its algorithm, and the kernels that run.
  std::optional<int64_t> workspace_bytes;
  std::string algorithm, kernel;
  Number time_median_s, time_p10_s, time_p90_s;  // the median of those of the rounds
  std::optional<int64_t> samples;                // of all rounds
  std::string round_medians_s;  // comma separated: one median per round, each from a worker process of its own
  // Where builds took turns: the medians of a round's slices, in their order, joined by '/'; rounds by ','.
  std::string round_slices_s;
  std::string timing_clock;  // "device" or "host"
  // The second input set, of the timed loop and, where there is no twin and golden values are cheap, of the correctness
  // phase: "twin", the case whose data it is, or "same" where there is no other. "": none ran.
  std::string second_set;
  std::string stop_reason;  // of the first round: "settled" (the median is known), "time limit" or "repetitions"
  // With the operands evicted from the caches before each repetition. Null: cold_note says why.
  Number time_cold_median_s;
  std::optional<int64_t> cold_samples;
  std::string cold_note;
  // Mean of a warm repetition by the worker's clock around whole batches, and the share of it that the smallest launch
  // of the column takes (at most 1).
  Number time_wall_s, launch_fraction;
  std::string round_walls_s;  // such means, of each round
  // Time to upload all inputs once, and to download the output.
  Number upload_s, upload_gbytes_per_s, download_s, download_gbytes_per_s;
  Number flops, bytes, gflops, gbytes_per_s, roofline_fraction;
  // Roofline: ceilings measured on this device, the shares of them that the cold time (without one, the warm) reaches,
  // and which of both limits this case: "memory" or "compute". roofline_fraction is the larger share.
  Number memory_fraction, compute_fraction, ceiling_gbytes_per_s, ceiling_gflops;
  std::string bound_by;
  std::string roofline_note;  // what is missing or remarkable about it; "": nothing
  // Upper limit of an execution's time by the host's clock, where that does not confirm time_median_s; null: it does.
  // timing_unsure says why where the host was busy.
  Number time_at_most_s;
  std::string timing_unsure;
  std::string timing_invalid;              // why the time cannot be true: it does not count then; "": valid
  std::optional<int64_t> throttle_events;  // of the host's processors while it was timed; null where they do not tell
  Number package_power_w;                  // of the host's processors while it was timed
  Number price_per_hour;                   // as the user stated it
  std::string sweep;                       // "b=16": what --sweep set
  // These times and prepare_s are taken while other columns are judged, unless --jobs is 1; times of the loop never
  // are.
  Number input_s, golden_s, execute_s, compare_s, relations_s;
  std::string input_hash, output_hash, golden_hash, plan_hash;
  std::string tool_version, timestamp;
  std::string tags, source, reproduce;
  // Folder with the tensors of a failure, below the output folder: "failures/<hash of the case id>"; "" when there is
  // none.
  std::string failure_dir;
  // Reason of a failing result that no margin shows: "memory", "second input set", "later executions" or "other
  // layout"; "" otherwise.
  std::string decided_by;
  // For a known failure: the rule's reason, its file and line, its owner, and the last day on which it holds.
  std::string known_reason, known_where, known_owner, known_expires;
  // Up to eight elements, worst first: "index:got:golden:tolerance" joined by ';', index row-major.
  std::string worst_elements;
  // Counts of finite elements by margin, comma separated, in the bins
  // [0], (0, 2^-20), [2^-20, 2^-19) ... [2^-1, 1), [1, inf).
  std::string margin_histogram;
  // Elements that the contract bounds by nothing, so that any result was accepted there; null where that was not
  // counted.
  std::optional<int64_t> not_judged;
  std::optional<int64_t> violations;  // finite values beyond their tolerance
  std::string where;                  // localised failures of the bound and of non-finite values; "" without any
  // Errors of worst_elements, in the same order: "place:error" joined by ';'. place is "[3,4]", or "[3,4] imag" for an
  // imaginary part.
  std::string worst_errors;
  // First wrong elements, up to eight, of the first failing exact twin (on the twin's data):
  // "place:got:expected:tolerance" joined by ';'.
  std::string twin_elements;
  // Where the first execution is wrong, of a failure in bound or non-finite values: "2,5:..+/#.!", rows and columns of
  // elements for one character, and the picture: the last axis from left to right, all others from top to bottom;
  // '.' right, '+' off by up to ten tolerances, '#' by more, '!' a wrong NaN or infinity. "": nothing is, or all.
  std::string error_map;
  // The statistic's parts, each against its limit: the worst element, the bias of all, the worst cluster of outliers,
  // the worst row, column, slab or tile, and which that is ("column 5"); the worst row beside what its elements share;
  // results that end in too many zeros, which count in stat_margin above 1 only; what fired, in words.
  Number stat_element_margin, stat_bias_margin, stat_cluster_margin, stat_group_margin;
  Number stat_row_margin, stat_last_bits_margin;
  std::string stat_group, stat_reason;
  std::string mutation_power_missed;  // the faults that would go unnoticed, where `mutation_power` is below 1
  // The weaker arithmetic that explains a result: "in=bf16", "bf16 operands", the contract that judges by it and the
  // margins by that contract. "" and null: none does, or none was sought.
  std::string lower_class, lower_class_name, lower_class_contract;
  Number lower_class_bound_margin, lower_class_stat_margin;
  // For a user's result by the default contract, which permits intermediates of 16 bits: the contract without them,
  // whether the result holds by that one too, and why not. "" and null: there is no such contract.
  std::string stricter_contract, stricter_reason;
  std::optional<bool> stricter_holds;
  // Whether a user's result passes by the default contract while most single faults would pass as well: --strict fails
  // it. Null: the contract is stated.
  std::optional<bool> weak_pass;
  // The next step for a user's result that fails, is inconclusive, suspect or weak, in a phrase. "": a run, or a pass.
  std::string advice;
  // For a user's result of which a sample was judged: how many elements, of how many of all outputs, and the seed by
  // which they were drawn. Null: all were judged.
  std::optional<int64_t> sample_judged, sample_elements, sample_seed;
  // For a user's result: attributes that neither the user stated nor the shapes give, "eps=1e-05 stats=0".
  std::string default_attrs;
  // Results of each output, and the name of the one that decides: the fields above that describe a single output are
  // its. Not written for operators with one output.
  std::vector<OutputRecord> outputs;
  std::string worst_output;
  // This result's contribution to tests that pool a whole run (harness/core/model/pooled_test.h); "" if none.
  std::string pooled;
  // Operand layouts beside the dense row-major one in which it was executed and judged: "padded;permuted=not offered",
  // or "skipped: more than 2e8 operations". "": it failed before, or there is no other.
  std::string layouts;
  // For a result that was retried: how the tries ended, in their order ("pass*16,mismatch,pass*3"), the share of them
  // that did not pass, and its 95 % interval by Clopper and Pearson.
  std::string tries;
  Number flake_rate, flake_rate_low, flake_rate_high;
  std::string sandbox;  // of the worker: "full", "partial" or "off"; environment.json says what was missing
};

// Calls f(key, member) for every field in the order of the file; drives both directions.
template <class R, class F>
void VisitFields(R& r, F&& f) {
  f("schema_version", r.schema_version), f("case_id", r.case_id), f("op", r.op), f("dtype", r.dtype);
  f("shape", r.shape), f("fill", r.fill), f("seed", r.seed), f("backend", r.backend), f("device", r.device);
  f("driver", r.driver), f("library_version", r.library_version), f("implementation", r.implementation);
  f("contract", r.contract), f("required_contract", r.required_contract), f("verdict", r.verdict);
  f("class", r.result_class), f("outcome", r.outcome), f("reason", r.reason), f("max_abs_err", r.max_abs_err);
  f("max_rel_err", r.max_rel_err), f("max_ulp_err", r.max_ulp_err), f("rms_err", r.rms_err), f("nmse", r.nmse);
  f("exact_margin", r.exact_margin), f("bound_margin", r.bound_margin), f("stat_margin", r.stat_margin);
  f("self_margin", r.self_margin), f("exceptional_margin", r.exceptional_margin);
  f("metamorphic_margin", r.metamorphic_margin), f("properties", r.properties);
  f("property_breaks", r.property_breaks);
  f("effective_bits", r.effective_bits), f("bias_z", r.bias_z), f("mutation_power", r.mutation_power),
      f("outliers", r.outliers);
  f("elements", r.elements), f("nonfinite_mismatch", r.nonfinite_mismatch), f("worst_index", r.worst_index);
  f("reps", r.reps), f("deterministic", r.deterministic), f("twin", r.twin), f("tier", r.tier);
  f("prepare_s", r.prepare_s), f("prepare_cached_s", r.prepare_cached_s), f("workspace_bytes", r.workspace_bytes),
      f("algorithm", r.algorithm), f("kernel", r.kernel), f("time_median_s", r.time_median_s),
      f("time_p10_s", r.time_p10_s);
  f("time_p90_s", r.time_p90_s), f("samples", r.samples), f("round_medians_s", r.round_medians_s),
      f("round_slices_s", r.round_slices_s), f("timing_clock", r.timing_clock), f("second_set", r.second_set);
  f("stop_reason", r.stop_reason), f("time_cold_median_s", r.time_cold_median_s), f("cold_samples", r.cold_samples);
  f("cold_note", r.cold_note), f("time_wall_s", r.time_wall_s), f("launch_fraction", r.launch_fraction);
  f("round_walls_s", r.round_walls_s);
  f("upload_s", r.upload_s), f("upload_gbytes_per_s", r.upload_gbytes_per_s), f("download_s", r.download_s);
  f("download_gbytes_per_s", r.download_gbytes_per_s), f("flops", r.flops);
  f("bytes", r.bytes), f("gflops", r.gflops), f("gbytes_per_s", r.gbytes_per_s);
  f("roofline_fraction", r.roofline_fraction), f("memory_fraction", r.memory_fraction);
  f("compute_fraction", r.compute_fraction), f("ceiling_gbytes_per_s", r.ceiling_gbytes_per_s);
  f("ceiling_gflops", r.ceiling_gflops), f("bound_by", r.bound_by), f("roofline_note", r.roofline_note);
  f("timing_invalid", r.timing_invalid), f("throttle_events", r.throttle_events);
  f("package_power_w", r.package_power_w), f("price_per_hour", r.price_per_hour), f("sweep", r.sweep);
  f("input_s", r.input_s), f("golden_s", r.golden_s);
  f("execute_s", r.execute_s), f("compare_s", r.compare_s), f("relations_s", r.relations_s),
      f("input_hash", r.input_hash);
  f("output_hash", r.output_hash), f("golden_hash", r.golden_hash), f("plan_hash", r.plan_hash);
  f("tool_version", r.tool_version), f("timestamp", r.timestamp), f("tags", r.tags), f("source", r.source);
  f("reproduce", r.reproduce), f("failure_dir", r.failure_dir);
  f("worst_elements", r.worst_elements), f("margin_histogram", r.margin_histogram);
  f("not_judged", r.not_judged), f("violations", r.violations), f("where", r.where), f("worst_errors", r.worst_errors);
  f("twin_elements", r.twin_elements), f("error_map", r.error_map);
  f("stat_element_margin", r.stat_element_margin), f("stat_bias_margin", r.stat_bias_margin);
  f("stat_cluster_margin", r.stat_cluster_margin), f("stat_group_margin", r.stat_group_margin);
  f("stat_group", r.stat_group), f("stat_reason", r.stat_reason);
  f("mutation_power_missed", r.mutation_power_missed), f("lower_class", r.lower_class),
      f("lower_class_name", r.lower_class_name);
  f("lower_class_contract", r.lower_class_contract), f("lower_class_bound_margin", r.lower_class_bound_margin);
  f("lower_class_stat_margin", r.lower_class_stat_margin);
  f("known_issue", r.known_issue), f("fault", r.fault), f("read_on", r.read_on), f("sandbox", r.sandbox);
  f("pool", r.pool);
  f("worst_output", r.worst_output), f("outputs", r.outputs), f("decided_by", r.decided_by);
  f("stat_row_margin", r.stat_row_margin), f("stat_last_bits_margin", r.stat_last_bits_margin);
  f("known_reason", r.known_reason), f("known_where", r.known_where), f("pooled", r.pooled);
  f("known_owner", r.known_owner), f("known_expires", r.known_expires), f("layouts", r.layouts), f("tries", r.tries);
  f("time_at_most_s", r.time_at_most_s), f("timing_unsure", r.timing_unsure);
  f("flake_rate", r.flake_rate), f("flake_rate_low", r.flake_rate_low), f("flake_rate_high", r.flake_rate_high);
  f("stricter_contract", r.stricter_contract), f("stricter_holds", r.stricter_holds);
  f("stricter_reason", r.stricter_reason), f("weak_pass", r.weak_pass), f("advice", r.advice);
  f("default_attrs", r.default_attrs), f("sample_judged", r.sample_judged);
  f("sample_elements", r.sample_elements), f("sample_seed", r.sample_seed);
}

// The device as plan.json has it: the pool, where there is one. Reports have a column for each.
inline const std::string& PlannedDevice(const Record& record) {
  return record.pool.empty() ? record.device : record.pool;
}

// The time of an execution: its median, or its upper limit where the host's clock does not confirm that.
inline const Number& GetBelievedSeconds(const Record& record) {
  return record.time_at_most_s ? record.time_at_most_s : record.time_median_s;
}

std::string ToJsonLine(const Record& record);  // no newline

// Unknown keys are ignored, absent ones keep defaults, but for case_id and outcome. Errors say what is wrong with it.
Result<Record> FromJsonLine(const std::string& line);

}  // namespace assay
