// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/suite_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/core/base/amounts.h"
#include "harness/core/base/text.h"
#include "harness/core/data/fill/fill.h"
#include "harness/core/model/contract.h"

namespace assay {
namespace {

// A typo such as m=1|2|... in every key must not fill the memory.
constexpr size_t kMaxCasesPerLine = 100'000;

// Keys that vary together, and what they take: m=512|1024 or {m,n}={1,2}|{3,4}.
struct Axis {
  std::vector<Word> keys;
  std::vector<std::vector<Word>> alternatives;  // one value per key
};

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::vector<Word> SplitWord(Word word, char separator) {
  std::vector<Word> parts;
  for (std::string_view part : Split(word.text, separator)) {
    parts.push_back({part, word.column + static_cast<size_t>(part.data() - word.text.data())});
  }
  return parts;
}

bool IsBraced(std::string_view text) {
  return text.size() >= 2 && text.starts_with('{') && text.ends_with('}');
}

// {a,b} -> a b. Precondition: IsBraced.
std::vector<Word> SplitBraces(Word word) {
  return SplitWord({word.text.substr(1, word.text.size() - 2), word.column + 1}, ',');
}

Result<Axis> ParseAxis(const SuiteLine& line, Word word) {
  const size_t equals = word.text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return line.Fail(word.column,
                     fmt::format("'{}' is not key=value; write it like m=512|1024 or {{m,n}}={{1,2}}|{{3,4}}, "
                                 "without spaces inside",
                                 word.text));
  }
  const Word left{word.text.substr(0, equals), word.column};
  const Word right{word.text.substr(equals + 1), word.column + equals + 1};
  const bool group = left.text.starts_with('{');
  if (group && !IsBraced(left.text)) {
    return line.Fail(left.column, fmt::format("'{}' has no closing '}}'; write {{m,n}}={{1,2}}|{{3,4}}", left.text));
  }
  Axis axis{group ? SplitBraces(left) : std::vector<Word>{left}, {}};
  for (const Word& alternative : SplitWord(right, '|')) {
    if (alternative.text.empty()) {
      return line.Fail(alternative.column,
                       fmt::format("{} has an empty value; write {}=VALUE|VALUE", left.text, left.text));
    }
    if (group && !IsBraced(alternative.text)) {
      return line.Fail(alternative.column,
                       fmt::format("'{}' is one value for {} keys; write {{...}} with one value each", alternative.text,
                                   axis.keys.size()));
    }
    if (!group && alternative.text.find_first_of("{}") != std::string_view::npos) {
      return line.Fail(alternative.column,
                       fmt::format("'{}' is a group of values for one key; write the values without "
                                   "braces, joined by '|'",
                                   alternative.text));
    }
    std::vector<Word> values = group ? SplitBraces(alternative) : std::vector<Word>{alternative};
    if (values.size() != axis.keys.size()) {
      return line.Fail(alternative.column,
                       fmt::format("{} has {} for the {} keys {}; give one each", alternative.text,
                                   Counted(std::ssize(values), "value"), axis.keys.size(), left.text));
    }
    axis.alternatives.push_back(std::move(values));
  }
  return axis;
}

// Puts key=value into the spec, or says why not.
Status SetValue(const OpSchema& schema, std::string_view key, std::string_view value, CaseSpec& spec) {
  if (key == "dtypes") {
    auto dtypes = ParseDTypeList(value);
    if (dtypes) dtypes = CanonicalDTypes(*std::move(dtypes), schema);
    if (!dtypes) return tl::unexpected(dtypes.error());
    spec.dtypes = *std::move(dtypes);
  } else if (key == "fill") {
    if (const auto fill = ParseFill(value); !fill) return tl::unexpected(fill.error());
    spec.fill = value;
  } else if (key == "seed") {
    const auto seed = ParseNumber<uint64_t>(value);
    if (!seed) return UsageError(fmt::format("seed={} is not an integer in [0, 2^64)", value));
    spec.seed = *seed;
  } else {
    Result<std::string> canonical = CanonicalValue(*schema.Find(key), value);
    if (!canonical) return tl::unexpected(canonical.error());
    spec.attrs.emplace_back(key, *std::move(canonical));
  }
  return {};
}

// Every key known and given once, every value good by itself; so that an error can point at the very word.
Status CheckAxes(const SuiteLine& line, const OpSchema& schema, const std::vector<Axis>& axes) {
  std::vector<std::string_view> seen;
  for (const Axis& axis : axes) {
    for (size_t i = 0; i < axis.keys.size(); ++i) {
      const auto& [key, column] = axis.keys[i];
      const bool common = key == "dtypes" || key == "fill" || key == "seed";
      if (!common && schema.Find(key) == nullptr) {
        std::string known;
        for (const AttrDef& def : schema.attrs) known += def.key + " ";
        return line.Fail(column, fmt::format("{} has no key '{}'; it takes dtypes {}fill seed", schema.op, key, known));
      }
      if (std::ranges::find(seen, key) != seen.end()) {
        return line.Fail(column, fmt::format("key '{}' is given twice; join the values by '|'", key));
      }
      seen.push_back(key);
      for (const std::vector<Word>& alternative : axis.alternatives) {
        CaseSpec scratch;
        const Status status = SetValue(schema, key, alternative[i].text, scratch);
        if (!status) return line.Fail(alternative[i].column, status.error().message);
      }
    }
  }
  if (std::ranges::find(seen, "dtypes") == seen.end()) {
    return line.Fail(line.words[0].column, fmt::format("{} needs dtypes=, such as dtypes=f32|bf16", schema.op));
  }
  return {};
}

// The column of the value that an operator's error is about: of the key that it names first as "key=".
size_t ColumnOf(std::string_view message, const SuiteLine& line, const std::vector<Axis>& axes, size_t index) {
  size_t column = line.words[0].column, first = message.size();
  for (size_t a = axes.size(); a-- > 0;) {  // the rightmost axis varies fastest
    const auto& values = axes[a].alternatives[index % axes[a].alternatives.size()];
    index /= axes[a].alternatives.size();
    for (size_t i = 0; i < values.size(); ++i) {
      const std::string key = fmt::format("{}=", axes[a].keys[i].text);
      size_t at = message.find(key);
      while (at != std::string_view::npos && at > 0 && IsNameCharacter(message[at - 1])) at = message.find(key, at + 1);
      if (at >= first) continue;
      first = at;
      column = values[i].column;
    }
  }
  return column;
}

Result<std::vector<PlannedCase>> CrossProduct(const SuiteLine& line, const OpSchema& schema,
                                              const std::vector<Axis>& axes, const OpCatalog& ops) {
  size_t count = 1;
  for (const Axis& axis : axes) {
    count *= axis.alternatives.size();
    if (count <= kMaxCasesPerLine) continue;
    return line.Fail(line.words[0].column, fmt::format("the line expands to more than {} cases; split it or give fewer "
                                                       "values",
                                                       kMaxCasesPerLine));
  }
  std::vector<PlannedCase> cases;
  for (size_t index = 0; index < count; ++index) {
    CaseSpec spec{.op = schema.op};
    size_t stride = count;
    for (const Axis& axis : axes) {
      stride /= axis.alternatives.size();
      const auto& values = axis.alternatives[index / stride % axis.alternatives.size()];
      for (size_t i = 0; i < axis.keys.size(); ++i) {
        const Status status = SetValue(schema, axis.keys[i].text, values[i].text, spec);
        if (!status) return line.Fail(values[i].column, status.error().message);
      }
    }
    Result<CaseSpec> canonical = Canonicalise(std::move(spec), schema);
    if (!canonical) return line.Fail(line.words[0].column, canonical.error().message);
    const Result<SharedCase> bound = ops.bind ? ops.bind(*canonical) : SharedCase();
    if (!bound) {
      const std::string& message = bound.error().message;
      return line.Fail(ColumnOf(message, line, axes, index), message);
    }
    cases.push_back({.spec = *std::move(canonical)});
  }
  return cases;
}

}  // namespace

std::string SuiteLine::Where() const {
  return fmt::format("{}:{}", file, number);
}

tl::unexpected<Error> SuiteLine::Fail(size_t column, std::string_view message) const {
  return UsageError(fmt::format("{}:{}:{}: {}", file, number, column, message));
}

std::vector<Word> SplitWords(std::string_view line) {
  std::vector<Word> words;
  for (size_t begin = 0; (begin = line.find_first_not_of(" \t\r", begin)) != std::string_view::npos;) {
    if (line[begin] == '#') break;
    const size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.push_back({line.substr(begin, end - begin), begin + 1});
    begin = end;
  }
  return words;
}

namespace {

// The cases of one of the operators that begin the line.
Result<std::vector<PlannedCase>> ExpandFamilyOf(const Word& op, const SuiteLine& line, const OpCatalog& ops) {
  const OpSchema* schema = ops.find(op.text);
  if (op.text == "cover") {
    return line.Fail(op.column,
                     fmt::format("suites hold their cases one by one; assay list cases --suite covering --op {} lists "
                                 "cases with all pairs and threes",
                                 line.words.size() > 2 ? line.words[2].text : "matmul"));
  }
  if (schema == nullptr) {
    return line.Fail(
        op.column,
        fmt::format("'{}' is neither an operator nor one of include, others, require, sample, scale, tag, thorough, "
                    "timed; {}",
                    op.text, KnownOperators(op.text, ops)));
  }
  std::vector<Axis> axes;
  for (size_t i = 1; i < line.words.size(); ++i) {
    Result<Axis> axis = ParseAxis(line, line.words[i]);
    if (!axis) return tl::unexpected(axis.error());
    axes.push_back(*std::move(axis));
  }
  if (Status status = CheckAxes(line, *schema, axes); !status) return tl::unexpected(status.error());
  return CrossProduct(line, *schema, axes, ops);
}

}  // namespace

Result<std::vector<PlannedCase>> ExpandFamily(const SuiteLine& line, const OpCatalog& ops) {
  std::vector<PlannedCase> all;
  size_t column = line.words[0].column;
  for (const std::string_view name : Split(line.words[0].text, '|')) {
    Result<std::vector<PlannedCase>> family = ExpandFamilyOf({name, column}, line, ops);
    if (!family) return family;
    std::ranges::move(*family, std::back_inserter(all));
    column += name.size() + 1;
  }
  return all;
}

}  // namespace assay
