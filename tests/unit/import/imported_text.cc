// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/import/imported_text.h"

#include <fstream>

namespace assay {

std::vector<std::string> Outcome::Ids() const {
  std::vector<std::string> ids;
  for (const ImportedCase& one : imports.cases()) ids.push_back(one.spec.Id());
  return ids;
}

std::filesystem::path WriteText(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

void ImportText(const std::string& text, const std::string& name, Outcome& outcome,
                const std::function<Status(const std::filesystem::path&, Imports&)>& import) {
  const TemporaryFolder folder;
  outcome.status = import(WriteText(folder.Path(name), text), outcome.imports);
}

}  // namespace assay
