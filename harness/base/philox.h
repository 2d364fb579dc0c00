// SPDX-License-Identifier: Apache-2.0
// The blocks of a random stream in bulk (rng.cc says what they are), as many at a time as the vectors hold.
#pragma once

#include <cstdint>

namespace assay::internal {

// Two outputs for each of the blocks [block, block + count).
void PhiloxBits(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, uint64_t* out);

// scale * u + offset, where u are the same blocks' uniform deviates. Exact, hence the same bits in any order of
// operations, for (1, 0) and (2, -1), its two uses.
void PhiloxUniforms(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double scale, double offset,
                    double* out);
// Rounded to float.
void PhiloxUniforms(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double scale, double offset,
                    float* out);

}  // namespace assay::internal
