// SPDX-License-Identifier: Apache-2.0
// How each operator of ONNX becomes one of assay's. Private to the importer.
#pragma once

#include "harness/tools/import/onnx_nodes.h"

namespace assay {

using OnnxResult = Result<OnnxMapped>;

// Helpers of several maps.
int64_t OnnxProduct(const Shape& shape, size_t begin, size_t end);
Result<size_t> OnnxAxis(int64_t axis, size_t rank);  // counted from the front
std::vector<int64_t> OnnxIntegers(const OnnxTensor& tensor);

// onnx_products.cc
OnnxResult MapOnnxMatMul(const OnnxCall& call);
OnnxResult MapGemm(const OnnxCall& call);
OnnxResult MapOnnxConv(const OnnxCall& call);
OnnxResult MapOnnxAttention(const OnnxCall& call);

// onnx_rows.cc
OnnxResult MapOnnxSoftmax(const OnnxCall& call, bool log);
OnnxResult MapOnnxReduce(const OnnxCall& call, const char* kind);
OnnxResult MapArg(const OnnxCall& call, const char* kind);
OnnxResult MapOnnxLayerNorm(const OnnxCall& call);
OnnxResult MapOnnxRmsNorm(const OnnxCall& call);
OnnxResult MapOnnxGroupNorm(const OnnxCall& call, bool each_channel);
OnnxResult MapElementwise(const OnnxCall& call, const char* op, AttrList more = {});
OnnxResult MapOnnxCumSum(const OnnxCall& call);
OnnxResult MapOnnxTopK(const OnnxCall& call);
OnnxResult MapGather(const OnnxCall& call);

// onnx_elements.cc
OnnxResult MapOnnxPow(const OnnxCall& call);
OnnxResult MapOnnxQuantize(const OnnxCall& call);
OnnxResult MapOnnxDequantize(const OnnxCall& call);
OnnxResult MapOnnxRope(const OnnxCall& call);

}  // namespace assay
