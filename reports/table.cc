// SPDX-License-Identifier: Apache-2.0
#include "reports/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "harness/core/base/text.h"

namespace assay {
namespace {

constexpr size_t kFenceBytes = 16;  // of the end of a code block, with its indentation

constexpr size_t kGap = 2;  // spaces between columns
using Cells = std::vector<std::string>;

// Terminal columns of UTF-8 text: code points, which is right for everything the reports print.
size_t WidthOf(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

Align AlignOf(const Table& table, size_t column) {
  return column < table.align.size() ? table.align[column] : Align::kLeft;
}

std::vector<size_t> WidthsOf(const Table& table) {
  std::vector<size_t> widths(table.header.size(), 0);
  const auto measure = [&](const Cells& row) {
    for (size_t c = 0; c < std::min(row.size(), widths.size()); ++c) widths[c] = std::max(widths[c], WidthOf(row[c]));
  };
  measure(table.header);
  for (const Cells& row : table.rows) measure(row);
  return widths;
}

size_t Total(const std::vector<size_t>& widths) {
  const size_t gaps = widths.empty() ? 0 : kGap * (widths.size() - 1);
  return std::accumulate(widths.begin(), widths.end(), gaps);
}

std::string Painted(const TextStyle& style, const std::string& cell) {
  return style.paint && !cell.empty() ? style.paint(cell) : cell;
}

std::string Padded(const Table& table, const TextStyle& style) {
  const std::vector<size_t> widths = WidthsOf(table);
  std::string out;
  const auto print = [&](const Cells& row, bool is_header) {
    size_t last = std::min(row.size(), widths.size());
    while (last > 0 && row[last - 1].empty()) --last;
    for (size_t c = 0; c < last; ++c) {
      const std::string padding(widths[c] - WidthOf(row[c]), ' ');
      const std::string cell = is_header ? row[c] : Painted(style, row[c]);
      if (c > 0) out.append(kGap, ' ');
      if (AlignOf(table, c) == Align::kRight) {
        out += padding + cell;
      } else {
        out += c + 1 < last ? cell + padding : cell;
      }
    }
    out += "\n";
  };
  print(table.header, true);
  for (const Cells& row : table.rows) print(row, false);
  return out;
}

// "1 mismatch, 11 pass 0.22" as two rows, of which the second has no keys.
Table WithListsAsLines(const Table& table) {
  Table out = table;
  out.rows.clear();
  for (const Cells& row : table.rows) {
    const size_t first = out.rows.size();
    for (size_t c = 0; c < row.size(); ++c) {
      const auto items = c < table.keys ? std::vector<std::string_view>{row[c]} : Split(row[c], ',');
      for (size_t i = 0; i < items.size(); ++i) {
        if (first + i == out.rows.size()) out.rows.emplace_back(row.size());
        out.rows[first + i][c] = Trim(items[i]);
      }
    }
  }
  return out;
}

// Puts as many columns as fit into a table, and the others into further tables, each with the key columns.
std::string InSeveralTables(const Table& table, const TextStyle& style) {
  const std::vector<size_t> widths = WidthsOf(table);
  const auto keys = static_cast<std::ptrdiff_t>(std::min(table.keys, widths.size()));
  const size_t key_width = Total({widths.begin(), widths.begin() + keys});
  std::string out;
  for (size_t begin = static_cast<size_t>(keys); begin < widths.size();) {
    size_t end = begin, total = key_width;
    while (end < widths.size() && (end == begin || total + kGap + widths[end] <= style.width)) {
      total += kGap + widths[end++];
    }
    const auto taken = [&](const Cells& row) {
      Cells cells(row.begin(), row.begin() + keys);
      for (size_t c = begin; c < std::min(end, row.size()); ++c) cells.push_back(row[c]);
      return cells;
    };
    Table part{taken(table.header), {}, {}};
    for (size_t c = 0; c < part.header.size(); ++c) {
      part.align.push_back(AlignOf(table, c < table.keys ? c : begin + c - table.keys));
    }
    for (const Cells& row : table.rows) {
      Cells cells = taken(row);
      if (std::ranges::any_of(cells, [](const auto& cell) { return !cell.empty(); })) part.rows.push_back(cells);
    }
    out += (out.empty() ? "" : "\n") + Padded(part, style);
    begin = end;
  }
  return out;
}

// The last columns, as many as it takes, each on lines of its own below its row.
std::string WithLastBelow(const Table& table, const TextStyle& style) {
  std::vector<size_t> widths = WidthsOf(table);
  do widths.pop_back();
  while (widths.size() > 1 && Total(widths) > style.width);
  Table rest = table;
  rest.header.resize(widths.size());
  for (Cells& row : rest.rows) row.resize(widths.size());
  const std::string text = Padded(rest, style);
  const std::vector<std::string_view> lines = Split(text, '\n');
  std::string out = std::string(lines[0]) + "\n";
  for (size_t i = 0; i < table.rows.size(); ++i) {
    out += std::string(lines[i + 1]) + "\n";
    for (size_t c = widths.size(); c < table.rows[i].size(); ++c) {
      if (!table.rows[i][c].empty()) out += Wrapped(table.rows[i][c], style.width, 4) + "\n";
    }
  }
  return out;
}

std::string Stacked(const Table& table, const TextStyle& style) {
  size_t widest = 0;
  for (size_t c = 1; c < table.header.size(); ++c) widest = std::max(widest, WidthOf(table.header[c]));
  std::string out;
  for (const Cells& row : table.rows) {
    out += row.at(0) + "\n";
    for (size_t c = 1; c < row.size(); ++c) {
      if (row[c].empty() || row[c] == "-") continue;
      const std::string padding(widest - WidthOf(table.header[c]), ' ');
      out += "  " + table.header[c] + padding + "  " + Painted(style, row[c]) + "\n";
    }
  }
  return out;
}

}  // namespace

// Text of plugins must not make links, images or references, nor mention people ("@team") or issues ("#12").
std::string MarkdownText(const std::string& text) {
  constexpr std::string_view kNothing = "\u200B";  // a space of no width
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : ' ');
    const bool defines = c == ':' && out.starts_with('[');
    const bool makes_link = (c == '(' || c == '[' || defines) && out.ends_with(']');
    const bool makes_image = c == '[' && out.ends_with('!');
    if (c == '|' || c == '\\' || makes_link || makes_image) out += '\\';
    if (c == '<') {
      out += "&lt;";
    } else {
      out += c == '\n' || c == '\r' ? ' ' : c;
    }
    if ((c == '@' && std::isalnum(next) != 0) || (c == '#' && std::isdigit(next) != 0)) out += kNothing;
  }
  return out;
}

std::string FitMarkdown(std::string text, size_t most_bytes, std::string_view rest) {
  if (text.size() <= most_bytes) return text;
  const std::string note = fmt::format("\n*The rest has no room here: see {}.*\n", rest);
  text.resize(text.rfind('\n', most_bytes - std::min(most_bytes, note.size() + kFenceBytes)) + 1);
  bool fenced = false;
  std::string indent;
  for (const std::string_view line : Split(text, '\n')) {
    const size_t at = std::min(line.find_first_not_of(' '), line.size());
    if (!line.substr(at).starts_with("```")) continue;
    fenced = !fenced;
    indent = std::string(at, ' ');
  }
  return text + (fenced ? indent + "```\n" : "") + note;
}

std::string Wrapped(std::string_view text, size_t width, size_t indent) {
  std::string out(indent, ' ');
  size_t used = indent;
  bool begun = false;
  for (const std::string_view word : Split(text, ' ')) {
    const size_t size = WidthOf(word);
    if (begun && width > 0 && used + 1 + size > width) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (begun) {
      out += ' ';
      ++used;
    }
    out += word;
    used += size;
    begun = true;
  }
  return out;
}

std::string AsText(const Table& table, const TextStyle& style) {
  if (style.width == 0 || Total(WidthsOf(table)) <= style.width) return Padded(table, style);
  switch (table.narrow) {
    case Narrow::kStacked:
      return Stacked(table, style);
    case Narrow::kLastBelow:
      return table.header.size() > 1 ? WithLastBelow(table, style) : Padded(table, style);
    case Narrow::kColumns:
      break;
  }
  const Table lines = WithListsAsLines(table);
  return Total(WidthsOf(lines)) <= style.width ? Padded(lines, style) : InSeveralTables(lines, style);
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
