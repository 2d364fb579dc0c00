// SPDX-License-Identifier: Apache-2.0
#include "reports/google_benchmark.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/core/base/json_list.h"
#include "reports/environment.h"
#include "reports/summary.h"

namespace assay {
namespace {

std::string RunName(const Record& r, const Column& column) {
  return r.case_id + "/" + column.backend + (r.implementation.empty() ? "" : "/" + r.implementation);
}

// The number at the start of a text such as "2596.99"; 0 when there is none.
int64_t LeadingNumber(const std::string& text) {
  const double value = std::strtod(text.c_str(), nullptr);
  return std::isfinite(value) && std::abs(value) < 1e15 ? std::llround(value) : 0;
}

Json Context(const RecordView& records, const EnvironmentRows& environment) {
  const auto value = [&](const char* name) { return EnvironmentValue(environment, name); };
  const std::string timestamp = value("timestamp");
  Json context;
  context["date"] = timestamp.empty() && !records.empty() ? records[0].timestamp : timestamp;
  context["host_name"] = "";  // runs are handed to others: a machine is described, not named
  context["executable"] = "assay";
  context["num_cpus"] = LeadingNumber(value("cores"));
  context["mhz_per_cpu"] = LeadingNumber(value("cpu_mhz"));
  const std::string governor = value("cpu_governor");
  context["cpu_scaling_enabled"] = !governor.empty() && governor != "performance";
  context["caches"] = Json::array();
  context["load_avg"] = Json::array();
  context["library_build_type"] = value("build_type") == "Debug" ? "debug" : "release";
  context["json_schema_version"] = 1;
  for (const auto& [name, text] : environment) {
    if (text.size() <= 200) context["assay_" + name] = text;
  }
  return context;
}

void AddCounter(Json& out, const char* name, const Number& value, double scale = 1) {
  if (value && std::isfinite(*value)) out[name] = *value * scale;
}

Json Entry(const Record& r, const std::string& run_name) {
  const double nanoseconds = *GetBelievedSeconds(r) * 1e9;
  Json out;
  out["name"] = run_name + "_median";
  out["family_index"] = 0;
  out["per_family_instance_index"] = 0;
  out["run_name"] = run_name;
  out["run_type"] = "aggregate";
  out["repetitions"] = r.samples.value_or(1);
  out["threads"] = 1;
  out["aggregate_name"] = "median";
  out["aggregate_unit"] = "time";
  out["iterations"] = r.samples.value_or(1);
  out["real_time"] = nanoseconds;
  out["cpu_time"] = nanoseconds;  // readers require it; on an accelerator there is no other time to give
  out["time_unit"] = "ns";
  AddCounter(out, "p10_ns", r.time_p10_s, 1e9);
  AddCounter(out, "p90_ns", r.time_p90_s, 1e9);
  AddCounter(out, "gflops", r.gflops);
  AddCounter(out, "gbytes_per_s", r.gbytes_per_s);
  AddCounter(out, "roofline_fraction", r.roofline_fraction);
  AddCounter(out, "memory_fraction", r.memory_fraction);
  AddCounter(out, "compute_fraction", r.compute_fraction);
  AddCounter(out, "cold_ns", r.time_cold_median_s, 1e9);
  AddCounter(out, "wall_ns", r.time_wall_s, 1e9);
  AddCounter(out, "launch_fraction", r.launch_fraction);
  AddCounter(out, "upload_gbytes_per_s", r.upload_gbytes_per_s);
  AddCounter(out, "download_gbytes_per_s", r.download_gbytes_per_s);
  AddCounter(out, "energy_j", EnergyJoules(r));
  AddCounter(out, "bound_margin", r.bound_margin);
  if (!r.timing_clock.empty()) out["label"] = r.timing_clock + " clock";
  return out;
}

// Explains why a time must not be compared.
std::string WhyExcluded(const Record& r) {
  const std::string why = r.outcome != "pass" ? r.outcome : r.timing_invalid;
  return why.empty() ? r.result_class : why;
}

}  // namespace

void WriteGoogleBenchmark(const RecordView& records, const std::string& environment_json, const TextSink& write) {
  const Columns columns(records);
  Json excluded = Json::array();
  for (const Record& r : records) {
    if (Timed(r) && !Comparable(r)) excluded.push_back(RunName(r, columns.Of(r)) + ": " + WhyExcluded(r));
  }
  Json head = {{"context", Context(records, FlattenEnvironment(environment_json))}};
  head["context"]["assay_excluded"] = std::move(excluded);
  head["benchmarks"] = Json::array();
  JsonListWriter benchmarks(head, 2, write);
  struct Family {
    int number = 0, instances = 0;
  };
  std::map<std::string, Family> families;  // one per case, as compare.py sorts by them
  for (const Record& r : records) {
    if (!Timed(r) || !Comparable(r)) continue;
    Family& family = families.try_emplace(r.case_id, Family{static_cast<int>(families.size())}).first->second;
    Json entry = Entry(r, RunName(r, columns.Of(r)));
    entry["family_index"] = family.number;
    entry["per_family_instance_index"] = family.instances++;
    benchmarks.Add(entry);
  }
  benchmarks.End();
  write("\n");
}

std::string GoogleBenchmarkReport(const RecordView& records, const std::string& environment_json) {
  std::string out;
  WriteGoogleBenchmark(records, environment_json, [&out](std::string_view part) { out += part; });
  return out;
}

}  // namespace assay
