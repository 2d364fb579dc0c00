// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/expectations.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

#include "harness/core/base/text.h"
#include "harness/core/base/whole_file.h"
#include "harness/plan/expectation_words.h"

namespace assay {
namespace {

constexpr std::string_view kFailureTable = "known_failure", kFlakeTable = "known_flake";

// A text of several lines is one in tables and reasons.
std::string JoinToOneLine(std::string_view text) {
  std::string out;
  for (const char c : Trim(text)) {
    const bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!space) out += c;
    if (space && !out.ends_with(' ')) out += ' ';
  }
  return out;
}

class ExpectationReader {
 public:
  ExpectationReader(const std::string& file, const OpCatalog& ops) : file_(file), ops_(ops) {}

  Result<ExpectationFile> Read(const toml::table& table) const {
    ExpectationFile result;
    for (const auto& [key, value] : table) {
      Status read;
      if (key.str() == kFailureTable || key.str() == kFlakeTable) {
        read = ReadRules(key.str(), value, result.rules);
      } else if (key.str() == "established") {
        read = EachWord(key.str(), value, [&](std::string_view word) {
          result.established.emplace_back(word);
          return Status();
        });
      } else {
        read = At(key.source(), UsageError(fmt::format("no key '{}'; known: established, and lists of rules, "
                                                       "[[known_failure]] and [[known_flake]]",
                                                       key.str())));
      }
      if (!read) return tl::unexpected(read.error());
    }
    // The first rule that covers a result decides, whichever of the two lists it is in.
    std::ranges::stable_sort(result.rules, {}, &Expectation::line);
    if (auto unique = CheckIds(result.rules); !unique) return tl::unexpected(unique.error());
    return result;
  }

  Status At(const toml::source_region& place, const Status& status) const {
    if (status) return status;
    return UsageError(fmt::format("{}:{}: {}", file_, place.begin.line, status.error().message));
  }

 private:
  Status ReadRules(std::string_view kind, const toml::node& node, std::vector<Expectation>& rules) const {
    if (!node.is_array_of_tables()) {
      return At(node.source(), UsageError(fmt::format("'{}' must be a list of tables; write [[{}]]", kind, kind)));
    }
    for (const toml::node& table : *node.as_array()) {
      auto rule = ReadRule(*table.as_table());
      if (!rule) return tl::unexpected(rule.error());
      rule->flake = kind == kFlakeTable;
      rules.push_back(*std::move(rule));
    }
    return {};
  }

  Result<Expectation> ReadRule(const toml::table& table) const {
    Expectation rule;
    rule.line = static_cast<int>(table.source().begin.line);
    rule.where = fmt::format("{}:{}", file_, rule.line);
    for (const auto& [key, value] : table) {
      const auto* shows = key.str() == "shows" ? value.as_table() : nullptr;
      Status read = shows == nullptr ? ReadKey(std::string(key.str()), key, value, rule) : Status();
      if (shows != nullptr) {
        for (const auto& [part, shown] : *shows) {
          if (read) read = ReadKey(fmt::format("shows.{}", part.str()), part, shown, rule);
        }
      }
      if (!read) return tl::unexpected(read.error());
    }
    if (auto complete = At(table.source(), CheckComplete(rule)); !complete) return tl::unexpected(complete.error());
    for (const AttrCondition& condition : rule.attrs) {
      if (auto known = CheckCondition(condition, rule); !known) {
        return UsageError(fmt::format("{}: {}", condition.where, known.error().message));
      }
    }
    return rule;
  }

  Status ReadKey(const std::string& name, const toml::key& key, const toml::node& value, Expectation& rule) const {
    if (TakesWords(name)) return ReadWords(name, value, rule);
    if (name == "expires") return ReadExpiry(value, rule);
    std::string* const place = TextOf(name, rule);
    if (place == nullptr) {
      return At(key.source(), UsageError(fmt::format("no key '{}' in a rule; known: {}", name, KnownKeys())));
    }
    const auto text = value.value_exact<std::string>();
    if (!text) return At(value.source(), UsageError(fmt::format("'{}' takes a text in quotes", name)));
    *place = JoinToOneLine(*text);
    return At(value.source(), CheckText(name, *place));
  }

  Status ReadWords(const std::string& name, const toml::node& value, Expectation& rule) const {
    return EachWord(name, value, [&](std::string_view word) {
      const size_t before = rule.attrs.size();
      const Status added = AddWord(name, word, ops_, rule);
      for (size_t i = before; i < rule.attrs.size(); ++i) {
        rule.attrs[i].where = fmt::format("{}:{}", file_, value.source().begin.line);
      }
      return added;
    });
  }

  // One text, or a list of texts.
  template <class F>
  Status EachWord(std::string_view name, const toml::node& value, const F& add) const {
    const auto one = [&](const toml::node& node) {
      const auto text = node.value_exact<std::string>();
      if (text && !Trim(*text).empty()) return At(node.source(), add(Trim(*text)));
      if (text) return At(node.source(), UsageError(fmt::format("'{}' has an empty text; leave it out", name)));
      return At(node.source(), UsageError(fmt::format("'{}' takes texts in quotes: \"a\" or [\"a\", \"b\"]", name)));
    };
    const toml::array* const list = value.as_array();
    if (list == nullptr) return one(value);
    if (list->empty())
      return At(value.source(),
                UsageError(fmt::format("'{}' is an empty list, which nothing matches; leave the key out", name)));
    for (const toml::node& node : *list) {
      if (auto added = one(node); !added) return added;
    }
    return {};
  }

  Status ReadExpiry(const toml::node& value, Expectation& rule) const {
    const auto date = value.value_exact<toml::date>();
    if (!date) return At(value.source(), UsageError("'expires' takes a date without quotes: expires = 2027-03-31"));
    rule.expires = fmt::format("{:04}-{:02}-{:02}", date->year, date->month, date->day);
    return {};
  }

  static Status CheckIds(const std::vector<Expectation>& rules) {
    for (const Expectation& rule : rules) {
      const auto first = std::ranges::find(rules, rule.id, &Expectation::id);
      if (&*first == &rule) continue;
      return UsageError(fmt::format("{}: the id '{}' is that of {}", rule.where, rule.id, first->where));
    }
    return {};
  }

  const std::string& file_;
  const OpCatalog& ops_;
};

}  // namespace

Result<ExpectationFile> ParseExpectations(std::string_view text, const std::string& file, const OpCatalog& ops) {
  const ExpectationReader reader(file, ops);
  try {
    return reader.Read(toml::parse(text, file));
  } catch (const toml::parse_error& e) {
    return tl::unexpected(reader.At(e.source(), UsageError(fmt::format("not TOML: {}", e.description()))).error());
  }
}

Result<ExpectationFile> LoadExpectations(const std::string& path, const OpCatalog& ops) {
  const auto text = ReadStream(path);
  if (text) return ParseExpectations(*text, path, ops);
  return UsageError(fmt::format("cannot read the expectations file {}; check the path", text.error().message));
}

}  // namespace assay
