// SPDX-License-Identifier: Apache-2.0
// Nodes of a graph from their names, as files of definitions have them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/formula/expr.h"

namespace assay::formula {

struct Step {
  std::string name, function;
  std::vector<std::string> of;    // operands, attributes, earlier steps, and numbers
  std::vector<std::string> axes;  // that it reduces, runs along, or maps from and to
  std::string type;               // of round
  // The first place of at and windows: numbers, integer attributes, and axes, whose extents count, added together;
  // "-n": subtracted.
  std::vector<std::string> start;
  int64_t stride = 1;                // of at
  std::vector<std::string> strides;  // of windows: one part as of start for each new axis
  std::string divisor;               // of windows: places that it does not divide are zero; "": 1
  std::vector<std::string> to;       // of reshape and take: its new axes
  std::vector<int64_t> places;       // of take
  std::string ties;                  // of selections: which of equal numbers stands first, or that any may: "any"
};

// Everything that has a name in a definition so far.
struct NamedParts {
  Graph* graph = nullptr;
  std::map<std::string, Axis> axes;
  std::map<std::string, double> numbers;
  std::map<std::string, Expr> values;

  // All throw FormulaError where there is none of that name, or the graph cannot have it.
  // `once`: no axis may stand twice.
  Axes AxesOf(const std::vector<std::string>& names, bool once = true) const;
  // A value of that name, an attribute as a constant, or a number: all its digits count, also beyond a double's.
  Expr ValueOf(const std::string& name) const;
  void AddValue(const std::string& name, Expr value);
  void AddNumber(const std::string& name, double value);
  void AddStep(const Step& step);

 private:
  int64_t IntegerOf(const std::string& part, std::string_view where) const;
  int64_t StartOf(const Step& step) const;
  std::vector<int64_t> PlacesOf(const Step& step, const Axes& along, int64_t start) const;
  void RequireNew(const std::string& name) const;
};

}  // namespace assay::formula
