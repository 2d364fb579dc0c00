// SPDX-License-Identifier: Apache-2.0
// Tests that run on every plugin that was built and has a device here. One that offers nothing of what a test runs
// fails it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/backends/plugin_fixture.h"

namespace plugin_test {

class EveryPlugin : public testing::TestWithParam<const char*> {
 protected:
  // The plugin's offers, which may be none; the cpu backend takes every case, in `least_of_cpu` to `most_of_cpu` ways.
  std::vector<Implementation> OfferedFor(Op& op, size_t least_of_cpu, size_t most_of_cpu = 0) const {
    std::string reason;
    auto found = PluginAt(GetParam()).Query(op, &reason);
    if (IsCpu(GetParam())) {
      EXPECT_GE(found.size(), least_of_cpu) << reason;
      EXPECT_LE(found.size(), std::max(least_of_cpu, most_of_cpu));
    }
    return found;
  }

  std::vector<double> Run(Op& op, const Implementation& implementation,
                          const std::vector<std::vector<double>>& inputs) {
    ran_.insert(implementation.name);
    return PluginAt(GetParam()).Run(op, implementation.name, inputs);
  }

  void TearDown() override { EXPECT_FALSE(ran_.empty()) << "the plugin offers nothing of what this test runs"; }

 private:
  std::set<std::string> ran_;
};

inline std::string NameOfPlugin(const testing::TestParamInfo<const char*>& info) {
  return PluginName(info.param);
}

}  // namespace plugin_test
