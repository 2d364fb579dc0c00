// SPDX-License-Identifier: Apache-2.0
// How the cases of an operator differ from each other: what can be written into a case, and by which properties cases
// are told apart. Suites combine these properties (`cover` lines, harness/plan/cover), whoever wrote the cases: what a
// property is follows from the case alone.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/model/case_spec.h"

namespace assay {

// A case as its properties are read from it.
struct SpaceView {
  const CaseSpec& spec;
  AttrReader attrs;
  int64_t Int(std::string_view key) const { return attrs.Int(key); }
};

// Values for one key of a case, or for several that vary together. Keys are `dtypes`, `fill`, the operator's keys, or
// others from which CaseSpace::compose makes those.
struct Knob {
  std::vector<std::string> keys;
  std::vector<std::vector<std::string>> values;  // each one text per key; small ones first
};

// A property of cases, and the values that it can have.
struct Dimension {
  std::string name;
  std::vector<std::string> levels;
  std::vector<std::string> keys;               // of the knobs that decide it
  std::function<int(const SpaceView&)> level;  // index into levels; -1: none of them
  bool in_triples = false;                     // whether `cover triples` combines it in threes, not in pairs alone
  bool grows = false;                          // the level falls with none of the sizes that decide it
  // How many elements the operands of a case with each level have at least; empty: nobody knows.
  std::vector<double> least_elements = {};
};

struct CaseSpace {
  std::vector<Knob> knobs;
  std::vector<Dimension> dimensions;
  std::function<void(AttrList&)> compose;  // replaces keys that are not the operator's; empty: there are none
  // Why a case that the operator takes would prove nothing; "": it would. Empty: every case would.
  std::function<std::string(const SpaceView&)> useless;
  // Why a case is no candidate though the operator takes it, asked as if the operator had refused it; "": it is one.
  // Designs stay as they are published where an operator takes more than before. Empty: all are.
  std::function<std::string(const SpaceView&)> excluded;

  // A knob of one key.
  void AddKnob(std::string key, std::vector<std::string> values);
  // A knob whose value itself is the property. `key` may be `dtypes` or `fill`.
  void Vary(const std::string& key, std::vector<std::string> values, bool in_triples = false);
};

inline constexpr bool kInTriples = true, kOnesApart = true;

using Extent = std::function<int64_t(const SpaceView&)>;

// Numbers up to `largest` that meet every pair of the residues below, and those around powers of two.
std::vector<std::string> ExtentValues(int64_t largest);
// Adds dimensions for an extent: its remainder by 2, 3 and 5, and whether it is a multiple of 8, 16, 32, 64 or 128, or
// one more or less. `moduli` selects some of these.
void AddResidues(CaseSpace& space, const std::string& name, const std::vector<std::string>& keys, const Extent& extent,
                 const std::vector<int64_t>& moduli = {2, 3, 5, 8, 16, 32, 64, 128});
// Adds a dimension for the range that a number lies in. `ends` are the ranges' inclusive upper ends, ascending.
void AddMagnitude(CaseSpace& space, const std::string& name, const std::vector<std::string>& keys, const Extent& extent,
                  const std::vector<int64_t>& ends, bool in_triples = false);
// Adds a dimension with these levels; `level` returns the index of a case's level.
void AddRelation(CaseSpace& space, const std::string& name, const std::vector<std::string>& keys,
                 std::vector<std::string> levels, std::function<int(const SpaceView&)> level, bool in_triples = false);
// Compares the attributes of two keys: equal, below, above. `ones_apart` gives the pair of 1 and 1 a level of its own,
// because it cannot show that one was mistaken for the other.
void AddComparison(CaseSpace& space, const std::string& one, const std::string& other, bool in_triples = false,
                   bool ones_apart = false);
// Removes a key from the attributes and returns its value; "" where it is not there.
std::string Take(AttrList& attrs, std::string_view key);
// Whole tensors, by their elements: the ends are 2^8, 2^10, 2^12, 2^16 and 2^24. `is_operand`: the limits of a case
// count them.
void AddTensorSize(CaseSpace& space, const std::string& name, const std::vector<std::string>& keys,
                   const Extent& elements, bool is_operand = true);

}  // namespace assay
