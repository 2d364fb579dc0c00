// SPDX-License-Identifier: Apache-2.0
// The conditions under which a case is computed again: in other numbers of slices (rows, images, heads), at other
// places among them, beside other data, in other memory. None of them changes what an element's terms are.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/exec/buffers.h"
#include "ops/operator.h"

namespace assay {

// A case of its own, whose results are joined with those of other parts.
struct SharedPart {
  Problem problem;
  std::function<std::vector<Tensor>(const std::vector<Tensor>& whole)> inputs;
};

struct Configuration {
  std::string name;  // "m: 7 of 64, from 57"
  Problem problem;
  LayoutVariant layout = {};
  int calls = 1;  // of equal data
  // The inputs of this problem, from those of the whole case.
  std::function<std::vector<Tensor>(const std::vector<Tensor>& whole)> inputs;
  // `expected` takes from an output of the whole case (or a tensor of its shape), by its number, what it is in this
  // configuration; `compared` takes from the configuration's own output the elements to compare.
  std::function<Tensor(const Tensor&of_whole, size_t output)> expected, compared;
  // Parts that are computed in place of the problem, and the case's outputs from those of each part.
  std::vector<SharedPart> parts = {};
  std::function<std::vector<Tensor>(std::span<const std::vector<Tensor>> parts)> joined = {};
  bool is_sum = false;       // the sum of the parts has to be a result of the case
  std::string refused = {};  // why no implementation can compute it; "": one may
};

// The case itself first, several times over. `inputs`: those of the case.
std::vector<Configuration> ListConfigurations(const Operator& op, const Problem& problem,
                                              const std::vector<Tensor>& inputs);

// Operands and their axes along which an output's terms are summed (-1: an operand has none), by their extents:
// whatever has one extent and is no axis of the output turns together, as the channels of a convolution do.
std::map<int64_t, std::vector<int64_t>> ListTermAxes(const Operator& op, const Problem& problem, size_t output);

// Inputs whose terms are added in another order, and how one of their outputs is to be read: the same numbers but for
// roundings. Whoever compares them sees whether the data show an order at all.
struct OtherOrder {
  std::vector<Tensor> inputs;
  std::function<Tensor(const Tensor& output)> restored;
};

// Candidates for one output: those are other orders whose results are right. None: nothing is summed.
std::vector<OtherOrder> ListOtherOrders(const Operator& op, const Problem& problem, size_t output,
                                        const std::vector<Tensor>& inputs);

}  // namespace assay
