// SPDX-License-Identifier: Apache-2.0
// One reduction's loop nests. A workgroup reduces one chunk of the elements of one output; when an output has several
// chunks, a second dispatch reduces what they left in `partial`.
layout(constant_id = 7) const uint KIND = 0;
layout(constant_id = 8) const bool FROM_PARTIALS = false;  // what is reduced: partials, or elements

const uint kSum = 0, kProd = 1, kL2 = 2, kLogSumExp = 3;  // KIND of the kernel `reduce`

layout(set = 0, binding = 0, std140) uniform Params {
  uint outputs, count, chunk, chunks;  // elements per output, per chunk; chunks per output
  uint kept_count, reduced_count, to_partials, mean;  // what becomes of it: partials, or results; divided by the count
  uint ignore_nan, flip, positions, unused;           // of the kernel `select`
  Axis kept[kMaxAxes];
  Axis reduced[kMaxAxes];
} p;

OFFSETS_OF(KeptOffsets, p.kept, p.kept_count)
OFFSETS_OF(ReducedOffsets, p.reduced, p.reduced_count)

// The part of the work of one workgroup: positions [first, last) of output `index`.
struct Span {
  uint index, first, last;
};

Span SpanOf(uint group) {
  if (FROM_PARTIALS) return Span(group, 0u, p.chunks);
  const uint index = group / p.chunks, first = group % p.chunks * p.chunk;
  return Span(index, first, min(p.count, first + p.chunk));
}
