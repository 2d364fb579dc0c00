// SPDX-License-Identifier: Apache-2.0
// The corpus: correct schedules and kernel bugs, each an implementation of an operator. Adding one is adding a row to
// its operator's list: a change of the correct kernel (edits.h), or a place that is read or stored wrongly (struck.h).
//   legal.<schedule>        declares the class that it belongs to
//   fault.<bug>             declares what the kernel would honestly declare without the bug
//   fault.<bug>.effect      the same bug in exact arithmetic, to a f64 (complex: c128) output; corpus_plugin.cc makes
//                           it out of every fault
// Where a bug strikes follows from the shape; only bugs that are about values (NaN, signs, small numbers) look at them.
// The folders held/ and fresh/ have the parts that nothing is adjusted to, as tables of data; held_back.txt and
// fresh.txt list them. The fresh one was written later, and is of bugs that neither of the others has.
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/common/backend.h"

namespace corpus {

using Description = const plugin::OpDesc&;
using TextOf = std::string (*)(Description);

struct Entry {
  std::string op;
  std::string name;  // "legal.pairwise", "fault.last-k-dropped-everywhere"
  std::function<std::string(const plugin::OpDesc&)> contract;
  // Why the entry does not take the description, or why the bug could not strike there; "" when it does.
  std::function<std::string(const plugin::OpDesc&)> why_not;
  // `exact`: every operation in double (long double where an operand is f64), except the one that is the bug. Elements
  // that the bug leaves unwritten or stale are then NaN.
  std::function<std::unique_ptr<plugin::Plan>(const plugin::OpDesc&, bool exact)> create;
};

// A plugin's entries of an operator, and which descriptions it takes: all_entries.cc has the corpus, control_entries.cc
// the control. Those of formulas are made when they are asked for: all of them take half a second, which each worker
// would.
std::vector<Entry> EntriesOf(std::string_view op);
bool TakesAliases(const plugin::OpDesc& op);  // an output in place of an operand
// Why the plugin has nothing for the description, or could not compute an effect, whatever the entry; "": it may.
std::string WhyNotAtAll(const plugin::OpDesc& op);

std::vector<Entry> MatmulLegalEntries();     // orders of summation
std::vector<Entry> MatmulUnitEntries();      // matrix units of GPUs, and roundings that classes permit
std::vector<Entry> MatmulTermFaults();       // terms lost, repeated or mixed up
std::vector<Entry> MatmulPrecisionFaults();  // narrowings
std::vector<Entry> MatmulMemoryFaults();     // elements read from or written to the wrong place, or not at all
std::vector<Entry> MatmulEpilogueFaults();   // alpha, beta, bias, non-finite values
std::vector<Entry> ReduceLegalEntries();
std::vector<Entry> ReduceTermFaults();   // terms lost or repeated, wrong starts, counts, comparisons
std::vector<Entry> ReduceOtherFaults();  // narrowings, memory
std::vector<Entry> AttentionLegalEntries();
std::vector<Entry> AttentionMaskFaults();       // keys, heads, masks
std::vector<Entry> AttentionNumericalFaults();  // scores, exponentials, narrowings, memory
std::vector<Entry> SoftmaxLegalEntries();
std::vector<Entry> SoftmaxFaults();
std::vector<Entry> ConvLegalEntries();
std::vector<Entry> ConvTermFaults();       // taps, channels, groups, padding, terms
std::vector<Entry> ConvOtherFaults();      // bias, narrowings, memory
std::vector<Entry> ConvWinogradEntries();  // legal and faulty
std::vector<Entry> FftLegalEntries();
std::vector<Entry> FftFaults();
std::vector<Entry> FormulaEntries(std::string_view op);  // none where it is no formula
// Entries named in held_back.txt: nothing is adjusted to them.
std::vector<Entry> HeldEntries();
// Entries named in fresh.txt.
std::vector<Entry> FreshEntries();

// All of several lists.
inline std::vector<Entry> Joined(std::initializer_list<std::vector<Entry>> lists) {
  std::vector<Entry> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

// Keeps the entries of one operator.
inline std::vector<Entry> Chosen(const std::vector<Entry>& all, std::string_view op) {
  std::vector<Entry> chosen;
  std::ranges::copy_if(all, std::back_inserter(chosen), [&](const Entry& entry) { return entry.op == op; });
  return chosen;
}

}  // namespace corpus
