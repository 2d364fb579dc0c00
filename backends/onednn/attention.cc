// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "backends/common/attention_spec.h"
#include "backends/common/status.h"
#include "backends/onednn/library.h"
#include "backends/onednn/problem.h"

namespace onednn {
namespace {

using plugin::AttentionSpec;
using plugin::MaskKind;
using Type = dnnl::memory::data_type;

void CheckOffered(const AttentionSpec& a, const plugin::OpDesc& op) {
  if (a.dtype != plugin::kF32 && a.dtype != plugin::kBF16) {
    throw plugin::Unsupported("attention {} is not offered: oneDNN on CPUs multiplies f32 and bf16", op.DTypesText());
  }
  if (a.softcap > 0) throw plugin::Unsupported("softcap is not offered: oneDNN states no accuracy for its tanh");
  if (a.batch < 1 || a.l < 1 || a.s < 1 || a.d < 1 || a.dv < 1)
    throw plugin::Unsupported("attention with an extent below 1");
  const bool grouped = a.heads != a.kv_heads;
  if (grouped && (a.q[1] != a.l * a.q[2] || a.o[1] != a.l * a.o[2])) {
    throw plugin::Unsupported(
        "grouped heads are offered where the heads of a group lie one after the other: they are "
        "multiplied as rows of one matrix");
  }
}

// The query heads of a group are rows of one matrix: [b, hkv, g * l, ...].
struct Shapes {
  explicit Shapes(const AttentionSpec& a) : group(a.heads / a.kv_heads), rows(group * a.l) {}
  int64_t group, rows;
};

Md QueryDesc(const AttentionSpec& a, const AttentionSpec::Strides& s, int64_t width, Type type) {
  const Shapes shapes(a);
  return {{a.batch, a.kv_heads, shapes.rows, width}, type, {s[0], shapes.group * s[1], s[2], s[3]}};
}

// Primitives over fixed buffers for one description.
class AttentionPlan : public plugin::HostPlan {
 public:
  AttentionPlan(const AttentionSpec& a, const dnnl::engine& engine)
      : a_(a), shapes_(a), stream_(engine), has_mask_(a.causal || a.window > 0 || a.mask_kind != MaskKind::kNone) {
    const Type type = *DataType(a.dtype);
    const auto dense = [&](int64_t b, int64_t h, Type t) {
      return Md({b, h, shapes_.rows, a.s}, t, {h * shapes_.rows * a.s, shapes_.rows * a.s, a.s, 1});
    };
    const Md scores = dense(a.batch, a.kv_heads, Type::f32), p = dense(a.batch, a.kv_heads, type);
    const bool per_head = a.mask[0] != 0 || a.mask[1] != 0;
    mask_batch_ = per_head ? a.batch : 1, mask_heads_ = per_head ? a.kv_heads : 1;
    const Md mask = dense(mask_batch_, mask_heads_, Type::f32);

    q_ = dnnl::memory(QueryDesc(a, a.q, a.d, type), engine, DNNL_MEMORY_NONE);
    k_ = dnnl::memory(Md({a.batch, a.kv_heads, a.d, a.s}, type, {a.k[0], a.k[1], a.k[3], a.k[2]}), engine,
                      DNNL_MEMORY_NONE);
    v_ = dnnl::memory(Md({a.batch, a.kv_heads, a.s, a.dv}, type, {a.v[0], a.v[1], a.v[2], a.v[3]}), engine,
                      DNNL_MEMORY_NONE);
    o_ = dnnl::memory(QueryDesc(a, a.o, a.dv, type), engine, DNNL_MEMORY_NONE);
    scores_ = dnnl::memory(scores, engine);
    p_ = type == Type::f32 ? scores_ : dnnl::memory(p, engine);

    dnnl::post_ops post_ops;
    if (a.scale != 1) AppendScale(post_ops, static_cast<float>(a.scale));
    dnnl::primitive_attr attr = StrictAttributes();
    const int mask_argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(post_ops.len()) | DNNL_ARG_SRC_1;
    if (has_mask_) post_ops.append_binary(dnnl::algorithm::binary_add, mask);
    attr.set_post_ops(post_ops);
    const Descriptor first = MatmulDescriptor(engine, q_.get_desc(), k_.get_desc(), nullptr, scores, attr);
    const Descriptor softmax = SoftmaxDescriptor(engine, false, scores, scores, 3, StrictAttributes());
    const Descriptor second = MatmulDescriptor(engine, p, v_.get_desc(), nullptr, o_.get_desc(), StrictAttributes());
    AddStep(first, engine, {{DNNL_ARG_SRC, q_}, {DNNL_ARG_WEIGHTS, k_}, {DNNL_ARG_DST, scores_}});
    if (has_mask_) {
      mask_ = dnnl::memory(mask, engine);
      steps_.back().second[mask_argument] = mask_;
    }
    AddStep(softmax, engine, {{DNNL_ARG_SRC, scores_}, {DNNL_ARG_DST, scores_}});
    AddStep(second, engine, {{DNNL_ARG_SRC, p_}, {DNNL_ARG_WEIGHTS, v_}, {DNNL_ARG_DST, o_}});
    if (type != Type::f32) narrow_.emplace(scores_, p_);
  }

 protected:
  void Run(Pointers inputs, Pointers outputs) override {
    if (has_mask_) FillMask(inputs);
    q_.set_data_handle(inputs[0]);
    k_.set_data_handle(inputs[1]);
    v_.set_data_handle(inputs[2]);
    o_.set_data_handle(outputs[0]);
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (i == 2 && narrow_) narrow_->execute(stream_, scores_, p_);
      steps_[i].first.execute(stream_, steps_[i].second);
    }
    stream_.wait();
    if (has_mask_) FillEmptyRows(outputs[0]);
  }

 private:
  using Arguments = std::unordered_map<int, dnnl::memory>;
  static constexpr float kMasked = -std::numeric_limits<float>::infinity();

  void AddStep(const Descriptor& descriptor, const dnnl::engine& engine, Arguments arguments) {
    arguments[DNNL_ARG_SCRATCHPAD] = dnnl::memory(descriptor.pd.scratchpad_desc(), engine);
    steps_.emplace_back(dnnl::primitive(descriptor.pd), std::move(arguments));
  }

  float MaskValue(const std::byte* mask, int64_t offset) const {
    if (a_.mask_kind == MaskKind::kBool) return static_cast<int8_t>(mask[offset]) != 0 ? 0.0f : kMasked;
    if (a_.mask_dtype == plugin::kF32) {
      float value = 0;
      std::memcpy(&value, mask + offset * 4, 4);
      return value;
    }
    plugin::BF16 value;
    std::memcpy(&value, mask + offset * 2, 2);
    return plugin::ToFloat(value);
  }

  // The case's mask, causality and window as one additive operand; row (g, i) of head group h.
  void FillMask(Pointers inputs) {
    float* to = static_cast<float*>(mask_.get_data_handle());
    seen_.assign(static_cast<size_t>(mask_batch_ * mask_heads_ * shapes_.rows), 0);
    for (int64_t row = 0; row < std::ssize(seen_); ++row, to += a_.s) {
      const int64_t i = row % a_.l, head = row / a_.l % (mask_heads_ * shapes_.group);
      const int64_t batch = row / (mask_heads_ * shapes_.rows);
      const AttentionSpec::Range keys = a_.KeysOf(i);
      for (int64_t j = 0; j < a_.s; ++j) {
        to[j] = j >= keys.first && j < keys.last ? 0.0f : kMasked;
        if (to[j] == 0 && a_.mask_kind != MaskKind::kNone) {
          to[j] = MaskValue(inputs[3], batch * a_.mask[0] + head * a_.mask[1] + i * a_.mask[2] + j * a_.mask[3]);
        }
        if (to[j] != kMasked) seen_[static_cast<size_t>(row)] = 1;
      }
    }
  }

  // A softmax of -inf alone is NaN; what such a query gives is the case's to say.
  void FillEmptyRows(std::byte* out) const {
    const int64_t bytes = plugin::Bytes(a_.dtype);
    const uint32_t nan = bytes == 4 ? 0x7FC00000u : 0x7FC0u;
    const uint32_t bits = a_.masked_nan ? nan : 0;
    for (int64_t query = 0; query < a_.batch * a_.heads * a_.l; ++query) {
      if (seen_[static_cast<size_t>(query % std::ssize(seen_))] != 0) continue;
      const int64_t i = query % a_.l, head = query / a_.l % a_.heads, batch = query / (a_.l * a_.heads);
      for (int64_t c = 0; c < a_.dv; ++c) {
        const int64_t offset = batch * a_.o[0] + head * a_.o[1] + i * a_.o[2] + c * a_.o[3];
        std::memcpy(out + offset * bytes, &bits, static_cast<size_t>(bytes));
      }
    }
  }

  const AttentionSpec a_;
  const Shapes shapes_;
  dnnl::stream stream_;
  bool has_mask_;
  int64_t mask_batch_ = 1, mask_heads_ = 1;
  dnnl::memory q_, k_, v_, o_, scores_, p_, mask_;
  std::vector<std::pair<dnnl::primitive, Arguments>> steps_;  // q k, softmax, p v
  std::optional<dnnl::reorder> narrow_;                       // scores_ to p_
  std::vector<char> seen_;                                    // per row of the mask: some key is visible
};

}  // namespace

// As the parts declare (matmul.cc, softmax.cc). The reciprocal and the division of the vector softmax count as math.
std::vector<plugin::Implementation> QueryAttention(const plugin::OpDesc& op, const dnnl::engine& engine) {
  CreateAttention(op, engine);
  const AttentionSpec a = plugin::ParseAttention(op);
  std::string contract = a.dtype == plugin::kBF16 ? "f32acc;math=4;ftz=all;mid=bf16;nan=any;det=yes"
                                                  : "f32acc;math=4;ftz=out;nan=any;det=yes";
  if (a.masked_nan) contract += ";masked=nan";
  return {{"matmul-softmax-matmul", contract}};
}

std::unique_ptr<plugin::Plan> CreateAttention(const plugin::OpDesc& op, const dnnl::engine& engine) {
  const AttentionSpec a = plugin::ParseAttention(op);
  CheckOffered(a, op);
  return OrUnsupported("attention " + op.DTypesText() + " with these strides",
                       [&] { return std::make_unique<AttentionPlan>(a, engine); });
}

}  // namespace onednn
