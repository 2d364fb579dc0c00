// SPDX-License-Identifier: Apache-2.0
// Plain text and Markdown tables from rows of cells.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

enum class Align { kLeft, kRight };

// Layout of a table that is wider than the terminal.
enum class Narrow {
  kLastBelow,  // the last column goes below its row
  kColumns,    // lists in a cell become lines; columns that still do not fit go into a further table
  kStacked,    // a row becomes a heading with a line for each further column
};

struct Table {
  std::vector<std::string> header;
  std::vector<Align> align;  // one per column; missing ones are left
  std::vector<std::vector<std::string>> rows;
  Narrow narrow = Narrow::kLastBelow;
  size_t keys = 1;  // columns that name a row; each further table of kColumns repeats them
};

struct TextStyle {
  size_t width = 0;                                      // of the terminal; 0: without limit
  std::function<std::string(const std::string&)> paint;  // colours the text of a cell; may be empty
};

// Columns padded to their widest cell, two spaces between.
std::string AsText(const Table& table, const TextStyle& style = {});
std::string AsMarkdown(const Table& table);  // GitHub flavour; cells as MarkdownText

// Words on lines of at most `width` terminal columns, each after `indent` spaces. A longer word has a line of its own;
// width 0 breaks nothing.
std::string Wrapped(std::string_view text, size_t width, size_t indent);

// One line of text that holds no markup of HTML, no link, image or mention, and does not end a table's cell.
std::string MarkdownText(const std::string& text);

// Shortens the text to whole lines within `most_bytes`, closes an open code block, and ends with a line that says where
// the rest is. Text that fits stays unchanged.
std::string FitMarkdown(std::string text, size_t most_bytes, std::string_view rest);

}  // namespace assay
