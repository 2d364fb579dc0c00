// SPDX-License-Identifier: Apache-2.0
// attention composed of oneDNN's primitives: matmul with scale and mask as post-ops, softmax, matmul. Scores and
// probabilities stay in f32; for bf16 operands the probabilities are rounded to bf16 before the second product.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "backends/common/attention_spec.h"
#include "backends/common/status.h"
#include "backends/onednn/hidden_keys.h"
#include "backends/onednn/key_mask.h"
#include "backends/onednn/library.h"
#include "backends/onednn/operators.h"

namespace onednn {
namespace {

using plugin::AttentionSpec;
using plugin::MaskKind;
using Type = dnnl::memory::data_type;

constexpr const char* kAttention = "matmul-softmax-matmul";

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
      : a_(a), shapes_(a), loans_(engine, kAttention), stream_(engine) {
    if (KeyMask::IsNeeded(a)) mask_.emplace(a);
    const Type type = *DataType(a.dtype);
    const auto dense = [&](int64_t b, int64_t h, Type t) {
      return Md({b, h, shapes_.rows, a.s}, t, {h * shapes_.rows * a.s, shapes_.rows * a.s, a.s, 1});
    };
    const Md scores = dense(a.batch, a.kv_heads, Type::f32), p = dense(a.batch, a.kv_heads, type);

    q_ = dnnl::memory(QueryDesc(a, a.q, a.d, type), engine, DNNL_MEMORY_NONE);
    k_ = dnnl::memory(Md({a.batch, a.kv_heads, a.d, a.s}, type, {a.k[0], a.k[1], a.k[3], a.k[2]}), engine,
                      DNNL_MEMORY_NONE);
    v_ = dnnl::memory(Md({a.batch, a.kv_heads, a.s, a.dv}, type, {a.v[0], a.v[1], a.v[2], a.v[3]}), engine,
                      DNNL_MEMORY_NONE);
    o_ = dnnl::memory(QueryDesc(a, a.o, a.dv, type), engine, DNNL_MEMORY_NONE);
    scores_ = loans_.Lend(scores, "the scores");
    p_ = type == Type::f32 ? scores_ : loans_.Lend(p, "the probabilities");

    dnnl::post_ops post_ops;
    if (a.scale != 1) AppendEltwise(post_ops, {dnnl::algorithm::eltwise_linear, static_cast<float>(a.scale)});
    dnnl::primitive_attr attr = StrictAttributes();
    const int mask_argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(post_ops.len()) | DNNL_ARG_SRC_1;
    if (mask_) {
      const Md table = dense(mask_->batches(), mask_->heads() / shapes_.group, Type::f32);
      mask_operand_ = dnnl::memory(table, engine, mask_->table());
      post_ops.append_binary(dnnl::algorithm::binary_add, table);
    }
    attr.set_post_ops(post_ops);
    const Descriptor first = MatmulDescriptor(engine, q_.get_desc(), k_.get_desc(), nullptr, scores, attr);
    const Descriptor softmax = SoftmaxDescriptor(engine, false, scores, scores, 3, StrictAttributes());
    const Descriptor second = MatmulDescriptor(engine, p, v_.get_desc(), nullptr, o_.get_desc(), StrictAttributes());
    AddStep(first, {{DNNL_ARG_SRC, q_}, {DNNL_ARG_WEIGHTS, k_}, {DNNL_ARG_DST, scores_}});
    if (mask_) steps_.back().second[mask_argument] = mask_operand_;
    AddStep(softmax, {{DNNL_ARG_SRC, scores_}, {DNNL_ARG_DST, scores_}});
    AddStep(second, {{DNNL_ARG_SRC, p_}, {DNNL_ARG_WEIGHTS, v_}, {DNNL_ARG_DST, o_}});
    if (type != Type::f32) narrow_.emplace(scores_, p_);
  }
  void CheckLoans() override { loans_.Check(); }
  plugin::PlanInfo Info() const override { return {loans_.Bytes(), algorithm_, ""}; }

 protected:
  void Run(Pointers inputs, Pointers outputs) override {
    if (mask_) {
      mask_->Read(a_.mask_kind == MaskKind::kNone ? nullptr : inputs[3]);
      mask_operand_.set_data_handle(mask_->table());
    }
    q_.set_data_handle(inputs[0]);
    k_.set_data_handle(inputs[1]);
    v_.set_data_handle(inputs[2]);
    o_.set_data_handle(outputs[0]);
    for (size_t step = 0; step < steps_.size(); ++step) Execute(step);
    stream_.wait();
    if (!mask_) return;
    if (MayHaveLeaked(a_, *mask_, outputs[0])) RunHidingKeys(inputs, outputs);
    FillRowsWithoutKeys(a_, *mask_, outputs[0]);
  }

 private:
  using Arguments = std::unordered_map<int, dnnl::memory>;

  void AddStep(const Descriptor& descriptor, Arguments arguments) {
    const std::string step = descriptor.pd.impl_info_str();
    algorithm_ += (algorithm_.empty() ? "" : ",") + step;
    arguments[DNNL_ARG_SCRATCHPAD] = loans_.Lend(descriptor.pd.scratchpad_desc(), "the scratchpad of " + step);
    steps_.emplace_back(dnnl::primitive(descriptor.pd), std::move(arguments));
  }

  void Execute(size_t step) {
    if (step == 2 && narrow_) narrow_->execute(stream_, scores_, p_);
    steps_[step].first.execute(stream_, steps_[step].second);
  }

  // Runs the same primitives with the mask applied between them, and with a v free of infinities and NaN. Afterwards
  // mask_operand_ and v_ point to memory of this call, even if a primitive throws; Run() sets them before anything
  // reads them.
  void RunHidingKeys(Pointers inputs, Pointers outputs) {
    std::vector<float> none(static_cast<size_t>(mask_->batches() * mask_->heads() * a_.l * a_.s), -0.0f);
    mask_operand_.set_data_handle(none.data());
    Execute(0);
    stream_.wait();
    MaskScores(a_, *mask_, static_cast<float*>(scores_.get_data_handle()));
    Execute(1);
    std::vector<std::byte> v(inputs[2], inputs[2] + v_.get_desc().get_size());
    const std::vector<SpecialValue> specials = TakeSpecialValues(a_, v.data());
    v_.set_data_handle(v.data());
    Execute(2);
    stream_.wait();
    AddSpecialValues(a_, *mask_, specials, static_cast<const std::byte*>(p_.get_data_handle()), outputs[0]);
  }

  const AttentionSpec a_;
  const Shapes shapes_;
  std::string algorithm_;  // of the three steps, as the library calls them
  Loans loans_;
  dnnl::stream stream_;
  std::optional<KeyMask> mask_;
  dnnl::memory q_, k_, v_, o_, scores_, p_, mask_operand_;
  std::vector<std::pair<dnnl::primitive, Arguments>> steps_;  // q k, softmax, p v
  std::optional<dnnl::reorder> narrow_;                       // scores_ to p_
};

// The contract is that of the parts (matmul.cc, softmax.cc). The reciprocal and the division of the vector softmax
// count as math.
std::string AttentionContract(const plugin::OpDesc& op, const std::string&) {
  const AttentionSpec a = plugin::ParseAttention(op);
  const std::string contract = a.dtype == plugin::kBF16 ? "f32acc;math=4;ftz=all;mid=bf16;nan=any;det=yes"
                                                        : "f32acc;math=4;ftz=out;nan=any;det=yes";
  return contract + (a.masked_nan ? ";masked=nan" : "");
}

std::unique_ptr<plugin::Plan> CreateAttention(const plugin::OpDesc& op, const dnnl::engine& engine) {
  const AttentionSpec a = plugin::ParseAttention(op);
  CheckOffered(a, op);
  return OrUnsupported("attention " + op.DTypesText() + " with these strides",
                       [&] { return std::make_unique<AttentionPlan>(a, engine); });
}

constexpr Row kAttentionRows[] = {
    {{"attention", kOneDnnTypes, kAttention}, AttentionContract, nullptr, CreateAttention},
};

}  // namespace

std::span<const Row> AttentionRows() {
  return kAttentionRows;
}

}  // namespace onednn
