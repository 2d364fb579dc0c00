// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "harness/core/base/amounts.h"
#include "harness/engine/trial/attempt.h"
#include "harness/tools/bundle/sha256.h"
#include "harness/tools/bundle/stored_outputs.h"
#include "harness/tools/bundle/verify/bundle_contents.h"

namespace assay {
namespace {

class SampleCheck {
 public:
  SampleCheck(const BundleContents& bundle, const Sample& sample, Verification& found)
      : bundle_(bundle),
        sample_(sample),
        found_(found),
        before_(found.contradicted.size()),
        drawn_(sample.results.begin(), sample.results.end()) {}

  bool FollowsFromFiles() {
    const auto [most_bytes, names] = FindKept(bundle_.plan, bundle_.run.records, sample_.draws);
    kept_.insert(names.begin(), names.end());
    for (const EvidenceDraw& draw : sample_.draws) {
      if (Sha256Hex(draw.secret) != draw.commitment) Contradict("the secret does not match the commitment");
    }
    if (sample_.committed != CommittedHash(bundle_.files)) {
      Contradict("the hash of the run's files differs from the one by which the sample was drawn");
    } else if (DrawTexts(names, sample_) != sample_.results) {
      Contradict("secret, challenges and files give other results than those that it lists");
    }
    const auto could_be = static_cast<size_t>(
        std::ranges::count_if(bundle_.run.records, [](const Record& r) { return !r.output_hash.empty(); }));
    if (names.size() < could_be) {
      found_.Open("{} with outputs of more than {} bytes, which could not be drawn",
                  Counted(could_be - names.size(), "result"), most_bytes);
    }
    return Holds();
  }

  // The outputs of drawn results and of failures are there, and no other.
  void CheckOutputs() {
    std::set<std::string> expected;
    for (const Record& r : bundle_.run.records) {
      if (r.output_hash.empty()) continue;
      const auto verdict = ParseVerdict(r.verdict);
      const bool fails = verdict && IsFailingResult(*verdict), drawn = drawn_.contains(ResultName(r));
      if (!fails && !drawn) continue;
      const std::string file = StoredOutputFile(r);
      expected.insert(file);
      if (bundle_.files.contains(file)) continue;
      if (drawn || kept_.contains(ResultName(r))) {
        Contradict(fmt::format("{}: {}, and its outputs ({}) are missing", Named(r), drawn ? "drawn" : "wrong", file));
      }
      unstored_ += !drawn;
    }
    for (const auto& [name, contents] : bundle_.files) {
      if (name.starts_with("outputs/") && !expected.contains(name)) {
        found_.Contradict("{}: it is of no result that was drawn or failed", name);
      }
    }
    if (unstored_ > 0) found_.Open("{} without stored outputs", Counted(unstored_, "failing result"));
  }

  void Conclude() {
    for (const EvidenceDraw& draw : sample_.draws) {
      found_.Open("that the commitment {} was made before the run: compare it with what was handed in",
                  draw.commitment);
      found_.Open("that a sample of {} and the run's challenge '{}' were agreed on: compare them",
                  Counted(draw.count, "result"), draw.challenge);
    }
    if (sample_.challenge.empty()) {
      found_.Open(
          "that nobody chose the records until the sample fitted: no challenge was stated after their hash {} "
          "was handed in",
          sample_.committed);
    } else {
      found_.Open("that the hash {} was handed in before the challenge '{}' was stated: compare both",
                  sample_.committed, sample_.challenge);
    }
    if (sample_.results.empty()) {
      found_.Open("any output: of {} none was drawn", Counted(std::ssize(bundle_.run.records), "result"));
    } else if (Holds()) {
      found_.Confirm("sample: {} drawn by commitment, challenges and the hash of the run's files, with all outputs",
                     Counted(std::ssize(sample_.results), "result"));
    }
  }

 private:
  static std::string Named(const Record& r) { return r.case_id + " of " + r.backend + " " + r.implementation; }
  bool Holds() const { return found_.contradicted.size() == before_; }
  void Contradict(const std::string& what) { found_.Contradict("{}: {}", kEvidenceFile, what); }

  const BundleContents& bundle_;
  const Sample& sample_;
  Verification& found_;
  const size_t before_;  // contradictions when the check began
  const std::set<std::string> drawn_;
  std::set<std::string> kept_;  // results whose outputs the run could keep
  size_t unstored_ = 0;
};

}  // namespace

void CheckSample(const BundleContents& bundle, Verification& found) {
  if (!bundle.sample) {
    for (const auto& [name, contents] : bundle.files) {
      if (name.starts_with("outputs/"))
        found.Contradict("{}: the {} that it was drawn by is missing", name, kEvidenceFile);
    }
    return found.Open("any output: the run kept none (--evidence)");
  }
  SampleCheck check(bundle, *bundle.sample, found);
  if (check.FollowsFromFiles()) check.CheckOutputs();
  check.Conclude();
}

}  // namespace assay
