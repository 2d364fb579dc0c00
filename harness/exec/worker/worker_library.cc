// SPDX-License-Identifier: Apache-2.0
// The worker as a library, for an interpreter that has taken over the process of one (the request "become").
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "backends/abi/assay_backend.h"
#include "harness/core/base/text.h"
#include "harness/core/model/contract.h"
#include "harness/core/model/other_names.h"
#include "harness/exec/worker/worker_main.h"

// Answers the host on `fd` until it is done. `plugin` is loaded whatever the host names: the file that it names is the
// interpreter's.
extern "C" ASSAY_EXPORT int32_t assay_worker_serve(int32_t fd, const char* plugin) {
  return assay::ServeHost(fd, plugin);
}

namespace {

// `to` has `capacity` bytes, at least one.
void CopyText(const std::string& text, char* to, uint64_t capacity) {
  const uint64_t size = std::min<uint64_t>(text.size(), capacity - 1);
  std::copy_n(text.data(), size, to);
  to[size] = '\0';
}

}  // namespace

// Writes what is wrong with a declared contract, or "", to `problem`, which has `capacity` bytes, at least one.
extern "C" ASSAY_EXPORT void assay_contract_problem(const char* contract, char* problem, uint64_t capacity) {
  const auto parsed = assay::ParseDeclaration(contract);
  CopyText(parsed ? "" : parsed.error().message, problem, capacity);
}

// Writes the hint to an unknown operator, or "", to `hint`, which has `capacity` bytes, at least one. `known`: the
// operators, joined by ','.
extern "C" ASSAY_EXPORT void assay_operator_hint(const char* word, const char* known, char* hint, uint64_t capacity) {
  const std::vector<std::string_view> names = assay::Split(known, ',');
  CopyText(assay::OperatorHint(word, std::vector<std::string>(names.begin(), names.end())), hint, capacity);
}
