// SPDX-License-Identifier: Apache-2.0
// One tile of a matrix product in local memory. The operator behind this file defines `Factors`, which holds the two
// operands, and their elements, zero outside the matrix.
// A group has GX x GY items, each with TM x TN sums; k goes through local memory BK at a time, in ascending order, so
// that an element's sum does not depend on the shape of the tile.
typedef struct Factors Factors;
ACC LoadA(const Factors* factors, long row, long k);
ACC LoadB(const Factors* factors, long k, long column);

#define BM (GY * TM)
#define BN (GX * TN)

void TileProduct(const Factors* factors, long row, long column, long begin, long end, local ACC* a, local ACC* b,
                 ACC sum[TM][TN]) {
  const int x = (int)get_local_id(0), y = (int)get_local_id(1), item = y * GX + x;
  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; ++j) sum[i][j] = 0;
  }
  for (long k = begin; k < end; k += BK) {
    for (int e = item; e < BM * BK; e += GX * GY) {
      const int r = e / BK, c = e % BK;
      a[c * BM + r] = k + c < end ? LoadA(factors, row + r, k + c) : 0;
    }
    for (int e = item; e < BN * BK; e += GX * GY) {
      const int r = B_ALONG_K ? e % BK : e / BN, c = B_ALONG_K ? e / BK : e % BN;
      b[r * BN + c] = k + r < end ? LoadB(factors, k + r, column + c) : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int c = 0; c < BK; ++c) {
#pragma unroll
      for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) sum[i][j] = MAD(a[c * BM + y * TM + i], b[c * BN + x + GX * j], sum[i][j]);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
