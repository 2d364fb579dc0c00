// SPDX-License-Identifier: Apache-2.0
#include "harness/base/json_text.h"

#include <nlohmann/json.hpp>

namespace assay {
namespace {

// Pointers for every caller: each type of iterator is a parser of its own.
template <class Json>
Json Parse(std::string_view text) {
  return Json::parse(text.data(), text.data() + text.size(), nullptr, /*allow_exceptions=*/false);
}

}  // namespace

nlohmann::json ParseJson(std::string_view text) {
  return Parse<nlohmann::json>(text);
}

nlohmann::ordered_json ParseOrderedJson(std::string_view text) {
  return Parse<nlohmann::ordered_json>(text);
}

bool IsJson(std::string_view text) {
  return !ParseJson(text).is_discarded();
}

template <class Json>
std::string DumpJson(const Json& value, int indent) {
  return value.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}
template std::string DumpJson(const nlohmann::json&, int);
template std::string DumpJson(const nlohmann::ordered_json&, int);

}  // namespace assay
