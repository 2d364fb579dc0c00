// SPDX-License-Identifier: Apache-2.0
// A GoogleTest that gates a kernel: its result is held against golden values and bounds, not against a tolerance.
#include <assay/assay.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

// The kernel under test, on rows of n elements.
void Softmax(const float* x, float* y, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    float largest = x[0], sum = 0;
    for (int64_t i = 1; i < n; ++i) largest = std::fmax(largest, x[i]);
    for (int64_t i = 0; i < n; ++i) sum += y[i] = std::exp(x[i] - largest);
    for (int64_t i = 0; i < n; ++i) y[i] /= sum + KERNEL_BUG;
  }
}

TEST(Softmax, IsWhatItsArithmeticAllows) {
  const int64_t shape[] = {16, 100};
  std::vector<float> x(1600), y(1600);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i * i));
  Softmax(x.data(), y.data(), shape[0], shape[1]);

  const assay_array in{.struct_size = sizeof in,
                       .name = "x",
                       .data = x.data(),
                       .shape = shape,
                       .rank = 2,
                       .type_code = ASSAY_FLOAT,
                       .bits = 32,
                       .lanes = 1};
  assay_array out = in;
  out.name = "y", out.data = y.data();
  const assay_array *inputs[] = {&in}, *outputs[] = {&out};
  const assay_question question{.struct_size = sizeof question,
                                .op = "softmax",
                                .n_inputs = 1,
                                .inputs = inputs,
                                .n_outputs = 1,
                                .outputs = outputs};
  assay_verdict* verdict = nullptr;
  ASSERT_EQ(assay_judge(&question, &verdict), ASSAY_RESULT_OK) << assay_last_error();
  EXPECT_TRUE(assay_verdict_passed(verdict)) << assay_verdict_text(verdict);
  assay_verdict_free(verdict);
}
