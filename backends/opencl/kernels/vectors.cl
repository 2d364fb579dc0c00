// SPDX-License-Identifier: Apache-2.0
// Vectors of WIDTH elements in the accumulator's type, and lines of an operand as such vectors.
#define VEC JOIN(ACC, WIDTH)
#define VLOAD JOIN(vload, WIDTH)
#define VSTORE JOIN(vstore, WIDTH)

#define LOAD_VECTOR(type, p, offset) JOIN(LOAD_VECTOR_, type)((p) + (offset))
#define LOAD_VECTOR_f64(p) JOIN(convert_, VEC)(VLOAD(0, p))
#define LOAD_VECTOR_f32(p) JOIN(convert_, VEC)(VLOAD(0, p))
#define LOAD_VECTOR_i8(p) JOIN(convert_, VEC)(VLOAD(0, p))
#define LOAD_VECTOR_f16(p) JOIN(convert_, VEC)(JOIN(vload_half, WIDTH)(0, p))
#define LOAD_VECTOR_bf16(p) \
  JOIN(convert_, VEC)(JOIN(as_float, WIDTH)(JOIN(convert_uint, WIDTH)(VLOAD(0, p)) << 16))

// Defines `name`: `count` elements of an operand from `offset` on, `step` apart, then zeros.
#define DEFINE_LINE(name, type)                                                                    \
  VEC name(const global TYPE(type) * p, long offset, long step, long count) {                      \
    if (step == 1 && count >= WIDTH) return LOAD_VECTOR(type, p, offset);                          \
    ACC line[WIDTH];                                                                               \
    for (int i = 0; i < WIDTH; ++i) line[i] = i < count ? LOAD(type, p, offset + i * step) : (ACC)0; \
    return VLOAD(0, line);                                                                         \
  }

// The sum of the elements, as a tree.
ACC Total(VEC vector) {
  ACC values[WIDTH];
  VSTORE(vector, 0, values);
  for (int width = WIDTH / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) values[i] += values[i + width];
  }
  return values[0];
}
