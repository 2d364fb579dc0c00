// SPDX-License-Identifier: Apache-2.0
// Bytes that are no whole message of ONNX: they are taken as far as they go, or refused, and nothing else is read.
#include "harness/tools/import/onnx_model.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/import/damage.h"
#include "tests/unit/import/onnx_bytes.h"

namespace assay {
namespace {

// Each beginning of a file, however short.
TEST(OnnxModel, MayEndEarly) {
  const std::string tensor = RealTensor({2, 3}, std::vector<float>(6, 1));
  const std::string model = OneNode("Softmax", {"x"}, {"y"}, {IntAttribute("axis", 1)});
  for (size_t size = 0; size < tensor.size(); ++size) EXPECT_FALSE(ParseOnnxTensor(tensor.substr(0, size))) << size;
  EXPECT_TRUE(ParseOnnxTensor(tensor));
  for (size_t size = 0; size < model.size(); ++size) {
    const auto cut = ParseOnnxModel(model.substr(0, size));
    EXPECT_TRUE(!cut || cut->opset == 0) << size;  // ends before its version
  }
  EXPECT_TRUE(ParseOnnxModel(model));
}

// Sizes, kinds and lengths that contradict each other.
TEST(OnnxModel, MayBeAnything) {
  const std::string tensor = RealTensor({2, 3}, std::vector<float>(6, 1));
  const std::string model =
      OneNode("Conv", {"x", "w"}, {"y"}, {IntsAttribute("pads", {1, 1, 1, 1}), IntAttribute("group", 1)});
  int taken = 0, refused = 0;
  for (int round = 0; round < 5000; ++round) {
    Damage damage(static_cast<uint64_t>(round));
    const auto read_tensor = ParseOnnxTensor(damage.Of(tensor));
    if (read_tensor && read_tensor->dtype) {
      EXPECT_EQ(read_tensor->data.shape(), read_tensor->shape) << round;
    }
    const auto read_model = ParseOnnxModel(damage.Of(model));
    taken += (read_tensor ? 1 : 0) + (read_model ? 1 : 0);
    refused += (read_tensor ? 0 : 1) + (read_model ? 0 : 1);
  }
  EXPECT_GT(taken, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace assay
