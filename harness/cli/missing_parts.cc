// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/missing_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

// A part is there if the file holds the text; {} stands for the operator's name. Without a text the file is the part.
struct Part {
  const char *file, *text, *what;
};

constexpr std::array kParts = {
    Part{"tests/unit/ops/tie_twin_test.cc", "\"{}", "a row: which of its results can be ties (step 3)"},
    Part{"backends/cpu/cpu_backend.cc", "\"{}\"", "kernels, at least two (step 5)"},
    Part{"ops/designs/covering/{}.suite", "", "cases with all pairs of sizes and attributes (step 6)"},
    Part{"ops/suites/covering.suite", "designs/covering/{}.suite", "an include of these cases (step 6)"},
    Part{"ops/suites/power-quick.suite", "\n{} ", "a case to measure power on (step 8)"},
    Part{"ops/README.md", "`{}`", "a row in the table of operators (step 11)"},
};
// Parts of operators that a formula defines alone.
constexpr std::array kPartsOfFormulas = {
    Part{"ops/suites/formulas.suite", "\n{} ", "cases (step 7)"},
    Part{"ops/formula/README.md", "| `{}` |", "rows in the table of slack (step 9)"},
    Part{"harness/tools/power/README.md", "`{}`", "a row of what power caught (step 10)"},
};

std::string Fill(const char* pattern, const std::string& op) {
  return fmt::format(fmt::runtime(pattern), op);
}

std::string ReadText(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

Result<std::vector<MissingPart>> FindMissingParts(const fs::path& root, const std::string& op) {
  if (!fs::exists(root / "ops/ADDING.md")) {
    return UsageError(fmt::format(
        "--missing looks into assay's sources, and {} has no ops/ADDING.md; run it in the root of the sources",
        fs::absolute(root).lexically_normal().string()));
  }
  std::vector<MissingPart> missing;
  const auto look_for = [&](const Part& part) {
    const std::string file = Fill(part.file, op), text = Fill(part.text, op);
    const bool is_there =
        text.empty() ? fs::exists(root / file) : ReadText(root / file).find(text) != std::string::npos;
    if (!is_there) missing.push_back({file, part.what});
  };
  std::ranges::for_each(kParts, look_for);
  if (fs::exists(root / fmt::format("ops/defs/{}.cc", op))) std::ranges::for_each(kPartsOfFormulas, look_for);
  return missing;
}

}  // namespace assay::cli
