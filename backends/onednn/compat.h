// SPDX-License-Identifier: Apache-2.0
// Differences between oneDNN 2.6 and 3.x: creation of primitive descriptors, eltwise post-ops, ISA bits.
#pragma once

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>

namespace onednn {

using Md = dnnl::memory::desc;

// A primitive descriptor that can be advanced by next_impl(). The iteration of 2.x points into the operation's
// description without copying it: `source` keeps that alive.
struct Descriptor {
  std::shared_ptr<const void> source;
  dnnl::primitive_desc pd;
};

// Numbers per spatial axis. oneDNN counts dilations from 0.
struct ConvolutionGeometry {
  dnnl::algorithm algorithm = dnnl::algorithm::convolution_direct;
  dnnl::memory::dims strides, dilations, padding;
};

struct EltwiseFunction {
  dnnl::algorithm algorithm = dnnl::algorithm::undef;
  float alpha = 0, beta = 0;
};

#if DNNL_VERSION_MAJOR >= 3

inline Descriptor MatmulDescriptor(const dnnl::engine& engine, const Md& a, const Md& b, const Md* bias, const Md& y,
                                   const dnnl::primitive_attr& attr) {
  if (bias != nullptr) return {nullptr, dnnl::matmul::primitive_desc(engine, a, b, *bias, y, attr)};
  return {nullptr, dnnl::matmul::primitive_desc(engine, a, b, y, attr)};
}

inline Descriptor ReductionDescriptor(const dnnl::engine& engine, dnnl::algorithm kind, const Md& x, const Md& y,
                                      float p, const dnnl::primitive_attr& attr) {
  return {nullptr, dnnl::reduction::primitive_desc(engine, kind, x, y, p, 0.0f, attr)};
}

inline Descriptor ConvolutionDescriptor(const dnnl::engine& engine, const ConvolutionGeometry& g, const Md& x,
                                        const Md& w, const Md* bias, const Md& y, const dnnl::primitive_attr& attr) {
  using Pd = dnnl::convolution_forward::primitive_desc;
  constexpr auto kKind = dnnl::prop_kind::forward_inference;
  if (bias != nullptr) {
    return {nullptr,
            Pd(engine, kKind, g.algorithm, x, w, *bias, y, g.strides, g.dilations, g.padding, g.padding, attr)};
  }
  return {nullptr, Pd(engine, kKind, g.algorithm, x, w, y, g.strides, g.dilations, g.padding, g.padding, attr)};
}

inline Descriptor SoftmaxDescriptor(const dnnl::engine& engine, bool log, const Md& x, const Md& y, int axis,
                                    const dnnl::primitive_attr& attr) {
  const auto kind = log ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate;
  return {nullptr,
          dnnl::softmax_forward::primitive_desc(engine, dnnl::prop_kind::forward_inference, kind, x, y, axis, attr)};
}

inline Descriptor SoftmaxBackwardDescriptor(const dnnl::engine& engine, const Md& y, const Md& dy, const Md& dx,
                                            int axis, const dnnl::primitive_attr& attr) {
  constexpr auto kKind = dnnl::algorithm::softmax_accurate;
  const dnnl::softmax_forward::primitive_desc forward(engine, dnnl::prop_kind::forward_training, kKind, y, y, axis);
  return {nullptr, dnnl::softmax_backward::primitive_desc(engine, kKind, dx, dy, y, axis, forward, attr)};
}

inline Descriptor EltwiseDescriptor(const dnnl::engine& engine, const EltwiseFunction& f, const Md& x,
                                    const dnnl::primitive_attr& attr) {
  return {nullptr, dnnl::eltwise_forward::primitive_desc(engine, dnnl::prop_kind::forward_inference, f.algorithm, x, x,
                                                         f.alpha, f.beta, attr)};
}

inline Descriptor LayerNormDescriptor(const dnnl::engine& engine, const Md& x, float eps,
                                      const dnnl::primitive_attr& attr) {
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  return {nullptr, dnnl::layer_normalization_forward::primitive_desc(engine, dnnl::prop_kind::forward_inference, x, x,
                                                                     eps, flags, attr)};
}

// x, dy and dx are of one layout; eps is 0.
inline Descriptor LayerNormBackwardDescriptor(const dnnl::engine& engine, const Md& x, const Md& statistics,
                                              const dnnl::primitive_attr& attr) {
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  const dnnl::layer_normalization_forward::primitive_desc forward(engine, dnnl::prop_kind::forward_training, x, x,
                                                                  statistics, 0.0f, flags);
  return {nullptr, dnnl::layer_normalization_backward::primitive_desc(engine, dnnl::prop_kind::backward, x, x, x,
                                                                      statistics, 0.0f, flags, forward, attr)};
}

inline void AppendScale(dnnl::post_ops& ops, float alpha) {
  ops.append_eltwise(dnnl::algorithm::eltwise_linear, alpha, 0.0f);
}

inline bool HasInt8DotProduct(unsigned isa) {
  return (isa & 0x48u) != 0;
}  // avx2_vnni, avx512_core_vnni

#else

inline Descriptor MatmulDescriptor(const dnnl::engine& engine, const Md& a, const Md& b, const Md* bias, const Md& y,
                                   const dnnl::primitive_attr& attr) {
  const auto desc = std::make_shared<const dnnl::matmul::desc>(bias != nullptr ? dnnl::matmul::desc(a, b, *bias, y)
                                                                               : dnnl::matmul::desc(a, b, y));
  return {desc, dnnl::matmul::primitive_desc(*desc, attr, engine)};
}

inline Descriptor ReductionDescriptor(const dnnl::engine& engine, dnnl::algorithm kind, const Md& x, const Md& y,
                                      float p, const dnnl::primitive_attr& attr) {
  const auto desc = std::make_shared<const dnnl::reduction::desc>(kind, x, y, p, 0.0f);
  return {desc, dnnl::reduction::primitive_desc(*desc, attr, engine)};
}

inline Descriptor ConvolutionDescriptor(const dnnl::engine& engine, const ConvolutionGeometry& g, const Md& x,
                                        const Md& w, const Md* bias, const Md& y, const dnnl::primitive_attr& attr) {
  using Desc = dnnl::convolution_forward::desc;
  constexpr auto kKind = dnnl::prop_kind::forward_inference;
  const auto desc = std::make_shared<const Desc>(
      bias != nullptr ? Desc(kKind, g.algorithm, x, w, *bias, y, g.strides, g.dilations, g.padding, g.padding)
                      : Desc(kKind, g.algorithm, x, w, y, g.strides, g.dilations, g.padding, g.padding));
  return {desc, dnnl::convolution_forward::primitive_desc(*desc, attr, engine)};
}

inline Descriptor SoftmaxDescriptor(const dnnl::engine& engine, bool log, const Md& x, const Md& y, int axis,
                                    const dnnl::primitive_attr& attr) {
  using Desc = dnnl::softmax_v2_forward::desc;
  const auto kind = log ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate;
  const auto desc = std::make_shared<const Desc>(dnnl::prop_kind::forward_inference, kind, x, y, axis);
  return {desc, dnnl::softmax_v2_forward::primitive_desc(*desc, attr, engine)};
}

inline Descriptor SoftmaxBackwardDescriptor(const dnnl::engine& engine, const Md& y, const Md& dy, const Md& dx,
                                            int axis, const dnnl::primitive_attr& attr) {
  constexpr auto kKind = dnnl::algorithm::softmax_accurate;
  using Desc = dnnl::softmax_v2_backward::desc;
  const dnnl::softmax_v2_forward::desc forward(dnnl::prop_kind::forward_training, kKind, y, y, axis);
  const dnnl::softmax_v2_forward::primitive_desc hint(forward, engine);
  const auto desc = std::make_shared<const Desc>(kKind, dx, dy, y, axis);
  const auto source =
      std::make_shared<const std::pair<std::shared_ptr<const Desc>, dnnl::primitive_desc_base> >(desc, hint);
  return {source, dnnl::softmax_v2_backward::primitive_desc(*desc, attr, engine, hint)};
}

inline Descriptor EltwiseDescriptor(const dnnl::engine& engine, const EltwiseFunction& f, const Md& x,
                                    const dnnl::primitive_attr& attr) {
  using Desc = dnnl::eltwise_forward::desc;
  const auto desc = std::make_shared<const Desc>(dnnl::prop_kind::forward_inference, f.algorithm, x, f.alpha, f.beta);
  return {desc, dnnl::eltwise_forward::primitive_desc(*desc, attr, engine)};
}

inline Descriptor LayerNormDescriptor(const dnnl::engine& engine, const Md& x, float eps,
                                      const dnnl::primitive_attr& attr) {
  using Desc = dnnl::layer_normalization_forward::desc;
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  const auto desc = std::make_shared<const Desc>(dnnl::prop_kind::forward_inference, x, eps, flags);
  return {desc, dnnl::layer_normalization_forward::primitive_desc(*desc, attr, engine)};
}

inline Descriptor LayerNormBackwardDescriptor(const dnnl::engine& engine, const Md& x, const Md& statistics,
                                              const dnnl::primitive_attr& attr) {
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  const dnnl::layer_normalization_forward::desc forward(dnnl::prop_kind::forward_training, x, statistics, 0.0f, flags);
  const dnnl::layer_normalization_forward::primitive_desc hint(forward, engine);
  using Desc = dnnl::layer_normalization_backward::desc;
  const auto desc = std::make_shared<const Desc>(dnnl::prop_kind::backward, x, x, statistics, 0.0f, flags);
  const auto source =
      std::make_shared<const std::pair<std::shared_ptr<const Desc>, dnnl::primitive_desc_base> >(desc, hint);
  return {source, dnnl::layer_normalization_backward::primitive_desc(*desc, attr, engine, hint)};
}

inline void AppendScale(dnnl::post_ops& ops, float alpha) {
  ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_linear, alpha, 0.0f);
}

inline bool HasInt8DotProduct(unsigned isa) {
  return (isa & 0x440u) != 0;
}  // avx2_vnni, avx512_core_vnni

#endif

}  // namespace onednn
