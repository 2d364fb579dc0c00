// SPDX-License-Identifier: Apache-2.0
// Maps ggml's operators to cases of assay. Private to the importer.
#pragma once

#include <string>
#include <string_view>

#include "harness/core/base/result.h"
#include "harness/core/data/tensor.h"
#include "harness/core/model/case_spec.h"

namespace assay {

// Variables of a case by their names. An absent one has ggml's default.
class GgmlVars {
 public:
  static Result<GgmlVars> Parse(std::string_view text);  // between the brackets

  std::string_view FindFirstUnknown(const std::vector<std::string_view>& known) const;  // "": all are known
  bool Has(std::string_view key) const { return Find(key) != nullptr; }
  std::string_view Text(std::string_view key, std::string_view usual) const;
  bool Flag(std::string_view key) const;
  Result<int64_t> Int(std::string_view key, int64_t usual) const;  // from 0 to 2^31
  Result<double> Float(std::string_view key, double usual) const;
  Result<DType> Type(std::string_view key, std::string_view usual = "f32") const;
  Result<Shape> Extents(std::string_view key) const;  // as ggml has them: the innermost first, here the last
  Result<Shape> List(std::string_view key, Shape usual) const;

 private:
  const std::string_view* Find(std::string_view key) const;
  std::vector<std::pair<std::string_view, std::string_view>> vars_;
};

struct GgmlMapped {
  CaseSpec spec;
  bool replaced_types = false;
};

// The reason is the error's message.
Result<GgmlMapped> MapGgml(std::string_view op, const GgmlVars& vars, bool near_types);

}  // namespace assay
