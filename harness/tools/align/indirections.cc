// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/align/indirections.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "ops/slices.h"

namespace assay {
namespace {

using Tensors = std::vector<Tensor>;

// Places of these operands among the inputs; empty: one of them is not there.
std::vector<size_t> FindInputs(const Problem& problem, const std::vector<std::string>& names) {
  std::vector<size_t> places;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(problem.inputs, name, &Operand::name);
    if (found == problem.inputs.end()) return {};
    places.push_back(static_cast<size_t>(found - problem.inputs.begin()));
  }
  return places;
}

Tensors Clones(const Tensors& whole) {
  Tensors clones;
  for (const Tensor& tensor : whole) clones.push_back(tensor.Clone());
  return clones;
}

Tensor Integers(const Tensor& like, const Shape& shape, const std::vector<double>& values) {
  Tensor made(like.dtype(), shape);
  made.SetDoubles(values);
  return made;
}

Tensor TakeWhole(const Tensor& tensor, size_t) {
  return tensor.Clone();
}

// Page order[i] of the case lies at i, and the table says so.
Tensors MovePages(const Tensors& whole, const std::vector<size_t>& places, const std::vector<int64_t>& order) {
  Tensors moved = Clones(whole);
  for (const size_t place : {places[0], places[1]}) moved[place] = TakeAlong(whole[place], 0, order);
  std::vector<double> table = whole[places[2]].ToDoubles();
  for (double& page : table) {
    page = static_cast<double>(std::ranges::find(order, static_cast<int64_t>(page)) - order.begin());
  }
  moved[places[2]] = Integers(whole[places[2]], whole[places[2]].shape(), table);
  return moved;
}

void AddPages(const Problem& problem, std::vector<Configuration>& all) {
  const std::vector<size_t> places = FindInputs(problem, {"keys", "values", "table"});
  if (places.empty() || problem.inputs[places[0]].shape[0] < 2) return;
  std::vector<int64_t> order(static_cast<size_t>(problem.inputs[places[0]].shape[0]));
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto add = [&](const char* how) {
    all.push_back({fmt::format("pages: all {} {}", order.size(), how),
                   problem,
                   {},
                   1,
                   [places, order](const Tensors& whole) { return MovePages(whole, places, order); },
                   TakeWhole,
                   TakeWhole});
  };
  std::ranges::stable_sort(order, {}, [](int64_t page) { return page % 2; });
  add("permuted");
  std::ranges::sort(order, std::greater<>());
  add("backwards");
}

// Sequences one behind the other: the operands that they share, and where each begins and ends in them.
class Packing {
 public:
  Packing(const Operator& op, const Problem& problem, const Tensors& inputs)
      : op_(op), problem_(problem), places_(FindInputs(problem, {"q", "k", "v", "q_ends", "k_ends"})) {
    if (places_.empty() || problem.outputs.size() != 1) return;
    queries_ = inputs[places_[3]].ToDoubles(), keys_ = inputs[places_[4]].ToDoubles();
  }

  void Add(std::vector<Configuration>& all) const {
    const auto count = std::ssize(queries_);
    if (count < 2) return;
    std::vector<int64_t> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), int64_t{0});
    for (const int64_t one : std::set<int64_t>{0, count / 2, count - 1}) {
      AddPacked(fmt::format("sequences: 1 of {}, from {}", count, one), {one}, all);
    }
    AddPacked(fmt::format("sequences: {} of {}, from 1", count - 1, count), {order.begin() + 1, order.end()}, all);
    std::ranges::reverse(order);
    AddPacked(fmt::format("sequences: all {} backwards", count), order, all);
  }

 private:
  static int64_t LengthOf(const std::vector<double>& ends, int64_t sequence) {
    const auto at = static_cast<size_t>(sequence);
    return static_cast<int64_t>(ends[at] - (at > 0 ? ends[at - 1] : 0));
  }

  // Places of these sequences along their axis.
  static std::vector<int64_t> PlacesOf(const std::vector<double>& ends, const std::vector<int64_t>& sequences) {
    std::vector<int64_t> places;
    for (const int64_t sequence : sequences) {
      const auto end = static_cast<int64_t>(ends[static_cast<size_t>(sequence)]);
      for (int64_t place = end - LengthOf(ends, sequence); place < end; ++place) places.push_back(place);
    }
    return places;
  }

  static std::vector<double> EndsOf(const std::vector<double>& ends, const std::vector<int64_t>& sequences) {
    std::vector<double> made;
    for (const int64_t sequence : sequences) {
      made.push_back((made.empty() ? 0 : made.back()) + static_cast<double>(LengthOf(ends, sequence)));
    }
    return made;
  }

  // These sequences alone, in this order. None without a query or without a key.
  void AddPacked(std::string name, const std::vector<int64_t>& sequences, std::vector<Configuration>& all) const {
    const std::vector<int64_t> queries = PlacesOf(queries_, sequences), keys = PlacesOf(keys_, sequences);
    CaseSpec spec = problem_.spec;
    for (auto& [key, value] : spec.attrs) {
      if (key == "t") value = fmt::format("{}", queries.size());
      if (key == "s") value = fmt::format("{}", keys.size());
      if (key == "sequences") value = fmt::format("{}", sequences.size());
    }
    auto part = op_.Bind(spec);
    if (queries.empty() || keys.empty() || !part) return;
    const auto inputs = [=, places = places_, q_ends = EndsOf(queries_, sequences),
                         k_ends = EndsOf(keys_, sequences)](const Tensors& whole) {
      Tensors packed = Clones(whole);
      packed[places[0]] = TakeAlong(whole[places[0]], 0, queries);
      for (const size_t place : {places[1], places[2]}) packed[place] = TakeAlong(whole[place], 0, keys);
      packed[places[3]] = Integers(whole[places[3]], {std::ssize(q_ends)}, q_ends);
      packed[places[4]] = Integers(whole[places[4]], {std::ssize(k_ends)}, k_ends);
      return packed;
    };
    const auto expected = [queries](const Tensor& of_whole, size_t) { return TakeAlong(of_whole, 0, queries); };
    all.push_back({std::move(name), *std::move(part), {}, 1, inputs, expected, TakeWhole});
  }

  const Operator& op_;
  const Problem& problem_;
  std::vector<size_t> places_;
  std::vector<double> queries_, keys_;  // their ends
};

}  // namespace

std::vector<Configuration> ListIndirections(const Operator& op, const Problem& problem,
                                            const std::vector<Tensor>& inputs) {
  std::vector<Configuration> all;
  AddPages(problem, all);
  Packing(op, problem, inputs).Add(all);
  return all;
}

}  // namespace assay
