// SPDX-License-Identifier: Apache-2.0
// Plain text and Markdown tables from rows of cells.
#pragma once

#include <string>
#include <vector>

namespace assay {

enum class Align { kLeft, kRight };

struct Table {
  std::vector<std::string> header;
  std::vector<Align> align;  // one per column; missing ones are left
  std::vector<std::vector<std::string>> rows;
};

std::string AsText(const Table& table);      // columns padded to their widest cell, two spaces between
std::string AsMarkdown(const Table& table);  // GitHub flavour; '|' in cells is escaped

}  // namespace assay
