// SPDX-License-Identifier: Apache-2.0
// The schemas of matmul, reduce and fft as SPEC.md 3 states them, so that the planner is tested without the operators.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "harness/plan/suite.h"

namespace assay {

inline const OpSchema& MatmulSchema() {
  static const OpSchema schema{.op = "matmul",
                               .doc = "y = alpha op(a) op(b) + beta c + bias",
                               .attrs = {{"m", AttrType::kInt, "", ""},
                                         {"n", AttrType::kInt, "", ""},
                                         {"k", AttrType::kInt, "", ""},
                                         {"batch", AttrType::kInt, "1", ""},
                                         {"transa", AttrType::kInt, "0", ""},
                                         {"transb", AttrType::kInt, "0", ""},
                                         {"alpha", AttrType::kFloat, "1", ""},
                                         {"beta", AttrType::kFloat, "0", ""},
                                         {"bias", AttrType::kInt, "0", ""},
                                         {"epilogue", AttrType::kName, "fused", "", {"fused", "rounded"}}},
                               .operands = {"a", "b", "y"}};
  return schema;
}

inline const OpSchema& ReduceSchema() {
  static const OpSchema schema{.op = "reduce",
                               .doc = "y = kind over axes of x",
                               .attrs = {{"shape", AttrType::kDims, "", ""},
                                         {"axes", AttrType::kAxes, "", ""},
                                         {"kind",
                                          AttrType::kName,
                                          "",
                                          "",
                                          {"sum", "mean", "max", "min", "prod", "l2", "argmax", "argmin", "logsumexp"}},
                                         {"keepdims", AttrType::kInt, "0", ""},
                                         {"tie", AttrType::kName, "first", "", {"first", "any"}},
                                         {"nan", AttrType::kName, "propagate", "", {"propagate", "ignore"}}},
                               .operands = {"x", "y"}};
  return schema;
}

inline const OpSchema& FftSchema() {
  static const OpSchema schema{.op = "fft",
                               .doc = "y = scale DFT(x)",
                               .attrs = {{"kind", AttrType::kName, "", "", {"c2c", "r2c", "c2r"}},
                                         {"n", AttrType::kDims, "", ""},
                                         {"batch", AttrType::kInt, "1", ""},
                                         {"dir", AttrType::kName, "fwd", "", {"fwd", "inv"}},
                                         {"norm", AttrType::kName, "none", "", {"none", "ortho", "backward"}}},
                               .operands = {"x", "y"}};
  return schema;
}

inline OpCatalog TestCatalog() {
  return {[](std::string_view op) -> const OpSchema* {
            if (op == "matmul") return &MatmulSchema();
            if (op == "fft") return &FftSchema();
            return op == "reduce" ? &ReduceSchema() : nullptr;
          },
          {"fft", "matmul", "reduce"}};
}

// A folder of its own for one test, removed with it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "assay-plan-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;  // the folder must be removed exactly once
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string Path(const std::string& name) const { return (path_ / name).string(); }
  void Write(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace assay
