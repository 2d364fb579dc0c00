// SPDX-License-Identifier: Apache-2.0
// Draws the tree of a sum.
#include <fmt/format.h>

#include <algorithm>

#include "harness/tools/fingerprint/sum_tree.h"

namespace assay {
namespace {

// Names of devices and kernels are somebody's own.
std::string EscapeXml(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  return escaped;
}

class Drawing {
 public:
  explicit Drawing(int depth) : depth_(depth) {}

  struct Point {
    double x = 0;
    int height = 0;  // above the terms
  };
  Point Add(const SumTree& tree) {
    if (tree.children.empty()) {
      const Point leaf{kMargin + kStep * next_++, 0};
      lines_ += fmt::format("<text fill=\"#333\" stroke=\"none\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", leaf.x,
                            Y(0) + 10, tree.term);
      return leaf;
    }
    std::vector<Point> below;
    for (const SumTree& child : tree.children) below.push_back(Add(child));
    Point node;
    for (const Point& p : below)
      node.x += p.x / static_cast<double>(below.size()), node.height = std::max(node.height, p.height + 1);
    for (const Point& p : below) {
      lines_ += fmt::format("<path d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>\n", p.x, Y(p.height), Y(node.height), node.x);
    }
    const bool joins = below.size() > 2;
    lines_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>\n", node.x, Y(node.height), joins ? 4 : 2);
    return node;
  }
  std::string Text(const std::string& title) const {
    const double width = 2 * kMargin + kStep * next_, height = Y(0) + 24;
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" font-family=\"sans-serif\" "
        "font-size=\"6\" text-anchor=\"middle\">\n<title>{}</title>\n<rect width=\"100%\" height=\"100%\" "
        "fill=\"#fff\"/>\n<g fill=\"none\" stroke=\"#357\" stroke-width=\"0.8\">\n{}</g>\n</svg>\n",
        width, height, EscapeXml(title), lines_);
  }

 private:
  static constexpr double kMargin = 16, kStep = 12, kRise = 10;
  double Y(int height) const { return kMargin + kRise * (depth_ - height); }

  int depth_, next_ = 0;
  std::string lines_;
};

}  // namespace

std::string DrawSumTree(const SumTree& tree, const std::string& title) {
  Drawing drawing(DepthOf(tree));
  drawing.Add(tree);
  return drawing.Text(title);
}

}  // namespace assay
