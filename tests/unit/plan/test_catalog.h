// SPDX-License-Identifier: Apache-2.0
// Schemas of matmul and reduce, so that the planner is tested without the operators.
#pragma once

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

inline OpCatalog TestCatalog() {
  return {[](std::string_view op) -> const OpSchema* {
            if (op == "matmul") return &MatmulSchema();
            return op == "reduce" ? &ReduceSchema() : nullptr;
          },
          {"matmul", "reduce"}};
}

}  // namespace assay
