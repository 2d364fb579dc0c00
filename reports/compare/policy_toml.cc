// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <toml++/toml.h>

#include <cmath>

#include "harness/core/base/whole_file.h"
#include "reports/compare/compare_policy.h"

namespace assay {
namespace {

class PolicyReader {
 public:
  explicit PolicyReader(const std::string& file) : file_(file) {}

  Result<ComparePolicy> Read(const toml::table& table) const {
    ComparePolicy policy;
    for (const auto& [key, value] : table) {
      if (key.str() == "rule") continue;
      auto setting = ReadSetting(key, value);
      if (!setting) return tl::unexpected(setting.error());
      policy.SetDefault(setting->key, setting->value);
    }
    const toml::node* rules = table.get("rule");
    if (rules == nullptr) return policy;
    if (!rules->is_array_of_tables()) return ErrorAt(rules->source(), "'rule' is no list of tables; write [[rule]]");
    for (const toml::node& node : *rules->as_array()) {
      auto rule = ReadRule(*node.as_table());
      if (!rule) return tl::unexpected(rule.error());
      policy.Add(std::move(*rule));
    }
    return policy;
  }

  tl::unexpected<Error> ErrorAt(const toml::source_region& where, const std::string& what) const {
    return UsageError(fmt::format("{}:{}:{}: {}", file_, where.begin.line, where.begin.column, what));
  }

 private:
  Result<ComparePolicy::Rule> ReadRule(const toml::table& table) const {
    ComparePolicy::Rule rule;
    rule.where = fmt::format("{}:{}", file_, table.source().begin.line);
    for (const auto& [key, value] : table) {
      std::string* glob = GlobOf(rule, key.str());
      if (glob != nullptr) {
        const auto text = value.value_exact<std::string>();
        if (!text || text->empty()) {
          return ErrorAt(value.source(), fmt::format("'{}' takes a glob in quotes, such as \"conv*\"", key.str()));
        }
        *glob = *text;
        continue;
      }
      auto setting = ReadSetting(key, value);
      if (!setting) return tl::unexpected(setting.error());
      rule.settings.push_back(std::move(*setting));
    }
    if (rule.settings.empty()) {
      return ErrorAt(table.source(), fmt::format("the rule sets nothing; known keys: {}", PolicyKeys()));
    }
    return rule;
  }

  static std::string* GlobOf(ComparePolicy::Rule& rule, std::string_view key) {
    if (key == "op") return &rule.op;
    if (key == "backend") return &rule.backend;
    if (key == "implementation") return &rule.implementation;
    return key == "case" ? &rule.case_id : nullptr;
  }

  Result<ComparePolicy::Setting> ReadSetting(const toml::key& key, const toml::node& value) const {
    const std::string name(key.str());
    const auto is_number = PolicyKeyIsNumber(name);
    if (!is_number) {
      return ErrorAt(key.source(), fmt::format("no key '{}'; known: {}, and in a [[rule]] op, backend, "
                                               "implementation, case",
                                               name, PolicyKeys()));
    }
    const auto flag = value.value_exact<bool>();
    if (!*is_number) {
      if (!flag) return ErrorAt(value.source(), fmt::format("'{}' takes true or false", name));
      return ComparePolicy::Setting{name, *flag ? 1.0 : 0.0};
    }
    if (flag && !*flag) return ComparePolicy::Setting{name, std::nullopt};
    const auto number = value.is_number() ? value.value<double>() : std::nullopt;
    if (!number || !std::isfinite(*number) || *number < 0) {
      return ErrorAt(value.source(),
                     fmt::format("'{}' takes a number from 0 up, or false to report without failing", name));
    }
    return ComparePolicy::Setting{name, *number};
  }

  const std::string& file_;
};

}  // namespace

Result<ComparePolicy> ParsePolicy(std::string_view text, const std::string& file) {
  const PolicyReader reader(file);
  try {
    return reader.Read(toml::parse(text, file));
  } catch (const toml::parse_error& e) {
    return reader.ErrorAt(e.source(), fmt::format("not TOML: {}", e.description()));
  }
}

Result<ComparePolicy> LoadPolicy(const std::string& path) {
  const auto text = ReadStream(path);
  if (text) return ParsePolicy(*text, path);
  return UsageError(fmt::format("cannot read the policy file {}; check the path", text.error().message));
}

}  // namespace assay
