// SPDX-License-Identifier: Apache-2.0
// How other test systems would judge a tensor, from their public definitions, so that `assay power` can show their
// power and their false alarms beside its own. Each judges the same tensor against the same golden value.
//   torch     torch.testing.assert_close, defaults per dtype (PyTorch, torch/testing/_comparison.py), equal_nan=False
//   ggml      test-backend-ops: NMSE with a threshold per operator (ggml, tests/test-backend-ops.cpp)
//   benchdnn  point-to-point rule with a threshold per driver (oneDNN, tests/benchdnn/utils/compare.cpp)
//   tosa      tosa_verify (Arm TOSA reference model): dot product, exact and product rules
// A system without a rule for an operator or type has no opinion; that is never counted as a miss.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "golden/golden.h"
#include "harness/core/data/tensor.h"
#include "harness/core/model/contract.h"
#include "ops/operator.h"

namespace assay {

enum class Opinion : uint8_t { kAccepts, kRejects, kNoRule };

// A case as other projects' rules see it. The case and its golden must outlive this.
class PeerRules {
 public:
  PeerRules(const Operator& op, const Problem& problem, size_t output, const Golden& golden);

  const Problem& problem() const { return *problem_; }
  const Golden& golden() const { return *golden_; }
  DType out() const { return problem_->outputs[output_].dtype; }
  // The golden value as the output type holds it: what peers compare with. Two per complex element.
  std::span<const double> expected() const { return expected_; }
  const PeerForm& form() const { return form_; }
  bool Is(PeerForm::Kind kind) const { return form_.kind == kind; }

 private:
  const Problem* problem_;
  size_t output_;
  const Golden* golden_;
  PeerForm form_;
  std::vector<double> expected_;
};

using PeerRule = Opinion (*)(const PeerRules& peer_case, const Contract& declared, std::span<const double> got);

struct Peer {
  std::string_view name;
  std::string_view source;
  PeerRule judge;  // precondition: `got` has as many values as the golden
};

// torch, ggml, benchdnn, tosa.
std::span<const Peer> Peers();

// The peers' rules (peers_<name>.cc).
Opinion TorchOpinion(const PeerRules& peer_case, const Contract& declared, std::span<const double> got);
Opinion GgmlOpinion(const PeerRules& peer_case, const Contract& declared, std::span<const double> got);
Opinion BenchdnnOpinion(const PeerRules& peer_case, const Contract& declared, std::span<const double> got);
Opinion TosaOpinion(const PeerRules& peer_case, const Contract& declared, std::span<const double> got);

inline Opinion OpinionOf(bool accepted) {
  return accepted ? Opinion::kAccepts : Opinion::kRejects;
}

}  // namespace assay
