// SPDX-License-Identifier: Apache-2.0
#include "harness/import/benchdnn_drivers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/base/text.h"
#include "harness/import/benchdnn_conv.h"
#include "harness/import/extents.h"

namespace assay {
namespace {

using Chosen = const BenchdnnChoice&;
using Types = Result<std::vector<DType>>;

const std::string& Value(Chosen choice, std::string_view option) {
  return choice.find(option)->second;
}

Result<DType> TypeOf(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, DType>, 9> kTypes = {{{"f64", DType::kF64},
                                                                         {"f32", DType::kF32},
                                                                         {"f16", DType::kF16},
                                                                         {"bf16", DType::kBF16},
                                                                         {"f8_e4m3", DType::kE4M3},
                                                                         {"f8_e5m2", DType::kE5M2},
                                                                         {"s8", DType::kI8},
                                                                         {"u8", DType::kU8},
                                                                         {"s32", DType::kI32}}};
  for (const auto& [theirs, ours] : kTypes) {
    if (theirs == name) return ours;
  }
  return UsageError(fmt::format("no type {} here", name));
}

// "f16:f16:f32" of `count` tensors, or one for all of them.
Types TypesOf(std::string_view text, size_t count) {
  std::vector<DType> types;
  for (const std::string_view part : Split(text, ':')) {
    const auto type = TypeOf(part);
    if (!type) return tl::unexpected(type.error());
    types.push_back(*type);
  }
  if (types.size() == 1) types.resize(count, types[0]);
  if (types.size() != count) return UsageError(fmt::format("--dt has not one type or {}", count));
  return types;
}

// "u8s8s32" of the former --cfg, or "f32" for all.
Types TypesOfConfig(std::string_view text) {
  std::vector<DType> types;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("fbsu", 1 + text.starts_with("bf")), text.size());
    const auto type = TypeOf(text.substr(0, end));
    if (!type) return tl::unexpected(type.error());
    types.push_back(*type);
    text.remove_prefix(end);
  }
  if (types.size() == 1) types.resize(3, types[0]);
  if (types.size() != 3) return UsageError("--cfg has not one type or three");
  return types;
}

Status CheckAttributes(Chosen choice) {
  for (const auto& [option, value] : choice) {
    if (!option.starts_with("attr-") || value.empty()) continue;
    if (option == "attr-post-ops") return UsageError("attr-post-ops: what follows the operator is not part of a case");
    return UsageError(option + ": no such scaling or rounding here");
  }
  return {};
}

bool IsForward(Chosen choice) {
  return Value(choice, "dir").starts_with("FWD");
}

Status CheckForward(Chosen choice) {
  if (IsForward(choice)) return {};
  return UsageError(fmt::format("dir={}: this gradient is no operator here", Value(choice, "dir")));
}

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

Result<CaseSpec> MapMatmul(Chosen choice, std::string_view problem) {
  if (auto fine = CheckAttributes(choice); !fine) return tl::unexpected(fine.error());
  const auto parts = Split(problem, ':');
  if (parts.size() != 2 && parts.size() != 3) return UsageError("it is not of the form that these descriptions have");
  const auto a = ParseExtents(parts[0]), b = ParseExtents(parts[1]);
  if (!a || !b) return tl::unexpected(a ? b.error() : a.error());
  if (a->size() < 2 || b->size() < 2) return UsageError("it is not of the form that these descriptions have");
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
  if (auto fine = CheckAttributes(choice); !fine) return tl::unexpected(fine.error());
  if (auto forward = CheckForward(choice); !forward) return tl::unexpected(forward.error());
  const auto types =
      Value(choice, "cfg").empty() ? TypesOf(Value(choice, "dt"), 3) : TypesOfConfig(Value(choice, "cfg"));
  if (!types) return tl::unexpected(types.error());
  auto attrs = InnerProductAttrs(problem, Value(choice, "mb"));
  if (!attrs) return tl::unexpected(attrs.error());
  attrs->emplace_back("bias", Value(choice, "dir") == "FWD_B" || Value(choice, "bia-dt") != "undef" ? "1" : "0");
  return CaseSpec{"matmul", *types, *attrs};
}

Result<CaseSpec> MapConv(Chosen choice, std::string_view problem) {
  if (auto fine = CheckAttributes(choice); !fine) return tl::unexpected(fine.error());
  if (auto forward = CheckForward(choice); !forward) return tl::unexpected(forward.error());
  const auto types =
      Value(choice, "cfg").empty() ? TypesOf(Value(choice, "dt"), 3) : TypesOfConfig(Value(choice, "cfg"));
  if (!types) return tl::unexpected(types.error());
  auto attrs = ConvAttrs(problem, Value(choice, "mb"));
  if (!attrs) return tl::unexpected(attrs.error());
  attrs->emplace_back("bias", Value(choice, "dir") == "FWD_B" || Value(choice, "bia-dt") != "undef" ? "1" : "0");
  return CaseSpec{"conv", *types, *attrs};
}

// "mb" replaces the first axis.
Result<Shape> ShapeWith(std::string_view problem, std::string_view mb) {
  auto shape = ParseExtents(problem);
  if (!shape || mb == "0" || mb.empty()) return shape;
  const auto extent = ParseExtent(mb);
  if (!extent) return tl::unexpected(extent.error());
  shape->front() = *extent;
  return shape;
}

// All axes but the last are rows.
Result<AttrList> RowsOf(const Shape& shape) {
  const auto rows = ElementsOf(LeadingOf(shape, 1));
  if (!rows) return tl::unexpected(rows.error());
  return AttrList{{"rows", std::to_string(*rows)}, {"n", std::to_string(shape.back())}};
}

Result<CaseSpec> MapSoftmax(Chosen choice, std::string_view problem) {
  if (auto fine = CheckAttributes(choice); !fine) return tl::unexpected(fine.error());
  const auto shape = ShapeWith(problem, Value(choice, "mb"));
  if (!shape) return tl::unexpected(shape.error());
  const auto x = TypeOf(Value(choice, "sdt")), y = TypeOf(Value(choice, "ddt"));
  if (!x || !y) return tl::unexpected(x ? y.error() : x.error());
  const std::string& axis = Value(choice, "axis");
  const bool log = Value(choice, "alg") == "logsoftmax" || Value(choice, "alg") == "softmax_log";
  if (IsForward(choice)) {
    return CaseSpec{"softmax", {*x, *y}, {{"shape", DimsText(*shape)}, {"axis", axis}, {"log", log ? "1" : "0"}}};
  }
  if (log || axis != std::to_string(shape->size() - 1)) {
    return UsageError("dir=BWD_D: here is only the gradient of a softmax along the last axis");
  }
  const auto attrs = RowsOf(*shape);
  if (!attrs) return tl::unexpected(attrs.error());
  return CaseSpec{"softmax_backward", {*y, *y, *x}, *attrs};
}

Result<CaseSpec> MapReduction(Chosen choice, std::string_view problem) {
  if (auto fine = CheckAttributes(choice); !fine) return tl::unexpected(fine.error());
  const auto parts = Split(problem, ':');
  if (parts.size() != 2) return UsageError("it is not of the form that these descriptions have");
  const auto from = ParseExtents(parts[0]), to = ParseExtents(parts[1]);
  if (!from || !to) return tl::unexpected(from ? to.error() : from.error());
  if (from->size() != to->size()) return UsageError("the shapes of a reduction do not fit each other");
  std::string axes;
  for (size_t i = 0; i < from->size(); ++i) {
    if ((*from)[i] == (*to)[i]) continue;
    if ((*to)[i] != 1) return UsageError("the shapes of a reduction do not fit each other");
    axes += fmt::format("{}{}", axes.empty() ? "" : "+", i);
  }
  if (axes.empty()) return UsageError("no axis is reduced");
  std::string kind = Value(choice, "alg");
  if (kind == "mul") kind = "prod";
  if (kind == "norm_lp_sum" && Value(choice, "p") == "2" && Value(choice, "eps").empty()) kind = "l2";
  constexpr std::string_view kKinds[] = {"sum", "mean", "max", "min", "prod", "l2"};
  if (std::ranges::find(kKinds, kind) == std::end(kKinds)) return UsageError(fmt::format("no reduction {} here", kind));
  const auto x = TypeOf(Value(choice, "sdt")), y = TypeOf(Value(choice, "ddt"));
  if (!x || !y) return tl::unexpected(x ? y.error() : x.error());
  return CaseSpec{"reduce",
                  {*x, *y},
                  {{"shape", DimsText(*from)}, {"axes", axes}, {"kind", kind}, {"keepdims", "1"}},
                  kind == "prod" ? "near_one" : "normal"};
}

// Scale and shift of type ss_dt, and no statistics from outside.
Status CheckNormFlags(Chosen choice) {
  const std::string& flags = Value(choice, "flags");
  const auto has = [&](char flag) { return flags.find(flag) != std::string::npos; };
  if (has('G')) return UsageError("flags=G: mean and variance come from outside");
  if (has('C') && has('H')) return {};
  return UsageError(fmt::format("flags={}: a norm here has scale and shift", flags));
}

Types NormTypes(Chosen choice, size_t count) {
  const auto types = TypesOf(Value(choice, "dt"), 2);
  const auto scale = TypeOf(choice.contains("ss-dt") ? Value(choice, "ss-dt") : "f32");
  if (!types || !scale) return tl::unexpected(types ? scale.error() : types.error());
  std::vector<DType> all(count, *scale);
  all.front() = types->front();
  all.back() = types->back();
  return all;
}

Result<CaseSpec> MapLayerNorm(Chosen choice, std::string_view problem) {
  if (auto fine = CheckAttributes(choice); !fine) return tl::unexpected(fine.error());
  const auto shape = ParseExtents(problem);
  if (!shape) return tl::unexpected(shape.error());
  if (auto flags = CheckNormFlags(choice); !flags) return tl::unexpected(flags.error());
  const auto attrs = RowsOf(*shape);
  if (!attrs) return tl::unexpected(attrs.error());
  const bool forward = IsForward(choice);
  if (!forward && Value(choice, "dir") != "BWD_DW") {
    return tl::unexpected(CheckForward(choice).error());
  }
  auto types = NormTypes(choice, forward ? 4 : 6);
  if (!types) return tl::unexpected(types.error());
  if (!forward) (*types)[1] = types->front();  // dy, x
  return CaseSpec{forward ? "layer_norm" : "layer_norm_backward", *types, *attrs};
}

Result<CaseSpec> MapGroupNorm(Chosen choice, std::string_view problem) {
  if (auto fine = CheckAttributes(choice); !fine) return tl::unexpected(fine.error());
  if (auto forward = CheckForward(choice); !forward) return tl::unexpected(forward.error());
  if (auto flags = CheckNormFlags(choice); !flags) return tl::unexpected(flags.error());
  const auto attrs = GroupNormAttrs(problem, Value(choice, "mb"));
  if (!attrs) return tl::unexpected(attrs.error());
  const auto types = NormTypes(choice, 4);
  if (!types) return tl::unexpected(types.error());
  return CaseSpec{"group_norm", *types, *attrs};
}

Result<CaseSpec> MapEltwise(Chosen choice, std::string_view problem) {
  if (auto fine = CheckAttributes(choice); !fine) return tl::unexpected(fine.error());
  if (auto forward = CheckForward(choice); !forward) return tl::unexpected(forward.error());
  const auto shape = ShapeWith(problem, Value(choice, "mb"));
  if (!shape) return tl::unexpected(shape.error());
  const auto n = ElementsOf(*shape);
  if (!n) return tl::unexpected(n.error());
  const auto type = TypesOf(Value(choice, "dt"), 1);
  if (!type) return tl::unexpected(type.error());
  const std::string& alg = Value(choice, "alg");
  const AttrList elements = {{"n", std::to_string(*n)}};
  if (alg == "exp" || alg == "log" || alg == "tanh") return CaseSpec{alg, *type, elements};
  if (alg == "gelu_erf" || alg == "gelu_tanh") {
    return CaseSpec{"gelu", *type, {elements[0], {"approx", alg == "gelu_erf" ? "none" : "tanh"}}};
  }
  return UsageError(fmt::format("no elementwise operator {} here", alg));
}

using Options = std::vector<std::pair<std::string_view, std::string_view>>;

Options WithAttributes(Options options) {
  for (const char* name :
       {"attr-post-ops", "attr-scales", "attr-oscale", "attr-zero-points", "attr-dropout", "attr-others"}) {
    options.emplace_back(name, "");
  }
  return options;
}

const std::vector<BenchdnnDriver>& Drivers() {
  static const std::vector<BenchdnnDriver> drivers = {
      {"matmul",
       WithAttributes(
           {{"dt", "f32"}, {"stag", "ab"}, {"wtag", "ab"}, {"bia-dt", "undef"}, {"bia-mask", "2"}, {"encoding", ""}}),
       MapMatmul},
      {"conv", WithAttributes({{"dir", "FWD_B"}, {"dt", "f32"}, {"cfg", ""}, {"bia-dt", "undef"}, {"mb", "0"}}),
       MapConv},
      {"ip", WithAttributes({{"dir", "FWD_B"}, {"dt", "f32"}, {"cfg", ""}, {"bia-dt", "undef"}, {"mb", "0"}}),
       MapInnerProduct},
      {"softmax",
       WithAttributes(
           {{"dir", "FWD_D"}, {"sdt", "f32"}, {"ddt", "f32"}, {"alg", "SOFTMAX"}, {"axis", "1"}, {"mb", "0"}}),
       MapSoftmax},
      {"reduction", WithAttributes({{"sdt", "f32"}, {"ddt", "f32"}, {"alg", "sum"}, {"p", "1"}, {"eps", ""}}),
       MapReduction},
      {"lnorm", WithAttributes({{"dir", "FWD_D"}, {"dt", "f32"}, {"ss-dt", "f32"}, {"flags", ""}}), MapLayerNorm},
      {"gnorm", WithAttributes({{"dir", "FWD_D"}, {"dt", "f32"}, {"ss-dt", "f32"}, {"flags", ""}, {"mb", "0"}}),
       MapGroupNorm},
      {"eltwise", WithAttributes({{"dir", "FWD_D"}, {"dt", "f32"}, {"alg", "RELU"}, {"mb", "0"}}), MapEltwise}};
  return drivers;
}

const std::vector<BenchdnnDriver>& DriversElsewhere() {
  static const std::vector<BenchdnnDriver> drivers = [] {
    std::vector<BenchdnnDriver> all;
    for (const char* name : {"binary", "bnorm", "brgemm", "concat", "deconv", "graph", "lrn", "pool", "prelu",
                             "reorder", "resampling", "rnn", "self", "shuffle", "sum", "zeropad"}) {
      all.push_back({name, {}, nullptr});
    }
    return all;
  }();
  return drivers;
}

// "ba", "acb": the last two axes change places in memory.
bool IsTransposed(std::string_view tag) {
  if (tag.size() < 2) return false;
  const char last = static_cast<char>('a' + tag.size() - 1);
  if (tag[tag.size() - 2] != last || tag.back() != last - 1) return false;
  return std::ranges::all_of(tag, [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

const BenchdnnDriver* FindBenchdnnDriver(std::string_view name) {
  for (const auto* list : {&Drivers(), &DriversElsewhere()}) {
    for (const BenchdnnDriver& driver : *list) {
      if (driver.name == name) return &driver;
    }
  }
  return nullptr;
}

bool BenchdnnLeavesResult(std::string_view option) {
  constexpr std::string_view kOptions[] = {"allow-enum-tags-only",
                                           "attr-fpmath",
                                           "attr-acc-mode",
                                           "attr-scratchpad",
                                           "attr-deterministic",
                                           "tag",
                                           "stag",
                                           "wtag",
                                           "dtag",
                                           "stat-tag",
                                           "strides",
                                           "inplace",
                                           "skip-impl",
                                           "impl",
                                           "runtime-dims-masks",
                                           "alg",
                                           "alpha",
                                           "beta",
                                           "mode",
                                           "cold-cache",
                                           "perf-template",
                                           "fix-times-per-prb",
                                           "max-ms-per-prb",
                                           "engine",
                                           "ctx-init",
                                           "ctx-exe",
                                           "memory-kind",
                                           "mem-check",
                                           "fast-ref",
                                           "v",
                                           "v0",
                                           "v1",
                                           "v2",
                                           "v5",
                                           "canonical",
                                           "start"};
  return std::ranges::find(kOptions, option) != std::end(kOptions);
}

std::string BenchdnnMeaning(std::string_view option, std::string_view value) {
  if (option == "dir" || option == "alg") {
    std::string text(value);
    for (char& c : text) {
      const bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
      if (option == "dir" ? lower : upper) c = static_cast<char>(c ^ 0x20);
    }
    return text;
  }
  if (option == "stag" || option == "wtag") return IsTransposed(value) ? "transposed" : "";
  if (option.starts_with("attr-") || option == "encoding") return value.empty() ? "" : "...";
  if (option == "eps") return value.empty() || value == "0" || value == "0.0" ? "" : std::string(value);
  return std::string(value);
}

}  // namespace assay
