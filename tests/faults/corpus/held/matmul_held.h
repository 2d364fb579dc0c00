// SPDX-License-Identifier: Apache-2.0
// Matrix products whose sums, operands and epilogues are rows of tables.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/faults/corpus/held/summation.h"
#include "tests/faults/corpus/matmul_kernel.h"

namespace corpus {

// Where y is computed with the sums that a table says; elsewhere the plain loop is at work.
struct Region {
  Which batches = All(), rows = All(), columns = All();
};

// Every sum as `sum` says, in one region.
template <class T>
auto DotIn(const Summation& sum, const Region& region) {
  return [=](const T* a, const T* b, const plugin::MatmulSpec& s, const Place& at) {
    const bool struck =
        region.batches.Has(at.batch, s.batch) && region.rows.Has(at.row, s.m) && region.columns.Has(at.column, s.n);
    return struck ? SumOf(sum, a, b, s.k) : CleanDot(a, b, s.k);
  };
}

std::vector<Entry> MatmulHeldSums();    // terms, arithmetic
std::vector<Entry> MatmulHeldPlaces();  // operands, outputs, epilogues
std::vector<Entry> MatmulHeldLegal();

}  // namespace corpus
