// SPDX-License-Identifier: Apache-2.0
// Shared by the attention kernels: softmax(scale q k^T + mask) v with type T throughout, an additive mask of type M or
// one of bytes, scores and probabilities in the accumulator's type. A probability below zero stands for a masked key,
// whose value is never used.
#define MASKED ((ACC)-1)

DEFINE_LINE(Line, T)

typedef struct {
  long batch, heads, group, l, s, d, dv;  // `group` query heads share a key head
  long causal, window, shift;             // query i stands at key i + shift; window 0: none
  long masked_nan, scale, softcap, capped;
  long mask_kind;  // 0: none, 1: of bytes, 2: additive
  long q[4], k[4], v[4], o[4], mask[4];  // strides of batch, head, row, column
} Params;

typedef struct {
  long first, last;
} Keys;

Keys KeysOf(const Params* p, long i) {
  const long at = i + p->shift, reach = min(p->window, p->l + p->s);
  Keys keys = {0, p->s};
  if (p->causal) keys.last = min(keys.last, at + 1);
  if (p->window > 0) keys.first = max(keys.first, at - reach + 1), keys.last = min(keys.last, at + reach);
  keys.last = max(keys.last, 0L);
  keys.first = min(keys.first, keys.last);
  return keys;
}

long RowOf(const long* strides, long batch, long head, long row) {
  return batch * strides[0] + head * strides[1] + row * strides[2];
}

// The mask's addend to the score of key j; -inf: masked. The query's row begins at element `row` of the mask.
ACC MaskOf(const Params* p, const global void* mask, long row, Keys keys, long j) {
  if (j < keys.first || j >= keys.last) return -(ACC)INFINITY;
  const long at = row + j * p->mask[3];
  if (p->mask_kind == 1) return ((const global char*)mask)[at] != 0 ? (ACC)0 : -(ACC)INFINITY;
  if (p->mask_kind == 2) return LOAD(M, (const global TYPE(M)*)mask, at);
  return 0;
}

ACC FinishScore(const Params* p, ACC dot, ACC mask) {
  ACC score = dot * SCALAR(p->scale);
  if (p->capped) score = SCALAR(p->softcap) * tanh(score / SCALAR(p->softcap));
  return score + mask;
}

ACC EmptyRow(const Params* p) { return p->masked_nan ? (ACC)NAN : (ACC)0; }
