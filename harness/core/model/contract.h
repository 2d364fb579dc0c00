// SPDX-License-Identifier: Apache-2.0
// The arithmetic that an implementation declares and that a suite requires. Tolerances follow from it by theory; the
// set of fields and values is closed (one table in contract.cc), so a plugin cannot invent slack for itself.
//   in=exact|tf32rn|tf32rz|bf16|bf16x3|fp8; acc=f64|f32|f16|bf16|i32|tc<F,b>; mid=none|f16|bf16; out=rn|rna|rz|any;
//   ftz=none|in|out|all; alg=direct|winograd<m,r>|fft|bluestein|onepass|any; math=<ulp>|any;
//   nan=propagate|ignore|any; masked=zero|nan|any; det=yes|no; batchinv=yes|no
// alg=any and math=any bound nothing: a requirement may say them, a declaration may not.
// Shortcuts set several fields at once:
//   f64, f32                  in=exact acc=f64|f32 mid=none (the whole computation in that type)
//   f32acc, f16acc, bf16acc   in=exact acc=f32|f16|bf16 (narrow operands, wider sums)
//   tf32                      in=tf32rn acc=f32
#pragma once

#include <string>
#include <string_view>

#include "harness/core/base/result.h"

namespace assay {

enum class InputRounding : uint8_t { kExact, kBF16x3, kTF32RN, kTF32RZ, kBF16, kFP8 };
enum class Accumulator : uint8_t { kI32, kF64, kF32, kTensorCore, kF16, kBF16 };
enum class Intermediate : uint8_t { kNone, kF16, kBF16 };
enum class OutputRounding : uint8_t { kNearest, kNearestAway, kTowardZero, kAny };
enum class Flush : uint8_t { kNone, kIn, kOut, kAll };
// kOnePass: variances as E[x^2] - E[x]^2.
enum class Algorithm : uint8_t { kDirect, kWinograd, kFft, kBluestein, kOnePass, kAny };
enum class NanPolicy : uint8_t { kPropagate, kIgnore, kAny };
enum class MaskedRows : uint8_t { kZero, kNan, kAny };

inline bool IsToNearest(OutputRounding rounding) {
  return rounding == OutputRounding::kNearest || rounding == OutputRounding::kNearestAway;
}

struct Contract {
  InputRounding in = InputRounding::kExact;
  Accumulator acc = Accumulator::kF32;
  int tc_bits = 0;   // F of tc<F,b>: fraction bits kept when a block is aligned to its largest exponent
  int tc_block = 0;  // b: terms summed per block
  Intermediate mid = Intermediate::kNone;
  OutputRounding out = OutputRounding::kNearest;
  Flush ftz = Flush::kNone;
  Algorithm alg = Algorithm::kDirect;
  int winograd_m = 0, winograd_r = 0;
  double math_ulp = 0;  // bound of exp, log, tanh, div, sqrt, rsqrt in ulp of the accumulator; infinity: any
  NanPolicy nan = NanPolicy::kPropagate;
  MaskedRows masked = MaskedRows::kZero;
  bool deterministic = false;
  bool batch_invariant = false;
  bool operator==(const Contract&) const = default;

  bool RoundsToNearest() const { return IsToNearest(out); }
  bool FlushesInputs() const { return ftz == Flush::kIn || ftz == Flush::kAll; }

  double AccUnitRoundoff() const;  // u_acc: 2^-24 for f32; tc<F,b>: max(2^-F, 2 * 2^-24), it truncates; 0 for i32
  double AccMaxFinite() const;     // largest finite accumulator value
  double AccMinSubnormal() const;  // 0 for i32: no lambda
  double AccMinNormal() const;     // 0 for i32
  int AccExactBits() const;  // p: integers up to 2^p are exact in the accumulator (24 f32, 11 f16, F+1 tc, 31 i32)
  // u_in per operand: 0, 2^-11 (tf32rn), 2^-10 (tf32rz), 2^-8 (bf16), 2^-4 (fp8); bf16x3: 3 * 2^-17, so that both
  // operands together make the 3 * 2^-16 of RoundedInputs (golden/bound/bound.cc).
  double InputUnitRoundoff() const;
};

// A declaration: a field left out takes its strongest value (det and batchinv: no); acc must be given.
// Errors name the field or value and list what is known.
Result<Contract> ParseDeclaration(std::string_view text);

// A requirement: a field left out is not required at all (takes its weakest value).
Result<Contract> ParseRequirement(std::string_view text);

// The contract with these fields, "masked=nan;math=1", in the place of its own.
Result<Contract> WithFields(Contract contract, std::string_view fields);

// Canonical text of a declaration: acc, and every field that differs from what it is when left out. Parses back to an
// equal contract with ParseDeclaration.
std::string ToText(const Contract& contract);

// Whether no field of `declared` is weaker than `required`; the partial order is one table per field in contract.cc.
bool Meets(const Contract& declared, const Contract& required);

// The name used in contracts, without parameters: "onepass".
std::string_view AlgorithmName(Algorithm algorithm);

// One field: FieldText(c, "acc") is "tc<10,4>"; "" for a name that is no field.
std::string FieldText(const Contract& contract, std::string_view field);

// Whether there are such a field and such a value of it, whose parameters may be left out: acc, tc. Errors list what is
// known.
Status CheckField(std::string_view field, std::string_view value);

// The first field in which `declared` is weaker, as "declares acc=f16 and the case requires acc=f32"; "" when Meets.
std::string Shortfall(const Contract& declared, const Contract& required);

}  // namespace assay
