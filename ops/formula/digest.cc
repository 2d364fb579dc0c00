// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/digest.h"

#include <bit>
#include <vector>

namespace assay::formula {
namespace {

// Numbers one after the other, lists with their lengths.
class Words {
 public:
  void Add(double x) { words_.push_back(std::bit_cast<uint64_t>(x)); }
  template <class T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
  void Add(T x) { words_.push_back(static_cast<uint64_t>(x)); }
  template <class T>
  void Add(const std::vector<T>& list) {
    Add(list.size());
    for (const T& x : list) Add(x);
  }
  // All fields: one that is new does not compile until it is decided upon.
  void Add(const Node& node) {
    const auto& [kind, function, strictness, steps, recomputed, updated, non_negative, least, numbers, shown_elsewhere,
                 args, axes, reduced, axis, from_axis, index, more_axes, more_from, constant, constant_lo, input,
                 format, smallest, places, any_tie] = node;
    static_cast<void>(shown_elsewhere);  // of faults
    static_cast<void>(updated);          // of bounds
    static_cast<void>(numbers);          // of operands, whose types a case has
    AddAll(kind, function, strictness, steps, recomputed, non_negative, least, args, axes, reduced, axis, from_axis,
           index, constant, input, format, smallest, places, any_tie);
    if (constant_lo != 0) Add(constant_lo);
    if (!more_axes.empty() || !more_from.empty()) AddAll(more_axes, more_from);
  }
  void Add(const AxisInfo& axis) { Add(axis.extent); }
  void Add(const InputInfo& input) { AddAll(input.axes, input.places_along); }
  void Add(const OutputInfo& output) { AddAll(output.axes, output.node); }
  uint64_t Hash() const { return HashBytes(words_.data(), words_.size() * sizeof(uint64_t)); }

 private:
  template <class... T>
  void AddAll(const T&... parts) {
    (Add(parts), ...);
  }

  std::vector<uint64_t> words_;
};

}  // namespace

std::string DigestOf(const Graph& graph) {
  Words words;
  words.Add(graph.axes);
  words.Add(graph.nodes);
  words.Add(graph.inputs);
  words.Add(graph.outputs);
  return HashHex(words.Hash());
}

}  // namespace assay::formula
