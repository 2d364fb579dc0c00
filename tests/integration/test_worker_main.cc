// SPDX-License-Identifier: Apache-2.0
// The smallest program that can be a worker: what `assay worker --fd N` is, without the rest.
#include <cstdlib>
#include <cstring>

#include "harness/exec/worker/worker_main.h"

int main(int argc, char** argv) {
  if (argc != 4 || std::strcmp(argv[1], "worker") != 0 || std::strcmp(argv[2], "--fd") != 0) return 2;
  return assay::WorkerMain(std::atoi(argv[3]));
}
