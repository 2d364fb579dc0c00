// SPDX-License-Identifier: Apache-2.0
// Differences between oneDNN 2.6 and 3.x: creation of primitive descriptors, names of primitives, eltwise post-ops, ISA
// bits.
#pragma once

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <tuple>
#include <utility>
#include <vector>

namespace onednn {

using Md = dnnl::memory::desc;

// A primitive descriptor that can be advanced by next_impl(). The iteration points into what it was made of without
// copying it, in 2.x the operation's description and in 3.x a gradient's forward primitive: `source` keeps that alive.
struct Descriptor {
  std::shared_ptr<const void> source;
  dnnl::primitive_desc pd;
  bool is_sole = false;  // the library has reorder and concat without an iteration

  bool Advance() { return !is_sole && pd.next_impl(); }
};

// The descriptor of a primitive without an iteration.
inline Descriptor SoleDescriptor(const dnnl::primitive_desc_base& of) {
  dnnl_primitive_desc_t copy = nullptr;
  dnnl::error::wrap_c_api(dnnl_primitive_desc_clone(&copy, of.get()), "could not copy a primitive descriptor");
  Descriptor descriptor{nullptr, {}, true};
  descriptor.pd.reset(copy);
  return descriptor;
}

// How a primitive gets factors that are known when it is executed.
struct Factors {
  int argument;      // DNNL_ARG_*, of f32
  bool is_inverted;  // it multiplies by what divides
};

// Numbers per spatial axis. oneDNN counts dilations from 0.
struct ConvolutionGeometry {
  dnnl::algorithm algorithm = dnnl::algorithm::convolution_direct;
  dnnl::memory::dims strides, dilations, padding, padding_behind;
};

struct EltwiseFunction {
  dnnl::algorithm algorithm = dnnl::algorithm::undef;
  float alpha = 0, beta = 0;
};

inline constexpr auto kInference = dnnl::prop_kind::forward_inference;
inline constexpr auto kTraining = dnnl::prop_kind::forward_training;
inline const auto kScaleAndShift = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;

#if DNNL_VERSION_MAJOR >= 3

using Softmax = dnnl::softmax_forward;
using SoftmaxBackward = dnnl::softmax_backward;
using Pooling = dnnl::pooling_forward;

// The primitive with these arguments, which both versions take in one order.
template <class Primitive, class... Args>
Descriptor MakeDescriptor(const dnnl::engine& engine, const dnnl::primitive_attr& attr, const Args&... args) {
  return {nullptr, typename Primitive::primitive_desc(engine, args..., attr)};
}

// MakeDescriptor of the gradient of a forward primitive.
template <class Forward, class Backward, class... ForwardArgs, class... Args>
Descriptor MakeGradient(const dnnl::engine& engine, const dnnl::primitive_attr& attr,
                        const std::tuple<ForwardArgs...>& forward_args, const Args&... args) {
  using Hint = typename Forward::primitive_desc;
  const auto forward =
      std::apply([&](const auto&... each) { return std::make_shared<const Hint>(engine, each...); }, forward_args);
  return {forward, typename Backward::primitive_desc(engine, args..., *forward, attr)};
}

// The operand in a layout that the library chooses.
inline Md AnyLayout(const Md& desc) {
  return {desc.get_dims(), desc.get_data_type(), dnnl::memory::format_tag::any};
}

// Runs `make` with the layouts of input and output of a primitive that has one for both.
template <class Make>
auto WithInputAndOutput(const Md& x, const Make& make) {
  return make(x, x);
}

inline void AppendEltwise(dnnl::post_ops& ops, const EltwiseFunction& f) {
  ops.append_eltwise(f.algorithm, f.alpha, f.beta);
}

inline bool HasInt8DotProduct(unsigned isa) {
  return (isa & 0x48u) != 0;
}  // avx2_vnni, avx512_core_vnni

// Asks for factors of one operand, one for each element along the axes of `mask`: an input is multiplied by them, an
// output divided.
inline Factors AskForFactors(dnnl::primitive_attr& attr, int operand, int mask) {
  attr.set_scales_mask(operand, mask);
  return {DNNL_ARG_ATTR_SCALES | operand, false};
}

inline void AskForZeroPoint(dnnl::primitive_attr& attr, int operand) {
  attr.set_zero_points_mask(operand, 0);
}

inline Descriptor ConcatDescriptor(const dnnl::engine& engine, const Md& y, int axis, const std::vector<Md>& x,
                                   const dnnl::primitive_attr& attr) {
  return SoleDescriptor(dnnl::concat::primitive_desc(engine, y, axis, x, attr));
}

inline constexpr EltwiseFunction kSoftplus{dnnl::algorithm::eltwise_soft_relu, 1};
inline constexpr EltwiseFunction kLogSigmoid{dnnl::algorithm::eltwise_soft_relu, -1};

#else

using Softmax = dnnl::softmax_v2_forward;
using SoftmaxBackward = dnnl::softmax_v2_backward;
using Pooling = dnnl::pooling_v2_forward;

template <class Primitive, class... Args>
Descriptor MakeDescriptor(const dnnl::engine& engine, const dnnl::primitive_attr& attr, const Args&... args) {
  const auto desc = std::make_shared<const typename Primitive::desc>(args...);
  return {desc, typename Primitive::primitive_desc(*desc, attr, engine)};
}

template <class Forward, class Backward, class... ForwardArgs, class... Args>
Descriptor MakeGradient(const dnnl::engine& engine, const dnnl::primitive_attr& attr,
                        const std::tuple<ForwardArgs...>& forward_args, const Args&... args) {
  using Desc = typename Backward::desc;
  using Hint = typename Forward::primitive_desc;
  const auto forward = std::make_from_tuple<typename Forward::desc>(forward_args);
  const auto source = std::make_shared<const std::pair<Desc, Hint> >(Desc(args...), Hint(forward, engine));
  return {source, typename Backward::primitive_desc(source->first, attr, engine, source->second)};
}

inline Md AnyLayout(const Md& desc) {
  return {desc.dims(), desc.data_type(), dnnl::memory::format_tag::any};
}

template <class Make>
auto WithInputAndOutput(const Md& x, const Make& make) {
  return make(x);
}

inline void AppendEltwise(dnnl::post_ops& ops, const EltwiseFunction& f) {
  ops.append_eltwise(1.0f, f.algorithm, f.alpha, f.beta);
}

inline bool HasInt8DotProduct(unsigned isa) {
  return (isa & 0x440u) != 0;
}  // avx2_vnni, avx512_core_vnni

inline Factors AskForFactors(dnnl::primitive_attr& attr, int operand, int mask) {
  attr.set_output_scales(mask, {DNNL_RUNTIME_F32_VAL});
  return {DNNL_ARG_ATTR_OUTPUT_SCALES, operand == DNNL_ARG_DST};
}

inline void AskForZeroPoint(dnnl::primitive_attr& attr, int operand) {
  attr.set_zero_points(operand, 0, {DNNL_RUNTIME_S32_VAL});
}

inline Descriptor ConcatDescriptor(const dnnl::engine& engine, const Md& y, int axis, const std::vector<Md>& x,
                                   const dnnl::primitive_attr& attr) {
  return SoleDescriptor(dnnl::concat::primitive_desc(y, axis, x, engine, attr));
}

inline constexpr EltwiseFunction kSoftplus{dnnl::algorithm::eltwise_soft_relu};
inline constexpr EltwiseFunction kLogSigmoid{dnnl::algorithm::eltwise_logsigmoid};

#endif

inline Descriptor MatmulDescriptor(const dnnl::engine& engine, const Md& a, const Md& b, const Md* bias, const Md& y,
                                   const dnnl::primitive_attr& attr) {
  if (bias != nullptr) return MakeDescriptor<dnnl::matmul>(engine, attr, a, b, *bias, y);
  return MakeDescriptor<dnnl::matmul>(engine, attr, a, b, y);
}

inline Descriptor ConvolutionDescriptor(const dnnl::engine& engine, const ConvolutionGeometry& g, const Md& x,
                                        const Md& w, const Md* bias, const Md& y, const dnnl::primitive_attr& attr) {
  const auto make = [&](const auto&... weights) {
    return MakeDescriptor<dnnl::convolution_forward>(engine, attr, kInference, g.algorithm, x, weights..., y, g.strides,
                                                     g.dilations, g.padding, g.padding_behind);
  };
  return bias != nullptr ? make(w, *bias) : make(w);
}

inline Descriptor SoftmaxDescriptor(const dnnl::engine& engine, bool log, const Md& x, const Md& y, int axis,
                                    const dnnl::primitive_attr& attr) {
  const auto kind = log ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate;
  return MakeDescriptor<Softmax>(engine, attr, kInference, kind, x, y, axis);
}

inline Descriptor SoftmaxBackwardDescriptor(const dnnl::engine& engine, bool log, const Md& y, const Md& dy,
                                            const Md& dx, int axis, const dnnl::primitive_attr& attr) {
  const auto kind = log ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate;
  return MakeGradient<Softmax, SoftmaxBackward>(engine, attr, std::tuple(kTraining, kind, y, y, axis), kind, dx, dy, y,
                                                axis);
}

inline Descriptor EltwiseDescriptor(const dnnl::engine& engine, const EltwiseFunction& f, const Md& x,
                                    const dnnl::primitive_attr& attr) {
  return WithInputAndOutput(x, [&](const auto&... both) {
    return MakeDescriptor<dnnl::eltwise_forward>(engine, attr, kInference, f.algorithm, both..., f.alpha, f.beta);
  });
}

// x, dy and dx are of one layout.
inline Descriptor EltwiseBackwardDescriptor(const dnnl::engine& engine, const EltwiseFunction& f, const Md& x,
                                            const dnnl::primitive_attr& attr) {
  return WithInputAndOutput(x, [&](const auto&... both) {
    return MakeGradient<dnnl::eltwise_forward, dnnl::eltwise_backward>(
        engine, attr, std::tuple(kTraining, f.algorithm, both..., f.alpha, f.beta), f.algorithm, both..., x, f.alpha,
        f.beta);
  });
}

inline Descriptor LayerNormDescriptor(const dnnl::engine& engine, const Md& x, float eps,
                                      const dnnl::primitive_attr& attr) {
  return WithInputAndOutput(x, [&](const auto&... both) {
    return MakeDescriptor<dnnl::layer_normalization_forward>(engine, attr, kInference, both..., eps, kScaleAndShift);
  });
}

// x, dy and dx are of one layout; eps is 0.
inline Descriptor LayerNormBackwardDescriptor(const dnnl::engine& engine, const Md& x, const Md& statistics,
                                              const dnnl::primitive_attr& attr) {
  return WithInputAndOutput(x, [&](const auto&... both) {
    return MakeGradient<dnnl::layer_normalization_forward, dnnl::layer_normalization_backward>(
        engine, attr, std::tuple(kTraining, both..., statistics, 0.0f, kScaleAndShift), dnnl::prop_kind::backward,
        both..., x, statistics, 0.0f, kScaleAndShift);
  });
}

inline Descriptor BatchNormDescriptor(const dnnl::engine& engine, dnnl::prop_kind kind, const Md& x, float eps,
                                      dnnl::normalization_flags flags, const dnnl::primitive_attr& attr) {
  return WithInputAndOutput(x, [&](const auto&... both) {
    return MakeDescriptor<dnnl::batch_normalization_forward>(engine, attr, kind, both..., eps, flags);
  });
}

inline Descriptor PreluDescriptor(const dnnl::engine& engine, const Md& x, const Md& slopes,
                                  const dnnl::primitive_attr& attr) {
#if DNNL_VERSION_MAJOR >= 3
  return MakeDescriptor<dnnl::prelu_forward>(engine, attr, kInference, x, slopes, x);
#else
  return MakeDescriptor<dnnl::prelu_forward>(engine, attr, kInference, x, slopes);
#endif
}

}  // namespace onednn
