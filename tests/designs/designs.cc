// SPDX-License-Identifier: Apache-2.0
// assay_designs FILE...: writes the cases of covering designs into files of ops/designs, as scripts/designs.sh asks,
// and prints what each design has, misses and cannot have.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

#include "tests/designs/design_file.h"

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const auto file = assay::ReadDesignFile(argv[i]);
    if (!file) {
      fmt::print(stderr, "assay_designs: {}\n", file.error().message);
      return EXIT_FAILURE;
    }
    const assay::Cover cover = assay::MakeCover(*file->op, file->options);
    std::ofstream out(argv[i]);
    out << assay::WriteDesign(*file, cover);
    if (!out.flush()) {
      fmt::print(stderr, "assay_designs: cannot write {}\n", argv[i]);
      return EXIT_FAILURE;
    }
    fmt::print("{}\n{}", argv[i], assay::SummariseDesign(*file, cover));
  }
  return EXIT_SUCCESS;
}
