// SPDX-License-Identifier: Apache-2.0
// Products of matrices whose elements have scales by blocks along the sum: the MX formats of the Open Compute Project
// (Microscaling Formats (MX) Specification, version 1.0) with scales of e8m0, and NVFP4 with scales of e4m3 and one
// scale of the whole product.
#include <cmath>
#include <optional>
#include <string>

#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

// A format without infinities and NaN whose codes are parts of bytes.
struct SmallFormat {
  int exponent_bits, digits, bias;
  int Bits() const { return 1 + exponent_bits + digits; }
};

SmallFormat FormatNamed(const std::string& name) {
  return name == "e2m1" ? SmallFormat{2, 1, 1} : name == "e2m3" ? SmallFormat{2, 3, 1} : SmallFormat{3, 2, 3};
}

// Codes in bytes, each at bit `low` of as many as `width`.
struct PackedCodes {
  Expr bytes;
  int low, width;

  // Quotients are of the byte itself, which nothing has rounded.
  Expr Above(int bit) const { return bit == 0 ? bytes : FloorDivide(bytes, Const(*bytes.graph, std::ldexp(1.0, bit))); }
  Expr Field(int first, int bits) const {
    const int bit = low + first;
    return bit + bits == width ? Above(bit) : Strict(Above(bit) - std::ldexp(1.0, bits) * Above(bit + bits));
  }
};

Expr Decode(const PackedCodes& codes, const SmallFormat& format) {
  Graph& graph = *codes.bytes.graph;
  const Expr zero = Const(graph, 0), exponent = codes.Field(format.digits, format.exponent_bits);
  const Expr leading = Select(Equal(exponent, zero), zero, Const(graph, std::ldexp(1.0, format.digits)));
  const Expr digits = Strict(codes.Field(0, format.digits) + leading);
  const double last_digit = format.bias + format.digits;
  const Expr size = digits * Exp2(Strict(Maximum(exponent, Const(graph, 1)) - last_digit));
  return Select(codes.Field(format.digits + format.exponent_bits, 1), -size, size);
}

// An operand of elements, as numbers along k.
class Elements {
 public:
  Elements(Definition& d, const Axis& k, const std::string& codes) : d_(d), k_(k), codes_(codes) {
    if (codes == "e2m1") bytes_ = d.DerivedAxis("k/2", k, 1, 2);
  }
  // `shape` puts the axis of the operand's elements among its other axes.
  template <class Shape>
  Expr Read(const char* name, const Shape& shape) const {
    if (codes_ == "none") return d_.In(name, shape(k_));
    const SmallFormat format = FormatNamed(codes_);
    if (codes_ != "e2m1") {
      const Expr of_six_bits = d_.In(name, shape(k_));
      d_.KeepWithin(63);
      return Decode({of_six_bits, 0, format.Bits()}, format);
    }
    const Expr bytes = d_.In(name, shape(bytes_));
    const auto spread = [&](int low) {
      return At(Decode({bytes, low, 8}, format), bytes_, k_, [](int64_t i) { return i / 2; });
    };
    const Expr index = Index(*bytes.graph, k_), half = FloorDivide(index, Const(*bytes.graph, 2));
    return Select(Equal(2 * half, index), spread(0), spread(4));
  }

 private:
  Definition& d_;
  Axis k_, bytes_;
  std::string codes_;
};

// The numbers of e8m0: 2^(code - 127), and NaN.
Expr PowerOf(Expr code) {
  Graph& graph = *code.graph;
  const Expr nan = Log(Const(graph, -1));
  return Select(Equal(code, Const(graph, 255)), nan, Exp2(Strict(code - 127)));
}

void MxMm(Definition& d) {
  d.SetDoc(
      "y = scale (a scale_a) (b scale_b), scales of blocks along k: 2^(code - 127) of u8, NaN of code 255, or numbers "
      "of e4m3 with a scale of the product");
  const Axis m = d.Axis("m", "rows of a"), k = d.Axis("k", "elements of a row; even with codes=e2m1", 1);
  const Axis n = d.Axis("n", "elements of a row of y");
  const int64_t block = d.Integer("block", "32", "elements along k that have one scale", {"32", "16"});
  const std::string codes =
      d.Choice("codes", {"none", "e2m1", "e2m3", "e3m2"},
               "of elements in bytes: two of e2m1, the lower half first, or one of 6 bits; none of types of 8 bits");
  if (d.RefuseIf(block < 1, "block must be at least 1")) return;
  if (d.RefuseIf(codes == "e2m1" && k.extent % 2 != 0, "k must be even: a byte has two codes")) return;
  const bool are_bytes = d.TypeOf(0) == DType::kU8;
  d.RefuseIf(are_bytes && codes == "none", "codes= must say what bytes hold: e2m1, e2m3 or e3m2");
  d.RefuseIf(!are_bytes && codes != "none", "codes= is for elements in bytes: give a and b as u8, or leave it out");
  const Axis blocks = d.FixedAxis("k/block", (k.extent + block - 1) / block);
  const Elements elements(d, k, codes);
  const Expr a = elements.Read("a", [&](const Axis& along) { return m + along; });
  const Expr b = elements.Read("b", [&](const Axis& along) { return along + n; });
  const Role role = d.TypeOf(2) == DType::kU8 ? Role::kPowerCode : Role::kWeight;
  const Expr scale_a = d.In("scale_a", m + blocks, role), scale_b = d.In("scale_b", blocks + n, role);
  const std::optional<Expr> scale = d.InIfListed("scale", Axes(), Role::kWeight);
  d.RefuseIf(d.TypeOf(2) == DType::kE4M3 && codes != "e2m1",
             "codes must be e2m1 beside scales of e4m3, as nvfp4 has them");
  const auto spread = [&](Expr of) {
    return At(scale ? of : PowerOf(of), blocks, k, [&](int64_t i) { return i / block; });
  };
  const Expr sum = Contraction(a * spread(scale_a), b * spread(scale_b), k);
  d.Out("y", scale ? *scale * sum : sum, m + n);
  d.SetTypes({"e4m3-e4m3-u8-u8-f32", "e4m3-e4m3-u8-u8-bf16", "e5m2-e4m3-u8-u8-bf16", "e4m3-e5m2-u8-u8-f16",
              "u8-u8-u8-u8-f32", "u8-u8-u8-u8-bf16", "u8-u8-e4m3-e4m3-f32-f32", "u8-u8-e4m3-e4m3-f32-bf16"});
}

ASSAY_OPERATOR(mx_mm, MxMm);

}  // namespace
}  // namespace assay
