// SPDX-License-Identifier: Apache-2.0
// A convolution with one step exchanged, where its shape has a place for the bug.
#pragma once

#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/held/conv_held.h"

namespace corpus {

// `strikes(spec)`: where the bug shows; `set(kernel)` puts it in.
template <class Strikes, class Set>
Entry ConvFault(const char* name, Strikes strikes, Set set) {
  Entry entry = ConvEntry(name, ConvContract, nullptr, [set]<class T>(std::type_identity<T>) {
    ConvKernel<T> kernel;
    set(kernel);
    return kernel;
  });
  entry.why_not = [strikes](Description op) {
    return ConvWhen(op, strikes, "such a convolution has no place or type for the bug");
  };
  return entry;
}

}  // namespace corpus
