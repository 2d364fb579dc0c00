// SPDX-License-Identifier: Apache-2.0
// Operands of y[n,o,p] = bias[o] + sum over c, t of x[n, c, p stride + t dilation - pad] w[o,c,t], with three spatial
// axes. Outputs of one channel over all images are numbered through.
layout(set = 0, binding = 0, std140) uniform Params {
  uint images, group_inputs, group_outputs, groups;
  uint taps, positions, has_bias, bias_stride;
  ivec4 extent, kernel, stride, pad, dilation, result;  // .xyz: along the three axes
  uvec4 x, w, y;                                        // strides along the three axes, then of the channel
  uint x_image, w_output, y_image, unused;
} p;

READS(1, x)
READS(2, w)
READS(3, bias)
WRITES(4, y)

// Where one output position reads and writes.
struct Place {
  bool inside;
  ivec3 first;  // of the input, seen by tap 0
  uint x_start, y_start;
};

Place PlaceOf(uint number, uint group) {
  Place place;
  place.inside = number < p.images * p.positions;
  const uint image = number / p.positions, position = number % p.positions;
  const uvec3 size = uvec3(p.result.xyz);
  const uvec3 at = uvec3(position / size.z / size.y, position / size.z % size.y, position % size.z);
  place.first = ivec3(at) * p.stride.xyz - p.pad.xyz;
  const uvec3 parts = uvec3(place.first) * p.x.xyz;  // modulo 2^32: in front of the tensor it is never read
  place.x_start = image * p.x_image + group * p.group_inputs * p.x.w + parts.x + parts.y + parts.z;
  const uvec3 out_parts = at * p.y.xyz;
  place.y_start = image * p.y_image + out_parts.x + out_parts.y + out_parts.z;
  return place;
}

bool Sees(ivec3 at) {
  return all(lessThan(uvec3(at), uvec3(p.extent.xyz)));
}

void Finish(Place place, uint channel, real sum) {
  precise real value = sum;
  if (Opaque(p.has_bias) != 0u) value += Load_bias(channel * p.bias_stride);
  Store_y(place.y_start + channel * p.y.w, value);
}
