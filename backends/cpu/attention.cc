// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/common/attention_spec.h"
#include "backends/cpu/elements.h"
#include "backends/cpu/fold.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/widths.h"
#include "backends/cpu/workspace.h"

namespace cpu {

// y[j] += f * x[j], multiplied and added apart.
ASSAY_CPU_WIDTHS void AddScaled(float f, const float* x, float* y, int64_t n) {
  for (int64_t j = 0; j < n; ++j) y[j] += f * x[j];
}
ASSAY_CPU_WIDTHS void AddScaled(double f, const double* x, double* y, int64_t n) {
  for (int64_t j = 0; j < n; ++j) y[j] += f * x[j];
}

namespace {

using plugin::AttentionSpec;
using plugin::MaskKind;

constexpr int64_t kRowsPerTask = 8;

template <class Acc>
class AttentionPlan : public plugin::HostPlan {
 public:
  AttentionPlan(const AttentionSpec& spec, int64_t block) : spec_(spec), block_(block) {
    threads_ = ThreadsFor(spec.Work());
    k_.resize(static_cast<size_t>(spec.d * spec.s));
    v_.resize(static_cast<size_t>(spec.s * spec.dv));
    slots_.resize(static_cast<size_t>(threads_));
    for (Slot& slot : slots_) {
      slot.q.resize(static_cast<size_t>(spec.d));
      slot.mask.resize(static_cast<size_t>(spec.s));
      slot.p.resize(static_cast<size_t>(spec.s));
      slot.o.resize(static_cast<size_t>(spec.dv));
    }
  }

  plugin::PlanInfo Info() const override {
    return {BytesOf(k_, v_) + BytesOfEach(slots_, [](const Slot& s) { return BytesOf(s.q, s.mask, s.p, s.o); }), "",
            ""};
  }

 protected:
  void Run(Pointers inputs, Pointers outputs) override {
    const int64_t group = spec_.heads / spec_.kv_heads, rows = group * spec_.l;
    for (int64_t kv = 0; kv < spec_.batch * spec_.kv_heads; ++kv) {
      const int64_t batch = kv / spec_.kv_heads, head = kv % spec_.kv_heads;
      PackHead(inputs, batch, head);
      ParallelFor((rows + kRowsPerTask - 1) / kRowsPerTask, threads_, [&](int64_t task, int slot) {
        for (int64_t row = task * kRowsPerTask; row < std::min(rows, (task + 1) * kRowsPerTask); ++row) {
          Query(inputs, outputs[0], batch, head * group + row / spec_.l, row % spec_.l,
                slots_[static_cast<size_t>(slot)]);
        }
      });
    }
  }

 private:
  struct Slot {
    std::vector<Acc> q, mask, p, o;
  };
  static constexpr Acc kMasked = -std::numeric_limits<Acc>::infinity();

  const std::byte* At(const std::byte* base, const AttentionSpec::Strides& strides, plugin::DType dtype, int64_t batch,
                      int64_t head, int64_t row) const {
    return base + (batch * strides[0] + head * strides[1] + row * strides[2]) * plugin::Bytes(dtype);
  }

  // k as [d, s], so that the loops run along the keys, and v as [s, dv].
  void PackHead(Pointers inputs, int64_t batch, int64_t head) {
    ParallelFor(spec_.d, threads_, [&](int64_t c, int) {
      const std::byte* k = At(inputs[1], spec_.k, spec_.dtype, batch, head, 0);
      Load(spec_.dtype, k + c * spec_.k[3] * plugin::Bytes(spec_.dtype), spec_.k[2], spec_.s, k_.data() + c * spec_.s);
    });
    ParallelFor(spec_.s, threads_, [&](int64_t j, int) {
      Load(spec_.dtype, At(inputs[2], spec_.v, spec_.dtype, batch, head, j), spec_.v[3], spec_.dv,
           v_.data() + j * spec_.dv);
    });
  }

  void Query(Pointers inputs, std::byte* out, int64_t batch, int64_t head, int64_t i, Slot& slot) const {
    Load(spec_.dtype, At(inputs[0], spec_.q, spec_.dtype, batch, head, i), spec_.q[3], spec_.d, slot.q.data());
    const AttentionSpec::Range keys = spec_.KeysOf(i);
    if (spec_.mask_kind != MaskKind::kNone) {
      Load(spec_.mask_dtype, At(inputs[3], spec_.mask, spec_.mask_dtype, batch, head, i), spec_.mask[3], spec_.s,
           slot.mask.data());
      if (spec_.mask_kind == MaskKind::kBool) {
        for (Acc& m : slot.mask) m = m == 0 ? kMasked : Acc{0};
      }
    }
    std::fill(slot.o.begin(), slot.o.end(), Acc{0});
    const bool seen = spec_.mask_kind == MaskKind::kNone
                          ? keys.first < keys.last
                          : std::any_of(slot.mask.begin() + keys.first, slot.mask.begin() + keys.last,
                                        [](Acc m) { return m != kMasked; });
    if (!seen) {
      const Acc value = spec_.masked_nan ? std::numeric_limits<Acc>::quiet_NaN() : Acc{0};
      std::fill(slot.o.begin(), slot.o.end(), value);
    } else if (block_ == 0) {
      Materialised(keys, slot);
    } else {
      Flash(keys, slot);
    }
    std::byte* o = out + (At(out, spec_.o, spec_.dtype, batch, head, i) - out);
    Store(spec_.dtype, slot.o.data(), spec_.dv, o, spec_.o[3]);
  }

  bool IsMasked(const Slot& slot, int64_t j) const {
    return spec_.mask_kind != MaskKind::kNone && slot.mask[static_cast<size_t>(j)] == kMasked;
  }

  // Scores of the keys [first, last) into slot.p; returns the greatest, NaN where there is one.
  Acc Scores(int64_t first, int64_t last, Slot& slot) const {
    Acc* p = slot.p.data();
    std::fill(p + first, p + last, Acc{0});
    for (int64_t c = 0; c < spec_.d; ++c) {
      AddScaled(slot.q[static_cast<size_t>(c)], k_.data() + c * spec_.s + first, p + first, last - first);
    }
    const auto scale = static_cast<Acc>(spec_.scale), cap = static_cast<Acc>(spec_.softcap);
    Acc max = kMasked;
    for (int64_t j = first; j < last; ++j) {
      p[j] *= scale;
      if (cap > 0) p[j] = cap * std::tanh(p[j] / cap);
      if (spec_.mask_kind != MaskKind::kNone)
        p[j] = IsMasked(slot, j) ? kMasked : p[j] + slot.mask[static_cast<size_t>(j)];
      max = Extreme<Acc, 1>{}(max, p[j]);
    }
    return max;
  }

  void Materialised(AttentionSpec::Range keys, Slot& slot) const {
    const Acc max = Scores(keys.first, keys.last, slot);
    Acc sum = 0;
    for (int64_t j = keys.first; j < keys.last; ++j) {
      slot.p[static_cast<size_t>(j)] = std::exp(slot.p[static_cast<size_t>(j)] - max);
      sum += slot.p[static_cast<size_t>(j)];
    }
    for (int64_t j = keys.first; j < keys.last; ++j) slot.p[static_cast<size_t>(j)] /= sum;
    AddValues(keys.first, keys.last, slot);
  }

  void Flash(AttentionSpec::Range keys, Slot& slot) const {
    Acc running = kMasked, sum = 0;
    for (int64_t first = keys.first; first < keys.last; first += block_) {
      const int64_t last = std::min(keys.last, first + block_);
      const Acc max = Extreme<Acc, 1>{}(running, Scores(first, last, slot));
      if (max == kMasked) continue;  // nothing but masked keys so far
      const Acc rescale = std::exp(running - max);
      sum *= rescale;
      for (Acc& o : slot.o) o *= rescale;
      for (int64_t j = first; j < last; ++j) {
        slot.p[static_cast<size_t>(j)] = std::exp(slot.p[static_cast<size_t>(j)] - max);
        sum += slot.p[static_cast<size_t>(j)];
      }
      AddValues(first, last, slot);
      running = max;
    }
    // Scores of -inf alone leave 0 / 0, as the formula does.
    for (Acc& o : slot.o) o /= sum;
  }

  void AddValues(int64_t first, int64_t last, Slot& slot) const {
    for (int64_t j = first; j < last; ++j) {
      if (IsMasked(slot, j)) continue;
      AddScaled(slot.p[static_cast<size_t>(j)], v_.data() + j * spec_.dv, slot.o.data(), spec_.dv);
    }
  }

  const AttentionSpec spec_;
  const int64_t block_;
  int threads_ = 1;
  std::vector<Acc> k_, v_;  // of one head
  std::vector<Slot> slots_;
};

}  // namespace

std::string AttentionWhyNot(const plugin::OpDesc& op) {
  return plugin::FloatAttentionWhyNot(plugin::ParseAttention(op), op);
}

// exp and tanh of glibc and IEEE division: under 1 ulp (tanhf 2). Rows that see no key follow the case's masked_rows.
std::string AttentionContract(const plugin::OpDesc& op) {
  const AttentionSpec spec = plugin::ParseAttention(op);
  return fmt::format("{};math={};{}det=yes;batchinv=yes", spec.IsF64() ? "f64" : "f32acc", spec.softcap > 0 ? 2 : 1,
                     spec.masked_nan ? "masked=nan;" : "");
}

std::unique_ptr<plugin::Plan> CreateAttentionPlan(const plugin::OpDesc& op, int64_t block) {
  const AttentionSpec spec = plugin::ParseAttention(op);
  if (spec.IsF64()) return std::make_unique<AttentionPlan<double>>(spec, block);
  return std::make_unique<AttentionPlan<float>>(spec, block);
}

}  // namespace cpu
