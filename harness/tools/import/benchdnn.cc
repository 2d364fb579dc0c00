// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/import/benchdnn.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/core/base/text.h"
#include "harness/core/base/utf8.h"
#include "harness/core/base/whole_file.h"
#include "harness/tools/import/benchdnn_drivers.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kResultMark = "__REPRO: ";  // in benchdnn's output, before the words that repeat a case
constexpr int kMostIncludes = 16;                      // of batch files in each other
constexpr size_t kMostChoices = 100'000;               // of options, for one problem

// "ic3oc16_n"name"" without the name, and the name.
std::pair<std::string_view, std::string_view> SplitProblem(std::string_view word) {
  const size_t at = word.find('n');
  if (at == std::string_view::npos) return {word, {}};
  std::string_view name = word.substr(at + 1);
  while (name.starts_with('"') || name.starts_with('\\')) name.remove_prefix(1);
  while (name.ends_with('"') || name.ends_with('\\')) name.remove_suffix(1);
  std::string_view problem = word.substr(0, at);
  while (problem.ends_with('_')) problem.remove_suffix(1);
  return {problem, name};
}

class BenchdnnReader {
 public:
  BenchdnnReader(const std::string& driver, Imports& imports) : given_(driver), imports_(imports) {}

  Status ReadBatch(const fs::path& file, int depth) {
    const auto text = ReadStream(file);
    if (!text) return tl::unexpected(text.error());
    if (FindNonText(*text) != std::string_view::npos) {
      return UsageError(fmt::format("{}: not a text file; give files of benchdnn's inputs folder", file.string()));
    }
    if (depth == 0) SetDriver(!given_.empty() ? given_ : file.parent_path().filename().string());
    const bool is_output = text->find(kResultMark) != std::string::npos;
    size_t number = 0;
    std::string begun;  // a line that goes on behind '\\': its last word does too, unless an option follows
    for (const std::string_view part : Split(*text, '\n')) {
      const std::string where = fmt::format("{}:{}", file.string(), ++number);
      const std::string_view rest = Trim(part.substr(0, part.find('\r')));
      if (rest.starts_with('#')) continue;
      if (!begun.empty() && rest.starts_with('-')) begun += ' ';
      const std::string whole = std::exchange(begun, "") + std::string(rest);
      std::string_view line = whole;
      if (line.ends_with('\\')) {
        begun = Trim(line.substr(0, line.size() - 1));
        continue;
      }
      if (const size_t mark = line.find(kResultMark); mark != std::string_view::npos) {
        options_.clear();
        line.remove_prefix(mark + kResultMark.size());
      } else if (is_output) {
        continue;
      }
      ReadLine(line, where, file, depth);
    }
    return {};
  }

 private:
  void ReadLine(std::string_view line, const std::string& where, const fs::path& file, int depth) {
    for (std::string_view word : Split(line, ' ')) {
      word = Trim(word);
      if (word.empty()) continue;
      if (word.starts_with('#')) return;
      if (word.starts_with("--batch=")) {
        Include(word.substr(8), where, file, depth);
      } else if (word.starts_with('-')) {
        ReadOption(word);
      } else if (!word.ends_with("benchdnn")) {
        TakeProblem(word, where);
      }
    }
  }

  void SetDriver(std::string_view name) {
    driver_ = FindBenchdnnDriver(name);
    options_.clear();
  }

  void ReadOption(std::string_view word) {
    word.remove_prefix(word.starts_with("--") ? 2 : 1);
    const size_t equals = word.find('=');
    std::string name(word.substr(0, equals));
    std::ranges::replace(name, '_', '-');
    if (equals == std::string_view::npos && FindBenchdnnDriver(name) != nullptr) return SetDriver(name);
    if (name == "reset") return options_.clear();
    const std::string_view text = equals == std::string_view::npos ? "" : word.substr(equals + 1);
    if (!Counts(name) && name.starts_with("attr-") && !BenchdnnLeavesResult(name)) name = "attr-others";
    if (!Counts(name)) return imports_.PassOver("--" + name, BenchdnnLeavesResult(name));
    if (text.empty()) {  // its default again
      options_.erase(name);
      return;
    }
    std::vector<std::string>& values = options_[name];
    values.clear();
    for (const std::string_view value : Split(text, ',')) {
      std::string meaning = BenchdnnMeaning(name, value);
      if (std::ranges::find(values, meaning) == values.end()) values.push_back(std::move(meaning));
    }
  }

  bool Counts(const std::string& name) const {
    if (driver_ == nullptr) return false;
    return std::ranges::any_of(driver_->options, [&](const auto& option) { return option.first == name; });
  }

  // Beside the file, or in the driver's folder beside it or above, as benchdnn looks for them.
  fs::path Find(std::string_view name, const fs::path& file) const {
    const fs::path folder = file.parent_path();
    std::vector<fs::path> places = {folder / name, name};
    if (driver_ != nullptr) {
      places.push_back(folder / driver_->name / name);
      places.push_back(folder.parent_path() / driver_->name / name);
    }
    std::error_code error;
    for (const fs::path& place : places) {
      if (fs::is_regular_file(place, error)) return place;
    }
    return {};
  }

  void Include(std::string_view name, const std::string& where, const fs::path& file, int depth) {
    const ForeignCase from{where, fmt::format("--batch={}", name)};
    const fs::path found = Find(name, file);
    if (found.empty()) return imports_.Refuse(from, "a batch file that is not there");
    if (depth + 1 > kMostIncludes)
      return imports_.Refuse(from, "batch files that include each other more than 16 deep");
    if (auto read = ReadBatch(found, depth + 1); !read) imports_.Refuse(from, "a batch file that cannot be read");
  }

  void TakeProblem(std::string_view word, const std::string& where) {
    const ForeignCase from{where, std::string(word)};
    if (driver_ == nullptr) {
      return imports_.Refuse(from, "no driver: give --driver NAME, such as matmul, for files that name none");
    }
    if (driver_->map == nullptr)
      return imports_.Refuse(from, fmt::format("driver {}: no operator for it", driver_->name));
    size_t choices = 1;
    for (const auto& [name, values] : options_) choices = std::min(choices * values.size(), kMostChoices + 1);
    if (choices > kMostChoices) return imports_.Refuse(from, "more than 100000 combinations of options");
    BenchdnnChoice choice;
    Choose(0, word, from, choice);
  }

  // Goes through all choices of the options from this one on.
  void Choose(size_t option, std::string_view word, const ForeignCase& from, BenchdnnChoice& choice) {
    if (option == driver_->options.size()) return TakeChoice(word, from, choice);
    const auto& [name, usual] = driver_->options[option];
    const auto stated = options_.find(std::string(name));
    if (stated == options_.end()) {
      choice[std::string(name)] = BenchdnnMeaning(name, usual);
      return Choose(option + 1, word, from, choice);
    }
    for (const std::string& value : stated->second) {
      choice[std::string(name)] = value;
      Choose(option + 1, word, from, choice);
    }
  }

  void TakeChoice(std::string_view word, const ForeignCase& from, const BenchdnnChoice& choice) {
    std::string text = "--" + std::string(driver_->name);
    for (const auto& [name, usual] : driver_->options) {
      const std::string& value = choice.find(name)->second;
      if (value != BenchdnnMeaning(name, usual)) text += fmt::format(" --{}={}", name, value);
    }
    const auto [problem, label] = SplitProblem(word);
    imports_.Add({from.where, fmt::format("{} {}", text, word)}, MapBenchdnn(*driver_, choice, problem), label);
  }

  const std::string given_;
  Imports& imports_;
  const BenchdnnDriver* driver_ = nullptr;
  std::map<std::string, std::vector<std::string>> options_;  // that were stated, each value by its meaning
};

}  // namespace

Status ImportBenchdnn(const fs::path& file, const std::string& driver, Imports& imports) {
  if (!driver.empty() && FindBenchdnnDriver(driver) == nullptr) {
    return UsageError(
        fmt::format("--driver {}: benchdnn has no driver of this name; give matmul, conv, ip, softmax, "
                    "reduction, lnorm, gnorm or eltwise",
                    driver));
  }
  return BenchdnnReader(driver, imports).ReadBatch(file, 0);
}

}  // namespace assay
