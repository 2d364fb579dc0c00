// SPDX-License-Identifier: Apache-2.0
#include "harness/core/model/other_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>

#include "harness/core/base/nearest_word.h"

namespace assay {
namespace {

// Words in the tables below are without "_", in lower case, and without the module before them.
struct OtherOperator {
  std::string_view op, with;  // the attributes that make it the same, in words
  std::vector<std::string_view> words;
};

const std::vector<OtherOperator>& OtherOperators() {
  static const std::vector<OtherOperator> table = {
      {"softmax", "log=1", {"logsoftmax"}},
      {"matmul", "transb=1", {"linear", "fullyconnected", "dense"}},
      {"matmul", "beta=1 and the input c", {"addmm", "baddbmm"}},
      {"matmul", "", {"mm", "bmm", "gemm", "dot", "matrixmultiply", "batchmatmul", "matmulinteger"}},
      {"conv", "", {"conv1d", "conv2d", "conv3d", "convolution", "convgeneraldilated"}},
      {"attention", "", {"sdpa", "scaleddotproductattention", "flashattention", "multiheadattention", "mha", "gqa"}},
      {"rms_norm", "", {"rmsnormalization", "simplifiedlayernormalization", "t5layernorm"}},
      {"layer_norm", "", {"layernormalization", "nativelayernorm"}},
      {"group_norm", "", {"groupnormalization", "nativegroupnorm"}},
      {"fused_add_rms_norm", "", {"addrmsnorm", "skiprmsnorm", "skipsimplifiedlayernormalization"}},
      {"layer_norm_backward", "", {"layernormgrad", "nativelayernormbackward"}},
      {"softmax_backward", "", {"softmaxgrad", "softmaxbackwarddata"}},
      {"silu_and_mul", "", {"swiglu", "silumul"}},
      {"gelu", "approx=tanh", {"gelutanh", "fastgelu"}},
      {"gelu_and_mul", "", {"geglu"}},
      {"silu", "", {"swish"}},
      {"hardswish", "", {"hardsilu"}},
      {"rope", "", {"rotary", "rotaryembedding", "applyrotaryposemb"}},
      {"selective_scan", "", {"mamba", "ssm", "selectivescanfn"}},
      {"gather", "", {"take"}},
      {"scatter_add", "", {"indexadd"}},
      {"gated_delta_rule", "", {"chunkgateddeltarule", "fusedrecurrentgateddeltarule"}},
      {"top_p_mask", "", {"nucleus", "toppsampling"}},
      {"min_p_mask", "", {"minpsampling"}},
      {"grid_sample", "", {"gridsampler", "gridsampler2d"}},
      {"mx_mm", "", {"mxfp8mm", "mxfp6mm", "mxfp4mm", "nvfp4mm"}},
      {"avg_pool", "", {"avgpool1d", "avgpool2d", "averagepool"}},
      {"max_pool", "", {"maxpool1d", "maxpool2d", "maxpool2dwithindices"}},
      {"cumsum", "", {"prefixsum", "cumulativesum"}},
      {"quantize", "", {"quantizelinear", "quantizepertensor"}},
      {"dequantize", "", {"dequantizelinear"}},
      {"rsqrt", "", {"invsqrt", "reciprocalsqrt"}},
      {"pow", "", {"power"}},
      {"sub", "", {"subtract"}},
      {"mul", "", {"multiply"}},
      {"div", "", {"divide", "truedivide"}},
      {"maximum", "", {"elementwisemax"}},
      {"minimum", "", {"elementwisemin"}},
      {"neg", "", {"negative", "negate"}},
      {"abs", "", {"absolute", "fabs"}},
      {"acos", "", {"arccos"}},
      {"acosh", "", {"arccosh"}},
      {"asin", "", {"arcsin"}},
      {"asinh", "", {"arcsinh"}},
      {"atan", "", {"arctan"}},
      {"atanh", "", {"arctanh"}},
      {"round", "", {"rint", "nearbyint", "roundeven", "nearest"}},
      {"trunc", "", {"fix"}},
      {"sigmoid", "", {"logistic"}},
      {"clip", "", {"clamp", "hardtanh"}},
      {"where", "", {"select"}},
      {"fma", "", {"multiplyadd", "muladd"}},
      {"cast", "", {"astype", "convert", "typecast"}},
      {"equal", "", {"eq"}},
      {"not_equal", "", {"ne"}},
      {"less", "", {"lt"}},
      {"less_equal", "", {"le", "lessorequal"}},
      {"greater", "", {"gt"}},
      {"greater_equal", "", {"ge", "greaterorequal"}},
      {"fft", "kind=r2c", {"rfft"}},
      {"fft", "kind=c2r", {"irfft"}},
      {"fft", "kind=c2c, dir=inv and norm=backward", {"ifft", "ifft2", "ifftn"}},
      {"fft", "kind=c2c", {"fft2", "fftn"}},
      {"reduce", "kind=sum", {"sum", "reducesum"}},
      {"reduce", "kind=mean", {"mean", "average", "reducemean"}},
      {"reduce", "kind=max", {"max", "amax", "reducemax"}},
      {"reduce", "kind=min", {"min", "amin", "reducemin"}},
      {"reduce", "kind=prod", {"prod", "reduceprod"}},
      {"reduce", "kind=l2", {"norm", "vectornorm", "l2norm", "reducel2"}},
      {"reduce", "kind=argmax", {"argmax"}},
      {"reduce", "kind=argmin", {"argmin"}},
      {"reduce", "kind=logsumexp", {"logsumexp", "reducelogsumexp"}},
  };
  return table;
}

struct OtherName {
  std::string_view word;
  std::vector<std::string_view> names;  // the first of these that an operator has
};

// Attributes that take the same values under either name, written as programs write them.
const std::vector<OtherName>& SameAttributes() {
  static const std::vector<OtherName> table = {
      {"axis", {"axes"}},          {"axes", {"axis"}},           {"dim", {"axis", "axes"}}, {"keepdim", {"keepdims"}},
      {"transpose_a", {"transa"}}, {"transpose_b", {"transb"}},  {"padding", {"pad"}},      {"strides", {"stride"}},
      {"dilations", {"dilation"}}, {"group", {"groups"}},        {"is_causal", {"causal"}}, {"epsilon", {"eps"}},
      {"approximate", {"approx"}}, {"softmax_scale", {"scale"}}, {"sm_scale", {"scale"}},   {"min", {"low"}},
      {"max", {"high"}},
  };
  return table;
}

// Functions that frameworks have and no operator here is. The operator whose name is nearest is another function, as
// gelu is to glu.
constexpr std::string_view kOtherFunctions[] = {"addcmul", "atan2", "digamma", "erfinv", "glu",
                                                "lgamma",  "reglu", "sinc",    "softmin"};

// Attributes whose values are written otherwise, or count otherwise.
const std::vector<OtherName>& AkinAttributes() {
  static const std::vector<OtherName> table = {
      {"dims", {"axes", "axis"}},     {"pads", {"pad"}},
      {"windowsize", {"window"}},     {"slidingwindow", {"window"}},
      {"logitssoftcap", {"softcap"}}, {"numheads", {"h"}},
      {"numkvheads", {"hkv"}},        {"headdim", {"d"}},
      {"numgroups", {"groups", "g"}}, {"largest", {"smallest"}},
      {"inverse", {"dir"}},           {"direction", {"dir"}},
      {"reduction", {"kind"}},        {"mode", {"kind"}},
  };
  return table;
}

// Arguments of frameworks for which an operator with this attribute has none, and what to do.
struct NoAttribute {
  std::string_view word, beside, advice;
};
constexpr NoAttribute kNoAttributes[] = {
    {"enablegqa", "hkv", "leave it out: the shapes of q and k say how many query heads share a key head"},
    {"dropoutp", "softcap",
     "leave it out, as nothing is dropped at random: judge what the kernel gives without dropout"},
    {"needweights", "softcap", "leave it out: the weights are no output"},
    {"normalizedshape", "eps", "leave it out: the last axis is normalised, whose extent the shapes give"},
    {"elementwiseaffine", "eps",
     "leave it out: give weights of 1 as gamma, and zeros as beta, for a kernel without them"},
};

const std::vector<OtherName>& OtherOperands() {
  static const std::vector<OtherName> table = {
      {"weight", {"gamma", "w", "b", "table"}},
      {"scale", {"gamma"}},
      {"bias", {"beta"}},
      {"kernel", {"w"}},
      {"filter", {"w"}},
      {"input", {"x", "a", "q", "table"}},
      {"self", {"x", "a"}},
      {"lhs", {"a"}},
      {"rhs", {"b"}},
      {"other", {"b"}},
      {"condition", {"c"}},
      {"mat2", {"b"}},
      {"query", {"q"}},
      {"key", {"k"}},
      {"value", {"v"}},
      {"attnmask", {"mask"}},
      {"attentionmask", {"mask"}},
      {"attnbias", {"mask"}},
      {"index", {"indices"}},
      {"src", {"updates"}},
      {"exponent", {"p"}},
      {"gradoutput", {"dy"}},
      {"zeropoint", {"zero_point", "zero"}},
      {"out", {"y", "o"}},
      {"output", {"y", "o"}},
  };
  return table;
}

// "log_softmax" of "torch.nn.functional.Log-Softmax".
std::string LastWord(std::string_view word) {
  std::string last(word.substr(word.rfind('.') + 1));  // all of it where there is no module
  for (char& c : last) c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return last;
}

// "logsoftmax".
std::string PlainWord(std::string_view word) {
  std::string plain = LastWord(word);
  std::erase(plain, '_');
  return plain;
}

std::string Asked(std::string_view name, std::string_view with = "") {
  return fmt::format("; did you mean '{}'{}{}?", name, with.empty() ? "" : " with ", with);
}

std::vector<std::string> KeysOf(const OpSchema& schema) {
  std::vector<std::string> keys;
  for (const AttrDef& attr : schema.attrs) keys.push_back(attr.key);
  return keys;
}

std::vector<std::string> OperandsOf(const OpSchema& schema) {
  std::vector<std::string> names;
  for (const OperandDoc& operand : schema.layouts) names.push_back(operand.name);
  return names.empty() ? schema.operands : names;
}

// The name of `known` that the plain word is, or that a table has for it; "": none.
std::string FindName(const std::string& plain, std::span<const std::string> known,
                     std::initializer_list<const std::vector<OtherName>*> tables) {
  const auto same = std::ranges::find_if(known, [&](const std::string& name) { return PlainWord(name) == plain; });
  if (same != known.end()) return *same;
  for (const std::vector<OtherName>* table : tables) {
    for (const OtherName& other : *table) {
      if (PlainWord(other.word) != plain) continue;
      for (const std::string_view name : other.names) {
        if (std::ranges::find(known, name) != known.end()) return std::string(name);
      }
    }
  }
  return "";
}

}  // namespace

std::string OperatorHint(std::string_view word, std::span<const std::string> known) {
  const std::string plain = PlainWord(word);
  if (const std::string same = FindName(plain, known, {}); !same.empty()) return Asked(same);
  for (const OtherOperator& other : OtherOperators()) {
    const bool is_it = std::ranges::find(other.words, plain) != other.words.end();
    if (is_it && std::ranges::find(known, other.op) != known.end()) return Asked(other.op, other.with);
  }
  if (std::ranges::find(kOtherFunctions, plain) != std::end(kOtherFunctions)) {
    return fmt::format("; {} is none of them; state its formula as an operator (ops/ADDING.md in the sources)", plain);
  }
  return DidYouMean(LastWord(word), known);
}

std::string AttributeHint(std::string_view word, const OpSchema& schema) {
  const std::string plain = PlainWord(word);
  const std::vector<std::string> keys = KeysOf(schema), operands = OperandsOf(schema);
  if (const std::string key = FindName(plain, keys, {&SameAttributes(), &AkinAttributes()}); !key.empty()) {
    return Asked(key);
  }
  for (const NoAttribute& none : kNoAttributes) {
    if (plain == none.word && schema.Find(none.beside) != nullptr) return fmt::format("; {}", none.advice);
  }
  if (const std::string name = FindName(plain, operands, {&OtherOperands()}); !name.empty()) {
    const bool is_output = std::ranges::find(schema.outputs, name) != schema.outputs.end();
    return fmt::format("; give {} with the {}, as the operand '{}'", word, is_output ? "outputs" : "inputs", name);
  }
  const bool is_axis = plain == "axis" || plain == "axes" || plain == "dim";
  if (is_axis && schema.Find("rows") != nullptr && schema.Find("n") != nullptr) {
    return "; it works along the last axis of [rows,n]: give the arrays with that axis last";
  }
  return DidYouMean(word, keys);
}

std::string OperandHint(std::string_view word, const OpSchema& schema) {
  const std::vector<std::string> operands = OperandsOf(schema);
  const std::string name = FindName(PlainWord(word), operands, {&OtherOperands()});
  if (!name.empty() && name != word) return Asked(name);
  return name.empty() ? DidYouMean(word, operands) : "";
}

std::vector<std::string> OtherNamesOf(std::string_view key, const OpSchema& schema) {
  std::vector<std::string> words;
  for (const OtherName& other : SameAttributes()) {
    if (schema.Find(other.word) != nullptr) continue;
    const auto first = std::ranges::find_if(other.names, [&](auto name) { return schema.Find(name) != nullptr; });
    if (first != other.names.end() && *first == key) words.emplace_back(other.word);
  }
  return words;
}

}  // namespace assay
