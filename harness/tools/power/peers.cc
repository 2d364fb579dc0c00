// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/power/peers.h"

#include <array>

namespace assay {
namespace {

constexpr std::array<Peer, 4> kPeers = {{
    {"torch", "torch.testing.assert_close defaults, equal_nan=False", TorchOpinion},
    {"ggml", "ggml test-backend-ops NMSE thresholds", GgmlOpinion},
    {"benchdnn", "oneDNN benchdnn point-to-point thresholds per driver", BenchdnnOpinion},
    {"tosa", "TOSA reference model verifier (dot product, exact, product)", TosaOpinion},
}};

}  // namespace

std::span<const Peer> Peers() {
  return kPeers;
}

PeerRules::PeerRules(const Operator& op, const Problem& problem, size_t output, const Golden& golden)
    : problem_(&problem),
      output_(output),
      golden_(&golden),
      form_(op.TraitsOf(problem, output).peer),
      expected_(golden.value) {
  const DType dtype = problem.outputs[output].dtype;
  if (IsInt(dtype)) return;
  const FloatFormat& format = FormatOf(dtype);
  for (double& x : expected_) x = RoundTo(format, x);
}

}  // namespace assay
