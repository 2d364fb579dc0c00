// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/json_list.h"

#include <nlohmann/json.hpp>

#include "harness/core/base/json_text.h"

namespace assay {
JsonListWriter::JsonListWriter(const Json& frame, int indent, const TextSink& write) : write_(write), indent_(indent) {
  const std::string text = DumpJson(frame, indent);
  const size_t behind = text.rfind("[]") + 1;
  write_(text.substr(0, behind));
  rest_ = text.substr(behind);
}

void JsonListWriter::Add(const Json& element) {
  // A line break in a text is written as \n: those that are there are of the layout.
  const std::string margin(2 * static_cast<size_t>(indent_), ' ');
  std::string text = (any_ ? ",\n" : "\n") + margin;
  for (const char c : DumpJson(element, indent_)) {
    text += c;
    if (c == '\n') text += margin;
  }
  write_(text);
  any_ = true;
}

void JsonListWriter::End() {
  write_((any_ ? "\n" + std::string(static_cast<size_t>(indent_), ' ') : "") + rest_);
}

Json ParseJsonList(std::string_view text, const std::string& key, const std::function<void(const Json&)>& take) {
  constexpr int kInList = 2;  // depth: the object, the list
  bool in_list = false;
  const auto see = [&](int depth, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::key && depth == 1) in_list = value == key;
    if (event != Json::parse_event_t::object_end || depth != kInList || !in_list) return true;
    take(value);
    return false;
  };
  if (IsNestedTooDeep(text)) return Json(Json::value_t::discarded);
  return Json::parse(text.data(), text.data() + text.size(), see, /*allow_exceptions=*/false);
}

}  // namespace assay
