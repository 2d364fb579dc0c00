// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/results/reordered_mark.h"

#include <algorithm>

namespace assay {
namespace {

constexpr std::string_view kMarks[] = {R"(,"reordered":false})", R"(,"reordered":true})"};

std::string WithoutMark(std::string_view line) {
  for (const std::string_view mark : kMarks) {
    if (line.ends_with(mark)) return std::string(line.substr(0, line.size() - mark.size())) + "}";
  }
  return std::string(line);
}

}  // namespace

std::string MarkRecordLine(std::string_view line, bool reordered) {
  std::string marked = WithoutMark(line);
  if (marked.ends_with('}')) marked.replace(marked.size() - 1, 1, kMarks[reordered ? 1 : 0]);
  return marked;
}

std::string RemoveReorderedMarks(std::string_view lines) {
  std::string unmarked;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    unmarked += WithoutMark(lines.substr(0, end));
    if (end < lines.size()) unmarked += '\n';
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return unmarked;
}

}  // namespace assay
