// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/fingerprint/sum_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "harness/core/data/tensor.h"

namespace assay {
namespace {

// Finds the subtrees of one set of terms after another.
class Revealing {
 public:
  explicit Revealing(const AskSubtrees& ask) : ask_(ask) {}

  // The subtrees that hold exactly these terms and meet in a subtree of `limit` terms.
  Result<std::vector<SumTree>> Siblings(std::vector<int> terms, int limit) {
    std::vector<SumTree> found;
    while (!terms.empty()) {
      const auto sizes = AskFrom(terms);
      if (!sizes) return tl::unexpected(sizes.error());
      std::vector<int> rest;
      std::map<int, std::vector<int>> by_size;
      for (size_t i = 1; i < terms.size(); ++i) {
        const int size = (*sizes)[i - 1];
        if (size > limit || size < 2) return Contradiction(terms.front(), terms[i], size);
        if (size == limit) {
          rest.push_back(terms[i]);
        } else {
          by_size[size].push_back(terms[i]);
        }
      }
      auto tree = Climb(terms.front(), by_size);
      if (!tree) return tl::unexpected(tree.error());
      found.push_back(*std::move(tree));
      terms = std::move(rest);
    }
    return found;
  }

 private:
  Result<std::vector<int>> AskFrom(const std::vector<int>& terms) {
    TermPairs pairs;
    for (size_t i = 1; i < terms.size(); ++i) pairs.emplace_back(terms.front(), terms[i]);
    if (pairs.empty()) return std::vector<int>();
    return ask_(pairs);
  }

  // From a term to the root of its subtree: at each node the others come in that meet it there.
  Result<SumTree> Climb(int term, std::map<int, std::vector<int>>& by_size) {
    SumTree tree{term, 1, {}};
    for (auto& [size, others] : by_size) {
      if (tree.terms + std::ssize(others) != size) return Contradiction(term, others.front(), size);
      auto siblings = Siblings(std::move(others), size);
      if (!siblings) return tl::unexpected(siblings.error());
      SumTree node{tree.term, size, {}};
      node.children.push_back(std::move(tree));
      for (SumTree& sibling : *siblings) node.children.push_back(std::move(sibling));
      std::ranges::sort(node.children, {}, &SumTree::term);
      node.term = node.children.front().term;
      tree = std::move(node);
    }
    return tree;
  }

  static tl::unexpected<Error> Contradiction(int i, int j, int size) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("no one order explains the probes: terms {} and {} meet in a sum of {}, which the others "
                            "contradict; the order may depend on the data, the place or the call",
                            i, j, size));
  }

  const AskSubtrees& ask_;
};

// One part of a sum whose parts are added from left to right: terms at even distances, or a sum of its own.
struct Summand {
  int first = 0, step = 0, terms = 1;  // of terms
  const SumTree* sum = nullptr;
};

// The parts of a sum of two, of which the left one is a sum of two again, and so on.
std::vector<Summand> SummandsOf(const SumTree& tree) {
  std::vector<const SumTree*> parts;  // from the last on
  const SumTree* at = &tree;
  while (at->children.size() == 2) {
    const SumTree *x = &at->children[0], *y = &at->children[1];
    const bool both = x->children.empty() && y->children.empty();
    // A sum goes on where it falls from term to term, too.
    const bool falls = both && !parts.empty() && parts.back()->children.empty() && parts.back()->term < x->term;
    if (falls || (x->children.empty() && !y->children.empty())) std::swap(x, y);
    parts.push_back(y);
    at = x;
  }
  parts.push_back(at);
  std::ranges::reverse(parts);
  std::vector<Summand> runs;
  for (const SumTree* part : parts) {
    Summand* last = runs.empty() || runs.back().sum != nullptr ? nullptr : &runs.back();
    if (!part->children.empty()) {
      runs.push_back({.sum = part});
    } else if (last != nullptr && (last->terms == 1 || part->term - last->first == last->step * last->terms)) {
      last->step = last->terms == 1 ? part->term - last->first : last->step;
      ++last->terms;
    } else {
      runs.push_back({part->term});
    }
  }
  return runs;
}

// The terms of a chain that adds one after the other at even distances: ((a + b) + c) + ...
std::optional<Summand> FindChain(const SumTree& tree) {
  const std::vector<Summand> parts = SummandsOf(tree);
  const bool is_chain = parts.size() == 1 && parts.front().sum == nullptr && tree.terms >= 3;
  return is_chain ? std::optional(parts.front()) : std::nullopt;
}

// Chains that make up the tree from its root on, where nothing else is below.
bool CollectChains(const SumTree& tree, std::vector<Summand>& chains) {
  if (const auto chain = FindChain(tree)) {
    chains.push_back(*chain);
    return true;
  }
  return !tree.children.empty() &&
         std::ranges::all_of(tree.children, [&](const SumTree& child) { return CollectChains(child, chains); });
}

bool IsHalved(const SumTree& tree) {
  if (tree.children.empty()) return true;
  if (tree.children.size() != 2) return false;
  return std::abs(tree.children[0].terms - tree.children[1].terms) <= 1 &&
         tree.children[1].term == tree.term + tree.children[0].terms && std::ranges::all_of(tree.children, IsHalved);
}

}  // namespace

Result<SumTree> RevealSumTree(int terms, const AskSubtrees& ask) {
  std::vector<int> all(static_cast<size_t>(terms));
  std::iota(all.begin(), all.end(), 0);
  auto trees = Revealing(ask).Siblings(std::move(all), terms + 1);
  if (!trees) return tl::unexpected(trees.error());
  return std::move(trees->front());
}

std::string TextOf(const SumTree& tree) {
  std::string text;
  if (tree.children.size() > 2) {
    for (const SumTree& child : tree.children) text += (text.empty() ? "{" : ", ") + TextOf(child);
    return text + "}";
  }
  for (const Summand& part : SummandsOf(tree)) {
    if (!text.empty()) text += " + ";
    if (part.sum != nullptr) {
      text += part.sum->children.size() > 2 ? TextOf(*part.sum) : "(" + TextOf(*part.sum) + ")";
    } else if (part.terms < 3) {
      text +=
          part.terms == 1 ? fmt::format("{}", part.first) : fmt::format("{} + {}", part.first, part.first + part.step);
    } else {
      text += fmt::format("{}:{}:{}", part.first, part.step, part.first + part.step * (part.terms - 1));
    }
  }
  return text;
}

int WidestNode(const SumTree& tree) {
  int widest = static_cast<int>(tree.children.size());
  for (const SumTree& child : tree.children) widest = std::max(widest, WidestNode(child));
  return widest;
}

int DepthOf(const SumTree& tree) {
  int depth = 0;
  for (const SumTree& child : tree.children) depth = std::max(depth, 1 + DepthOf(child));
  return depth;
}

std::string DescribeSumTree(const SumTree& tree) {
  if (tree.terms == 1) return "one term";
  if (const auto chain = FindChain(tree); chain && std::abs(chain->step) == 1) {
    return chain->step == 1 ? "one after the other" : "one after the other, from the last on";
  }
  if (std::cmp_equal(tree.children.size(), tree.terms)) return "all at once";
  if (IsHalved(tree)) return "pairwise, by halves";
  std::vector<Summand> chains;
  if (CollectChains(tree, chains)) {
    const auto like = [&](const Summand& c) { return c.step == chains.front().step; };
    if (std::ranges::all_of(chains, like)) {
      const int step = chains.front().step;
      return step == 1 ? fmt::format("{} blocks, each one after the other", chains.size())
                       : fmt::format("{} sums, each with steps of {}", chains.size(), step);
    }
  }
  const std::vector<Summand> parts = SummandsOf(tree);
  const auto like = [&](const Summand& p) { return p.sum == nullptr && p.step == parts.front().step; };
  if (parts.size() > 1 && std::ranges::all_of(parts, like)) {
    return fmt::format("one after the other, in {} rounds with steps of {}", parts.size(), parts.front().step);
  }
  const int widest = WidestNode(tree);
  return fmt::format("{} levels{}", DepthOf(tree), widest > 2 ? fmt::format(", up to {} numbers at once", widest) : "");
}

std::string HashOf(const SumTree& tree) {
  const std::string text = TextOf(tree);
  return HashHex(HashBytes(text.data(), text.size()));
}

double SumInOrder(const SumTree& tree, const std::function<double(int)>& leaf,
                  const std::function<double(const SumTree&, std::span<const double>)>& add) {
  if (tree.children.empty()) return leaf(tree.term);
  std::vector<double> sums;
  for (const SumTree& child : tree.children) sums.push_back(SumInOrder(child, leaf, add));
  return add(tree, sums);
}

}  // namespace assay
