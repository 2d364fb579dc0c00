// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/bundle/conform/finding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bitset>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>

#include "harness/core/base/amounts.h"
#include "harness/engine/results/exit_code.h"

namespace assay {
namespace {

// A result of which only a sample was judged shows no more.
bool IsSuspect(const Record& r) {
  return r.result_class == "suspect" || r.sample_judged.has_value();
}

// Correct in what it declares, which is less than the case requires.
bool IsOfWeakerDeclaration(const Record& r) {
  return r.verdict == "below_contract" && r.lower_class_name.empty();
}

std::string FeatureOfId(const std::string& id, const Profile& profile) {
  const Result<CaseSpec> spec = ParseId(id);
  return spec ? FeatureOf(*spec, profile.apart) : id;
}

void Count(ResultEnd end, const std::string& id, FeatureFinding& feature) {
  ++feature.cases;
  size_t* const counts[] = {&feature.met,    &feature.waived,  &feature.inconclusive, &feature.unsupported,
                            &feature.weaker, &feature.suspect, &feature.wrong};
  ++*counts[static_cast<size_t>(end)];
  if (end == ResultEnd::kMet || end == ResultEnd::kWaived) return;
  if (feature.open_case.empty()) feature.open_case = id;
  if (end == ResultEnd::kWrong && feature.wrong_case.empty()) feature.wrong_case = id;
}

// Classifies one record for its case. A known failure counts as waived. A contract weaker than required and a suspect
// result do not meet the case.
ResultEnd EndByRecord(const Record& r) {
  if (IsKnown(r)) return ResultEnd::kWaived;
  if (r.verdict == "pass") return IsSuspect(r) ? ResultEnd::kSuspect : ResultEnd::kMet;
  if (r.verdict == "inconclusive") return ResultEnd::kInconclusive;
  if (r.verdict == "unsupported") return ResultEnd::kUnsupported;
  return IsOfWeakerDeclaration(r) ? ResultEnd::kWeaker : ResultEnd::kWrong;
}

// The records of one case, by what each does for it.
class FeatureResults {
 public:
  void Add(const Record& r) { there_[static_cast<size_t>(EndByRecord(r))] = true; }
  // A case is met where some implementation passes and none is wrong. No record: wrong.
  ResultEnd End() const {
    constexpr ResultEnd kFirstThatCounts[] = {ResultEnd::kWrong,      ResultEnd::kMet,          ResultEnd::kWaived,
                                              ResultEnd::kSuspect,    ResultEnd::kInconclusive, ResultEnd::kWeaker,
                                              ResultEnd::kUnsupported};
    const auto is_there = [this](ResultEnd end) { return there_[static_cast<size_t>(end)]; };
    const auto* const found = std::ranges::find_if(kFirstThatCounts, is_there);
    return found == std::end(kFirstThatCounts) ? ResultEnd::kWrong : *found;
  }

 private:
  std::bitset<static_cast<size_t>(ResultEnd::kWrong) + 1> there_;
};

// A feature without the attributes that are set apart, such as "reduce/f32", and which of these do not hold beside it.
struct PlainFeature {
  bool mandatory = false, holds = false;
  std::vector<std::string> without;
};

std::map<std::string, PlainFeature> PlainFeaturesOf(const std::vector<FeatureFinding>& features) {
  std::map<std::string, PlainFeature> plain;
  for (const FeatureFinding& feature : features) {
    const size_t plus = feature.name.find('+');
    PlainFeature& of = plain[feature.name.substr(0, plus)];
    if (plus == std::string::npos) {
      of.mandatory = feature.mandatory, of.holds = feature.Holds();
    } else if (!feature.Holds()) {
      of.without.push_back(feature.name.substr(plus + 1));
    }
  }
  return plain;
}

// "attention (f32 f64), reduce (f32 without kind=argmax)" of those of these names.
std::string GroupedText(const std::map<std::string, PlainFeature>& features,
                        const std::function<bool(const PlainFeature&)>& chosen) {
  std::string text, last;
  for (const auto& [name, feature] : features) {
    if (!chosen(feature)) continue;
    const size_t slash = name.find('/');
    const std::string op = name.substr(0, slash);
    if (op != last && text.ends_with(',')) text.pop_back();
    text += op == last ? " " : fmt::format("{}{} (", text.empty() ? "" : "), ", op);
    text += name.substr(slash + 1);
    if (feature.holds && !feature.without.empty())
      text += fmt::format(" without {},", fmt::join(feature.without, " and "));
    last = op;
  }
  if (text.ends_with(',')) text.pop_back();
  return text.empty() ? "" : text + ")";
}

}  // namespace

bool FeatureFinding::Hurts() const {
  return wrong > 0 || (mandatory && !Holds());
}

bool FeatureFinding::Holds() const {
  return met > 0 && met + waived + inconclusive == cases && inconclusive <= (cases + 99) / 100 &&
         waived <= (cases + 9) / 10;
}

std::string FeatureFinding::Text() const {
  if (Holds()) {
    return fmt::format("{} {}{}", Counted(cases, "case"), cases == 1 ? "holds" : "hold",
                       inconclusive == 0 ? "" : fmt::format(", {} of them inconclusive", inconclusive));
  }
  if (cases == 0) return "the profile has no case of it";
  std::vector<std::string> parts;
  const auto add = [&](size_t count, const char* what) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, what));
  };
  add(wrong, "wrong or missing"), add(waived, "waived"), add(unsupported, "unsupported"),
      add(weaker, "in a weaker contract");
  add(suspect, "suspect"), add(inconclusive, "inconclusive");
  return fmt::format("of {} {}, such as {}", Counted(cases, "case"), fmt::join(parts, ", "),
                     wrong_case.empty() ? open_case : wrong_case);
}

std::string ControlFinding::Text() const {
  if (Holds()) return fmt::format("all {} faulty kernels were rejected, all {} sound ones passed", faulty, sound);
  std::string text;
  if (!accepted.empty())
    text = fmt::format("none was found wrong of the results of the faulty {}", fmt::join(accepted, ", "));
  if (rejected.empty()) return text;
  return fmt::format("{}{}not every result passed of the sound {}", text, text.empty() ? "" : "; ",
                     fmt::join(rejected, ", "));
}

bool ConformanceFinding::Conforms() const {
  return control.Holds() && devices.size() < 2 && std::ranges::none_of(features, &FeatureFinding::Hurts);
}

std::string ConformanceFinding::Sentence() const {
  if (!control.Holds()) return fmt::format("NOT CONFORMANT {}: the negative control: {}", profile, control.Text());
  if (devices.size() > 1) {
    return fmt::format("NOT CONFORMANT {}: the records are of several devices: {}", profile, fmt::join(devices, ", "));
  }
  std::vector<std::string> why;
  for (const FeatureFinding& feature : features) {
    if (feature.Hurts()) why.push_back(fmt::format("{}: {}", feature.name, feature.Text()));
  }
  if (!why.empty()) return fmt::format("NOT CONFORMANT {}: {}", profile, fmt::join(why, "; "));
  const std::map<std::string, PlainFeature> plain = PlainFeaturesOf(features);
  std::string text = fmt::format("CONFORMANT {}: {}", profile, GroupedText(plain, [](auto& f) { return f.mandatory; }));
  const std::string more = GroupedText(plain, [](auto& f) { return !f.mandatory && f.holds; });
  if (!more.empty()) text += " + " + more;
  size_t inconclusive = 0, waived = 0;
  for (const FeatureFinding& feature : features) {
    inconclusive += feature.Holds() ? feature.inconclusive : 0;
    waived += feature.waived;
  }
  if (inconclusive > 0) text += fmt::format(", {} inconclusive", Counted(inconclusive, "case"));
  text += ", " + Counted(waivers.size(), "waiver");
  if (waived > 0) text += fmt::format(" over {}", Counted(waived, "case"));
  if (!sandbox.empty()) text += fmt::format(", sandbox {}", sandbox);
  const std::string open = GroupedText(plain, [](auto& f) { return !f.holds; });
  if (!open.empty()) text += "; not shown: " + open;
  return text;
}

ControlFinding JudgeControl(const Profile& profile, const RecordView& records) {
  struct Counts {
    size_t all = 0, passed = 0, found_wrong = 0;
  };
  std::map<ControlKernel, Counts> counts;
  for (const Record& r : records) {
    Counts& of = counts[{r.op, r.implementation}];
    ++of.all;
    of.passed += r.verdict == "pass" && !IsSuspect(r);
    // Cases that could not run say nothing about the judge.
    of.found_wrong += r.verdict == "mismatch" || r.verdict == "below_contract" || r.verdict == "nondeterministic";
  }
  ControlFinding finding{.faulty = profile.faulty.size(), .sound = profile.sound.size()};
  for (const ControlKernel& kernel : profile.faulty) {
    if (counts[kernel].found_wrong == 0) finding.accepted.push_back(kernel.Text());
  }
  for (const ControlKernel& kernel : profile.sound) {
    const Counts& of = counts[kernel];
    if (of.all == 0 || of.all != of.passed) finding.rejected.push_back(kernel.Text());
  }
  return finding;
}

ConformanceFinding JudgeConformance(const Profile& profile, const Plan& plan, const RecordView& records,
                                    ControlFinding control) {
  std::unordered_map<std::string, FeatureResults> by_case;
  ConformanceFinding finding{.profile = profile.Title(), .control = std::move(control)};
  for (const Record& r : records) {
    by_case[r.case_id].Add(r);
    if (IsKnown(r)) finding.waivers.insert(r.known_issue);
    if (!r.backend.empty()) finding.devices.insert(r.device.empty() ? r.backend : r.backend + " (" + r.device + ")");
    if (!r.sandbox.empty() && r.sandbox != "full" && finding.sandbox != "off") finding.sandbox = r.sandbox;
  }
  std::map<std::string, FeatureFinding> features;
  for (const std::string& name : profile.mandatory) features[name].mandatory = true;
  for (const PlanEntry& entry : plan.entries) {
    Count(by_case[entry.id].End(), entry.id, features[FeatureOfId(entry.id, profile)]);
  }
  for (auto& [name, feature] : features) {
    feature.name = name;
    finding.features.push_back(std::move(feature));
  }
  std::ranges::stable_sort(finding.features, [](const FeatureFinding& a, const FeatureFinding& b) {
    return std::tuple(!a.mandatory, a.name) < std::tuple(!b.mandatory, b.name);
  });
  return finding;
}

Json ConformanceJson(const Profile& profile, const ConformanceFinding& finding, uint64_t seed) {
  Json json = {{"profile", profile.name},           {"profile_sha256", profile.sha256}, {"seed", seed},
               {"conforms", finding.Conforms()},    {"sentence", finding.Sentence()},   {"waivers", finding.waivers},
               {"control", finding.control.Text()}, {"features", Json::array()}};
  for (const FeatureFinding& f : finding.features) {
    json["features"].push_back({{"name", f.name},
                                {"mandatory", f.mandatory},
                                {"holds", f.Holds()},
                                {"cases", f.cases},
                                {"met", f.met},
                                {"waived", f.waived},
                                {"unsupported", f.unsupported},
                                {"weaker_contract", f.weaker},
                                {"inconclusive", f.inconclusive},
                                {"suspect", f.suspect},
                                {"wrong", f.wrong}});
  }
  return json;
}

}  // namespace assay
