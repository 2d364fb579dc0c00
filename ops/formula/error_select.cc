// SPDX-License-Identifier: Apache-2.0
// Errors of what is selected by its size. The number of a rank moves no further than the numbers of that rank among the
// lower and among the upper ends of where the operands may be. A place is certain where no other number can change
// sides.
#include <algorithm>
#include <cmath>

#include "harness/core/data/infinity.h"
#include "ops/formula/error.h"
#include "ops/formula/selection.h"

namespace assay::formula {
namespace {

// A line of numbers, each with how far it may be off.
struct UncertainLine {
  std::vector<double> x, reach;
  std::vector<int64_t> order;  // places, all ranks

  // Where each of them may lie at the one end; what may be anything may be NaN, which is larger than any number.
  std::vector<double> Ends(bool upper) const {
    std::vector<double> ends(x.size());
    for (size_t i = 0; i < ends.size(); ++i) {
      const bool anything = reach[i] == kInfinity;
      ends[i] = upper ? (anything ? std::nan("") : x[i] + reach[i]) : (anything ? -kInfinity : x[i] - reach[i]);
    }
    return ends;
  }
};

// How far the number of a rank may be from the one that it is, where the number at its place among the ends is `end`.
// From the numbers themselves: what is far below a number's spacing is lost in its ends, where several may then be
// alike.
double ReachTowards(const UncertainLine& line, const std::vector<double>& ends, double end, double value) {
  double reach = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    if (!AreAlike(ends[i], end)) continue;
    const double distance = AreAlike(line.x[i], value) ? 0 : std::fabs(line.x[i] - value);
    reach = std::max(reach, std::isnan(distance) ? kInfinity : (distance + line.reach[i]) * (1 + 0x1p-50));
  }
  return reach;
}

std::vector<double> RankedValues(const Node& node, const std::vector<double>& x, int64_t ranks) {
  const NumbersOfLine numbers{x.data(), nullptr, {.size = std::ssize(x), .ranks = ranks}};
  std::vector<double> values;
  for (const int64_t place : Rank(node, numbers, ranks)) values.push_back(x[static_cast<size_t>(place)]);
  return values;
}

// Bounds on numbers at other ranks: before a rank the smallest lower end, behind it the largest upper end, over all
// numbers and over the uncertain ones. Two exact numbers are always ordered right, equal ones too.
struct FurthestEnds {
  double all, uncertain;
  void Add(double end, bool is_uncertain, bool least) {
    const auto worse = [least](double a, double b) { return least ? std::min(a, b) : std::max(a, b); };
    all = worse(all, end);
    if (is_uncertain) uncertain = worse(uncertain, end);
  }
};

// By rank. `sign` turns the smallest first into the largest first.
std::vector<bool> CertainRanks(const UncertainLine& line, double sign, int64_t ranks) {
  const auto n = line.order.size();
  const auto number = [&](size_t k) {
    const double x = line.x[static_cast<size_t>(line.order[k])];
    return std::isnan(x) ? sign * kInfinity : sign * x;
  };
  const auto reach = [&](size_t k) { return line.reach[static_cast<size_t>(line.order[k])]; };
  // An open number may have any rank.
  const auto end = [&](size_t k, double toward) {
    return reach(k) == kInfinity ? toward * kInfinity : number(k) + toward * reach(k);
  };
  std::vector<FurthestEnds> behind(n + 1, {-kInfinity, -kInfinity});
  for (size_t k = n; k-- > 0;) {
    behind[k] = behind[k + 1];
    behind[k].Add(end(k, 1), reach(k) > 0, false);
  }
  std::vector<bool> certain;
  FurthestEnds before{kInfinity, kInfinity};
  for (size_t k = 0; k < static_cast<size_t>(ranks); ++k) {
    const double x = number(k), a = reach(k);
    const FurthestEnds& after = behind[k + 1];
    const bool is_certain =
        a == 0 ? !(before.uncertain <= x) && !(after.uncertain >= x) : before.all > x + a && after.all < x - a;
    certain.push_back(is_certain);
    before.Add(end(k, -1), a > 0, true);
  }
  return certain;
}

// Reach of the selected numbers by rank; in quadrature, the deviations of the numbers themselves.
std::vector<double> ReachOfValues(const Node& node, const UncertainLine& line, int64_t ranks, bool quadrature) {
  std::vector<double> reach;
  for (int64_t k = 0; k < ranks; ++k)
    reach.push_back(line.reach[static_cast<size_t>(line.order[static_cast<size_t>(k)])]);
  if (quadrature) return reach;
  for (const bool upper : {false, true}) {
    const std::vector<double> ends = line.Ends(upper), ranked = RankedValues(node, ends, ranks);
    for (size_t k = 0; k < reach.size(); ++k) {
      const double value = line.x[static_cast<size_t>(line.order[k])];
      const double towards = ReachTowards(line, ends, ranked[k], value);
      reach[k] = upper ? std::max(reach[k], towards) : towards;
    }
  }
  return reach;
}

// Zero where a place is certain; else any place of the line may be meant. `any_tie`: also beside an equal number.
std::vector<double> ReachOfPlaces(const Node& node, const UncertainLine& line, int64_t ranks, bool any_tie) {
  std::vector<double> reach;
  const auto is_tied = [&](size_t k, size_t with) {
    return with < line.order.size() && AreAlike(line.x[line.order[k]], line.x[line.order[with]]);
  };
  const std::vector<bool> certain = CertainRanks(line, node.smallest ? -1 : 1, ranks);
  for (size_t k = 0; k < certain.size(); ++k) {
    const int64_t place = line.order[k], last = std::ssize(line.order) - 1;
    const bool is_free = !certain[k] || (any_tie && (is_tied(k, k + 1) || is_tied(k, k - 1)));
    reach.push_back(!is_free ? 0 : static_cast<double>(std::max(place, last - place)));
  }
  return reach;
}

}  // namespace

void Propagation::Select(int node, std::span<const double> x, std::span<const double> v) {
  const Node& info = NodeAt(node);
  const NodeError& operand = At(info.args[0]);
  const bool is_output = node == result_;
  // Places do not deviate, they are right or wrong; what is computed from doubtful ones has no known deviation.
  const bool any_tie = info.any_tie && info.places && !is_output;  // a reader of the output knows better
  if ((operand.zero && !any_tie) || (info.places && is_output && rules_.quadrature)) return;
  const double more = info.places && rules_.quadrature ? kCoarsestDeviations : 1;
  NodeError& error = errors_[static_cast<size_t>(node)];
  error.r.assign(v.size(), 0);
  ForSelections(*plan_, node, lanes_, [&](const SelectionLine& line) {
    UncertainLine numbers;
    for (int64_t i = 0; i < line.size; ++i) {
      numbers.x.push_back(x[line.from + i * line.from_stride]);
      numbers.reach.push_back(operand.ReachAt(static_cast<size_t>(line.from + i * line.from_stride)) * more);
    }
    const NumbersOfLine exact{numbers.x.data(), nullptr, {.size = line.size, .ranks = line.ranks}};
    numbers.order = Rank(info, exact, line.size);
    const std::vector<double> reach = info.places ? ReachOfPlaces(info, numbers, line.ranks, any_tie)
                                                  : ReachOfValues(info, numbers, line.ranks, rules_.quadrature);
    for (int64_t k = 0; k < line.ranks; ++k) {
      const double off = reach[static_cast<size_t>(k)];
      const bool is_unknown = info.places && off > 0 && (is_output || rules_.quadrature);
      error.r[static_cast<size_t>(line.to + k * line.to_stride)] = is_unknown ? kInfinity : off;
    }
  });
  Finish(node, info.places ? std::span<const double>() : v, error);
}

}  // namespace assay::formula
