// SPDX-License-Identifier: Apache-2.0
#include "harness/power/peers.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

constexpr std::array<Peer, 4> kPeers = {{
    {"torch", "torch.testing.assert_close defaults, equal_nan=False", TorchOpinion},
    {"ggml", "ggml test-backend-ops NMSE thresholds", GgmlOpinion},
    {"benchdnn", "oneDNN benchdnn point-to-point thresholds per driver", BenchdnnOpinion},
    {"tosa", "TOSA reference model verifier (dot product, exact, product)", TosaOpinion},
}};

int64_t Product(const Shape& shape, size_t first) {
  int64_t product = 1;
  for (size_t i = first; i < shape.size(); ++i) product *= shape[i];
  return product;
}

}  // namespace

std::span<const Peer> Peers() {
  return kPeers;
}

PeerCase::PeerCase(const Problem& problem, const Golden& golden)
    : problem_(&problem), golden_(&golden), expected_(golden.value) {
  const DType dtype = problem.output.dtype;
  if (IsInt(dtype)) return;
  const FloatFormat& format = FormatOf(dtype);
  for (double& x : expected_) x = RoundTo(format, x);
}

std::string_view PeerCase::ReduceKindName() const {
  return Is("reduce") ? std::string_view(problem_->Text("kind")) : std::string_view();
}

int64_t PeerCase::Terms() const {
  if (Is("matmul")) return problem_->Int("k");
  if (Is("conv")) return Product(problem_->inputs[1].shape, 1);
  if (Is("reduce")) return NumElements(problem_->inputs[0].shape) / std::max<int64_t>(1, golden_->size());
  return 0;
}

}  // namespace assay
