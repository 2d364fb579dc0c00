// SPDX-License-Identifier: Apache-2.0
#include "reports/table.h"

#include <algorithm>

namespace assay {
namespace {

// Terminal columns of UTF-8 text: code points, which is right for everything the reports print.
size_t Width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

Align AlignOf(const Table& table, size_t column) {
  return column < table.align.size() ? table.align[column] : Align::kLeft;
}

}  // namespace

std::string MarkdownText(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '|') out += '\\';
    if (c == '<') {
      out += "&lt;";
    } else {
      out += c == '\n' || c == '\r' ? ' ' : c;
    }
  }
  return out;
}

std::string AsText(const Table& table) {
  std::vector<size_t> widths(table.header.size(), 0);
  auto measure = [&](const std::vector<std::string>& row) {
    for (size_t c = 0; c < row.size() && c < widths.size(); ++c) widths[c] = std::max(widths[c], Width(row[c]));
  };
  measure(table.header);
  for (const auto& row : table.rows) measure(row);

  std::string out;
  auto print = [&](const std::vector<std::string>& row) {
    std::string line;
    for (size_t c = 0; c < row.size() && c < widths.size(); ++c) {
      const std::string padding(widths[c] - Width(row[c]), ' ');
      if (c > 0) line += "  ";
      line += AlignOf(table, c) == Align::kRight ? padding + row[c] : row[c] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  print(table.header);
  for (const auto& row : table.rows) print(row);
  return out;
}

std::string AsMarkdown(const Table& table) {
  std::string out = "|";
  for (const auto& cell : table.header) out += " " + MarkdownText(cell) + " |";
  out += "\n|";
  for (size_t c = 0; c < table.header.size(); ++c) out += AlignOf(table, c) == Align::kRight ? "---:|" : "---|";
  out += "\n";
  for (const auto& row : table.rows) {
    out += "|";
    for (const auto& cell : row) out += " " + MarkdownText(cell) + " |";
    out += "\n";
  }
  return out;
}

}  // namespace assay
