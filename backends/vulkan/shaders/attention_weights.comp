#version 450
// SPDX-License-Identifier: Apache-2.0
// Scores become normalised weights, in place, by one subgroup per row; those of masked keys become -1.
#include "attention.glsl"
layout(set = 0, binding = 6, std430) buffer Scores { real scores[]; };

void main() {
  if (Group() >= push.groups) return;
  const uint row = Group() * gl_NumSubgroups + gl_SubgroupID, lane = gl_SubgroupInvocationID;
  if (row >= p.heads * RowCount()) return;
  const uint start = row * p.s;
  // The least finite number stands for scores of -inf and NaN: a maximum of -inf says that every key is masked.
  real greatest = MINUS_INFINITY;
  for (uint j = lane; j < Opaque(p.s); j += LANES) {
    const real own = scores[start + j], level = own > LOWEST ? own : LOWEST;
    if (!IsMasked(own) && level > greatest) greatest = level;
  }
  [[unroll]] for (uint apart = LANES / 2u; apart > 0u; apart /= 2u) {
    const real other = subgroupShuffleXor(greatest, apart);
    if (other > greatest) greatest = other;
  }
  precise real total = real(0);
  for (uint j = lane; j < Opaque(p.s); j += LANES) {
    const real own = scores[start + j];
    real weight = real(-1);
    if (!IsMasked(own)) {
      weight = own == MINUS_INFINITY ? real(0) : Weigh(own - greatest);
      total += weight;
    }
    scores[start + j] = weight;
  }
  [[unroll]] for (uint apart = LANES / 2u; apart > 0u; apart /= 2u) total = total + subgroupShuffleXor(total, apart);
  for (uint j = lane; j < Opaque(p.s); j += LANES) {
    const real weight = scores[start + j];
    if (!(weight < real(0))) scores[start + j] = weight / total;
    // A query that sees nothing: no weights sum to zero, a NaN among them to NaN.
    if (greatest == MINUS_INFINITY && j == 0u && Opaque(p.masked_nan) != 0u) scores[start] = NOT_A_NUMBER;
  }
}
