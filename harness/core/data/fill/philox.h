// SPDX-License-Identifier: Apache-2.0
// The blocks of a random stream in bulk (rng.cc says what they are), as many at a time as the vectors hold. Each
// writes the values of the blocks [block, block + count): two of 64 bits or four of 32 bits for each.
#pragma once

#include <cstdint>

namespace assay::internal {

void PhiloxBits(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, uint64_t* out);

// Uniform deviates u.
void PhiloxUniforms(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double* out);

// 2 u - 1, which is exact; of float the signed words, rounded, over 2^31.
void PhiloxSymmetric(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double* out);
void PhiloxSymmetric(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, float* out);

// Normal deviates (philox_normal.cc, philox_normal_float.cc).
void PhiloxNormals(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, double* out);
void PhiloxNormals(uint64_t seed, uint64_t stream, uint64_t block, int64_t count, float* out);

}  // namespace assay::internal
