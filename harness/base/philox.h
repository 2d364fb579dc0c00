// SPDX-License-Identifier: Apache-2.0
// The blocks of a random stream in bulk (rng.cc says what they are), as many at a time as the vectors hold. Each
// writes two values for each of the blocks [block, block + count).
#pragma once

#include <cstdint>

namespace assay::internal {

void PhiloxBits(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, uint64_t* out);

// Uniform deviates u.
void PhiloxUniforms(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double* out);

// 2 u - 1, which is exact; rounded to float.
void PhiloxSymmetric(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double* out);
void PhiloxSymmetric(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, float* out);

// Normal deviates (philox_normal.cc); rounded to float.
void PhiloxNormals(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double* out);
void PhiloxNormals(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, float* out);

}  // namespace assay::internal
