// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/corpus_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <stdexcept>

#include "harness/core/model/case_spec.h"
#include "harness/exec/worker_session.h"

namespace assay {
namespace {

// Every declared class is as good as another here: what a suite requires is not the question.
constexpr const char* kAnyClass = "acc=bf16";

template <class T, class E>
T Require(tl::expected<T, E> result, const std::string& what) {
  if (result) return std::move(*result);
  throw std::runtime_error(what + ": " + result.error().message);
}

}  // namespace

const std::set<std::string>& NamesOf(CorpusPart part, const std::string& op) {
  using Names = std::map<std::string, std::set<std::string>>;
  const auto read = [](const std::string& path) {
    Names names;
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    for (std::string line; std::getline(file, line);) {
      const size_t space = line.find(' ');
      if (!line.starts_with('#')) names[line.substr(0, space)].insert(line.substr(space + 1));
    }
    return names;
  };
  const std::string folder = ASSAY_TEST_PART_LISTS;
  static const std::array<Names, kListedParts> lists = {read(folder + "/held_back.txt"), read(folder + "/fresh.txt"),
                                                        read(folder + "/studied.txt"), read(folder + "/unseen.txt")};
  static const std::set<std::string> none;
  const Names& all = lists.at(static_cast<size_t>(part));
  const auto place = all.find(op);
  return place == all.end() ? none : place->second;
}

Corpus::Corpus() : Corpus(ASSAY_TEST_CORPUS) {}

Corpus::Corpus(const std::string& plugin) {
  SessionOptions options;
  options.worker = {ASSAY_TEST_WORKER, plugin};
  column_.backend = "corpus";
  column_.path = plugin;
  column_.session = std::make_shared<WorkerSession>(options);
  column_.description = Require(column_.session->Describe(), "describe");
  column_.device = column_.description.devices.at(0);
}

PreparedCase Corpus::Prepare(const std::string& case_id) {
  const CaseSpec spec = Require(ParseId(case_id), case_id);
  return Require(PrepareCase(spec, "auto", GoldenStore({})), case_id);
}

std::vector<ImplementationInfo> Corpus::Offered(const Problem& problem, const std::string& prefix, CorpusPart part) {
  auto offered = Require(column_.session->Query(0, problem), "query");
  const std::string& op = problem.spec.op;
  std::erase_if(offered, [&](const ImplementationInfo& info) {
    const std::string name = info.name.substr(0, info.name.find(kEffectSuffix));
    size_t own = 0;
    while (own < kListedParts && !NamesOf(static_cast<CorpusPart>(own), op).contains(name)) ++own;
    static_assert(static_cast<size_t>(CorpusPart::kTuned) == kListedParts);
    return !info.name.starts_with(prefix) || (part != CorpusPart::kAll && part != static_cast<CorpusPart>(own));
  });
  return offered;
}

std::vector<Judged> Corpus::Judge(const std::string& case_id, const std::string& prefix, size_t step) {
  const PreparedCase data = Prepare(case_id);
  PlannedCase planned;
  planned.spec = data.problem.spec;
  planned.requirement = kAnyClass;
  RunnerSettings settings;
  settings.interrupted = [] { return false; };
  size_t turn = HashBytes(case_id.data(), case_id.size());
  for (const ImplementationInfo& info : Offered(data.problem, prefix)) {
    if (turn++ % step == 0) settings.implementations.push_back(info.name);
  }
  std::vector<Judged> judged;
  if (settings.implementations.empty()) return judged;
  TrialRunner(planned, data, settings).Judge(column_, [&](const Attempt& attempt) {
    judged.push_back({attempt.implementation, attempt.verdict, attempt.record.reason});
  });
  return judged;
}

std::vector<Tensor> Corpus::RunAll(const Problem& problem, const std::vector<Tensor>& inputs,
                                   const std::string& implementation) {
  const Prepared prepared = Require(column_.session->Prepare(0, problem, implementation), implementation);
  InputSet set;
  for (const Tensor& input : inputs) set.push_back(&input);
  Execution execution = Require(column_.session->Execute(prepared.plan, set, Prefill::kNanPayload), implementation);
  column_.session->Release(prepared.plan);
  return std::move(execution.outputs);
}

Tensor Corpus::Run(const Problem& problem, const std::vector<Tensor>& inputs, const std::string& implementation) {
  return std::move(RunAll(problem, inputs, implementation)[0]);
}

std::vector<Tensor> Corpus::RunOften(const PreparedCase& data, const std::string& implementation, int times,
                                     const std::vector<Tensor>& other) {
  const Prepared prepared = Require(column_.session->Prepare(0, data.problem, implementation), implementation);
  std::vector<Tensor> outputs;
  for (int run = 0; run < times; ++run) {
    InputSet set;
    for (const Tensor& input : run + 1 < times ? data.inputs : other) set.push_back(&input);
    Execution execution = Require(column_.session->Execute(prepared.plan, set, Prefill::kNanPayload), implementation);
    outputs.push_back(std::move(execution.outputs[0]));
  }
  column_.session->Release(prepared.plan);
  return outputs;
}

}  // namespace assay
