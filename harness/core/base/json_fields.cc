// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/json_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/core/base/json_text.h"

namespace assay {
namespace {

constexpr size_t kMostShown = 60;  // bytes of a value in a message

std::string Shown(const Json& value) {
  const std::string text = value.is_discarded() ? "no JSON" : DumpJson(value);
  return text.size() <= kMostShown ? text : text.substr(0, kMostShown) + "...";
}

bool IsInteger(const Json& number) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  return number.is_number_unsigned() ? number.get<uint64_t>() <= kMost : number.is_number_integer();
}

}  // namespace

JsonFields::JsonFields(const Json& value, std::string place) : JsonFields(value, std::move(place), &own_problem_) {}

JsonFields::JsonFields(const Json& value, std::string place, std::string* problem)
    : value_(value), place_(std::move(place)), problem_(problem) {
  if (problem_->empty() && !value_.is_object()) {
    *problem_ = fmt::format("{} is {}, and has to be an object", place_, Shown(value_));
  }
}

std::string JsonFields::PlaceOf(std::string_view key) const {
  return fmt::format("{}{}{}", place_, place_.find(": ") == place_.npos ? ": " : ".", key);
}

const Json* JsonFields::Find(std::string_view key, Absent absent) {
  if (!problem_->empty()) return nullptr;
  const auto it = value_.find(std::string(key));
  if (it != value_.end()) return &*it;
  if (absent == Absent::kIsWrong) *problem_ = fmt::format("{} is missing", PlaceOf(key));
  return nullptr;
}

bool JsonFields::Expect(bool is_of_kind, const Json& value, std::string_view key, std::string_view kind) {
  if (!is_of_kind) *problem_ = fmt::format("{} is {}, and has to be {}", PlaceOf(key), Shown(value), kind);
  return is_of_kind;
}

std::string JsonFields::Text(std::string_view key, Absent absent) {
  const Json* found = Find(key, absent);
  return found != nullptr && Expect(found->is_string(), *found, key, "a text") ? found->get<std::string>() : "";
}

int64_t JsonFields::Integer(std::string_view key, std::optional<int64_t> absent) {
  const Json* found = Find(key, absent ? Absent::kIsFine : Absent::kIsWrong);
  if (found == nullptr || !Expect(IsInteger(*found), *found, key, "an integer")) return absent.value_or(0);
  return found->get<int64_t>();
}

std::vector<int64_t> JsonFields::Integers(std::string_view key) {
  std::vector<int64_t> integers;
  const Json* found = Find(key, Absent::kIsFine);
  if (found == nullptr || !Expect(found->is_array(), *found, key, "a list")) return integers;
  for (size_t i = 0; i < found->size(); ++i) {
    const Json& one = (*found)[i];
    if (!Expect(IsInteger(one), one, fmt::format("{}[{}]", key, i), "an integer")) return {};
    integers.push_back(one.get<int64_t>());
  }
  return integers;
}

bool JsonFields::Flag(std::string_view key) {
  const Json* found = Find(key, Absent::kIsFine);
  return found != nullptr && Expect(found->is_boolean(), *found, key, "true or false") && found->get<bool>();
}

std::vector<std::string> JsonFields::Texts(std::string_view key, Absent absent) {
  std::vector<std::string> texts;
  const Json* found = Find(key, absent);
  if (found == nullptr || !Expect(found->is_array(), *found, key, "a list")) return texts;
  for (size_t i = 0; i < found->size(); ++i) {
    const Json& text = (*found)[i];
    if (!Expect(text.is_string(), text, fmt::format("{}[{}]", key, i), "a text")) return {};
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

void JsonFields::VisitList(std::string_view key, const Take& take, Absent absent) {
  const Json* found = Find(key, absent);
  if (found == nullptr || !Expect(found->is_array(), *found, key, "a list")) return;
  for (size_t i = 0; i < found->size() && problem_->empty(); ++i) {
    JsonFields fields((*found)[i], PlaceOf(fmt::format("{}[{}]", key, i)), problem_);
    if (problem_->empty()) take(fields);
  }
}

void JsonFields::VisitObject(std::string_view key, const Take& take, Absent absent) {
  const Json* found = Find(key, absent);
  if (found == nullptr) return;
  JsonFields fields(*found, PlaceOf(key), problem_);
  if (problem_->empty()) take(fields);
}

void JsonFields::RefuseOthers(std::initializer_list<std::string_view> keys) {
  if (!problem_->empty()) return;
  for (const auto& [key, value] : value_.items()) {
    if (std::ranges::find(keys, key) != keys.end()) continue;
    *problem_ = fmt::format("{} is no member that is known; there are {}", PlaceOf(key), fmt::join(keys, ", "));
    return;
  }
}

void JsonFields::VisitTexts(const std::function<void(const std::string&, const std::string&)>& take) {
  if (!problem_->empty()) return;
  for (const auto& [key, value] : value_.items()) {
    if (!Expect(value.is_string(), value, key, "a text")) return;
    take(key, value.get<std::string>());
  }
}

}  // namespace assay
