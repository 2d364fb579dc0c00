// SPDX-License-Identifier: Apache-2.0
// The portable backend: the host, strict IEEE arithmetic, subnormals kept. The table is the list of what it offers.
#include "backends/common/backend.h"
#include "backends/common/host.h"
#include "backends/common/table.h"
#include "backends/cpu/attentions.h"
#include "backends/cpu/collectives.h"
#include "backends/cpu/conv.h"
#include "backends/cpu/conv_gradients.h"
#include "backends/cpu/delta_rule.h"
#include "backends/cpu/elementwise.h"
#include "backends/cpu/experts.h"
#include "backends/cpu/gradients.h"
#include "backends/cpu/grid_sample.h"
#include "backends/cpu/identities.h"
#include "backends/cpu/indexed.h"
#include "backends/cpu/indexing.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/losses.h"
#include "backends/cpu/mixed_products.h"
#include "backends/cpu/movement.h"
#include "backends/cpu/norm_backward.h"
#include "backends/cpu/norms.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/pooling.h"
#include "backends/cpu/quantize.h"
#include "backends/cpu/random.h"
#include "backends/cpu/resize.h"
#include "backends/cpu/sampling.h"
#include "backends/cpu/scaled_products.h"
#include "backends/cpu/selections.h"
#include "backends/cpu/sequences.h"
#include "backends/cpu/spectra.h"

namespace cpu {
namespace {

using RadixFft = FftRow<FftAlgorithm::kRadix>;
using BluesteinFft = FftRow<FftAlgorithm::kBluestein>;
using DirectFft = FftRow<FftAlgorithm::kDirect>;

constexpr int kAnyInPlace = plugin::kAnyLayout | plugin::kInPlace;
constexpr plugin::DType kCodeTypes[] = {plugin::kI8, plugin::kU8, plugin::kE4M3, plugin::kE5M2};
constexpr plugin::DType kWordTypes[] = {plugin::kI64}, kWords[] = {plugin::kI64, plugin::kI32};
constexpr plugin::DType kSparseTypes[] = {plugin::kF32, plugin::kBF16, plugin::kF16, plugin::kE4M3};
constexpr plugin::DType kSummedTypes[] = {plugin::kI32, plugin::kI8, plugin::kU8, plugin::kF32};

template <class Kernel>
constexpr plugin::Row<plugin::HostDevice> RowOf(const char* op, const char* name,
                                                plugin::Types types = plugin::kRealTypes,
                                                int layouts = plugin::kAnyLayout) {
  return {{op, types, name, layouts}, Rows<Kernel>::Contract, Rows<Kernel>::WhyNot, Rows<Kernel>::Create};
}

// A row for a kernel that makes its own plan.
template <class Kernel>
constexpr plugin::Row<plugin::HostDevice> PlanRowOf(const char* op, const char* name,
                                                    plugin::Types types = plugin::kRealTypes) {
  return {{op, types, name}, Rows<Kernel>::Contract, Rows<Kernel>::WhyNot, Kernel::Create};
}

// Creates the plan of one of several ways of computing.
template <auto kCreate, auto kHow>
std::unique_ptr<plugin::Plan> CreateBy(plugin::HostDevice&, const plugin::OpDesc& op) {
  return kCreate(op, kHow);
}

constexpr plugin::Row<plugin::HostDevice> kNamedRows[] = {
    {{"matmul", plugin::kRealTypesAndI8, "naive"},
     MatmulContract,
     MatmulWhyNot,
     CreateBy<CreateMatmulPlan, KOrder::kSequential>},
    {{"matmul", plugin::kRealTypesAndI8, "blocked"},
     MatmulContract,
     MatmulWhyNot,
     CreateBy<CreateMatmulPlan, KOrder::kPanels>},
    {{"matmul", plugin::kRealTypesAndI8, "splitk"},
     MatmulContract,
     MatmulWhyNot,
     CreateBy<CreateMatmulPlan, KOrder::kSplit>},
    {{"fft", plugin::kFftTypes, "radix"}, RadixFft::Contract, RadixFft::WhyNot, RadixFft::Create},
    {{"fft", plugin::kFftTypes, "bluestein"}, BluesteinFft::Contract, BluesteinFft::WhyNot, BluesteinFft::Create},
    {{"fft", plugin::kFftTypes, "direct"}, DirectFft::Contract, DirectFft::WhyNot, DirectFft::Create},
    {{"reduce", plugin::kRealTypesAndIntegers, "sequential"},
     ReduceContract,
     ReduceWhyNot,
     CreateBy<CreateReducePlan, SumOrder::kSequential>},
    {{"reduce", plugin::kRealTypesAndIntegers, "pairwise"},
     ReduceContract,
     FoldWhyNot,
     CreateBy<CreateReducePlan, SumOrder::kPairwise>},
    {{"reduce", plugin::kRealTypesAndIntegers, "strided"},
     ReduceContract,
     FoldWhyNot,
     CreateBy<CreateReducePlan, SumOrder::kStrided>},
    {{"conv", plugin::kRealTypesAndI8, "direct"}, ConvContract, ConvWhyNot, CreateConvDirect},
    {{"conv", plugin::kRealTypesAndI8, "im2col"}, ConvContract, ConvWhyNot, CreateConvIm2col},
    {{"conv", plugin::kRealTypes, "winograd-2x2-3x3"}, ConvWinogradContract, ConvWinogradWhyNot, CreateConvWinograd},
    {{"softmax", plugin::kRealTypes, "direct", kAnyInPlace},
     SoftmaxContract,
     SoftmaxWhyNot,
     CreateBy<CreateSoftmaxPlan, SoftmaxForm::kDirect>},
    {{"softmax", plugin::kRealTypes, "online", kAnyInPlace},
     SoftmaxContract,
     SoftmaxWhyNot,
     CreateBy<CreateSoftmaxPlan, SoftmaxForm::kOnline>},
    {{"attention", plugin::kRealTypes, "materialised"},
     AttentionContract,
     AttentionWhyNot,
     CreateBy<CreateAttentionPlan, 0>},
    {{"attention", plugin::kRealTypes, "flash-32"},
     AttentionContract,
     AttentionWhyNot,
     CreateBy<CreateAttentionPlan, 32>},
    {{"attention", plugin::kRealTypes, "flash-64"},
     AttentionContract,
     AttentionWhyNot,
     CreateBy<CreateAttentionPlan, 64>},
    RowOf<LayerNorm<Variance::kTwoPass>>("layer_norm", "two-pass"),
    RowOf<LayerNorm<Variance::kWelford>>("layer_norm", "welford"),
    RowOf<LayerNorm<Variance::kOnePass>>("layer_norm", "one-pass"),
    RowOf<GroupNorm<Variance::kTwoPass>>("group_norm", "two-pass"),
    RowOf<GroupNorm<Variance::kWelford>>("group_norm", "welford"),
    RowOf<GroupNorm<Variance::kOnePass>>("group_norm", "one-pass"),
    RowOf<InstanceNorm<Variance::kTwoPass>>("instance_norm", "two-pass"),
    RowOf<InstanceNorm<Variance::kWelford>>("instance_norm", "welford"),
    RowOf<InstanceNorm<Variance::kOnePass>>("instance_norm", "one-pass"),
    RowOf<BatchNorm<false>>("batch_norm", "direct"),
    RowOf<BatchNorm<true>>("batch_norm", "folded"),
    RowOf<BatchNormTraining<Variance::kTwoPass>>("batch_norm_training", "two-pass"),
    RowOf<BatchNormTraining<Variance::kOnePass>>("batch_norm_training", "one-pass"),
    RowOf<RmsNorm<SequentialFold>>("rms_norm", "sequential"),
    RowOf<RmsNorm<StridedFold>>("rms_norm", "strided"),
    RowOf<FusedAddRmsNorm<SequentialFold>>("fused_add_rms_norm", "sequential", plugin::kRealTypes, kAnyInPlace),
    RowOf<FusedAddRmsNorm<StridedFold>>("fused_add_rms_norm", "strided", plugin::kRealTypes, kAnyInPlace),
    PlanRowOf<LayerNormBackward<false>>("layer_norm_backward", "by-rows"),
    PlanRowOf<LayerNormBackward<true>>("layer_norm_backward", "by-blocks"),
    RowOf<SoftmaxBackward<SequentialFold>>("softmax_backward", "sequential"),
    RowOf<SoftmaxBackward<PairwiseFold>>("softmax_backward", "pairwise"),
    RowOf<LogSoftmaxBackward<SequentialFold>>("log_softmax_backward", "sequential"),
    RowOf<LogSoftmaxBackward<PairwiseFold>>("log_softmax_backward", "pairwise"),
    RowOf<CrossEntropy<false>>("cross_entropy", "two-pass"),
    RowOf<CrossEntropy<true>>("cross_entropy", "online"),
    RowOf<CrossEntropyBackward<false>>("cross_entropy_backward", "two-pass"),
    RowOf<CrossEntropyBackward<true>>("cross_entropy_backward", "online"),
    RowOf<ElementLoss<SequentialFold>>("kl_div", "sequential"),
    RowOf<ElementLoss<PairwiseFold>>("kl_div", "pairwise"),
    RowOf<ElementLoss<SequentialFold>>("mse", "sequential"),
    RowOf<ElementLoss<PairwiseFold>>("mse", "pairwise"),
    RowOf<ExpRows>("exp", "direct"),
    RowOf<Elementwise<SquaredExp>>("exp", "squared"),
    RowOf<LogRows>("log", "direct"),
    RowOf<Elementwise<LogByExponent>>("log", "by-exponent"),
    RowOf<TanhRows>("tanh", "direct"),
    RowOf<Elementwise<TanhByExp>>("tanh", "expm1"),
    RowOf<ErfRows>("erf", "direct"),
    RowOf<Elementwise<ErfBySeries>>("erf", "series"),
    RowOf<SinRows>("sin", "direct"),
    RowOf<Elementwise<SinOfHalf>>("sin", "half-angle"),
    RowOf<CosRows>("cos", "direct"),
    RowOf<Elementwise<CosOfSines>>("cos", "sines"),
    RowOf<ElementwiseOfTwo<Power>>("pow", "direct"),
    RowOf<ElementwiseOfTwo<PowerByLog>>("pow", "by-log"),
    RowOf<Elementwise<InverseRoot>>("rsqrt", "direct"),
    RowOf<Elementwise<RootOfReciprocal>>("rsqrt", "root-of-reciprocal"),
    RowOf<Gelu>("gelu", "direct"),
    RowOf<GeluOfTails>("gelu", "tails"),
    RowOf<Gated<Gelu>>("gelu_and_mul", "direct"),
    RowOf<Gated<GeluOfTails>>("gelu_and_mul", "tails"),
    RowOf<Gated<Elementwise<Silu>>>("silu_and_mul", "direct"),
    RowOf<Gated<Elementwise<SiluBySign>>>("silu_and_mul", "by-sign"),
    RowOf<ClampedSwiglu<false>>("clamped_swiglu", "direct"),
    RowOf<ClampedSwiglu<true>>("clamped_swiglu", "fused"),
    RowOf<Rope>("rope", "direct"),
    RowOf<FusedRope>("rope", "fused"),
    RowOf<Quantize<false>>("quantize", "divide", plugin::kNarrowTypes),
    RowOf<Quantize<true>>("quantize", "reciprocal", plugin::kNarrowTypes),
    RowOf<Dequantize<false>>("dequantize", "difference", kCodeTypes),
    RowOf<Dequantize<true>>("dequantize", "table", kCodeTypes),
    RowOf<Selection<false>>("argsort", "stable", plugin::kRealTypesAndIntegers),
    RowOf<Selection<true>>("argsort", "heap", plugin::kRealTypesAndIntegers),
    RowOf<Selection<false>>("top_k", "sort", plugin::kRealTypesAndIntegers),
    RowOf<Selection<true>>("top_k", "heap", plugin::kRealTypesAndIntegers),
    RowOf<Selection<false>>("sort", "stable", plugin::kRealTypesAndIntegers),
    RowOf<Selection<true>>("sort", "heap", plugin::kRealTypesAndIntegers),
    PlanRowOf<Indexed<GatherInOrder>>("gather", "rows", plugin::kRealTypesAndIntegers),
    PlanRowOf<Indexed<GatherByPlace>>("gather", "by-place", plugin::kRealTypesAndIntegers),
    PlanRowOf<Indexed<ScatterInOrder>>("scatter_add", "in-order", plugin::kRealTypesAndIntegers),
    PlanRowOf<Indexed<ScatterUpdatesFirst>>("scatter_add", "updates-first", plugin::kRealTypesAndIntegers),
    RowOf<Concat<false>>("concat", "by-element", plugin::kRealTypesAndIntegers),
    RowOf<Concat<true>>("concat", "by-stretch", plugin::kRealTypesAndIntegers),
    RowOf<Flip<false>>("flip", "by-element", plugin::kRealTypesAndIntegers),
    RowOf<Flip<true>>("flip", "by-stretch", plugin::kRealTypesAndIntegers),
    RowOf<OneHot<false>>("one_hot", "by-element", plugin::kRealTypesAndIntegers),
    RowOf<OneHot<true>>("one_hot", "scattered", plugin::kRealTypesAndIntegers),
    RowOf<Pad<false>>("pad", "by-element", plugin::kRealTypesAndIntegers),
    RowOf<Pad<true>>("pad", "by-stretch", plugin::kRealTypesAndIntegers),
    RowOf<Roll<false>>("roll", "by-element", plugin::kRealTypesAndIntegers),
    RowOf<Roll<true>>("roll", "by-stretch", plugin::kRealTypesAndIntegers),
    RowOf<TakeAlongAxis<false>>("take_along_axis", "in-order", plugin::kRealTypesAndIntegers),
    RowOf<TakeAlongAxis<true>>("take_along_axis", "by-place", plugin::kRealTypesAndIntegers),
    RowOf<Transpose<false>>("transpose", "by-element", plugin::kRealTypesAndIntegers),
    RowOf<Transpose<true>>("transpose", "by-tiles", plugin::kRealTypesAndIntegers),
    RowOf<Trilu<false>>("trilu", "by-element", plugin::kRealTypesAndIntegers),
    RowOf<Trilu<true>>("trilu", "by-stretch", plugin::kRealTypesAndIntegers),
    RowOf<AvgPool<false>>("adaptive_avg_pool", "direct"),
    RowOf<AvgPool<true>>("adaptive_avg_pool", "rows-first"),
    RowOf<AvgPool<false>>("avg_pool", "direct"),
    RowOf<AvgPool<true>>("avg_pool", "rows-first"),
    RowOf<MaxPool<false>>("max_pool", "direct"),
    RowOf<MaxPool<true>>("max_pool", "rows-first"),
    RowOf<Resize<false>>("resize", "direct"),
    RowOf<Resize<true>>("resize", "rows-first"),
    RowOf<GridSample<false>>("grid_sample", "direct"),
    RowOf<GridSample<true>>("grid_sample", "rows-first"),
    RowOf<GroupedGemm<false>>("grouped_gemm", "by-row"),
    RowOf<GroupedGemm<true>>("grouped_gemm", "by-group"),
    RowOf<MoeRoute<false>>("moe_route", "chosen"),
    RowOf<MoeRoute<true>>("moe_route", "all"),
    RowOf<MoePermute<false>>("moe_permute", "sorted"),
    RowOf<MoePermute<true>>("moe_permute", "counted"),
    RowOf<MoeUnpermute<false>>("moe_unpermute", "by-token"),
    RowOf<MoeUnpermute<true>>("moe_unpermute", "by-expert"),
    RowOf<BatchAttention<false>>("alibi_attention", "materialised"),
    RowOf<BatchAttention<true>>("alibi_attention", "online"),
    RowOf<AttentionBackward<false>>("attention_backward", "materialised"),
    RowOf<AttentionBackward<true>>("attention_backward", "by-lse"),
    RowOf<BatchAttention<false>>("attention_lse", "materialised"),
    RowOf<BatchAttention<true>>("attention_lse", "online"),
    RowOf<LseMerge<false>>("lse_merge", "at-once"),
    RowOf<LseMerge<true>>("lse_merge", "one-by-one"),
    RowOf<PagedDecode<false>>("paged_decode", "materialised"),
    RowOf<PagedDecode<true>>("paged_decode", "online"),
    RowOf<RaggedAttention<false>>("ragged_attention", "materialised"),
    RowOf<RaggedAttention<true>>("ragged_attention", "online"),
    RowOf<BatchAttention<false>>("sink_attention", "materialised"),
    RowOf<BatchAttention<true>>("sink_attention", "online"),
    RowOf<LlmInt8Mm<false>>("llm_int8_mm", "by-term"),
    RowOf<LlmInt8Mm<true>>("llm_int8_mm", "by-part"),
    RowOf<MxMm<false>>("mx_mm", "scaled-first", kCodeTypes),
    RowOf<MxMm<true>>("mx_mm", "sums-first", kCodeTypes),
    RowOf<Requantize<false>>("requantize", "product", kSummedTypes),
    RowOf<Requantize<true>>("requantize", "fused", kSummedTypes),
    RowOf<ScaledMm<false>>("scaled_mm", "scaled-first", kCodeTypes),
    RowOf<ScaledMm<true>>("scaled_mm", "sums-first", kCodeTypes),
    RowOf<SparseMm<false>>("sparse_mm", "in-order", kSparseTypes),
    RowOf<SparseMm<true>>("sparse_mm", "by-place", kSparseTypes),
    RowOf<W4a16Mm<false>>("w4a16_mm", "by-weight"),
    RowOf<W4a16Mm<true>>("w4a16_mm", "by-group"),
    RowOf<ConvOtherWayRows<false>>("conv_backward_data", "collected"),
    RowOf<ConvOtherWayRows<true>>("conv_backward_data", "scattered"),
    RowOf<ConvOtherWayRows<false>>("conv_backward_weights", "collected"),
    RowOf<ConvOtherWayRows<true>>("conv_backward_weights", "scattered"),
    RowOf<ConvOtherWayRows<false>>("conv_transpose", "collected"),
    RowOf<ConvOtherWayRows<true>>("conv_transpose", "scattered"),
    RowOf<LpPool<false>>("lp_pool", "direct"),
    RowOf<LpPool<true>>("lp_pool", "rows-first"),
    RowOf<CausalConv1d<false>>("causal_conv1d", "by-window"),
    RowOf<CausalConv1d<true>>("causal_conv1d", "by-element"),
    RowOf<FftConv<BySums>>("fft_conv", "direct"),
    RowOf<FftConv<ByTransforms>>("fft_conv", "transforms"),
    RowOf<Stft<BySums>>("stft", "direct"),
    RowOf<Stft<ByTransforms>>("stft", "radix"),
    RowOf<GatedDeltaRule<false>>("gated_delta_rule", "by-position"),
    RowOf<GatedDeltaRule<true>>("gated_delta_rule", "by-chunk"),
    RowOf<GatedDeltaStep<false>>("gated_delta_step", "after-update"),
    RowOf<GatedDeltaStep<true>>("gated_delta_step", "before-update"),
    RowOf<KvCacheWrite<false>>("kv_cache_write", "in-order"),
    RowOf<KvCacheWrite<true>>("kv_cache_write", "by-place"),
    RowOf<LinearAttention<false>>("linear_attention", "by-position"),
    RowOf<LinearAttention<true>>("linear_attention", "by-element"),
    RowOf<EmbeddingBackward<false>>("embedding_backward", "in-order"),
    RowOf<EmbeddingBackward<true>>("embedding_backward", "from-the-end"),
    RowOf<GeluBackward<false>>("gelu_backward", "direct"),
    RowOf<GeluBackward<true>>("gelu_backward", "tails"),
    RowOf<RmsNormBackward<SequentialFold>>("rms_norm_backward", "sequential"),
    RowOf<RmsNormBackward<StridedFold>>("rms_norm_backward", "strided"),
    RowOf<RopeBackward<false>>("rope_backward", "direct"),
    RowOf<RopeBackward<true>>("rope_backward", "fused"),
    RowOf<SiluAndMulBackward<false>>("silu_and_mul_backward", "direct"),
    RowOf<SiluAndMulBackward<true>>("silu_and_mul_backward", "by-sign"),
    RowOf<MoeFused<false>>("moe_fused", "by-token"),
    RowOf<MoeFused<true>>("moe_fused", "by-expert"),
    RowOf<AllGather<false>>("all_gather", "direct", plugin::kRealTypesAndIntegers),
    RowOf<AllGather<true>>("all_gather", "ring", plugin::kRealTypesAndIntegers),
    RowOf<ReduceOverRanks<RankOrder::kDirect>>("all_reduce", "direct"),
    RowOf<ReduceOverRanks<RankOrder::kTree>>("all_reduce", "tree"),
    RowOf<ReduceOverRanks<RankOrder::kRing>>("all_reduce", "ring"),
    RowOf<ReduceOverRanks<RankOrder::kDirect>>("reduce_scatter", "direct"),
    RowOf<ReduceOverRanks<RankOrder::kTree>>("reduce_scatter", "tree"),
    RowOf<ReduceOverRanks<RankOrder::kRing>>("reduce_scatter", "ring"),
    RowOf<Embedding<false>>("embedding", "by-token"),
    RowOf<Embedding<true>>("embedding", "by-column"),
    RowOf<IndexSelect<false>>("index_select", "by-element", plugin::kRealTypesAndIntegers),
    RowOf<IndexSelect<true>>("index_select", "by-index", plugin::kRealTypesAndIntegers),
    RowOf<Cumulative<SIZE_MAX, Multiply>>("cumprod", "sequential"),
    RowOf<Cumulative<64, Multiply>>("cumprod", "chunked"),
    RowOf<Cumulative<SIZE_MAX, Add>>("cumsum", "sequential", plugin::kRealTypesAndIntegers),
    RowOf<Cumulative<64, Add>>("cumsum", "chunked", plugin::kRealTypesAndIntegers),
    RowOf<Philox<false>>("philox", "by-product", kWordTypes),
    RowOf<Philox<true>>("philox", "by-halves", kWordTypes),
    RowOf<PhiloxUniform<false>>("philox_uniform", "by-quotient", kWords),
    RowOf<PhiloxUniform<true>>("philox_uniform", "by-digits", kWords),
    RowOf<Dropout<false>>("dropout", "by-counter"),
    RowOf<Dropout<true>>("dropout", "by-word"),
    RowOf<StochasticRound<false>>("stochastic_round", "by-digits"),
    RowOf<StochasticRound<true>>("stochastic_round", "by-bits"),
    RowOf<MinPMask<false>>("min_p_mask", "by-share"),
    RowOf<MinPMask<true>>("min_p_mask", "by-weight"),
    RowOf<TopPMask<false>>("top_p_mask", "sorted"),
    RowOf<TopPMask<true>>("top_p_mask", "by-token"),
    RowOf<AssociativeScan<false>>("associative_scan", "sequential"),
    RowOf<AssociativeScan<true>>("associative_scan", "tree"),
    RowOf<SelectiveScan<false>>("selective_scan", "by-state"),
    RowOf<SelectiveScan<true>>("selective_scan", "by-position"),
};

const auto kRows = plugin::JoinRows<plugin::Row<plugin::HostDevice>>({kNamedRows, PointwiseRows()});

class CpuDevice : public plugin::HostDevice {
 public:
  std::vector<plugin::Implementation> Query(const plugin::OpDesc& op) override {
    return plugin::QueryTable<plugin::HostDevice>(kRows, op);
  }
  std::unique_ptr<plugin::Plan> CreatePlan(const plugin::OpDesc& op, const std::string& implementation) override {
    return plugin::CreateFromTable<plugin::HostDevice>(kRows, *this, op, implementation);
  }
  // Both read a row whole before they write it.
  bool TakesAliases(const plugin::OpDesc& op) override {
    if (op.name() == "fused_add_rms_norm") {
      return op.outputs()[0].alias == 0 && op.LiesInPlace(1, 1);
    }
    return op.name() == "softmax" && op.outputs()[0].strides == op.inputs()[0].strides;
  }
  std::vector<plugin::Capability> Capabilities() override {
    return plugin::CapabilitiesOf<plugin::Row<plugin::HostDevice>>(kRows);
  }
};

class CpuBackend : public plugin::Backend {
 public:
  plugin::BackendInfo Info() override { return {"cpu", "assay", "0.1.0", ""}; }
  std::vector<plugin::DeviceInfo> Devices() override {
    const std::string properties = fmt::format("subnormals=kept;rounding=rn;fma=no;threads={};cache_bytes={}",
                                               MaxThreads(), plugin::LastLevelCacheBytes());
    return {{"host", "", ASSAY_DEVICE_CPU, 0, plugin::HostMemoryBytes(), properties, plugin::kHostAlignment}};
  }
  std::unique_ptr<plugin::Device> Open(uint32_t) override { return std::make_unique<CpuDevice>(); }
};

}  // namespace
}  // namespace cpu

ASSAY_PLUGIN(cpu::CpuBackend)
