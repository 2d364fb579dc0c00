// SPDX-License-Identifier: Apache-2.0
// Runs of simulated implementations, whose results are judged together.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/pooled/gather.h"
#include "tests/unit/judge/statistic/statistic_case.h"

namespace assay::test {

struct PooledCase : StatisticCase {
  PooledCase(const std::string& id, const char* declaration)
      : StatisticCase(id, declaration), effects(MakeEffects(op, problem, 0, inputs, golden)) {}

  std::vector<PooledTest> Gather(const std::vector<double>& values) const {
    const Tensor got = Output(values);
    return GatherPooled(ElementJudge(golden, bound, contract, got.dtype()), contract, got, effects);
  }

  std::vector<Effect> effects;
};

// The records of one run, with no more than pooling reads.
class PooledRun {
 public:
  void Add(const PooledCase& c, const std::vector<double>& values, const std::string& implementation) {
    Record record;
    record.implementation = implementation;
    record.op = c.problem.spec.op;
    record.dtype = ToText(c.contract) + Name(c.problem.outputs[0].dtype).data();
    record.verdict = "pass";
    record.input_hash = c.problem.spec.Id();
    record.pooled = ToText(c.Gather(values));
    records_.push_back(std::move(record));
  }
  std::vector<PooledAnswer> Answers() const { return PoolTests(records_); }
  // With this question; a margin of 0 where nothing was asked.
  PooledAnswer ComputeAnswer(std::string_view question) const {
    for (PooledAnswer& answer : PoolTests(records_)) {
      if (answer.question == question) return std::move(answer);
    }
    return {};
  }
  size_t results() const { return records_.size(); }

 private:
  std::vector<Record> records_;
};

// The largest margin of each question over many runs of correct implementations, none of which may be a finding.
struct PooledTally {
  size_t results = 0;
  std::map<std::string, double> largest;

  void Add(const PooledRun& run) {
    results += run.results();
    for (const PooledAnswer& answer : run.Answers()) {
      double& most = largest[answer.question];
      most = std::max(most, answer.margin);
      EXPECT_FALSE(answer.IsFinding()) << answer.implementation << " " << answer.op << " " << answer.dtype << ": "
                                       << answer.Text();
    }
  }
  void Print(const char* what) const {
    fmt::print("{}: {} results;", what, results);
    for (const auto& [question, margin] : largest) fmt::print(" {} {:.3f}", question, margin);
    fmt::print("\n");
  }
};

}  // namespace assay::test
