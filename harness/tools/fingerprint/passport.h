// SPDX-License-Identifier: Apache-2.0
// How an implementation adds, measured by probes: order, accumulator, rounding, operands, subnormal numbers, and what
// stays the same from call to call.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/core/base/json.h"
#include "harness/core/model/contract.h"
#include "harness/tools/fingerprint/prober.h"
#include "harness/tools/fingerprint/slice_passport.h"

namespace assay {

struct Passport {
  std::string case_id, implementation, contract;
  std::optional<SumTree> order;
  std::string why_no_order;  // "" where there is one
  // The variance's sum, where `order` is that of a mean.
  std::optional<SumTree> squares;
  std::string why_no_squares;  // "" where there is one, or nothing is squared
  // How a norm goes on from its sums, in words; "" where no way that is known predicts half of the rows.
  std::string formula;
  bool is_welford = false;                           // by which all rows are predicted
  bool sums_widely = false, squares_widely = false;  // no order is known as nothing is lost
  // The accumulator's: significand bits that a sum keeps, and how the rest is rounded, as FindRounding says. Known
  // where the order is; else 0 and "".
  int sum_bits = 0;
  std::string rounding;
  int operand_precision = 0;  // significand bits of the operands' type
  int operand_bits = 0;       // significand bits of an operand that reach its product; 0: terms are no chosen numbers
  bool has_products = false;
  std::optional<bool> contracts;  // a product is added without a rounding of its own; nothing: products are exact
  // Nothing: weights of terms take them below the normal numbers.
  std::optional<bool> keeps_subnormal_operands, keeps_subnormal_results;
  std::string zero, overflow;  // of sums of -0; of two largest numbers
  bool repeats = false;        // equal bits in each of kRepeats calls
  bool place_matters = false;  // the same sum has other bits elsewhere in the output
  int executions = 0;
  // Random sums whose bits the above gives, of how many; nothing: the order or the rounding is not known.
  // Open questions about the arithmetic, of which each answer is tried.
  struct Guess {
    bool contracts = true;   // where products are not exact
    bool cuts_sums = false;  // of several numbers at once: toward zero
    // Operands of products may be narrowed to fewer bits than their type has, toward zero or to nearest.
    bool narrows_first = false, narrows_second = false, cuts_operands = false;
    bool aligns_pairs = false;  // a unit that adds more numbers at once adds a product and another number likewise
    bool narrows() const { return narrows_first || narrows_second; }
  };
  struct Prediction {
    int agree = 0, sums = 0;
    Guess guess = {};  // by which most agree
    bool tells_all() const { return agree == sums; }
  };
  std::optional<Prediction> predicted;
  // Results of a run, by their cases: those whose bits all are as predicted, and the others.
  std::vector<std::string> reordered, unexplained;
  SlicePassport slices;                     // of the same case
  std::vector<std::string> contradictions;  // of the declared contract

  static constexpr int kRepeats = 8;
};

// `variance`: of a norm that subtracts a mean, which `prober` probes; else null. Errors: the backend's own.
Result<Passport> TakePassport(Prober& prober, Prober* variance, const std::string& implementation,
                              const std::string& contract);

Json ToJson(const Passport& passport);
std::string TextOf(const Passport& passport);

// A line for each field in which passports of two files differ, by case and implementation, and for each that only one
// has. Errors: a document that assay fingerprint did not write.
Result<std::vector<std::string>> ComparePassports(const Json& a, const Json& b);

}  // namespace assay
