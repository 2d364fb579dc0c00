// SPDX-License-Identifier: Apache-2.0
// Declarations shared by the files that implement the C table.
#pragma once

#include <type_traits>

#include "backends/abi/assay_backend.h"
#include "backends/common/status.h"

namespace plugin {

// Sets the functions that a plugin may lack: plan_info and all behind it in the table.
void SetOptionalFunctions(assay_backend_api& api);

template <class... Pointers>
void CheckPointers(const char* call, Pointers... pointers) {
  if (((pointers == nullptr) || ...)) throw Failure("{}: a required pointer is NULL", call);
}

// Writes a member of a caller's struct when the caller, as it was compiled, knows it.
template <class Struct, class Member>
void Set(Struct* out, Member Struct::*member, std::type_identity_t<Member> value) {
  const auto* end = reinterpret_cast<const char*>(&(out->*member) + 1);
  if (static_cast<uint64_t>(end - reinterpret_cast<const char*>(out)) <= out->struct_size) out->*member = value;
}

}  // namespace plugin
