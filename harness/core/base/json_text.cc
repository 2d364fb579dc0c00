// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/json_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace assay {
namespace {

bool OpensOrCloses(char c, char bracket, char brace) {
  return c == bracket || c == brace;
}

}  // namespace

// Brackets inside of strings do not count. A text with few of them, as records have, need not be read for it.
bool IsNestedTooDeep(std::string_view text) {
  const auto opening = [](char c) { return OpensOrCloses(c, '[', '{'); };
  if (static_cast<size_t>(std::ranges::count_if(text, opening)) <= kMostNestedJson) return false;
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && opening(c)) {
      if (++depth > kMostNestedJson) return true;
    } else if (!in_string && depth > 0 && OpensOrCloses(c, ']', '}')) {
      --depth;
    }
  }
  return false;
}

// Pointers in both: each type of iterator is a parser of its own.
Json ParseJson(std::string_view text) {
  if (IsNestedTooDeep(text)) return Json(Json::value_t::discarded);
  return Json::parse(text.data(), text.data() + text.size(), nullptr, /*allow_exceptions=*/false);
}

bool IsJson(std::string_view text) {
  return !IsNestedTooDeep(text) && Json::accept(text.data(), text.data() + text.size());
}

std::string DumpJson(const Json& value, int indent) {
  return value.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

const Json& MemberIn(const Json& object, const char* key) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto it = object.find(key);
  return it == object.end() ? none : *it;
}

std::string TextIn(const Json& object, const char* key) {
  const Json& member = MemberIn(object, key);
  return member.is_string() ? member.get<std::string>() : "";
}

const Json& ListIn(const Json& object, const char* key) {
  static const Json none = Json::array();
  const Json& member = MemberIn(object, key);
  return member.is_array() ? member : none;
}

}  // namespace assay
