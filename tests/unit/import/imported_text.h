// SPDX-License-Identifier: Apache-2.0
// Importers on texts: what becomes of them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/plan/catalog.h"
#include "harness/tools/import/imports.h"
#include "tests/unit/temporary_folder.h"

namespace assay {

struct Outcome {
  Imports imports;
  std::vector<UnmappedCase> unmapped;
  Status status;

  explicit Outcome() : imports(Catalog(), [this](const UnmappedCase& one) { unmapped.push_back(one); }) {}
  Outcome(const Outcome&) = delete;

  std::vector<std::string> Ids() const;
  std::string Reason(size_t i) const { return i < unmapped.size() ? unmapped[i].reason : "there is none"; }
};

// A file of that name below `folder`, with the text.
std::filesystem::path WriteText(const std::filesystem::path& file, const std::string& text);

// Runs an importer on a file with the text.
void ImportText(const std::string& text, const std::string& name, Outcome& outcome,
                const std::function<Status(const std::filesystem::path&, Imports&)>& import);

}  // namespace assay
