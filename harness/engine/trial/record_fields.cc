// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/trial/record_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/engine/results/environment.h"
#include "harness/engine/results/missing.h"
#include "harness/engine/trial/relations.h"
#include "harness/judge/worst.h"

namespace assay {
namespace {

// The run with the larger error speaks for the case.
const ErrorMetrics& FindWorstRun(const std::vector<ErrorMetrics>& runs) {
  const ErrorMetrics* worst = &runs[0];
  for (const ErrorMetrics& run : runs) {
    const bool worse = worst->Holds() != run.Holds()                       ? !run.Holds()
                       : worst->statistic.Holds() != run.statistic.Holds() ? !run.statistic.Holds()
                                                                           : run.bound_margin > worst->bound_margin;
    if (worse) worst = &run;
  }
  return *worst;
}

std::string ErrorsText(const Shape& shape, const std::vector<WorstElement>& worst) {
  std::string text;
  for (const WorstElement& w : worst) {
    text += fmt::format("{}{}:{:.3g}", text.empty() ? "" : ";", PlaceText(shape, w), w.error);
  }
  return text;
}

std::string TwinText(const Shape& shape, const std::vector<TwinResult>& twins) {
  const auto failed = std::ranges::find_if(twins, [](const TwinResult& twin) { return !twin.Holds(); });
  std::string text;
  if (failed == twins.end()) return text;
  for (const WorstElement& w : failed->examples) {
    text += fmt::format("{}{}:{:.9g}:{:.9g}:{:.3g}", text.empty() ? "" : ";", PlaceText(shape, w), w.got, w.golden,
                        w.tolerance);
  }
  return text;
}

void SetStatistic(Record& record, const StatisticFinding& statistic) {
  if (!statistic.applicable) return;
  record.effective_bits = statistic.effective_bits;
  record.bias_z = statistic.bias_z;
  record.outliers = statistic.outliers;
  record.stat_element_margin = statistic.max_r / kElementThreshold;
  record.stat_bias_margin = statistic.bias_margin;
  record.stat_cluster_margin = statistic.cluster.margin;
  record.stat_group_margin = statistic.group.margin;
  if (statistic.shared_row.row >= 0) record.stat_row_margin = statistic.shared_row.margin;
  if (statistic.granularity.results > 0) record.stat_last_bits_margin = statistic.granularity.margin;
  record.stat_reason = statistic.reason;
  record.stat_group = statistic.group_where;
}

void SetWeakerArithmetic(Record& record, const WeakerArithmetic& found) {
  record.lower_class = found.field;
  record.lower_class_name = found.name;
  record.lower_class_contract = ToText(found.contract);
  record.lower_class_bound_margin = found.bound_margin;
  record.lower_class_stat_margin = found.stat_margin;
}

}  // namespace

std::string WorstText(const std::vector<WorstElement>& worst) {
  std::string text;
  for (const WorstElement& w : worst) {
    text += fmt::format("{}{}:{:.9g}:{:.9g}:{:.3g}", text.empty() ? "" : ";", w.index, w.got, w.golden, w.tolerance);
  }
  return text;
}

Record MakeCaseRecord(const PlannedCase& planned, const PreparedCase& data, const Device& device) {
  Record r;
  SetCase(r, planned.spec);
  r.backend = device.backend;
  r.device = device.device.name;
  r.pool = device.pool;
  r.driver = device.device.driver;
  r.library_version = device.description.library_version;
  r.sandbox = device.sandbox.substr(0, device.sandbox.find(':'));
  r.tier = Name(data.outputs.empty() ? Golden().tier : data.golden().tier);
  r.flops = data.executed().flops;
  r.bytes = data.executed().bytes;
  r.input_s = data.input_s;
  r.golden_s = data.golden_s;
  r.input_hash = data.input_hash;
  r.golden_hash = data.golden_hash;
  // A case that could not be prepared has no outputs.
  const std::vector<Operand>& outputs = data.executed().outputs;
  r.elements = outputs.empty() ? 1 : NumElements(outputs[0].shape);
  r.tool_version = ToolVersion();
  r.timestamp = TimestampUtc();
  r.tags = fmt::format("{}", fmt::join(planned.tags, ","));
  r.source = planned.source;
  return r;
}

void SetMetrics(Record& record, const OutputFindings& found) {
  const JudgeInputs& observed = found.observed;
  const Decision& decision = found.decision;
  const ErrorMetrics& m = FindWorstRun(observed.runs);
  record.max_abs_err = m.max_abs_err;
  // Errors of golden zeros alone have no relative size.
  if (m.max_rel_err > 0 || m.max_abs_err == 0) record.max_rel_err = m.max_rel_err;
  record.max_ulp_err = m.max_ulp_err;
  record.rms_err = m.rms_err;
  record.nmse = m.nmse;
  record.exact_margin = decision.exact_margin;
  record.bound_margin = decision.bound_margin;
  record.stat_margin = decision.stat_margin;
  record.self_margin = decision.self_margin;
  record.exceptional_margin = decision.exceptional_margin;
  record.metamorphic_margin = decision.metamorphic_margin;
  record.properties = PropertiesText(observed.properties);
  record.property_breaks = BreaksText(observed.properties);
  SetStatistic(record, m.statistic);
  if (observed.weaker_arithmetic) SetWeakerArithmetic(record, *observed.weaker_arithmetic);
  if (observed.power) {
    record.mutation_power = observed.power->power;
    record.mutation_power_missed = observed.power->missed;
    record.not_judged = observed.power->unbounded;
  }
  record.violations = m.violations;
  record.where = m.where;
  record.nonfinite_mismatch = m.nonfinite_mismatch;
  if (m.worst_index >= 0) record.worst_index = m.worst_index;
  record.reps = static_cast<int64_t>(observed.runs.size());
  record.deterministic = observed.bits_equal;
  record.twin = !observed.twins.empty();
  record.worst_elements = WorstText(m.worst);
  record.worst_errors = ErrorsText(observed.shape, m.worst);
  record.twin_elements = TwinText(observed.shape, observed.twins);
}

namespace {

OutputRecord OutputRecordOf(const Operand& output, const OutputFindings& found) {
  Record all;
  SetMetrics(all, found);
  OutputRecord r;
  r.name = output.name, r.dtype = Name(output.dtype), r.in_place = output.alias > 0;
  r.shape = fmt::format("{}", fmt::join(output.shape, "x"));
  r.verdict = Name(found.decision.verdict), r.result_class = Name(found.decision.result_class);
  r.elements = NumElements(output.shape);
  r.exact_margin = all.exact_margin, r.bound_margin = all.bound_margin, r.stat_margin = all.stat_margin;
  r.self_margin = all.self_margin, r.exceptional_margin = all.exceptional_margin;
  r.metamorphic_margin = all.metamorphic_margin, r.mutation_power = all.mutation_power;
  r.max_abs_err = all.max_abs_err, r.max_ulp_err = all.max_ulp_err;
  r.violations = all.violations, r.nonfinite_mismatch = all.nonfinite_mismatch, r.not_judged = all.not_judged;
  r.deterministic = all.deterministic, r.twin = all.twin;
  r.where = all.where, r.properties = all.properties, r.property_breaks = all.property_breaks;
  return r;
}

}  // namespace

void SetOutputs(Record& record, const Problem& problem, const Findings& findings) {
  SetMetrics(record, findings.outputs[findings.worst]);
  record.deterministic =
      std::ranges::all_of(findings.outputs, [](const OutputFindings& output) { return output.observed.bits_equal; });
  if (findings.outputs.size() == 1) return;
  record.worst_output = problem.outputs[findings.worst].name;
  record.elements = NumElements(problem.outputs[findings.worst].shape);
  record.outputs.clear();
  for (size_t k = 0; k < findings.outputs.size(); ++k) {
    record.outputs.push_back(OutputRecordOf(problem.outputs[k], findings.outputs[k]));
  }
}

namespace {

// Joins the pooled tests of all outputs. Each question is prefixed with its output's name if there are several.
std::string PooledText(const Problem& problem, const Findings& found) {
  std::vector<PooledTest> all;
  for (size_t k = 0; k < found.outputs.size(); ++k) {
    for (PooledTest test : found.outputs[k].pooled) {
      if (found.outputs.size() > 1) test.question = problem.outputs[k].name + "/" + test.question;
      all.push_back(std::move(test));
    }
  }
  return ToText(all);
}

}  // namespace

void SetAttempt(Record& record, const Problem& problem, const Attempt& attempt) {
  record.implementation = attempt.implementation;
  record.contract = attempt.contract_text;
  SetVerdict(record, attempt.verdict, attempt.result_class, attempt.reason);
  record.decided_by = attempt.decided_by;
  if (attempt.harness_failed) record.fault = kHarnessBackend;
  if (attempt.prepare_s) record.prepare_s = *attempt.prepare_s;
  if (attempt.plan.workspace_bytes) record.workspace_bytes = static_cast<int64_t>(*attempt.plan.workspace_bytes);
  record.algorithm = attempt.plan.algorithm;
  record.kernel = attempt.plan.kernel;
  record.second_set = attempt.second_set;
  record.layouts = attempt.layouts;
  if (!attempt.findings) return;
  const Findings& found = *attempt.findings;
  SetOutputs(record, problem, found);
  const OutputFindings& worst = found.outputs[found.worst];
  record.margin_histogram = fmt::format("{}", fmt::join(worst.histogram, ","));
  record.execute_s = found.execute_s;
  record.compare_s = found.compare_s;
  if (found.relations_s) record.relations_s = *found.relations_s;
  record.output_hash = attempt.output_hash;
  record.error_map = attempt.error_map;
  record.pooled = PooledText(problem, found);
  const auto add_agreement = [](std::string& properties, const std::string& agreement) {
    if (!agreement.empty()) properties += (properties.empty() ? "" : ";") + agreement;
  };
  add_agreement(record.properties, worst.agreement);
  for (size_t k = 0; k < record.outputs.size(); ++k) {
    add_agreement(record.outputs[k].properties, found.outputs[k].agreement);
  }
}

void SetSample(const OutputSample& sample, const Findings& findings, Record& record) {
  const size_t worst = findings.worst;
  record.sample_judged = sample.judged, record.sample_elements = sample.elements;
  record.sample_seed = static_cast<int64_t>(sample.seed);
  record.elements = NumElements(sample.whole.outputs[worst].shape);
  record.flops = sample.whole.flops, record.bytes = sample.whole.bytes;
  std::vector<std::string*> texts = {&record.where,      &record.worst_errors, &record.mutation_power_missed,
                                     &record.stat_group, &record.stat_reason,  &record.twin_elements};
  // Findings of memory are about all elements.
  if (!findings.outputs[worst].decision.memory_fault) texts.push_back(&record.reason);
  for (std::string* text : texts) *text = sample.Relocate(worst, *text);
  std::vector<WorstElement> elements = FindWorstRun(findings.outputs[worst].observed.runs).worst;
  for (WorstElement& element : elements) element.index = sample.ElementOf(worst, element.index);
  record.worst_elements = WorstText(elements);
  if (record.worst_index) record.worst_index = sample.ElementOf(worst, *record.worst_index);
  for (size_t k = 0; k < record.outputs.size(); ++k) {
    record.outputs[k].where = sample.Relocate(k, record.outputs[k].where);
  }
  record.reason += (record.reason.empty() ? "" : "; ") + sample.Text();
}

}  // namespace assay
