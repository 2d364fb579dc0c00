// SPDX-License-Identifier: Apache-2.0
// JSON values from text and back. The library's parser and writer are large templates: compiled here once, not in every
// folder.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "harness/core/base/json.h"

namespace assay {

// Arrays and objects within each other. Nothing that assay reads needs more, and who walks a value may recurse.
inline constexpr size_t kMostNestedJson = 64;
// Whether the text has more of them. The parsers below ask, and whoever has a parser of its own.
bool IsNestedTooDeep(std::string_view text);

// Text that is no JSON, or is nested too deep, becomes a discarded value, which is no object and no array.
Json ParseJson(std::string_view text);

bool IsJson(std::string_view text);

// In one line, or indented. Bytes that are not UTF-8 (of a file name, of a driver's text) become U+FFFD.
std::string DumpJson(const Json& value, int indent = -1);

// Members of an object that anybody may have written: null, "" and an empty list where there is none, or another kind
// of value. Whoever has to say what is wrong asks harness/core/base/json_fields.h.
const Json& MemberIn(const Json& object, const char* key);
std::string TextIn(const Json& object, const char* key);
const Json& ListIn(const Json& object, const char* key);

}  // namespace assay
