// SPDX-License-Identifier: Apache-2.0
// How often the place of a fault is named: random regions and periods, of which all elements fail or some.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "harness/judge/localise.h"
#include "tests/support/full.h"

namespace assay {
namespace {

// One axis of a fault: coordinates first + k period + [0, width); period 0: one stretch.
struct Stretch {
  int64_t first = 0, width = 0, period = 0;
  bool Has(int64_t at) const {
    const int64_t from = at - first;
    return from >= 0 && (period == 0 ? from : from % period) < width;
  }
};

struct Fault {
  Shape shape;
  std::vector<Stretch> axes;
  double share = 1;  // of its elements that fail
};

const char* NameOf(size_t axis, size_t rank, bool many) {
  static const char* const names[][2] = {{"column", "columns"}, {"row", "rows"}, {"index", "indices"}};
  return names[rank == 1 ? 2 : rank - 1 - axis][many ? 1 : 0];
}

// The words that name a stretch of an axis; "" where it is all of it.
std::vector<std::string> WordsFor(const Stretch& of, int64_t size, const std::string& one, const std::string& many) {
  const auto text = [](int64_t n) { return std::to_string(n); };
  if (of.period > 0) {
    if (of.width > 1)
      return {many + " " + text(of.first) + "-" + text(of.first + of.width - 1) + " of every " + text(of.period)};
    const std::string start = many + " " + text(of.first) + " to ", step = " in steps of " + text(of.period);
    std::vector<std::string> words;
    for (int64_t last = of.first; last < size; last += of.period) words.push_back(start + text(last) + step);
    words.push_back(one + " " + text(of.first) + " of every " + text(of.period));
    return words;
  }
  const bool is_last = of.first + of.width == size;
  if (of.width == 1) return {is_last ? "last " + one + " only" : "all in " + one + " " + text(of.first)};
  return {is_last ? "last " + text(of.width) + " " + many
                  : many + " " + text(of.first) + "-" + text(of.first + of.width - 1)};
}

// The part of a stretch in which coordinates were hit.
Stretch HitPart(const Stretch& of, const std::vector<bool>& hit) {
  int64_t least = of.width, most = -1;
  for (int64_t at = 0; at < std::ssize(hit); ++at) {
    if (!hit[static_cast<size_t>(at)]) continue;
    const int64_t from = of.period == 0 ? at - of.first : (at - of.first) % of.period;
    least = std::min(least, from), most = std::max(most, from);
  }
  return {of.first + least, most - least + 1, of.period};
}

// Axes with two or three coordinates are not asked about: these are listed.
bool IsNamed(const Fault& fault, std::mt19937& random) {
  FailureMap map(fault.shape);
  const size_t rank = fault.shape.size();
  const Shape strides = RowMajorStrides(fault.shape);
  std::bernoulli_distribution fails(fault.share);
  std::vector<std::vector<bool>> hit;
  for (const int64_t size : fault.shape) hit.emplace_back(static_cast<size_t>(size), false);
  for (int64_t i = 0; i < NumElements(fault.shape); ++i) {
    const auto at = [&](size_t axis) { return i / strides[axis] % fault.shape[axis]; };
    bool is_hit = true;
    for (size_t axis = 0; axis < rank; ++axis) is_hit = is_hit && fault.axes[axis].Has(at(axis));
    if (!is_hit || !fails(random)) continue;
    map.Add(i);
    for (size_t axis = 0; axis < rank; ++axis) hit[axis][static_cast<size_t>(at(axis))] = true;
  }
  if (map.count() < 2) return true;
  const std::string where = map.Text();
  for (size_t axis = 0; axis < rank; ++axis) {
    const auto coordinates = std::ranges::count(hit[axis], true);
    if (coordinates == 2 || coordinates == 3) continue;
    if (coordinates == fault.shape[axis] || fault.axes[axis].width == fault.shape[axis]) continue;
    const auto words = WordsFor(HitPart(fault.axes[axis], hit[axis]), fault.shape[axis], NameOf(axis, rank, false),
                                NameOf(axis, rank, true));
    const auto is_said = [&](const std::string& word) { return where.find(word) != std::string::npos; };
    if (std::ranges::none_of(words, is_said)) return false;
  }
  return true;
}

int64_t Draw(std::mt19937& random, int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random);
}

Fault DrawFault(std::mt19937& random, bool is_periodic) {
  static const Shape shapes[] = {{4096}, {64, 96}, {256, 64}, {16, 300}};
  Fault fault{shapes[random() % std::size(shapes)], {}, std::array{1.0, 0.7, 0.4}[random() % 3]};
  for (const int64_t size : fault.shape) fault.axes.push_back({0, size, 0});
  const size_t axis = random() % fault.shape.size();
  const int64_t size = fault.shape[axis];
  if (is_periodic) {
    const int64_t period = Draw(random, 3, size / 4), width = Draw(random, 1, std::max<int64_t>(1, period / 4));
    fault.axes[axis] = {Draw(random, 0, period - width), width, period};
    return fault;
  }
  for (size_t a = 0; a < fault.shape.size(); ++a) {
    if (a != axis && random() % 2 == 0) continue;
    const int64_t width = std::min(fault.shape[a], int64_t{1} << Draw(random, 0, 4));
    const int64_t first = random() % 3 == 0 ? fault.shape[a] - width : Draw(random, 0, fault.shape[a] - width);
    fault.axes[a] = {first, width, 0};
  }
  return fault;
}

double ShareNamed(bool is_periodic) {
  const int kFaults = test::kIsFull ? 1000 : 400;
  std::mt19937 random(is_periodic ? 2 : 1);
  int named = 0;
  for (int k = 0; k < kFaults; ++k) named += IsNamed(DrawFault(random, is_periodic), random) ? 1 : 0;
  testing::Test::RecordProperty("named", named);
  return static_cast<double>(named) / kFaults;
}

TEST(Localise, NamesThePlaceOfMostLocalisedFaults) {
  EXPECT_GE(ShareNamed(false), 0.95);
}

TEST(Localise, NamesThePeriodOfMostPeriodicFaults) {
  EXPECT_GE(ShareNamed(true), 0.95);
}

TEST(Localise, NamesNoPlaceOfRandomFailures) {
  constexpr int kMaps = 300;
  std::mt19937 random(3);
  int named = 0;
  for (int k = 0; k < kMaps; ++k) {
    const Fault everywhere = DrawFault(random, false);
    FailureMap map(everywhere.shape);
    std::bernoulli_distribution fails(std::exp2(-static_cast<double>(Draw(random, 1, 10))));
    for (int64_t i = 0; i < NumElements(everywhere.shape); ++i) {
      if (fails(random)) map.Add(i);
    }
    const std::string where = map.Text();
    for (const char* word : {" of every ", "not all of them", "column >= ", "column <= ", "column = ", "diagonal"}) {
      if (where.find(word) == std::string::npos) continue;
      ++named;
      break;
    }
  }
  EXPECT_LE(named, kMaps / 100);
}

}  // namespace
}  // namespace assay
