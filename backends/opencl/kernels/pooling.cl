// SPDX-License-Identifier: Apache-2.0
// Windows of images, an item per window. Type X of images and results.
typedef struct {
  long channels, h, w, oh, ow, windows, k, stride, pad, counts_padding, kind;
  long x_step[4], y_step[4], place_step[4];
} Params;

enum { kMean, kAdaptiveMean, kSumOfSizes, kRootOfSquares, kMaximum };

// Elements first to last - 1 of an axis, and by how many their sum is divided.
typedef struct {
  long first, last, count;
} Window;

Window WindowAt(const Params* p, long i, long from, long to) {
  if (p->kind == kAdaptiveMean) {
    const Window window = {i * from / to, ((i + 1) * from + to - 1) / to, 0};
    const Window counted = {window.first, window.last, window.last - window.first};
    return counted;
  }
  const long begin = i * p->stride - p->pad, end = begin + p->k;
  const Window window = {max(begin, 0L), min(end, from), 0};
  const long padded = min(end, from + p->pad) - begin;
  const Window counted = {window.first, window.last, p->counts_padding ? padded : window.last - window.first};
  return counted;
}

long OffsetOf(const long* step, long image, long channel, long row, long column) {
  return image * step[0] + channel * step[1] + row * step[2] + column * step[3];
}

// The indices of an item's window; items beyond the last return.
#define PLACE()                                                                            \
  const long i = GroupIndex() * get_local_size(0) + get_local_id(0);                       \
  if (i >= p.windows) return;                                                              \
  const long ox = i % p.ow, oy = i / p.ow % p.oh, plane = i / p.ow / p.oh;                 \
  const long image = plane / p.channels, channel = plane % p.channels;                     \
  const Window rows = WindowAt(&p, oy, p.h, p.oh), columns = WindowAt(&p, ox, p.w, p.ow);  \
  x += x_at + OffsetOf(p.x_step, image, channel, 0, 0)

kernel void sums(const global TYPE(X)* x, long x_at, global TYPE(X)* y, long y_at, Params p) {
  PLACE();
  ACC sum = 0;
  for (long row = rows.first; row < rows.last; ++row) {
    for (long column = columns.first; column < columns.last; ++column) {
      const ACC element = LOAD(X, x, row * p.x_step[2] + column * p.x_step[3]);
      sum += p.kind == kRootOfSquares ? element * element : p.kind == kSumOfSizes ? fabs(element) : element;
    }
  }
  if (p.kind <= kAdaptiveMean) sum /= (ACC)(rows.count * columns.count);
  if (p.kind == kRootOfSquares) sum = sqrt(sum);
  STORE(X, y, y_at + OffsetOf(p.y_step, image, channel, oy, ox), sum);
}

// NaN is larger than any number, and the first of equal ones is found.
kernel void maxima(const global TYPE(X)* x, long x_at, global TYPE(X)* y, long y_at, global long* places, long places_at,
                   Params p) {
  PLACE();
  ACC best = LOAD(X, x, rows.first * p.x_step[2] + columns.first * p.x_step[3]);
  long found = rows.first * p.w + columns.first;
  for (long row = rows.first; row < rows.last; ++row) {
    for (long column = columns.first; column < columns.last; ++column) {
      const ACC element = LOAD(X, x, row * p.x_step[2] + column * p.x_step[3]);
      if (element > best || (isnan(element) && !isnan(best))) best = element, found = row * p.w + column;
    }
  }
  STORE(X, y, y_at + OffsetOf(p.y_step, image, channel, oy, ox), best);
  places[places_at + OffsetOf(p.place_step, image, channel, oy, ox)] = found;
}
