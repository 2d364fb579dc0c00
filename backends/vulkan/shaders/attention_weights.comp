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
  real greatest = MINUS_INFINITY;
  uint seen = 0u;
  for (uint j = lane; j < p.s; j += LANES) {
    const real score = scores[start + j];
    if (IsMasked(score)) continue;
    seen = 1u;
    if (score > greatest) greatest = score;
  }
  for (uint apart = LANES / 2u; apart > 0u; apart /= 2u) {
    const real other = subgroupShuffleXor(greatest, apart);
    if (other > greatest) greatest = other;
    seen |= subgroupShuffleXor(seen, apart);
  }
  precise real total = real(0);
  for (uint j = lane; j < p.s; j += LANES) {
    const real score = scores[start + j];
    real weight = real(-1);
    if (!IsMasked(score)) {
      weight = score == MINUS_INFINITY ? real(0) : Weigh(score - greatest);
      total += weight;
    }
    scores[start + j] = weight;
  }
  for (uint apart = LANES / 2u; apart > 0u; apart /= 2u) total = total + subgroupShuffleXor(total, apart);
  for (uint j = lane; j < p.s; j += LANES) {
    const real weight = scores[start + j];
    if (!(weight < real(0))) scores[start + j] = weight / total;
    // A query that sees nothing: no weights sum to zero, a NaN among them to NaN.
    if (seen == 0u && j == 0u && p.masked_nan != 0u) scores[start] = NOT_A_NUMBER;
  }
}
