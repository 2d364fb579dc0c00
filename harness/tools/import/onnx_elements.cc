// SPDX-License-Identifier: Apache-2.0
// Powers, 8-bit codes and rotations of ONNX: operators whose second operand has the shape of a part of the first.
#include <fmt/format.h>

#include <array>

#include "harness/tools/import/onnx_maps.h"

namespace assay {

OnnxResult MapOnnxPow(const OnnxCall& call) {
  const OnnxTensor &x = *call.inputs[0], &p = *call.inputs[1];
  if (x.shape != p.shape) return UsageError("one power of several numbers; here each number has its own");
  if (*x.dtype != *p.dtype) return UsageError("numbers and powers of different types");
  const int64_t n = x.data.size();
  return OnnxMapped{{"pow", {*x.dtype}, {{"n", std::to_string(n)}}}, {{"x", 0, {n}}, {"p", 1, {n}}}, {{"y", 0, {n}}}};
}

namespace {

// x as a matrix, and which part of it has its own scale: the tensor, a row or a column.
struct Codes {
  int64_t rows, n;
  std::string per;
  Shape scale;
};

Result<Codes> CodesOf(const OnnxCall& call) {
  const Shape& shape = call.inputs[0]->shape;
  const int64_t all = OnnxProduct(shape, 0, shape.size()), scales = call.inputs[1]->data.size();
  if (call.Int("block_size", 0) != 0) return UsageError("a scale for each block of an axis");
  if (scales == 1) return Codes{1, all, "tensor", {}};
  const auto axis = OnnxAxis(call.Int("axis", 1), shape.size());
  if (!axis) return tl::unexpected(axis.error());
  if (scales != shape[*axis]) return UsageError("scales that do not fit their axis");
  if (*axis == 0) return Codes{scales, all / scales, "row", {scales}};
  if (*axis + 1 == shape.size()) return Codes{all / scales, scales, "column", {scales}};
  return UsageError("scales along an axis in the middle; here rows or columns have them");
}

// Floating-point codes need no zero point: the one that ONNX states for them is 0.
bool HasZero(const OnnxCall& call, DType codes) {
  return call.Input(2) != nullptr && !IsFloat(codes);
}

OnnxMapped MapCodes(const OnnxCall& call, const Codes& codes, DType type_of_codes, const char* op,
                    const std::array<const char*, 3>& names) {
  const Shape all = {codes.rows, codes.n};
  OnnxMapped mapped{{op,
                     {*call.inputs[0]->dtype, *call.inputs[1]->dtype},
                     {{"rows", std::to_string(codes.rows)}, {"n", std::to_string(codes.n)}, {"per", codes.per}}},
                    {{names[0], 0, all}, {"scale", 1, codes.scale}},
                    {{names[1], 0, all}}};
  if (HasZero(call, type_of_codes)) {
    mapped.spec.dtypes.push_back(*call.inputs[2]->dtype);
    mapped.inputs.push_back({names[2], 2, codes.scale});
  }
  mapped.spec.dtypes.push_back(*call.outputs[0]->dtype);
  return mapped;
}

}  // namespace

OnnxResult MapOnnxQuantize(const OnnxCall& call) {
  if (call.Int("saturate", 1) == 0) return UsageError("codes that do not saturate");
  if (call.Int("precision", 0) != 0) return UsageError("a division in a stated type");
  const auto codes = CodesOf(call);
  if (!codes) return tl::unexpected(codes.error());
  return MapCodes(call, *codes, *call.outputs[0]->dtype, "quantize", {"x", "q", "zero_point"});
}

OnnxResult MapOnnxDequantize(const OnnxCall& call) {
  const auto codes = CodesOf(call);
  if (!codes) return tl::unexpected(codes.error());
  return MapCodes(call, *codes, *call.inputs[0]->dtype, "dequantize", {"q", "y", "zero"});
}

// [batch, heads, positions, d], or [batch, positions, heads d]. Tables are those of each batch, and have as many rows
// as batches and positions together: one of them may become the other where heads do not lie between them.
OnnxResult MapOnnxRope(const OnnxCall& call) {
  const Shape &x = call.inputs[0]->shape, &cos = call.inputs[1]->shape;
  if (call.Input(3) != nullptr) return UsageError("positions that choose rows of the tables");
  if (call.Input(2) == nullptr || cos.size() != 3) return UsageError("tables without a row for each position");
  if (call.Int("interleaved", 0) != 0) return UsageError("pairs of neighbours; here of the halves of a head");
  if (x.size() != 3 && x.size() != 4) return UsageError("a tensor of other than three or four axes");
  const bool heads_first = x.size() == 4;
  const int64_t stated = call.Int("num_heads", 0);
  if (!heads_first && (stated < 1 || x[2] % stated != 0)) return UsageError("the heads do not divide the axis");
  const int64_t heads = heads_first ? x[1] : stated, positions = heads_first ? x[2] : x[1];
  const int64_t d = heads_first ? x[3] : x[2] / stated, turned = call.Int("rotary_embedding_dim", 0);
  if (turned != 0 && turned != d) return UsageError("a part of each head is turned");
  if (cos != Shape{x[0], positions, d / 2}) return UsageError("tables that do not fit the positions");
  if (heads_first && x[0] != 1 && heads != 1)
    return UsageError("tables of each batch, where here all batches have one");
  // With the heads first, and one batch, each head is a batch.
  const bool as_batches = heads_first && heads != 1;
  const Shape all = as_batches ? Shape{heads, positions, 1, d} : Shape{1, x[0] * positions, heads, d};
  const Shape table = {all[1], d / 2};
  return OnnxMapped{{"rope",
                     {*call.inputs[0]->dtype, *call.inputs[1]->dtype, *call.inputs[2]->dtype, *call.outputs[0]->dtype},
                     {{"b", std::to_string(all[0])},
                      {"l", std::to_string(all[1])},
                      {"h", std::to_string(all[2])},
                      {"d", std::to_string(d)}}},
                    {{"x", 0, all}, {"cos", 1, table}, {"sin", 2, table}},
                    {{"y", 0, all}}};
}

}  // namespace assay
