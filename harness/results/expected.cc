// SPDX-License-Identifier: Apache-2.0
#include "harness/results/expected.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/data/tensor.h"
#include "harness/judge/verdict.h"
#include "harness/plan/catalog.h"

namespace assay {
namespace fs = std::filesystem;
namespace {

std::vector<std::string> ShippedFiles() {
  const fs::path folder = ShippedFolder("expectations", ASSAY_SOURCE_BACKENDS);
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".expect") files.push_back(it->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string WithHash(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  const std::string content = text.str();
  return fmt::format("{} xxh3:{}", path, HashHex(HashBytes(content.data(), content.size())));
}

}  // namespace

Result<ExpectationSet> LoadExpectationSet(const std::vector<std::string>& files) {
  ExpectationSet set;
  const bool none = files.size() == 1 && files[0] == "none";
  if (const auto why = WhyNoneShipped("expectations", ASSAY_SOURCE_BACKENDS); files.empty() && !why.empty()) {
    set.note = "known failures count as failures, as no list of them is found" + why + ", or say --expectations none";
  }
  for (const std::string& path : files.empty() ? ShippedFiles() : none ? std::vector<std::string>{} : files) {
    auto rules = LoadExpectations(path);
    if (!rules) return tl::unexpected(rules.error());
    set.rules.insert(set.rules.end(), rules->begin(), rules->end());
    set.files.push_back(WithHash(path));
  }
  return set;
}

void ApplyExpectations(const std::vector<Expectation>& rules, bool memory_fault, Record& record) {
  const std::string column = fmt::format("{}:{}", record.backend, record.implementation);
  const Expectation* rule = FindExpectation(rules, record.case_id, column, record.verdict);
  if (rule == nullptr) return;
  auto verdict = ParseVerdict(record.verdict);
  if (!verdict || *verdict == Verdict::kUnsupported || *verdict == Verdict::kUnavailable) return;
  const bool failed = *verdict != Verdict::kPass && *verdict != Verdict::kInconclusive;
  if (failed && (memory_fault || !Covers(*rule, record.verdict))) {
    record.reason = fmt::format("{} [{} expects another failure: {}, no fault of memory]", record.reason, rule->where,
                                fmt::join(rule->verdicts, ", "));
  } else if (failed) {
    record.outcome = rule->flake ? "known_flake" : "known_failure";
    record.reason = fmt::format("{} [known: {}, {}]", record.reason, rule->reason, rule->where);
  } else if (!rule->flake && *verdict == Verdict::kPass) {
    record.outcome = "unexpected_pass";
    record.reason =
        fmt::format("it passes although {} says: {}; remove or narrow that line", rule->where, rule->reason);
  }
}

}  // namespace assay
