// SPDX-License-Identifier: Apache-2.0
// Passports of a run (passports.json, which `assay fingerprint --run` writes): in which order and with which arithmetic
// its implementations add. Of results with other bits they tell whether the order alone is another one.
#pragma once

#include <map>
#include <string>

#include "harness/core/base/json.h"
#include "harness/core/base/result.h"
#include "harness/core/model/record.h"

namespace assay {

inline constexpr const char* kPassportsFile = "passports.json";

// "matmul/f32/m=8,n=8,k=64": a case without fill and seed, which say nothing of how it is computed.
std::string ProblemKey(const std::string& case_id);

struct SumPassport {
  std::string tree_hash, order;                   // "5998ea1e66d36ade", "4 blocks, each one after the other"
  std::map<std::string, std::string> arithmetic;  // by field: "sum_bits": "24"
  std::string library;                            // its version
  bool tells_all = false;                         // every call gave the bits that this predicts
};

class RunPassports {
 public:
  // Errors: a document that assay fingerprint did not write. Passports without an order are left out.
  static Result<RunPassports> Read(const Json& document);

  // nullptr: there is none of this problem, device, implementation and version of the library.
  const SumPassport* Find(const Record& record) const;

 private:
  std::map<std::string, SumPassport> passports_;
};

struct BitsExplanation {
  bool is_reordered = false;  // same arithmetic, other order
  std::string text;
};
BitsExplanation ExplainOtherBits(const SumPassport& base, const SumPassport& now);

}  // namespace assay
