// SPDX-License-Identifier: Apache-2.0
// One reduction's loop nests. A workgroup reduces one chunk of the elements of one output; when an output has several
// chunks, a second dispatch reduces what they left in `partial`.
layout(constant_id = 7) const uint KIND = 0;
layout(constant_id = 8) const uint STAGE = 0;  // elements to results (0) or to partials (1); partials to results (2)

const uint kSum = 0, kMean = 1, kMax = 2, kMin = 3, kProd = 4, kL2 = 5, kArgMax = 6, kArgMin = 7, kLogSumExp = 8;

layout(set = 0, binding = 0, std140) uniform Params {
  uint outputs, count, chunk, chunks;  // elements per output, per chunk; chunks per output
  uint kept_count, reduced_count, ignore_nan, unused;
  Axis kept[kMaxAxes];
  Axis reduced[kMaxAxes];
} p;

OFFSETS_OF(KeptOffsets, p.kept, p.kept_count)
OFFSETS_OF(ReducedOffsets, p.reduced, p.reduced_count)

// What this workgroup reduces: positions [first, last) of output `index`.
struct Span {
  uint index, first, last;
};

Span SpanOf(uint group) {
  if (STAGE == 2u) return Span(group, 0u, p.chunks);
  const uint index = group / p.chunks, first = group % p.chunks * p.chunk;
  return Span(index, first, min(p.count, first + p.chunk));
}
