// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/core/base/text.h"
#include "harness/tools/import/benchdnn_choice.h"
#include "harness/tools/import/benchdnn_conv.h"
#include "harness/tools/import/extents.h"

namespace assay::benchdnn {
namespace {

// Whether there is a bias; assay's has the type of the output.
Result<bool> HasBias(Chosen choice, std::string_view output_type) {
  const std::string& type = Value(choice, "bia-dt");
  if (type == "undef") return false;
  if (type != output_type) return UsageError("the bias has another type than the output");
  return true;
}

std::string OutputType(Chosen choice) {
  const std::string& text = Value(choice, "dt");
  return text.substr(text.rfind(':') + 1);
}

Shape LeadingOf(const Shape& shape, size_t left) {
  return {shape.begin(), shape.end() - static_cast<ptrdiff_t>(left)};
}

// Batches of both operands that are equal, or rows of a that all meet one b.
Result<AttrList> BatchedProduct(const Shape& a, const Shape& b, bool transa) {
  const int64_t m = a[a.size() - 2], k = a.back(), n = b.back();
  if (a.size() != b.size() || b[b.size() - 2] != k) return UsageError("the shapes of a product do not fit each other");
  const Shape batch_a = LeadingOf(a, 2), batch_b = LeadingOf(b, 2);
  const auto batch = ElementsOf(batch_a);
  if (!batch) return tl::unexpected(batch.error());
  AttrList attrs = {{"m", std::to_string(m)}, {"n", std::to_string(n)}, {"k", std::to_string(k)}};
  if (batch_a == batch_b) {
    attrs.emplace_back("batch", std::to_string(*batch));
  } else if (std::ranges::all_of(batch_b, [](int64_t extent) { return extent == 1; }) && !transa) {
    const auto rows = ElementsOf(std::array{*batch, m});
    if (!rows) return tl::unexpected(rows.error());
    attrs[0].second = std::to_string(*rows);
  } else {
    return UsageError("operands are repeated over the batch");
  }
  return attrs;
}

// Maps a descriptor with weights. Convolutions and inner products have the same options.
Result<CaseSpec> MapWeights(Chosen choice, const char* op, Result<AttrList> attrs) {
  if (auto forward = CheckForward(choice); !forward) return tl::unexpected(forward.error());
  const auto types =
      Value(choice, "cfg").empty() ? TypesOf(Value(choice, "dt"), 3) : TypesOfConfig(Value(choice, "cfg"));
  if (!types) return tl::unexpected(types.error());
  if (!attrs) return tl::unexpected(attrs.error());
  attrs->emplace_back("bias", Value(choice, "dir") == "FWD_B" || Value(choice, "bia-dt") != "undef" ? "1" : "0");
  return CaseSpec{op, *types, *attrs};
}

}  // namespace

Result<CaseSpec> MapMatmul(Chosen choice, std::string_view problem) {
  const auto parts = Split(problem, ':');
  if (parts.size() != 2 && parts.size() != 3) return UsageError(kNoForm);
  const auto a = ParseExtents(parts[0]), b = ParseExtents(parts[1]);
  if (!a || !b) return tl::unexpected(a ? b.error() : a.error());
  if (a->size() < 2 || b->size() < 2) return UsageError(kNoForm);
  const bool transa = Value(choice, "stag") == "transposed", transb = Value(choice, "wtag") == "transposed";
  if (!Value(choice, "encoding").empty()) return UsageError("encoding: sparse tensors");
  const auto types = TypesOf(Value(choice, "dt"), 3);
  if (!types) return tl::unexpected(types.error());
  const auto bias = HasBias(choice, OutputType(choice));
  if (!bias) return tl::unexpected(bias.error());
  const auto mask = ParseNumber<int64_t>(Value(choice, "bia-mask"));
  if (*bias && mask != int64_t{1} << (a->size() - 1)) return UsageError("the bias does not go along n alone");
  auto attrs = BatchedProduct(*a, *b, transa);
  if (!attrs) return tl::unexpected(attrs.error());
  attrs->insert(attrs->end(),
                {{"transa", transa ? "1" : "0"}, {"transb", transb ? "1" : "0"}, {"bias", *bias ? "1" : "0"}});
  return CaseSpec{"matmul", *types, *attrs};
}

Result<CaseSpec> MapInnerProduct(Chosen choice, std::string_view problem) {
  return MapWeights(choice, "matmul", InnerProductAttrs(problem, Value(choice, "mb")));
}

Result<CaseSpec> MapConv(Chosen choice, std::string_view problem) {
  return MapWeights(choice, "conv", ConvAttrs(problem, Value(choice, "mb")));
}

}  // namespace assay::benchdnn
