// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/expectations.h"

#include <fmt/format.h>

#include "harness/base/text.h"
#include "harness/base/whole_file.h"
#include "harness/plan/expectation_words.h"

namespace assay {
namespace {

std::string_view FirstWord(std::string_view line) {
  return line.substr(0, line.find_first_of(" \t"));
}

// Reads a file line by line; a rule of the long form is complete where the next line at the left edge begins.
class Parser {
 public:
  Parser(std::string file, const OpCatalog& ops) : file_(std::move(file)), ops_(ops) {}

  Status Line(std::string_view line, int number) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool indented = line.starts_with(' ') || line.starts_with('\t');
    line = Trim(line);
    if (line.empty() || line.front() == '#') return {};
    const std::string_view word = FirstWord(line), rest = Trim(line.substr(word.size()));
    if (!(indented && open_)) {
      if (auto ended = End(); !ended) return ended;
    }
    where_ = fmt::format("{}:{}", file_, number);
    if (open_) return At(AddToRule(word, rest));
    if (line.find('|') != std::string_view::npos) return ShortForm(line);
    if (word == "established") return At(AddEstablished(rest, result_.established));
    return At(BeginRule(word, rest));
  }

  // Of the rule before, and of the file.
  Status End() {
    if (!std::exchange(open_, false)) return {};
    const Expectation& rule = result_.rules.back();
    where_ = rule.where;
    if (const Status complete = CheckComplete(rule); !complete) return At(complete);
    for (const AttrCondition& condition : rule.attrs) {
      where_ = condition.where;
      if (const Status known = CheckCondition(condition, rule); !known) return At(known);
    }
    return {};
  }

  ExpectationFile Take() { return std::move(result_); }

 private:
  Status At(const Status& status) const {
    return status ? status : UsageError(fmt::format("{}: {}", where_, status.error().message));
  }

  Status AddToRule(std::string_view key, std::string_view rest) {
    Expectation& rule = result_.rules.back();
    const size_t before = rule.attrs.size();
    const Status added = AddLine(key, rest, ops_, rule);
    for (size_t i = before; i < rule.attrs.size(); ++i) rule.attrs[i].where = where_;
    return added;
  }

  Status BeginRule(std::string_view kind, std::string_view name) {
    auto rule = NewRule(kind, name);
    if (!rule) return tl::unexpected(rule.error());
    for (const Expectation& known : result_.rules) {
      if (known.name == name) return UsageError(fmt::format("the name '{}' is that of {}", name, known.where));
    }
    rule->where = where_;
    result_.rules.push_back(*std::move(rule));
    open_ = true;
    return {};
  }

  Status ShortForm(std::string_view line) {
    auto rule = ParseShortForm(line, ops_);
    if (!rule) return At(tl::unexpected(rule.error()));
    rule->where = where_;
    result_.rules.push_back(*std::move(rule));
    return {};
  }

  const std::string file_;
  const OpCatalog& ops_;
  std::string where_;
  bool open_ = false;  // the last rule may go on
  ExpectationFile result_;
};

}  // namespace

Result<ExpectationFile> ParseExpectations(std::string_view text, const std::string& file, const OpCatalog& ops) {
  Parser parser(file, ops);
  int number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    if (auto status = parser.Line(line, ++number); !status) return tl::unexpected(status.error());
  }
  if (auto status = parser.End(); !status) return tl::unexpected(status.error());
  return parser.Take();
}

Result<ExpectationFile> LoadExpectations(const std::string& path, const OpCatalog& ops) {
  const auto text = ReadStream(path);
  if (text) return ParseExpectations(*text, path, ops);
  return UsageError(fmt::format("cannot read the expectations file {}; check the path", text.error().message));
}

}  // namespace assay
