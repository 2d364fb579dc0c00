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
std::string AsMarkdown(const Table& table);  // GitHub flavour; cells as MarkdownText

// One line of text that holds no markup of HTML and does not end a table's cell.
std::string MarkdownText(const std::string& text);

}  // namespace assay
