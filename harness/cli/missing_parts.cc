// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/missing_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include "harness/core/base/text.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

// A part is there if one of the files, of which several are joined by |, has the operator's name between one of
// `before` and one of `after`. {} stands for the name; without `before` the file is the part.
struct Part {
  const char *files, *before, *after, *what;
  bool of_rows = true;  // operators that share a file have it, too; tests ask for designs that these need
};

constexpr std::array kParts = {
    Part{"tests/unit/ops/tie_twin_test.cc", "\" ", "\" ", "a row: which of its results can be ties (step 3)"},
    Part{"backends/cpu/cpu_backend.cc|backends/cpu/pointwise.cc|backends/cpu/activations.h", "\"", "\"",
         "kernels, at least two (step 5)"},
    Part{"ops/designs/covering/{}.suite", "", "", "cases with all pairs of sizes and attributes (step 6)", false},
    Part{"ops/suites/covering.suite", "/", ".", "an include of these cases (step 6)", false},
    Part{"ops/suites/power-quick.suite", "\n|", "| ", "a case to measure power on (step 8)"},
    Part{"ops/README.md", "`", "`", "a row in the table of operators (step 11)"},
};
// Parts of operators that a formula defines alone.
constexpr std::array kPartsOfFormulas = {
    Part{"ops/suites/formulas.suite", "\n|", "| ", "cases (step 7)"},
    Part{"ops/formula/README.md", "`", "`", "rows in the table of slack (step 9)"},
    Part{"harness/tools/power/README.md", "`", "`", "a row of what power caught (step 10)"},
};

std::string Fill(const char* pattern, const std::string& op) {
  return fmt::format(fmt::runtime(pattern), op);
}

std::string ReadText(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool HasName(const std::string& text, const std::string& op, std::string_view before, std::string_view after) {
  for (size_t at = text.find(op); at != std::string::npos; at = text.find(op, at + 1)) {
    const size_t end = at + op.size();
    const bool begins = at > 0 && before.find(text[at - 1]) != std::string_view::npos;
    if (begins && end < text.size() && after.find(text[end]) != std::string_view::npos) return true;
  }
  return false;
}

bool IsThere(const fs::path& root, const Part& part, const std::string& op) {
  const std::string files = Fill(part.files, op);
  return std::ranges::any_of(Split(files, '|'), [&](std::string_view file) {
    const fs::path path = root / file;
    return *part.before == '\0' ? fs::exists(path) : HasName(ReadText(path), op, part.before, part.after);
  });
}

}  // namespace

Result<std::vector<MissingPart>> FindMissingParts(const fs::path& root, const std::string& op) {
  if (!fs::exists(root / "ops/ADDING.md")) {
    return UsageError(fmt::format(
        "--missing looks into assay's sources, and {} has no ops/ADDING.md; run it in the root of the sources",
        fs::absolute(root).lexically_normal().string()));
  }
  std::vector<MissingPart> missing;
  std::error_code no_folder;
  const bool has_folder = fs::exists(root / "ops" / op);
  const bool is_formula =
      !has_folder && std::ranges::any_of(fs::directory_iterator(root / "ops/defs", no_folder), [&](const auto& file) {
        return HasName(ReadText(file.path()), op, "\"(", "\",");
      });
  const bool is_row = is_formula && !fs::exists(root / fmt::format("ops/defs/{}.cc", op));
  const auto look_for = [&](const Part& part) {
    if ((is_row && !part.of_rows) || IsThere(root, part, op)) return;
    missing.push_back({Fill(std::string(Split(part.files, '|')[0]).c_str(), op), part.what});
  };
  std::ranges::for_each(kParts, look_for);
  if (is_formula) std::ranges::for_each(kPartsOfFormulas, look_for);
  return missing;
}

}  // namespace assay::cli
