// SPDX-License-Identifier: Apache-2.0
// The worker as a library, for an interpreter that has taken over the process of one (the request "become").
#include <algorithm>
#include <string>

#include "backends/abi/assay_backend.h"
#include "harness/exec/worker/worker_main.h"
#include "harness/model/contract.h"

// Answers the host on `fd` until it is done. `plugin` is loaded whatever the host names: the file that it names is the
// interpreter's.
extern "C" ASSAY_EXPORT int32_t assay_worker_serve(int32_t fd, const char* plugin) {
  return assay::ServeHost(fd, plugin);
}

// Writes what is wrong with a declared contract, or "", to `problem`, which has `capacity` bytes, at least one.
extern "C" ASSAY_EXPORT void assay_contract_problem(const char* contract, char* problem, uint64_t capacity) {
  const auto parsed = assay::ParseDeclaration(contract);
  const std::string text = parsed ? "" : parsed.error().message;
  const uint64_t size = std::min<uint64_t>(text.size(), capacity - 1);
  std::copy_n(text.data(), size, problem);
  problem[size] = '\0';
}
