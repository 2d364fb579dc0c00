// SPDX-License-Identifier: Apache-2.0
// A session with the misbehaving plugin, and a small matrix product to give it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "harness/exec/worker_session.h"

namespace assay {

// ASSAY_MISBEHAVE for the workers started in a scope.
class Misbehave {
 public:
  explicit Misbehave(const char* how) { ::setenv("ASSAY_MISBEHAVE", how, 1); }
  ~Misbehave() { ::unsetenv("ASSAY_MISBEHAVE"); }
};

SessionOptions TestOptions(const std::string& plugin = ASSAY_TEST_PLUGIN);

// y[2,3] = a[2,4] b[4,3] in f32; all sums are exact.
Problem SmallMatmul();
struct SmallInputs {
  Tensor a, b;
  std::vector<float> y;
  InputSet set() const { return {&a, &b}; }
};
SmallInputs MakeSmallInputs(float scale = 1);

class WorkerTest : public testing::Test {
 protected:
  static void SetUpTestSuite();
  // Both prefills of one implementation. Fails the test unless everything returns.
  struct TwoRuns {
    Execution nan, sentinel;
  };
  TwoRuns RunTwice(const std::string& implementation, const LayoutVariant& variant = {});
  // The failure of its first execution.
  WorkerFailure FirstFailure(const std::string& implementation);
  void ExpectStillWorks();

  WorkerSession session_{TestOptions()};
  Problem problem_ = SmallMatmul();
  SmallInputs inputs_ = MakeSmallInputs();
};

}  // namespace assay
