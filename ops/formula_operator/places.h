// SPDX-License-Identifier: Apache-2.0
// Where the numbers are that the places of a selection speak of.
#pragma once

#include <functional>
#include <vector>

#include "ops/formula/error.h"
#include "ops/formula/graph.h"

namespace assay {

class PlacesLayout {
 public:
  // Precondition: the output is the places of a selection.
  PlacesLayout(const formula::Graph& graph, const formula::OutputInfo& output);

  int64_t ranks() const { return ranks_; }
  int64_t size() const { return size_; }  // places that there are
  int64_t lines(int64_t elements) const { return elements / ranks_; }
  int64_t ElementOf(int64_t line, int64_t rank) const { return At(line, rank, ranks_); }
  int64_t NumberOf(int64_t line, int64_t place) const { return At(line, place, size_); }
  int64_t LineOf(int64_t element) const { return element / (ranks_ * stride_) * stride_ + element % stride_; }
  // The numbers, in the layout of the output with their own axis in the place of the ranks.
  const formula::OutputInfo& numbers() const { return numbers_; }

 private:
  int64_t At(int64_t line, int64_t i, int64_t count) const {
    return (line / stride_ * count + i) * stride_ + line % stride_;
  }

  int64_t ranks_, size_, stride_ = 1;
  formula::OutputInfo numbers_;
};

// Returns a test whether the number of a place may have the rank of an element: its reach overlaps that of the rank.
// `rules` say how uncertain the inputs leave it.
std::function<bool(int64_t element, int64_t place)> PlacesThatMayStand(const formula::Graph& graph,
                                                                       const std::vector<std::vector<double>>& inputs,
                                                                       bool double_double,
                                                                       const formula::ErrorRules& rules);

}  // namespace assay
