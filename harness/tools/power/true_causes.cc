// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/power/true_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "harness/core/base/glob.h"
#include "harness/core/base/text.h"
#include "harness/plan/selection.h"

namespace assay {
namespace {

// Lines of other parts come first, since globs of the tuned one are wide.
constexpr const char *kList = "causes.txt",
                     *kListsOfOtherParts[] = {"held_causes.txt", "fresh_causes.txt", "later_causes.txt"};
constexpr std::string_view kNone = "none";

bool MatchesAny(const std::vector<std::string>& globs, std::string_view text) {
  return std::ranges::any_of(globs, [&](const std::string& glob) { return MatchesGlob(glob, text); });
}

// "OPERATORS FAULTS KIND NAME | NAME | ~HINT"
Result<TrueCause> ParseLine(std::string_view line) {
  TrueCause cause;
  for (std::string* word : {&cause.ops, &cause.faults, &cause.kind}) {
    const size_t end = std::min(line.find(' '), line.size());
    *word = line.substr(0, end);
    line = Trim(line.substr(end));
  }
  if (line.empty()) {
    return UsageError(
        "is not an operator, a fault, a kind of cause and the names of its cause; write 'none' for no name");
  }
  for (std::string_view name : Split(line, '|')) {
    name = Trim(name);
    if (name.starts_with('~')) {
      cause.hints.emplace_back(name.substr(1));
    } else if (name != kNone) {
      cause.names.emplace_back(name);
    }
  }
  return cause;
}

Status AddLines(const std::filesystem::path& list, std::vector<TrueCause>& causes) {
  std::ifstream file(list);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line.starts_with('#')) continue;
    auto cause = ParseLine(line);
    if (!cause) return UsageError(fmt::format("{}:{}: '{}' {}", list.string(), number, line, cause.error().message));
    causes.push_back(*std::move(cause));
  }
  return {};
}

}  // namespace

Result<TrueCauses> TrueCauses::Read(const std::filesystem::path& plugin) {
  const std::filesystem::path folder = plugin.parent_path();
  if (!std::filesystem::exists(folder / kList)) {
    return UsageError(
        fmt::format("cannot read {}, the true causes of the corpus' faults: copy it from tests/faults/corpus",
                    (folder / kList).string()));
  }
  TrueCauses causes;
  std::vector<const char*> lists(std::begin(kListsOfOtherParts), std::end(kListsOfOtherParts));
  lists.push_back(kList);
  for (const char* list : lists) {
    if (Status read = AddLines(folder / list, causes.lines_); !read) return tl::unexpected(read.error());
  }
  return causes;
}

const TrueCause* TrueCauses::Find(std::string_view op, std::string_view fault) const {
  const auto found = std::ranges::find_if(
      lines_, [&](const TrueCause& line) { return MatchesGlob(line.ops, op) && MatchesGlob(line.faults, fault); });
  return found == lines_.end() ? nullptr : &*found;
}

Naming JudgeNaming(const TrueCause& truth, const std::vector<std::string>& named, std::string_view reason) {
  if (!named.empty() && MatchesAny(truth.names, named[0])) return Naming::kRight;
  const auto is_right = [&](const std::string& name) { return MatchesAny(truth.names, name); };
  if (std::ranges::any_of(named, is_right)) return Naming::kHinted;
  if (!named.empty()) return Naming::kWrong;
  return MatchesAny(truth.hints, reason) ? Naming::kHinted : Naming::kUnexplained;
}

bool IsCountedApart(std::string_view fault) {
  return InShard(fault, {0, 3});
}

}  // namespace assay
