// SPDX-License-Identifier: Apache-2.0
// Tests of a plugin itself: whether it keeps the rules of the ABI, before any result of it is judged. Each check runs
// in a worker process of its own, so that a crash is a finding of that check.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/abi/assay_backend.h"
#include "harness/exec/wire/protocol.h"
#include "harness/exec/wire/wire.h"

namespace assay {

struct Finding {
  enum class Kind : uint8_t { kOk, kFail, kSkip };
  Kind kind = Kind::kOk;
  std::string text;  // what was found and, for a failure, what to do
};
std::string_view Name(Finding::Kind kind);  // "ok", "FAIL", "skip"

// How far the plugin has to be set up for a check.
enum class PluginStage : uint8_t { kFile, kLibrary, kTable, kDevice, kOffer };

// A problem that the plugin offers to compute.
struct CheckedOffer {
  std::string name;  // "matmul f32"
  std::unique_ptr<OpDescription> op;
  struct Implementation {
    std::string name, contract;  // copies: the plugin's own end with query_free()
  };
  std::vector<Implementation> implementations;
};

// A plugin, set up as far as the check's stage needs. Closes the device when destroyed.
struct PluginUnderTest {
  std::string path;
  const assay_backend_api* api = nullptr;
  assay_device* device = nullptr;    // number 0
  std::vector<CheckedOffer> offers;  // one per operator; from kOffer on at least one
  const Json* problems = nullptr;    // all that are tried
  double timeout_s = 60;             // of the check

  PluginUnderTest() = default;
  PluginUnderTest(const PluginUnderTest&) = delete;
  PluginUnderTest& operator=(const PluginUnderTest&) = delete;
  ~PluginUnderTest();
};

struct PluginCheck {
  std::string_view name;
  std::string_view rule;  // what the plugin has to keep
  PluginStage needs;
  Finding (*run)(PluginUnderTest&);
  // When this check is not ok, those that need this stage or a later one would only repeat it.
  PluginStage opens = PluginStage::kOffer;
  bool is_gate = false;
};

// In the order in which they are run.
std::span<const PluginCheck> PluginChecks();

// Worker side. {"plugin": path, "check": name, "problems": [EncodeProblem...], "timeout_s"} -> {"status", "kind",
// "finding"}.
Json RunPluginCheck(const Json& request);

}  // namespace assay
