// SPDX-License-Identifier: Apache-2.0
// Members of a JSON object from a file that somebody may have changed, each asked for by its kind. The first one that
// is missing or of another kind becomes the problem, as "evidence.json: draws[1].secret is 3, and has to be a text";
// what is asked for is then empty, and so is all that is asked for later.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/base/json.h"

namespace assay {

class JsonFields {
 public:
  // `place` names the file. Refers to `value`.
  JsonFields(const Json& value, std::string place);
  JsonFields(const JsonFields&) = delete;
  JsonFields& operator=(const JsonFields&) = delete;

  enum class Absent { kIsWrong, kIsFine };
  std::string Text(std::string_view key, Absent absent = Absent::kIsWrong);
  int64_t Integer(std::string_view key, std::optional<int64_t> absent = {});  // `absent`: where it is; none: wrong
  bool Flag(std::string_view key);                                            // absent: false
  std::vector<std::string> Texts(std::string_view key, Absent absent = Absent::kIsWrong);
  std::vector<int64_t> Integers(std::string_view key);  // absent: none
  // Calls take(fields) for each object of a list, or for the one that the key names.
  using Take = std::function<void(JsonFields& fields)>;
  void VisitList(std::string_view key, const Take& take, Absent absent = Absent::kIsWrong);
  void VisitObject(std::string_view key, const Take& take, Absent absent = Absent::kIsWrong);
  // Refuses members that are none of these: a slip of the pen would change nothing, and nobody would notice.
  void RefuseOthers(std::initializer_list<std::string_view> keys);
  // The texts of all members of the object, by name.
  void VisitTexts(const std::function<void(const std::string& key, const std::string& text)>& take);

  const std::string& problem() const { return *problem_; }  // "" where there is none

 private:
  JsonFields(const Json& value, std::string place, std::string* problem);
  const Json* Find(std::string_view key, Absent absent);
  bool Expect(bool is_of_kind, const Json& value, std::string_view key, std::string_view kind);
  std::string PlaceOf(std::string_view key) const;

  const Json& value_;
  const std::string place_;  // "plan.json", or "plan.json: devices[0]"
  std::string own_problem_;
  std::string* const problem_;
};

}  // namespace assay
