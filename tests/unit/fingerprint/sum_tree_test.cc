// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/fingerprint/sum_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace assay {
namespace {

// A random tree of these terms.
SumTree Grow(std::vector<int> terms, std::mt19937& random) {
  std::ranges::sort(terms);
  SumTree tree{terms.front(), static_cast<int>(terms.size()), {}};
  if (terms.size() == 1) return tree;
  std::ranges::shuffle(terms, random);
  const size_t most = std::min<size_t>(terms.size(), random() % 4 == 0 ? 6 : 2);
  std::vector<size_t> ends;
  while (ends.size() + 1 < most) ends.push_back(1 + random() % (terms.size() - 1));
  std::ranges::sort(ends);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  ends.push_back(terms.size());
  size_t first = 0;
  for (const size_t end : ends) {
    tree.children.push_back(
        Grow({terms.begin() + static_cast<int64_t>(first), terms.begin() + static_cast<int64_t>(end)}, random));
    first = end;
  }
  std::ranges::sort(tree.children, {}, &SumTree::term);
  return tree;
}

bool Has(const SumTree& tree, int term) {
  return tree.children.empty() ? tree.term == term
                               : std::ranges::any_of(tree.children, [&](const SumTree& c) { return Has(c, term); });
}

int SubtreeWith(const SumTree& tree, int i, int j) {
  for (const SumTree& child : tree.children) {
    if (Has(child, i) && Has(child, j)) return SubtreeWith(child, i, j);
  }
  return tree.terms;
}

Result<std::vector<int>> Answer(const SumTree& tree, const TermPairs& pairs) {
  std::vector<int> sizes;
  for (const auto& [i, j] : pairs) sizes.push_back(SubtreeWith(tree, i, j));
  return sizes;
}

SumTree Revealed(const SumTree& tree) {
  return RevealSumTree(tree.terms, [&](const TermPairs& pairs) { return Answer(tree, pairs); }).value();
}

SumTree Leaf(int term) {
  return {term, 1, {}};
}
SumTree Sum(std::vector<SumTree> of) {
  SumTree sum{of.front().term, 0, std::move(of)};
  for (const SumTree& child : sum.children) sum.term = std::min(sum.term, child.term), sum.terms += child.terms;
  return sum;
}
SumTree Chain(int first, int step, int count) {
  SumTree chain = Leaf(first);
  for (int t = 1; t < count; ++t) {
    SumTree next = Leaf(first + t * step);
    chain = step > 0 ? Sum({std::move(chain), std::move(next)}) : Sum({std::move(next), std::move(chain)});
  }
  return chain;
}

TEST(SumTree, OfAnyShapeIsRevealed) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> terms(1 + random() % 40);
    std::iota(terms.begin(), terms.end(), 0);
    const SumTree tree = Grow(std::move(terms), random);
    const SumTree revealed = Revealed(tree);
    ASSERT_EQ(revealed, tree) << TextOf(tree) << " came as " << TextOf(revealed);
  }
}

TEST(SumTree, OfAChainNeedsOneProbeForEachTerm) {
  const SumTree tree = Chain(0, 1, 100);
  size_t asked = 0;
  const auto revealed = RevealSumTree(100, [&](const TermPairs& pairs) {
    asked += pairs.size();
    return Answer(tree, pairs);
  });
  EXPECT_EQ(*revealed, tree);
  EXPECT_EQ(asked, 99u);
}

TEST(SumTree, AnswersOfNoTreeAreRefused) {
  const auto revealed = RevealSumTree(4, [](const TermPairs& pairs) { return std::vector<int>(pairs.size(), 3); });
  ASSERT_FALSE(revealed);
  EXPECT_EQ(revealed.error().code, ErrorCode::kUnsupported);
}

TEST(SumTree, IsWrittenAndNamed) {
  const SumTree lanes = Sum({Chain(0, 2, 4), Chain(1, 2, 4)});
  EXPECT_EQ(TextOf(lanes), "0:2:6 + (1:2:7)");
  EXPECT_EQ(DescribeSumTree(lanes), "2 sums, each with steps of 2");
  EXPECT_EQ(TextOf(Chain(0, 1, 5)), "0:1:4");
  EXPECT_EQ(DescribeSumTree(Chain(0, 1, 5)), "one after the other");
  EXPECT_EQ(TextOf(Chain(4, -1, 5)), "4:-1:0");
  EXPECT_EQ(DescribeSumTree(Chain(4, -1, 5)), "one after the other, from the last on");
  const SumTree halves = Sum({Sum({Leaf(0), Leaf(1)}), Sum({Leaf(2), Leaf(3)})});
  EXPECT_EQ(TextOf(halves), "0 + 1 + (2 + 3)");
  EXPECT_EQ(DescribeSumTree(halves), "pairwise, by halves");
  const SumTree joined = Sum({Leaf(0), Leaf(1), Leaf(2), Leaf(3)});
  EXPECT_EQ(TextOf(joined), "{0, 1, 2, 3}");
  EXPECT_EQ(DescribeSumTree(joined), "all at once");
  EXPECT_NE(HashOf(lanes), HashOf(halves));
}

TEST(SumTree, TextsOfDifferentOrdersDiffer) {
  std::mt19937 random(3);
  std::vector<SumTree> trees;
  for (int round = 0; round < 300; ++round) {
    std::vector<int> terms(7);
    std::iota(terms.begin(), terms.end(), 0);
    trees.push_back(Grow(std::move(terms), random));
  }
  for (const SumTree& a : trees) {
    for (const SumTree& b : trees) EXPECT_EQ(TextOf(a) == TextOf(b), a == b) << TextOf(a);
  }
}

TEST(SumTree, IsAddedInItsOrder) {
  const SumTree tree = Sum({Chain(0, 2, 2), Chain(1, 2, 2)});  // (x0 + x2) + (x1 + x3)
  const double x[] = {0x1p60, 1, -0x1p60, 1};
  const double sum = SumInOrder(
      tree, [&](int term) { return x[term]; },
      [](const SumTree&, std::span<const double> sums) { return sums[0] + sums[1]; });
  EXPECT_EQ(sum, 2);
}

TEST(SumTree, IsDrawn) {
  const std::string svg = DrawSumTree(Chain(0, 1, 3), "a<3> & b");
  EXPECT_NE(svg.find("<title>a&lt;3> &amp; b</title>"), std::string::npos);
  EXPECT_NE(svg.find(">2</text>"), std::string::npos);
}

}  // namespace
}  // namespace assay
