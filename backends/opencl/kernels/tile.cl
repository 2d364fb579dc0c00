// SPDX-License-Identifier: Apache-2.0
// One tile of a matrix product in local memory. The operator behind this file defines `Factors`, which holds the two
// operands, and LoadA and LoadB: WIDTH elements from (row, k) or (k, column) on, along k where A_ALONG_K
// or `along_k` says so, zero outside the matrix and from `end` of k on.
// A group has GX x GY items, each with TM x TN vectors of WIDTH sums; k goes through local memory BK at a time, in
// ascending order, so that an element's sum does not depend on the shape of the tile.
#define BM (GY * TM)
#define BN (GX * TN * WIDTH)
#define ROW_A (BK + 1)  // an odd stride, against bank conflicts

typedef struct Factors Factors;
VEC LoadA(const Factors* factors, long row, long k, long end);
VEC LoadB(const Factors* factors, int along_k, long k, long column, long end);

// WIDTH elements of a tile, `step` apart.
void Scatter(VEC line, local ACC* to, int step) {
  ACC values[WIDTH];
  VSTORE(line, 0, values);
  for (int i = 0; i < WIDTH; ++i) to[i * step] = values[i];
}

// sum += a b for one item over BK of k. `own` is apart from `sum`, which lives across barriers and so, on a processor, in
// memory.
void MultiplyAdd(const local ACC* a, const local ACC* b, VEC sum[TM][TN]) {
  VEC own[TM][TN];
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) own[i][j] = sum[i][j];
  }
  for (int c = 0; c < BK; ++c) {
    VEC factor[TN];
#pragma unroll
    for (int j = 0; j < TN; ++j) factor[j] = VLOAD(0, b + c * BN + j * GX * WIDTH);
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      const VEC scalar = a[i * ROW_A + c];
#pragma unroll
      for (int j = 0; j < TN; ++j) own[i][j] = MAD(scalar, factor[j], own[i][j]);
    }
  }
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) sum[i][j] = own[i][j];
  }
}

void TileProduct(const Factors* factors, int b_along_k, long rows, long row, long column, long begin,
                 long end, local ACC* a, local ACC* b, VEC sum[TM][TN]) {
  const int x = (int)get_local_id(0), y = (int)get_local_id(1), item = y * GX + x;
  const bool has_rows = row + y * TM < rows;
  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; ++j) sum[i][j] = 0;
  }
  long k = begin;
  // At least once: a barrier under a condition would double, in PoCL, what is behind the loop.
  do {
    for (int e = item; e < BM * BK / WIDTH; e += GX * GY) {
      const int r = A_ALONG_K ? e / (BK / WIDTH) : e % (BM / WIDTH) * WIDTH;
      const int c = A_ALONG_K ? e % (BK / WIDTH) * WIDTH : e / (BM / WIDTH);
      if (row + r >= rows) continue;  // no sum that counts reads it
      const VEC line = LoadA(factors, row + r, k + c, end);
      if (A_ALONG_K) {
        VSTORE(line, 0, a + r * ROW_A + c);
      } else {
        Scatter(line, a + r * ROW_A + c, ROW_A);
      }
    }
    for (int e = item; e < BN * BK / WIDTH; e += GX * GY) {
      const int r = b_along_k ? e % (BK / WIDTH) * WIDTH : e / (BN / WIDTH);
      const int c = b_along_k ? e / (BK / WIDTH) : e % (BN / WIDTH) * WIDTH;
      const VEC line = LoadB(factors, b_along_k, k + r, column + c, end);
      if (!b_along_k) {
        VSTORE(line, 0, b + r * BN + c);
      } else {
        Scatter(line, b + r * BN + c, BN);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    // Nothing to do for an item that stands below the matrix. (A condition that differs between items also keeps PoCL
    // from exchanging the loop over c with its own over the items, which would keep the sums in memory.)
    if (has_rows) MultiplyAdd(a + y * TM * ROW_A, b + x * WIDTH, sum);
    barrier(CLK_LOCAL_MEM_FENCE);
    k += BK;
  } while (k < end);
}

// Column of the first sum of vector j, within the tile.
int TileColumn(int j) { return (j * GX + (int)get_local_id(0)) * WIDTH; }
