// SPDX-License-Identifier: Apache-2.0
// A JSON file whose last member is a long list, written and read element by element: as values in memory, all elements
// together take many times their text.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "harness/core/base/json.h"
#include "harness/core/base/text_sink.h"

namespace assay {

class JsonListWriter {
 public:
  // `frame`: the object, whose last member is an empty list. What is written is what DumpJson makes of the whole.
  // `write` outlives this.
  JsonListWriter(const Json& frame, int indent, const TextSink& write);
  void Add(const Json& element);
  void End();

 private:
  const TextSink& write_;
  const int indent_;
  std::string rest_;  // of the frame, behind the list's bracket
  bool any_ = false;
};

// The object that `text` is, with an empty list in the place of the one that `key` names, whose elements, which have to
// be objects, `take` is given one after the other. What is no JSON becomes a discarded value, as in ParseJson.
Json ParseJsonList(std::string_view text, const std::string& key, const std::function<void(const Json&)>& take);

}  // namespace assay
