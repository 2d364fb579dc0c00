// SPDX-License-Identifier: Apache-2.0
// A softmax with one step exchanged, where its shape has a place for the bug.
#pragma once

#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/held/softmax_held.h"

namespace corpus {

// `strikes(shape)`: where the bug shows; `set(kernel)` puts it in.
template <class Strikes, class Set>
Entry SoftmaxFault(const char* name, Strikes strikes, Set set) {
  Entry entry = SoftmaxEntry(name, SoftmaxContract, nullptr, [set]<class T>(std::type_identity<T>) {
    SoftmaxKernel<T> kernel;
    set(kernel);
    return kernel;
  });
  entry.why_not = [strikes](Description op) -> std::string {
    const std::string reason = SoftmaxWhyNot(op);
    return !reason.empty() ? reason : strikes(SoftmaxShapeOf(op)) ? "" : "such a softmax has no place for the bug";
  };
  return entry;
}
template <int64_t kLeast>
bool HasTerms(const SoftmaxShape& s) {
  return s.terms >= kLeast;
}

}  // namespace corpus
