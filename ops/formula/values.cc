// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/values.h"

#include <algorithm>
#include <cmath>

#include "golden/dd/dd.h"
#include "harness/core/base/multiversion.h"
#include "harness/core/data/infinity.h"
#include "ops/formula/recurrence.h"
#include "ops/formula/selection.h"

namespace assay::formula {
namespace {

ASSAY_MULTIVERSION void AddRow(const double* __restrict x, double* __restrict to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += x[i];
}

// to += x; where the plain sum is not finite it stands, without compensation.
void AddRowDD(const double* hi, const double* lo, double* to_hi, double* to_lo, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const DD sum = DD{to_hi[i], to_lo[i]} + DD{hi[i], lo[i]};
    const double plain = to_hi[i] + hi[i];
    const bool finite = std::isfinite(plain) && std::isfinite(sum.hi);
    to_hi[i] = finite ? sum.hi : plain;
    to_lo[i] = finite ? sum.lo : 0;
  }
}

DD ProductOf(DD x, DD y) {
  const double plain = x.hi * y.hi;
  const DD product = x * y;
  return std::isfinite(plain) && std::isfinite(product.hi) && std::isfinite(product.lo) ? product : DD{plain, 0};
}

DD SumOf(DD x, DD y) {
  const double plain = x.hi + y.hi;
  const DD sum = x + y;
  return std::isfinite(plain) && std::isfinite(sum.hi) ? sum : DD{plain, 0};
}

// NaN wins.
bool Beats(bool largest, DD x, DD than) {
  if (std::isnan(than.hi)) return false;
  if (std::isnan(x.hi)) return true;
  if (x.hi != than.hi) return largest ? x.hi > than.hi : x.hi < than.hi;
  return largest ? x.lo > than.lo : x.lo < than.lo;
}

double Identity(Kind kind) {
  if (kind == Kind::kSum) return 0;
  if (kind == Kind::kProd) return 1;
  return kind == Kind::kMax ? -kInfinity : kInfinity;
}

}  // namespace

NodeSpaces::NodeSpaces(const BlockPlan& plan) {
  const Graph& graph = plan.graph();
  for (const Node& node : graph.nodes) {
    std::vector<Expansion> expansions_of;
    std::vector<int64_t> places_of;
    if (node.kind == Kind::kMap || node.kind == Kind::kRecur) {
      for (const int arg : node.args) expansions_of.emplace_back(plan, graph.At(arg).axes, node.axes);
    }
    if (IsReduction(node.kind)) places_of = Projection(plan, graph.At(node.args[0]).axes, node.axes);
    if (node.kind == Kind::kAt) places_of = Source(plan, node, graph.At(node.args[0]).axes);
    if (node.kind == Kind::kIn) places_of = plan.InnerOffsets(graph.inputs[static_cast<size_t>(node.input)]);
    expansions.push_back(std::move(expansions_of));
    places.push_back(std::move(places_of));
  }
}

BlockValues::BlockValues(const BlockPlan& plan, const NodeSpaces& spaces, bool double_double)
    : plan_(&plan),
      spaces_(&spaces),
      dd_(double_double),
      hi_(plan.graph().nodes.size()),
      lo_(hi_.size()),
      known_places_(hi_.size()) {}

void BlockValues::Evaluate(int node, InputElements inputs) {
  const Node& info = plan_->graph().At(node);
  const auto at = static_cast<size_t>(node), size = static_cast<size_t>(plan_->Size(info.axes, lanes_));
  hi_[at].resize(size);
  if (dd_) lo_[at].assign(size, 0);
  switch (info.kind) {
    case Kind::kIn:
      return Input(node, inputs);
    case Kind::kConst:
      std::ranges::fill(hi_[at], info.constant);
      if (dd_) std::ranges::fill(lo_[at], info.constant_lo);
      return;
    case Kind::kIndex:
      for (size_t i = 0; i < size; ++i) hi_[at][i] = static_cast<double>(i);
      return;
    case Kind::kMap:
      return Map(node);
    case Kind::kRecur:
      return Recur(node);
    case Kind::kAt:
      return Move(node);
    case Kind::kTopK:
      return Select(node);
    case Kind::kGather:
      return Gather(node);
    case Kind::kScatterAdd:
      return ScatterAdd(node);
    case Kind::kRound:
      hi_[at] = hi_[static_cast<size_t>(info.args[0])];
      if (dd_) lo_[at] = lo_[static_cast<size_t>(info.args[0])];
      return;
    default:
      return Reduce(node);
  }
}

void BlockValues::Input(int node, InputElements inputs) {
  const auto at = static_cast<size_t>(node);
  const Node& info = plan_->graph().At(node);
  const std::vector<int64_t>& inner = spaces_->places[at];
  const std::vector<int64_t> lane_offsets = LaneOffsetsOf(node);
  const auto read = [&](std::span<const double> elements, std::vector<double>& values) {
    double* to = values.data();
    for (const int64_t offset : inner) {
      for (const int64_t lane : lane_offsets) *to++ = elements[static_cast<size_t>(offset + lane)];
    }
  };
  read(inputs[static_cast<size_t>(info.input)], hi_[at]);
  const size_t low = plan_->graph().inputs.size() + static_cast<size_t>(info.input);
  if (dd_ && low < inputs.size()) read(inputs[low], lo_[at]);
}

std::vector<int64_t> BlockValues::LaneOffsetsOf(int node) const {
  const Node& info = plan_->graph().At(node);
  const InputInfo& input = plan_->graph().inputs[static_cast<size_t>(info.input)];
  return plan_->LaneOffsets(input, plan_->HasLanes(info.axes) ? range_ : LaneRange{});
}

std::vector<int64_t> BlockValues::OffsetsOf(int node) const {
  const std::vector<int64_t> lane_offsets = LaneOffsetsOf(node);
  std::vector<int64_t> offsets;
  for (const int64_t inner : spaces_->places[static_cast<size_t>(node)]) {
    for (const int64_t lane : lane_offsets) offsets.push_back(inner + lane);
  }
  return offsets;
}

// Sets operands_ to the high parts, and returns the low ones.
Operands BlockValues::ExpandOperands(int node) {
  const auto at = static_cast<size_t>(node);
  const std::vector<int>& args = plan_->graph().At(node).args;
  const size_t size = hi_[at].size();
  Operands lo{};
  for (size_t k = 0; k < args.size(); ++k) {
    const auto arg = static_cast<size_t>(args[k]);
    const Expansion& expansion = spaces_->expansions[at][k];
    operands_[k] = expansion.Of(hi_[arg], lanes_, size, scratch_[k]);
    if (dd_) lo[k] = expansion.Of(lo_[arg], lanes_, size, scratch_[3 + k]);
  }
  return lo;
}

void BlockValues::Map(int node) {
  const auto at = static_cast<size_t>(node);
  const Node& info = plan_->graph().At(node);
  const Operands lo = ExpandOperands(node);
  const int64_t n = std::ssize(hi_[at]);
  const std::vector<bool>& wraps = plan_->graph().wraps;
  if (dd_ && !wraps.empty() && wraps[at]) return WrapProduct(node, lo);
  if (dd_) return MapValuesDD(info.function, operands_, lo, hi_[at].data(), lo_[at].data(), n);
  MapValues(info.function, operands_, hi_[at].data(), n);
}

void BlockValues::Reduce(int node) {
  const auto at = static_cast<size_t>(node);
  const Node& info = plan_->graph().At(node);
  const auto arg = static_cast<size_t>(info.args[0]);
  const std::vector<int64_t>& places = spaces_->places[at];
  const int64_t width = std::ssize(hi_[arg]) / std::ssize(places);
  std::ranges::fill(hi_[at], Identity(info.kind));
  std::vector<int64_t> met(fault_.node == node ? hi_[at].size() : 0);  // terms of each result so far
  for (size_t k = 0; k < places.size(); ++k) {
    if (fault_.node == node && met[static_cast<size_t>(places[k])]++ == fault_.term) continue;
    const int64_t from = static_cast<int64_t>(k) * width, to = places[k] * width;
    if (info.kind == Kind::kSum) {
      if (dd_) {
        AddRowDD(hi_[arg].data() + from, lo_[arg].data() + from, hi_[at].data() + to, lo_[at].data() + to, width);
      } else {
        AddRow(hi_[arg].data() + from, hi_[at].data() + to, width);
      }
      continue;
    }
    for (int64_t lane = 0; lane < width; ++lane) {
      const auto i = static_cast<size_t>(from + lane), j = static_cast<size_t>(to + lane);
      const DD x{hi_[arg][i], dd_ ? lo_[arg][i] : 0}, held{hi_[at][j], dd_ ? lo_[at][j] : 0};
      DD next = held;
      if (info.kind == Kind::kProd) {
        next = dd_ ? ProductOf(held, x) : DD{held.hi * x.hi, 0};
      } else if (Beats(info.kind == Kind::kMax, x, held)) {
        next = x;
      }
      hi_[at][j] = next.hi;
      if (dd_) lo_[at][j] = next.lo;
    }
  }
}

void BlockValues::Recur(int node) {
  const auto at = static_cast<size_t>(node);
  const Node& info = plan_->graph().At(node);
  const Operands lo = ExpandOperands(node);
  const size_t b = info.args.size() - 1;
  ForRecurrences(*plan_, info, lanes_, [&](int64_t first, int64_t stride, int64_t steps) {
    DD h;
    for (int64_t t = 0; t < steps; ++t) {
      const int64_t i = first + t * stride;
      if (fault_.node == node && fault_.term == t) {
        hi_[at][static_cast<size_t>(i)] = h.hi;
        if (dd_) lo_[at][static_cast<size_t>(i)] = h.lo;
        continue;
      }
      if (dd_) {
        const DD carried = b == 0 || t == 0 ? h : ProductOf({operands_[0][i], lo[0][i]}, h);
        h = SumOf(carried, {operands_[b][i], lo[b][i]});
        lo_[at][static_cast<size_t>(i)] = h.lo;
      } else {
        h.hi = (b == 0 || t == 0 ? h.hi : operands_[0][i] * h.hi) + operands_[b][i];
      }
      hi_[at][static_cast<size_t>(i)] = h.hi;
    }
  });
}

void BlockValues::Move(int node) {
  const auto at = static_cast<size_t>(node);
  const Node& info = plan_->graph().At(node);
  const auto arg = static_cast<size_t>(info.args[0]);
  const int64_t width = plan_->HasLanes(info.axes) ? lanes_ : 1;
  const std::vector<int64_t>& source = spaces_->places[at];
  for (size_t i = 0; i < source.size(); ++i) {
    const auto to = static_cast<int64_t>(i) * width;
    if (source[i] < 0) {
      std::fill_n(hi_[at].data() + to, width, 0.0);
      continue;
    }
    std::copy_n(hi_[arg].data() + source[i] * width, width, hi_[at].data() + to);
    if (dd_) std::copy_n(lo_[arg].data() + source[i] * width, width, lo_[at].data() + to);
  }
}

// The index has no lanes.
void BlockValues::FindPlaces(int node) {
  const Node& info = plan_->graph().At(node);
  std::vector<int64_t>& known = known_places_[static_cast<size_t>(node)];
  const std::vector<double>& index = hi_[static_cast<size_t>(info.args.back())];
  if (fault_.node != node) {
    if (known.empty()) known = Places(*plan_, info, index);
    places_ = known;
    return;
  }
  std::vector<double> wrong = index;
  double& place = wrong[static_cast<size_t>(fault_.term)];
  const bool gathers = info.kind == Kind::kGather;
  place = !gathers ? -1 : place + 1 < static_cast<double>(plan_->graph().Extent(info.from_axis)) ? place + 1 : 0;
  places_ = Places(*plan_, info, wrong);
}

void BlockValues::Gather(int node) {
  FindPlaces(node);
  const auto at = static_cast<size_t>(node);
  const Node& info = plan_->graph().At(node);
  const auto arg = static_cast<size_t>(info.args[0]);
  const int64_t width = plan_->HasLanes(info.axes) ? lanes_ : 1;
  for (size_t i = 0; i < places_.size(); ++i) {
    const auto to = static_cast<int64_t>(i) * width;
    if (places_[i] < 0) {
      std::fill_n(hi_[at].data() + to, width, std::nan(""));
      continue;
    }
    std::copy_n(hi_[arg].data() + places_[i] * width, width, hi_[at].data() + to);
    if (dd_) std::copy_n(lo_[arg].data() + places_[i] * width, width, lo_[at].data() + to);
  }
}

void BlockValues::ScatterAdd(int node) {
  FindPlaces(node);
  const auto at = static_cast<size_t>(node);
  const Node& info = plan_->graph().At(node);
  const auto base = static_cast<size_t>(info.args[0]), updates = static_cast<size_t>(info.args[1]);
  const int64_t width = plan_->HasLanes(info.axes) ? lanes_ : 1;
  hi_[at] = hi_[base];
  if (dd_) lo_[at] = lo_[base];
  for (size_t k = 0; k < places_.size(); ++k) {
    if (places_[k] < 0) continue;
    const int64_t from = static_cast<int64_t>(k) * width, to = places_[k] * width;
    if (dd_) {
      AddRowDD(hi_[updates].data() + from, lo_[updates].data() + from, hi_[at].data() + to, lo_[at].data() + to, width);
    } else {
      AddRow(hi_[updates].data() + from, hi_[at].data() + to, width);
    }
  }
}

void BlockValues::Select(int node) {
  const auto at = static_cast<size_t>(node);
  const Node& info = plan_->graph().At(node);
  const auto arg = static_cast<size_t>(info.args[0]);
  ForSelections(*plan_, node, lanes_, [&](const SelectionLine& line) {
    const NumbersOfLine numbers{hi_[arg].data(), dd_ ? lo_[arg].data() : nullptr, line};
    const std::vector<int64_t> ranked =
        fault_.node == node ? RankWithout(info, numbers, fault_.term) : Rank(info, numbers, line.ranks);
    for (int64_t k = 0; k < line.ranks; ++k) {
      const auto to = static_cast<size_t>(line.to + k * line.to_stride);
      const DD selected = numbers.At(ranked[static_cast<size_t>(k)]);
      hi_[at][to] = info.places ? static_cast<double>(ranked[static_cast<size_t>(k)]) : selected.hi;
      if (dd_) lo_[at][to] = info.places ? 0 : selected.lo;
    }
  });
}

}  // namespace assay::formula
