// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/worker_fixture.h"

#include <gmock/gmock.h>

namespace assay {

SessionOptions TestOptions(const std::string& plugin) {
  SessionOptions options;
  options.worker = {ASSAY_TEST_WORKER, plugin, /*startup_timeout_s=*/10};
  options.call_timeout_s = 10;
  options.prepare_timeout_s = 10;
  return options;
}

Problem SmallMatmul() {
  Problem problem;
  problem.spec.op = "matmul";
  problem.spec.fill = "secret-fill";
  problem.spec.seed = 987654321;
  problem.inputs = {{"a", DType::kF32, {2, 4}}, {"b", DType::kF32, {4, 3}}};
  problem.outputs = {{"y", DType::kF32, {2, 3}}};
  for (const auto& [key, value] : {std::pair{"m", 2}, {"n", 3}, {"k", 4}, {"batch", 1}, {"transa", 0}, {"transb", 0}}) {
    problem.attrs.push_back({key, AttrType::kInt, value, 0, "", {}});
  }
  for (const auto& [key, value] : {std::pair{"alpha", 1.0}, {"beta", 0.0}}) {
    problem.attrs.push_back({key, AttrType::kFloat, 0, value, "", {}});
  }
  problem.attrs.push_back({"bias", AttrType::kInt, 0, 0, "", {}});
  problem.attrs.push_back({"epilogue", AttrType::kName, 0, 0, "fused", {}});
  return problem;
}

SmallInputs MakeSmallInputs(float scale) {
  SmallInputs inputs{Tensor(DType::kF32, {2, 4}), Tensor(DType::kF32, {4, 3}), std::vector<float>(6)};
  const auto a = inputs.a.As<float>(), b = inputs.b.As<float>();
  for (size_t i = 0; i < a.size(); ++i) a[i] = scale * (1 + static_cast<float>(i));
  // Odd numbers with nine significant bits: exact in an f32 accumulator, not in a bf16 one.
  for (size_t i = 0; i < b.size(); ++i) b[i] = 257 + 2 * static_cast<float>(i);
  for (size_t i = 0; i < 2; ++i) {
    for (size_t j = 0; j < 3; ++j) {
      for (size_t k = 0; k < 4; ++k) inputs.y[i * 3 + j] += a[i * 4 + k] * b[k * 3 + j];
    }
  }
  return inputs;
}

void WorkerTest::SetUpTestSuite() {
  // A sanitizer would turn the signals that these tests expect into exits of its own.
  ::setenv("ASAN_OPTIONS", "handle_segv=0:handle_abort=0:handle_sigill=0:detect_leaks=0", 1);
  ::setenv("TSAN_OPTIONS", "handle_segv=0:handle_abort=0", 1);
}

WorkerTest::TwoRuns WorkerTest::RunTwice(const std::string& implementation, const LayoutVariant& variant) {
  const Call<Prepared> prepared = session_.Prepare(0, problem_, implementation, variant);
  if (!prepared) {
    ADD_FAILURE() << prepared.error().message;
    return {};
  }
  Call<Execution> nan = session_.Execute(prepared->plan, inputs_.set(), Prefill::kNanPayload);
  Call<Execution> sentinel = session_.Execute(prepared->plan, inputs_.set(), Prefill::kSentinel);
  session_.Release(prepared->plan);
  if (nan && sentinel) return {std::move(*nan), std::move(*sentinel)};
  ADD_FAILURE() << (nan ? sentinel : nan).error().message;
  return {};
}

WorkerFailure WorkerTest::FirstFailure(const std::string& implementation) {
  const Call<Prepared> prepared = session_.Prepare(0, problem_, implementation);
  if (!prepared) return prepared.error();
  const Call<Execution> execution = session_.Execute(prepared->plan, inputs_.set(), Prefill::kNanPayload);
  if (!execution) return execution.error();
  ADD_FAILURE() << implementation << " did not fail";
  return {};
}

void WorkerTest::ExpectStillWorks() {
  const TwoRuns runs = RunTwice("ok");
  EXPECT_THAT(runs.nan.outputs[0].As<float>(), testing::ElementsAreArray(inputs_.y));
  EXPECT_THAT(runs.sentinel.outputs[0].As<float>(), testing::ElementsAreArray(inputs_.y));
  EXPECT_TRUE(runs.nan.guard_violations.empty());
  EXPECT_TRUE(runs.nan.changed_inputs.empty());
  EXPECT_EQ(runs.nan.prefilled, 0);
}

}  // namespace assay
