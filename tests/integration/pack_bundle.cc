// SPDX-License-Identifier: Apache-2.0
// pack_bundle RUN FILE [CHALLENGE]: a bundle as a forger packs it, of a folder that assay bundle may refuse.
#include <cstdio>

#include "harness/tools/bundle/bundle.h"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const auto bundle = assay::CollectBundle(argv[1], argc > 3 ? argv[3] : "");
  const auto written =
      bundle ? assay::WriteContainer(argv[2], bundle->files) : assay::Status(tl::unexpected(bundle.error()));
  if (!written) std::fprintf(stderr, "%s\n", written.error().message.c_str());
  return written ? 0 : 2;
}
