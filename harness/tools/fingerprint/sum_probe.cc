// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/fingerprint/sum_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr int kMostSums = 256;
// An order takes as many probes as a sum has terms, and each fills all of them.
constexpr int64_t kMostTerms = int64_t{1} << 14;

// Results are counts of terms, which the output's type holds exactly up to 2^precision.
Status CheckTerms(const Problem& problem, int64_t terms) {
  const DType out = problem.outputs[0].dtype;
  const int64_t most = std::min(kMostTerms, int64_t{1} << std::min(FormatOf(out).precision, 62));
  if (2 <= terms && terms <= most) return {};
  return UsageError(fmt::format("{}: its sums have {} terms; the order of 2 to {} can be found with results of {}",
                                problem.spec.Id(), terms, most, Name(out)));
}

std::vector<std::vector<double>> ZerosFor(const Problem& problem) {
  std::vector<std::vector<double>> values;
  for (const Operand& operand : problem.inputs) values.emplace_back(static_cast<size_t>(NumElements(operand.shape)));
  return values;
}

std::vector<Tensor> RoundedTo(const Problem& problem, const std::vector<std::vector<double>>& values) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < values.size(); ++i) {
    inputs.emplace_back(problem.inputs[i].dtype, problem.inputs[i].shape);
    inputs.back().SetDoubles(values[i]);
  }
  return inputs;
}

// Gives as many zeros as kShares an equal part of what the others have together, with the other sign.
void MakeMeanZero(std::vector<double>& row) {
  constexpr int kShares = 16;
  double sum = 0;
  for (const double x : row) sum += x;
  if (sum == 0 || std::ranges::count(row, 0.0) < kShares) return;
  int left = kShares;
  for (double& x : row) {
    if (x == 0 && left-- > 0) x = -sum / kShares;
  }
}

}  // namespace

Result<SumProbe> SumProbe::Make(const Problem& problem) {
  auto layout = LayOutSums(problem);
  if (!layout) return tl::unexpected(layout.error());
  const auto is_float = [](const Operand& operand) { return IsFloat(operand.dtype); };
  std::vector<Operand> summed = problem.inputs;
  if (layout->labels >= 0) summed.erase(summed.begin() + layout->labels);
  if (!std::ranges::all_of(summed, is_float) || !std::ranges::all_of(problem.outputs, is_float)) {
    return UsageError(problem.spec.Id() + ": fingerprints are taken of floats; integers add exactly in any order");
  }
  return MakeOf(problem, *std::move(layout));
}

Result<SumProbe> SumProbe::MakeOfVariance(const Problem& problem) {
  auto layout = LayOutVariance(problem);
  return layout ? MakeOf(problem, *std::move(layout)) : tl::unexpected(layout.error());
}

Result<SumProbe> SumProbe::MakeOf(const Problem& problem, SumLayout layout) {
  if (auto fits = CheckTerms(problem, layout.terms); !fits) return tl::unexpected(fits.error());
  layout.all_a = std::max(layout.all_a, layout.sums), layout.all_b = std::max(layout.all_b, layout.sums);
  layout.sums = std::min<int64_t>(layout.sums, kMostSums);
  SumProbe made;
  made.layout_ = std::move(layout);
  return made;
}

// The exponential of kNothing is 0 beside that of any other term.
double SumProbe::OperandOf(double term) const {
  constexpr double kNothing = -1000;
  if (!are_exponentials()) return term;
  return term == 0 ? kNothing : std::log(std::fabs(term));
}

std::vector<double> SumProbe::ReadAll(std::span<const double> output, int sum) const {
  if (!layout_.is_row) return {output[layout_.place_y(sum)]};
  std::vector<double> row;
  for (int term = 0; term < terms(); ++term) row.push_back(output[layout_.place_a(sum, term)]);
  return row;
}

double SumProbe::Read(std::span<const double> output, int sum) const {
  return layout_.read ? layout_.read(ReadAll(output, sum)) : output[layout_.place_y(sum)] * layout_.output_factor;
}

void SumProbe::Fill(const ProbeSum& given, int in_a, int in_b, std::vector<std::vector<double>>& values) const {
  std::vector<double> row;
  for (const ProbeTerm& term : given) row.push_back(OperandOf(term.a));
  if (layout_.kind == SumKind::kDeviations) MakeMeanZero(row);
  for (int term = 0; term < terms(); ++term) {
    if (in_a >= 0) values[layout_.operand_a][layout_.place_a(in_a, term)] = row[term];
    if (in_b >= 0 && layout_.place_b) values[layout_.operand_b][layout_.place_b(in_b, term)] = given[term].b;
  }
  const auto largest = std::ranges::max_element(row) - row.begin();
  if (in_a >= 0 && layout_.labels >= 0) values[layout_.labels][in_a] = static_cast<double>(largest);
}

// Operands without the terms.
std::vector<std::vector<double>> SumProbe::Blank(const Problem& problem) const {
  std::vector<std::vector<double>> values = ZerosFor(problem);
  for (const size_t operand : layout_.ones) std::ranges::fill(values[operand], 1);
  return values;
}

std::vector<Tensor> SumProbe::MakeAlike(const Problem& problem, const ProbeSum& sum) const {
  std::vector<std::vector<double>> values = Blank(problem);
  for (int s = 0; s < layout_.all_a; ++s) Fill(sum, s, -1, values);
  for (int s = 0; has_products() && s < layout_.all_b; ++s) Fill(sum, -1, s, values);
  return RoundedTo(problem, values);
}

bool SumProbe::AreAlike(std::span<const double> output) const {
  const std::vector<int64_t>& places = layout_.places_y;
  const double first = output[places.empty() ? 0 : places.front()];
  const auto same = [&](double y) { return y == first || (std::isnan(y) && std::isnan(first)); };
  if (places.empty()) return std::ranges::all_of(output, same);
  return std::ranges::all_of(places, [&](int64_t i) { return same(output[i]); });
}

std::vector<Tensor> SumProbe::MakeInputs(const Problem& problem, std::span<const ProbeSum> sums) const {
  std::vector<std::vector<double>> values = Blank(problem);
  for (int sum = 0; sum < std::ssize(sums); ++sum) Fill(sums[sum], sum, sum, values);
  return RoundedTo(problem, values);
}

}  // namespace assay
