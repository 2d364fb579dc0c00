// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/bundle/conform/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>

#include "harness/core/base/nearest_word.h"
#include "harness/core/base/text.h"
#include "harness/core/base/whole_file.h"
#include "harness/plan/catalog.h"
#include "harness/tools/bundle/sha256.h"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr const char* kExtension = ".toml";

fs::path ProfileFolder() {
  return ShippedFolder("profiles", "ops/profiles");
}

class ProfileReader {
 public:
  explicit ProfileReader(fs::path path) : path_(std::move(path)) {}

  Result<Profile> Read(const toml::table& table) {
    profile_.name = path_.stem().string();
    for (const auto& [key, value] : table) {
      if (key.str() == "mandatory" || key.str() == "apart") {
        AddTexts(key, value, key.str() == "apart" ? profile_.apart : profile_.mandatory);
      } else if (key.str() == "cases") {
        AddSuite(key, value, profile_.cases);
      } else if (key.str() == "control" && value.is_table()) {
        ReadControl(*value.as_table());
      } else if (key.str() == "draft" && value.is_boolean()) {
        profile_.is_draft = value.value_or(false);
      } else {
        Refuse(key.source(),
               fmt::format("no key '{}'; known: cases, mandatory, apart, draft = true and the table [control]",
                           key.str()));
      }
    }
    CheckComplete();
    if (!problem_) return tl::unexpected(problem_.error());
    return std::move(profile_);
  }

 private:
  void ReadControl(const toml::table& control) {
    for (const auto& [key, value] : control) {
      if (key.str() == "cases") {
        AddSuite(key, value, profile_.control_cases);
      } else if (key.str() == "sound" || key.str() == "faulty") {
        AddKernels(key, value, key.str() == "sound" ? profile_.sound : profile_.faulty);
      } else {
        Refuse(key.source(), fmt::format("no key '{}' of [control]; known: cases, sound, faulty", key.str()));
      }
    }
  }

  void AddTexts(const toml::key& key, const toml::node& value, std::vector<std::string>& texts) {
    const toml::array* const list = value.as_array();
    if (list == nullptr) return Refuse(value.source(), fmt::format("'{}' takes a list of texts", key.str()));
    for (const toml::node& node : *list) {
      const auto text = node.value_exact<std::string>();
      if (!text) return Refuse(node.source(), fmt::format("'{}' takes a list of texts", key.str()));
      texts.push_back(*text);
    }
  }

  void AddSuite(const toml::key& key, const toml::node& value, fs::path& suite) {
    const auto text = value.value_exact<std::string>();
    if (!text || !text->ends_with(".suite")) {
      return Refuse(value.source(), fmt::format("'{}' takes the name of a .suite file", key.str()));
    }
    suite = path_.parent_path() / *text;
  }

  void AddKernels(const toml::key& key, const toml::node& value, std::vector<ControlKernel>& kernels) {
    std::vector<std::string> texts;
    AddTexts(key, value, texts);
    for (const std::string& text : texts) {
      const size_t colon = text.find(':');
      if (colon == std::string::npos) {
        return Refuse(value.source(), fmt::format("'{}' is not OPERATOR:IMPLEMENTATION, such as "
                                                  "matmul:fault.tail-panel-reads-zero",
                                                  text));
      }
      kernels.push_back({text.substr(0, colon), text.substr(colon + 1)});
    }
  }

  // A control that nothing could fail proves nothing.
  void CheckComplete() {
    const bool complete = !profile_.cases.empty() && !profile_.mandatory.empty() && !profile_.control_cases.empty() &&
                          !profile_.sound.empty() && !profile_.faulty.empty();
    if (problem_ && !complete) {
      problem_ = tl::unexpected(UsageError(fmt::format(
          "{}: a profile needs cases, mandatory, and a [control] with cases, sound and faulty", path_.string())));
    }
  }

  void Refuse(const toml::source_region& place, const std::string& what) {
    if (problem_) problem_ = UsageError(fmt::format("{}:{}: {}", path_.string(), place.begin.line, what));
  }

  fs::path path_;
  Profile profile_;
  Status problem_;
};

// "include" or "others" where a line of a suite begins so: its cases depend on more than the file.
std::string FindOutsideWord(std::string_view suite) {
  for (const std::string_view line : Split(suite, '\n')) {
    for (const char* word : {"include", "others"}) {
      if (Trim(line).starts_with(word)) return word;
    }
  }
  return "";
}

Result<fs::path> FindProfile(const std::string& name) {
  if (name.ends_with(kExtension)) return fs::path(name);
  const std::vector<std::string> known = ListShippedProfiles();
  if (std::ranges::find(known, name) != known.end()) return ProfileFolder() / (name + kExtension);
  return UsageError(fmt::format(
      "--profile {}: unknown profile; known: {}. Give a path that ends in {} for one of your own{}", name,
      known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")), kExtension, DidYouMean(name, known)));
}

}  // namespace

std::vector<std::string> ListShippedProfiles() {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator file(ProfileFolder(), error), end; !error && file != end; file.increment(error)) {
    if (file->path().extension() == kExtension) names.push_back(file->path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

Result<Profile> LoadProfile(const std::string& name) {
  const auto path = FindProfile(name);
  if (!path) return tl::unexpected(path.error());
  const auto text = ReadWholeFile(*path);
  if (!text) return UsageError("--profile: " + text.error().message);
  toml::table table;
  try {
    table = toml::parse(*text, path->string());
  } catch (const toml::parse_error& e) {
    return UsageError(fmt::format("{}:{}: {}", path->string(), e.source().begin.line, e.description()));
  }
  auto profile = ProfileReader(*path).Read(table);
  if (!profile) return profile;
  std::string all = fmt::format("{}\n{}", text->size(), *text);
  for (const fs::path& suite : {profile->cases, profile->control_cases}) {
    const auto lines = ReadWholeFile(suite);
    if (!lines) return UsageError(fmt::format("{}: {}", path->string(), lines.error().message));
    if (const std::string word = FindOutsideWord(*lines); !word.empty()) {
      return UsageError(
          fmt::format("{}: a profile's cases stand in its own files, so that nothing changes them: leave "
                      "out the lines that begin with '{}'",
                      suite.string(), word));
    }
    all += fmt::format("{}\n{}", lines->size(), *lines);
  }
  profile->sha256 = Sha256Hex(all);
  // Only profiles of the program's own folder keep their name; others show their hash, so that nobody mistakes them.
  profile->is_shipped = path->parent_path() == ProfileFolder();
  if (!profile->is_shipped) {
    profile->name += fmt::format(" (not shipped, {})", profile->sha256.substr(0, 12));
  }
  return profile;
}

std::string FeatureOf(const CaseSpec& spec, const std::vector<std::string>& apart) {
  const auto has = [&](auto... dtypes) {
    return std::ranges::any_of(spec.dtypes, [&](DType d) { return ((d == dtypes) || ...); });
  };
  const char* type = has(DType::kF64, DType::kC128)    ? "f64"
                     : has(DType::kE4M3, DType::kE5M2) ? "fp8"
                     : has(DType::kF16)                ? "f16"
                     : has(DType::kBF16)               ? "bf16"
                     : has(DType::kF32, DType::kC64)   ? "f32"
                                                       : "i8";
  std::string feature = spec.op + "/" + type;
  const auto is_apart = [&](const std::string& text) { return std::ranges::find(apart, text) != apart.end(); };
  for (const auto& [key, value] : spec.attrs) {
    const std::string whole = key + "=" + value;
    if (is_apart(key) || is_apart(whole)) feature += "+" + (is_apart(key) ? key : whole);
  }
  return feature;
}

}  // namespace assay
