// SPDX-License-Identifier: Apache-2.0
#include "ops/formula_operator/powers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "harness/core/data/fill/rng.h"

namespace assay {
namespace {

using formula::Role;

constexpr uint64_t kStream = uint64_t{4} << 32;  // beyond those of fills, and the same for both operands

struct Pair {
  double base, exponent;
};
constexpr double kInfinite = std::numeric_limits<double>::infinity();
// The sign of a zero that comes out is judged of no operator: of the powers that vanish any zero is right, and NaN or
// infinity is not. No exponent is 1, 2 or -1, which kernels treat apart.
constexpr std::array kPairs = {Pair{-kInfinite, 3}, Pair{-kInfinite, 4}, Pair{-kInfinite, -3}, Pair{-kInfinite, -4},
                               Pair{-0.0, -3},      Pair{-0.0, -4},      Pair{-1, kInfinite},  Pair{-1, -kInfinite}};

// The pairs take turns. Their exponents differ, and are as odd or even as in the table.
void PlantPairs(Role role, uint64_t seed, std::vector<double>& values) {
  const RandomStream random(seed, kStream);
  const size_t step = std::max<size_t>(16, values.size() / (2 * kPairs.size()));
  const uint64_t first_pair = random.Below(1, kPairs.size());
  size_t turn = 0;
  for (size_t i = random.Below(0, step); i < values.size(); i += step, ++turn) {
    const Pair& pair = kPairs[(first_pair + turn) % kPairs.size()];
    const double more = 2.0 * static_cast<double>(random.Below(turn + 2, 3));
    values[i] = role == Role::kBase ? pair.base : pair.exponent + std::copysign(more, pair.exponent);
  }
}

}  // namespace

void MakePowers(const PowersOperand& operand, uint64_t seed, Tensor& tensor) {
  const auto [role, is_special, is_shared] = operand;
  std::vector<double> values = tensor.ToDoubles();
  for (size_t i = 0; i < values.size(); ++i) {
    const bool has_integer = i % 4 == 3, is_signed = has_integer || (is_special && i % 4 == 1);
    if (role == Role::kBase && !is_signed) values[i] = std::fabs(values[i]);
    if (role != Role::kExponent || !(has_integer || (is_shared && i % 2 == 0))) continue;
    values[i] = std::nearbyint(values[i]);
    if (is_shared && values[i] == 0) values[i] = 2;
  }
  if (is_special) PlantPairs(role, seed, values);
  tensor.SetDoubles(values);
}

}  // namespace assay
