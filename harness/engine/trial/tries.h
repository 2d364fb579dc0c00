// SPDX-License-Identifier: Apache-2.0
// How one result ended, try after try.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/model/record.h"
#include "harness/judge/verdict.h"

namespace assay {

class Tries {
 public:
  Tries() = default;

  // Reads the tries of a record; a record without any starts with its verdict.
  explicit Tries(const Record& record);

  void Add(Verdict verdict);

  int64_t count() const;
  int64_t failed() const;  // that neither passed nor were inconclusive
  bool Differ() const;     // in how they ended; whether a pass is inconclusive does not count

  // "pass*16,mismatch,pass*3": in their order, as far as the first 64 changes go; what came after those is summed up by
  // verdict, behind a ';': "...;pass*900,mismatch*7".
  std::string Text() const;

  // "19 pass, 1 mismatch"
  std::string Counts() const;

  // Fills the record's fields about tries.
  void Describe(Record& record) const;

 private:
  struct Run {
    Verdict verdict = Verdict::kPass;
    int64_t count = 0;
  };
  void Add(Verdict verdict, int64_t count);
  bool Parse(const std::string& text);

  std::vector<Run> in_order_;
  std::vector<Run> later_;  // each verdict once
};

}  // namespace assay
