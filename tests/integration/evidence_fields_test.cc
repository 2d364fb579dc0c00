// SPDX-License-Identifier: Apache-2.0
// Every field of every file of real bundles is changed, removed and emptied by itself. Whatever follows from it is then
// made again, as a forger would: hashes, the sample with its outputs, what is claimed, and the sentence of conformance.
// Verifying has to refuse the bundle, unless it lists the field as claimed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/core/base/json_text.h"
#include "harness/core/base/text.h"
#include "harness/core/base/whole_file.h"
#include "harness/core/model/record_file.h"
#include "harness/engine/results/finished_run.h"
#include "harness/engine/results/missing.h"
#include "harness/engine/trial/attempt.h"
#include "harness/tools/bundle/bundle.h"
#include "harness/tools/bundle/conform/finding.h"
#include "harness/tools/bundle/draw.h"
#include "harness/tools/bundle/statement.h"
#include "harness/tools/bundle/stored_outputs.h"
#include "harness/tools/bundle/verify.h"
#include "tests/unit/temporary_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRunSuite =
    "matmul dtypes=f32|bf16 m=3 n=8 k=64 fill=normal\nsoftmax dtypes=f32 shape=4x8 fill=special\n"
    "layer_norm dtypes=f32 rows=3 n=16 stats=1 fill=normal\nleaky_bias dtypes=f32 rows=3 n=17\n";
constexpr const char* kConformSuite =
    "matmul dtypes=f32|f16 m=7 n=5 k=65 fill=normal\nreduce dtypes=i8-i32 shape=3x5 axes=1 kind=sum\n";
constexpr const char* kProfile =
    "cases = \"mine.suite\"\nmandatory = [\"matmul/f32\"]\n[control]\ncases = \"control.suite\"\n"
    "sound = [\"matmul:legal.split-k-4\"]\nfaulty = [\"matmul:fault.last-k-dropped-in-one-element\"]\n";
constexpr const char* kRule =
    "[[known_failure]]\nid = \"a-rule\"\nbackend = \"misbehaving\"\nverdicts = [\"mismatch\", "
    "\"below_contract\"]\nowner = \"me\"\n"
    "expires = 2999-01-01\nreason = \"why\"\n";

// A bundle, and what its maker has beside it.
struct Forgery {
  BundleFiles files;
  BundleFiles outputs;  // all that the run kept
  Profile profile;      // of a statement of conformance

  std::vector<Record> Records(const std::string& name) const {
    const TemporaryFolder folder;
    folder.Write("lines", TextOfFile(files, name));
    const auto read = ReadRecords(folder.Path("lines"));
    return read ? read->records.ToVector() : std::vector<Record>();
  }
};

// Makes again what follows from the changed file, as far as it can be read.
class Repacking {
 public:
  Repacking(Forgery& forgery, std::string changed) : forgery_(forgery), changed_(std::move(changed)) {}

  void Repack() {
    const auto plan = ParsePlanJson(TextOfFile(forgery_.files, "plan.json"));
    for (const auto& [name, text] : forgery_.files) folder_.Write(name, text);
    run_ = ReadRun(folder_.Path("."));
    Json environment = ParseJson(TextOfFile(forgery_.files, "environment.json"));
    if (!plan || !run_ || !environment.is_object()) return;
    if (forgery_.files.contains(kConformanceFile)) Conclude(*plan, environment);
    State(*plan, environment);
    Draw(*plan);
  }

 private:
  void Put(const std::string& name, std::string text) {
    if (name != changed_) forgery_.files[name] = std::move(text);
  }

  void Conclude(const Plan& plan, Json& environment) {
    const Json stated = ParseJson(TextOfFile(forgery_.files, kConformanceFile));
    if (!stated.is_object() || !stated.contains("seed") || !stated["seed"].is_number_unsigned()) return;
    const ConformanceFinding finding = JudgeConformance(forgery_.profile, plan, run_->records,
                                                        JudgeControl(forgery_.profile, forgery_.Records(kControlFile)));
    Put(kConformanceFile, DumpJson(ConformanceJson(forgery_.profile, finding, stated["seed"]), 2) + "\n");
    if (changed_ == "environment.json") return;
    environment[kConformanceKey] = finding.Sentence();
    Put("environment.json", DumpJson(environment, 2) + "\n");
  }

  void State(const Plan& plan, const Json& environment) {
    Json statement = ParseJson(TextOfFile(forgery_.files, kStatementFile));
    if (!statement.is_object()) return;
    statement["claims"] = Claims(plan, run_->records, run_->strict, run_->interrupted);
    if (environment.contains(kHashesKey)) statement["before_the_run"] = environment[kHashesKey];
    Put(kStatementFile, DumpJson(statement, 2) + "\n");
  }

  void Draw(const Plan& plan) {
    auto sample = ParseEvidence(TextOfFile(forgery_.files, kEvidenceFile));
    if (!sample || changed_ == kEvidenceFile) return;
    sample->committed = CommittedHash(forgery_.files);
    sample->results = DrawTexts(FindKept(plan, run_->records, sample->draws).names, *sample);
    Put(kEvidenceFile, EvidenceJson(*sample));
    const std::set<std::string> drawn(sample->results.begin(), sample->results.end());
    std::set<std::string> stored;
    for (const Record& r : run_->records) {
      const auto verdict = ParseVerdict(r.verdict);
      if (drawn.contains(ResultName(r)) || (verdict && IsFailingResult(*verdict))) stored.insert(StoredOutputFile(r));
    }
    std::erase_if(forgery_.files, [&](const auto& file) {
      return file.first.starts_with("outputs/") && file.first != changed_ && !stored.contains(file.first);
    });
    for (const std::string& name : stored) {
      if (name != changed_ && forgery_.outputs.contains(name)) forgery_.files[name] = forgery_.outputs.at(name);
    }
  }

  Forgery& forgery_;
  std::string changed_;
  TemporaryFolder folder_;
  Result<FinishedRun> run_ = FinishedRun();
};

enum class Kind { kChanged, kRemoved, kEmptied };
constexpr Kind kKinds[] = {Kind::kChanged, Kind::kRemoved, Kind::kEmptied};
const char* Name(Kind kind) {
  return kind == Kind::kChanged ? "changed" : kind == Kind::kRemoved ? "removed" : "emptied";
}

Json Changed(const Json& value) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>() + 1;
  if (value.is_number()) return value.get<double>() * 1.5 + 0.25;
  if (!value.is_string()) return "x";
  std::string text = value;
  if (text.empty()) return "x";
  char& last = text.back();
  last = last == '0' ? '1' : last >= '1' && last <= '9' ? '0' : last == 'a' ? 'b' : 'a';
  return text;
}

Json Emptied(const Json& value) {
  return value.is_object() ? Json::object() : value.is_array() ? Json::array() : value.is_string() ? Json("") : Json();
}

// Calls `look` with the path to every value: members of objects, and the first two of a list.
void Walk(const Json& value, const Json::json_pointer& path,
          const std::function<void(const Json::json_pointer&)>& look) {
  if (!path.empty()) look(path);
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) Walk(member, path / key, look);
  }
  for (size_t i = 0; value.is_array() && i < std::min<size_t>(value.size(), 2); ++i) Walk(value[i], path / i, look);
}

// nullopt: the change would leave the file as it is.
std::optional<Json> Apply(const Json& whole, const Json::json_pointer& path, Kind kind) {
  Json json = whole;
  if (kind == Kind::kRemoved) {
    Json& parent = json[path.parent_pointer()];
    if (parent.is_array()) parent.erase(static_cast<size_t>(std::stoul(path.back())));
    if (parent.is_object()) parent.erase(path.back());
  } else {
    json[path] = kind == Kind::kChanged ? Changed(json[path]) : Emptied(json[path]);
  }
  return json == whole ? std::nullopt : std::optional(json);
}

// The names that a list of claimed fields may have for it: "backends[].vendor" or "cpu".
std::vector<std::string> NamesOf(const Json::json_pointer& path) {
  std::vector<std::string> parts;
  for (Json::json_pointer p = path; !p.empty(); p.pop_back()) parts.insert(parts.begin(), p.back());
  std::vector<std::string> names = {parts[0]};
  if (parts.size() > 2) names.push_back(parts[0] + "[]." + parts[2]);
  if (parts.size() > 2) names.push_back(parts[2]);  // of a plan's cases
  return names;
}

class EvidenceFields : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    folder_->Write("run/mine.suite", kRunSuite);
    folder_->Write("run/rules.toml", kRule);
    folder_->Write("conform/mine.suite", kConformSuite);
    folder_->Write("conform/control.suite", "matmul dtypes=f32 m=7 n=9 k=65\n");
    folder_->Write("conform/mine.toml", kProfile);
  }
  static void TearDownTestSuite() { delete folder_; }

  static void Run(const std::string& in, const std::string& words) {
    const std::string command = fmt::format(
        "cd '{}' && ASSAY_GOLDEN_STORE=store ASSAY_PLUGIN_FILES='{}' '{}' {} --out out --progress none > log 2>&1",
        folder_->Path(in), ASSAY_TEST_CPU_PLUGIN, ASSAY_TEST_PROGRAM, words);
    const int ended = std::system(command.c_str());
    ASSERT_EQ(ended, 0) << command << "\n" << ReadWholeFile(folder_->Path(in + "/log")).value_or("");
  }

  static Forgery Take(const std::string& in) {
    Forgery forgery;
    auto bundle = CollectBundle(folder_->Path(in + "/out"), "of the customer");
    EXPECT_TRUE(bundle) << bundle.error().message;
    if (!bundle) return forgery;
    forgery.files = std::move(bundle->files);
    for (const auto& file : fs::directory_iterator(folder_->Path(in + "/out/outputs"))) {
      forgery.outputs["outputs/" + file.path().filename().string()] = ReadWholeFile(file.path()).value();
    }
    return forgery;
  }

  // A run of three backends, one of which has a waived failure and one an operator that a file defines; half of its
  // results are in the sample.
  static const Forgery& OfRun() {
    static const Forgery forgery = [] {
      Run("run",
          fmt::format(
              "run --suite mine.suite --operators '{}' --plugin '{}' --plugin '{}' --backend cpu --backend vendor "
              "--backend misbehaving --impl naive --impl blocked --impl direct --impl two-pass --impl loops --impl "
              "drop_last_k --no-perf --tier reproducible --evidence 5 --expectations '{}'",
              ASSAY_TEST_DEFINITION, ASSAY_TEST_PLUGIN, ASSAY_TEST_OWN_OPERATOR, folder_->Path("run/rules.toml")));
      return Take("run");
    }();
    return forgery;
  }
  static const Forgery& OfConform() {
    static const Forgery forgery = [] {
      Run("conform", "conform --profile mine.toml --backend cpu");
      Forgery made = Take("conform");
      made.profile = LoadProfile(folder_->Path("conform/mine.toml")).value();
      return made;
    }();
    return forgery;
  }

  static Verification Verify(const BundleFiles& files) {
    const TemporaryFolder scratch;
    return VerifyBundle(files, scratch.Path(""),
                        {.own_profile = files.contains(kConformanceFile) ? folder_->Path("conform/mine.toml") : ""},
                        [](const std::string&, size_t, size_t) {});
  }

  static bool IsClaimed(const Verification& found, const std::string& file, const std::vector<std::string>& names) {
    for (const std::string& line : found.claimed) {
      if (!line.starts_with(file)) continue;
      const std::string fields = line.substr(line.find(": ") + 2);
      for (const std::string_view word : Split(fields, ' ')) {
        const std::string_view field = word.substr(0, word.find(','));
        if (std::ranges::find(names, field) != names.end()) return true;
      }
    }
    return false;
  }

  // `text`: what the file becomes; none: it goes.
  void Expect(const Forgery& whole, const std::string& file, const std::optional<std::string>& text,
              const std::vector<std::string>& names, const std::string& what) {
    Forgery forged = whole;
    if (text) forged.files[file] = *text;
    if (!text) forged.files.erase(file);
    Repacking(forged, file).Repack();
    const Verification found = Verify(forged.files);
    ++tried_;
    if (!found.contradicted.empty()) return void(++refused_);
    EXPECT_TRUE(IsClaimed(verified_, file, names)) << file << ": " << what << " is neither refused nor claimed";
  }

  // Every value of a JSON text, which stands between `before` and `after` in its file.
  void TryFields(const Forgery& whole, const std::string& file, const std::string& before, const std::string& text,
                 const std::string& after, bool in_lines) {
    const Json json = ParseJson(text);
    size_t number = 0;
    Walk(json, Json::json_pointer(), [&](const Json::json_pointer& path) {
      const size_t turn = number++;
      for (size_t k = 0; k < std::size(kKinds); ++k) {
        const size_t one_of = k == 0 ? 8 : 24;  // fewer are removed or emptied than changed
        if (!all_kinds_ && turn % one_of != k) continue;
        const auto changed = Apply(json, path, kKinds[k]);
        if (!changed) continue;
        const int indent = in_lines ? -1 : file == kEvidenceFile || file == "plan.json" ? 1 : 2;
        Expect(whole, file, before + DumpJson(*changed, indent) + after, NamesOf(path),
               path.to_string() + " " + Name(kKinds[k]));
      }
    });
  }

  // One line of each kind, by what `kind_of` says of it.
  void TryLines(const Forgery& whole, const std::string& file, const std::function<std::string(const Json&)>& kind_of) {
    const std::string text = whole.files.at(file);
    std::set<std::string> seen;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      const std::string line = text.substr(begin, end - begin);
      if (seen.insert(kind_of(ParseJson(line))).second) {
        TryFields(whole, file, text.substr(0, begin), line, text.substr(end), true);
        if (file == "results.jsonl")
          Expect(whole, file, text.substr(0, begin) + text.substr(end + 1), {}, "a line, gone");
      }
      begin = end + 1;
    }
    EXPECT_FALSE(seen.empty());
  }

  void TryAll(const Forgery& whole) {
    verified_ = Verify(whole.files);
    ASSERT_TRUE(verified_.contradicted.empty()) << verified_.contradicted[0];
    ASSERT_FALSE(verified_.claimed.empty());
    const auto kind_of_record = [&](const Json& r) {
      const Record record = FromJsonLine(DumpJson(r)).value();
      const bool stored = whole.files.contains(StoredOutputFile(record));
      return fmt::format("{} {} {}", record.outcome, stored, record.outputs.size());
    };
    for (const auto& [file, text] : whole.files) {
      Expect(whole, file, std::nullopt, {}, "the whole file, removed");
      Expect(whole, file, "", {}, "the whole file, emptied");
      if (file == "results.jsonl" || file == kControlFile) {
        TryLines(whole, file, kind_of_record);
      } else if (file == kOffersFile) {
        TryLines(whole, file, [](const Json&) { return "an offer"; });
      } else if (file.ends_with(".json")) {
        TryFields(whole, file, "", text, "\n", false);
      } else {
        std::string changed = text;
        changed.back() = static_cast<char>(changed.back() ^ 1);
        Expect(whole, file, changed, {}, "its last byte, changed");
        Expect(whole, file, text + "x", {}, "a byte more");
      }
    }
    RecordProperty("tried", static_cast<int>(tried_));
    fmt::print("{} changes: {} refused, {} of fields that are listed as claimed\n", tried_, refused_,
               tried_ - refused_);
    EXPECT_GT(refused_, 100U);
  }

  static TemporaryFolder* folder_;
  Verification verified_;
  bool all_kinds_ = false;
  size_t tried_ = 0, refused_ = 0;
};
TemporaryFolder* EvidenceFields::folder_ = nullptr;

TEST_F(EvidenceFields, OfARunAreConfirmedOrClaimed) {
  TryAll(OfRun());
}
TEST_F(EvidenceFields, ADefinitionTakesThePlaceOfNoOperator) {
  Forgery forged = OfRun();
  Plan plan = ParsePlanJson(forged.files.at("plan.json")).value();
  ASSERT_EQ(plan.definitions.size(), 1u);
  std::string text = plan.definitions[0].text;
  text.replace(text.find("leaky_bias"), std::string("leaky_bias").size(), "matmul");
  plan.definitions.push_back({"matmul", text});
  plan.hash = PlanHash(plan.entries, plan.definitions);
  forged.files["plan.json"] = PlanJson(plan);
  Repacking(forged, "plan.json").Repack();
  const Verification found = Verify(forged.files);
  ASSERT_FALSE(found.contradicted.empty());
  EXPECT_NE(found.contradicted[0].find("there is an operator matmul already"), std::string::npos)
      << found.contradicted[0];
}
TEST_F(EvidenceFields, OfConformanceAreConfirmedOrClaimed) {
  TryAll(OfConform());
}
TEST_F(EvidenceFields, FullOfARunAreConfirmedOrClaimed) {
  all_kinds_ = true;
  TryAll(OfRun());
}
TEST_F(EvidenceFields, FullOfConformanceAreConfirmedOrClaimed) {
  all_kinds_ = true;
  TryAll(OfConform());
}

}  // namespace
}  // namespace assay
