// SPDX-License-Identifier: Apache-2.0
// Result of importing another project's test cases: cases of assay, or the reason why a case has no counterpart.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "harness/core/data/safetensors.h"
#include "harness/plan/suite.h"

namespace assay {

// A case as the other project states it.
struct ForeignCase {
  std::string where;  // "file:line"
  std::string text;
};

// Tensors that the other project has of a case, by the names of assay's operands; in assay's shapes.
struct ForeignTensors {
  std::vector<NamedTensor> inputs, outputs;
};

struct ImportedCase {
  CaseSpec spec;      // canonical
  std::string label;  // its name there, fit for a tag; ""
  std::string where;  // of the first one that became this case
  SharedCase bound;
  ForeignTensors tensors = {};
};

struct Unmapped {
  ForeignCase from;
  std::string reason;
};

class Imports {
 public:
  using Callback = std::function<void(const Unmapped&)>;

  // `callback` hears of each case that has no counterpart; empty: nobody does.
  explicit Imports(OpCatalog ops, Callback callback = {}) : ops_(std::move(ops)), callback_(std::move(callback)) {}

  // `spec` is not yet canonical. A case that its operator refuses is unmapped, with the operator's words, which are
  // returned; "": it is mapped.
  std::string Add(const ForeignCase& from, CaseSpec spec, std::string_view label);
  void CountAgain(size_t count) { mapped_ += count; }  // a mapped case, stated so many times more
  // Adds a case with data. It stays separate from other cases of its shape. It is unmapped if the tensors are not its
  // operands.
  void AddWithTensors(const ForeignCase& from, CaseSpec spec, std::string_view label, ForeignTensors tensors);
  void Refuse(const ForeignCase& from, const std::string& reason);
  void CountRefused(const std::string& reason, size_t count);  // the callback does not hear of them
  // Notes an option that does not change the computation, or whose effect is unknown.
  void PassOver(std::string_view option, bool known);
  // Notes a case that was mapped to other types.
  void CountReplacedTypes(size_t count) { replaced_types_ += count; }

  size_t mapped() const { return mapped_; }
  size_t unmapped() const { return unmapped_; }
  size_t replaced_types() const { return replaced_types_; }
  const std::vector<ImportedCase>& cases() const { return cases_; }  // each once, but for those with tensors
  std::vector<ImportedCase> TakeCases() { return std::move(cases_); }
  std::vector<std::pair<std::string, size_t>> Reasons() const;  // the most frequent first
  const std::map<std::string, size_t>& passed_over(bool known) const { return known ? passed_over_ : unknown_; }

 private:
  Result<ImportedCase> Bind(const ForeignCase& from, CaseSpec spec, std::string_view label) const;

  OpCatalog ops_;
  Callback callback_;
  std::vector<ImportedCase> cases_;
  std::unordered_map<std::string, size_t> index_of_id_, count_of_reason_;
  std::map<std::string, size_t> passed_over_, unknown_;
  size_t mapped_ = 0, unmapped_ = 0, replaced_types_ = 0;
};

// The definitions of operators that cases are of and assay lacks, as a file for --operators; "": there are none.
std::string ImportedDefinitions(const Imports& imports);

// The cases as the text of a suite; `title` is its first comment.
std::string ImportedSuite(const Imports& imports, std::string_view title);

// Says in a few lines what was mapped and what was not.
std::string ImportSummary(const Imports& imports);

}  // namespace assay
