// SPDX-License-Identifier: Apache-2.0
#include "harness/core/model/pooled_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "harness/core/base/text.h"

namespace assay {
namespace {

constexpr std::string_view kProves = "proves", kAdvises = "advises";

std::optional<PooledTest> ParseOne(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, ',');
  const bool names_data = parts.size() == 8;
  if ((parts.size() != 7 && !names_data) || (parts[1] != kProves && parts[1] != kAdvises)) return std::nullopt;
  std::array<double, 5> numbers{};
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto number = ParseNumber<double>(parts[i + 2]);
    if (!number || !std::isfinite(*number)) return std::nullopt;
    numbers[i] = *number;
  }
  const auto data = names_data ? ParseNumber<uint32_t>(parts[7]) : std::optional<uint32_t>(0);
  if (!data) return std::nullopt;
  return PooledTest{
      std::string(parts[0]), parts[1] == kProves, numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], *data};
}

// A number for each distinct hash of inputs. A million of them are looked at with every question.
class InputNumbers {
 public:
  uint32_t NumberOf(const std::string& hash) {
    return numbers_.try_emplace(hash, static_cast<uint32_t>(numbers_.size())).first->second;
  }
  // ranks[number] is the place of the number's hash in sorted order.
  std::vector<uint32_t> Ranks() const {
    std::vector<std::pair<std::string_view, uint32_t>> sorted(numbers_.begin(), numbers_.end());
    std::ranges::sort(sorted);
    std::vector<uint32_t> ranks(sorted.size());
    for (size_t rank = 0; rank < sorted.size(); ++rank) ranks[sorted[rank].second] = static_cast<uint32_t>(rank);
    return ranks;
  }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
};

// The contribution of one result. Results that have data in common can err alike: their deviations add, not their
// variances.
struct Addition {
  uint32_t inputs = 0, data = 0;
  double deviation = 0, step = 0;
};

// Groups results that have data in common: each gets the number of the first one that it is joined to, directly or
// through others, by its inputs or by its first rows.
std::vector<size_t> GroupByData(const std::vector<Addition>& additions) {
  std::vector<size_t> first(additions.size());
  const auto root = [&](size_t i) {
    while (first[i] != i) i = first[i] = first[first[i]];
    return i;
  };
  std::unordered_map<uint32_t, size_t> by_inputs, by_data;
  const auto join = [&](std::unordered_map<uint32_t, size_t>& seen, uint32_t key, size_t i) {
    const size_t a = root(seen.try_emplace(key, i).first->second), b = root(i);
    first[std::max(a, b)] = std::min(a, b);
  };
  for (size_t i = 0; i < additions.size(); ++i) {
    first[i] = i;
    join(by_inputs, additions[i].inputs, i);
    if (additions[i].data != 0) join(by_data, additions[i].data, i);
  }
  for (size_t i = 0; i < first.size(); ++i) first[i] = root(i);
  return first;
}

struct Pool {
  PooledAnswer answer;
  double agreement = 0, information = 0, granted = 0;
  std::vector<Addition> additions;

  void Add(uint32_t inputs, const PooledTest& test) {
    if (!(test.information > 0)) return;
    ++answer.results;
    agreement += test.agreement;
    information += test.information;
    granted += test.granted;
    additions.push_back({inputs, test.data, std::sqrt(std::max(0.0, test.variance)), test.step});
  }

  // Adds the variances of results with common data, in the order of the hashes of their inputs.
  void AddAlike(const std::vector<uint32_t>& ranks) {
    for (Addition& one : additions) one.inputs = ranks[one.inputs];
    std::ranges::stable_sort(additions, {}, &Addition::inputs);
    const std::vector<size_t> first = GroupByData(additions);
    for (size_t i = 0; i < additions.size(); ++i) {
      if (first[i] == i) continue;
      additions[first[i]].deviation += std::exchange(additions[i].deviation, 0);
      additions[first[i]].step += std::exchange(additions[i].step, 0);
    }
  }

  // The agreement is a sum of independent parts with the tails of a gamma distribution (sub-gamma), so that it exceeds
  // sqrt(2 V x) + s x with a chance of exp(-x) at most on either side.
  PooledAnswer Answer(double questions) const {
    double variance = 0, step = 0;
    for (const Addition& same : additions) {
      variance += same.deviation * same.deviation;
      step = std::max(step, same.step);
    }
    PooledAnswer result = answer;
    if (!(information > 0)) return result;
    const double x = std::log(2 * questions / kPooledDelta);
    result.answer = agreement / information;
    result.deviation = std::sqrt(variance) / information;
    result.granted = granted / information;
    const double limit = granted + std::sqrt(2 * variance * x) + step * x;
    result.margin = limit > 0 ? std::fabs(agreement) / limit : 0;
    return result;
  }
};

// Only passing and inconclusive results are pooled. Failures are known already, and results that did not run have no
// data.
bool Counts(const Record& record) {
  return !record.pooled.empty() && (record.verdict == "pass" || record.verdict == "inconclusive");
}

using Implementation = std::tuple<std::string, std::string, std::string>;
using PoolKey = std::tuple<Implementation, std::string, std::string, std::string>;

std::string DescribePooledAnswer(const PooledAnswer& found, std::string_view question) {
  if (question == "factor") {
    return fmt::format("results are {:.2g} of themselves too {}", std::fabs(found.answer),
                       found.answer > 0 ? "large" : "small");
  }
  if (question == "lean") {
    return fmt::format("errors lean {} zero by {:.2g} standard deviations", found.answer > 0 ? "away from" : "toward",
                       std::fabs(found.answer));
  }
  if (question == kRoundingsQuestion) {
    return fmt::format("{:.2g} % of the results are not the nearest to what exact arithmetic gives",
                       100 * found.answer);
  }
  if (question == "output_bits") {
    return fmt::format("the last three bits are zero in {:.0f} % of the results that need them, by chance 12 %",
                       100 * found.answer);
  }
  if (question.starts_with(kOperandBitsQuestion)) {
    const std::string_view bits = question.substr(kOperandBitsQuestion.size());
    const size_t name = bits.find('_');
    return fmt::format("results follow the last {} bits of {} {:.2g} times as far as they should", bits.substr(0, name),
                       name == bits.npos ? "the inputs" : bits.substr(name + 1), 1 - found.answer);
  }
  if (question.starts_with(kConstantQuestion)) {
    return fmt::format("{} acts as if it were {:.7g} times what it is", question.substr(kConstantQuestion.size()),
                       1 + found.answer);
  }
  return std::string(question);
}

}  // namespace

std::string ToText(std::span<const PooledTest> tests) {
  std::string text;
  for (const PooledTest& e : tests) {
    text += fmt::format("{}{},{},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g}", text.empty() ? "" : ";", e.question,
                        e.proves ? kProves : kAdvises, e.agreement, e.information, e.variance, e.granted, e.step);
    if (e.data != 0) text += fmt::format(",{}", e.data);
  }
  return text;
}

std::vector<PooledTest> ParsePooledTests(std::string_view text) {
  std::vector<PooledTest> all;
  for (const std::string_view part : Split(text, ';')) {
    if (auto test = ParseOne(part)) all.push_back(*std::move(test));
  }
  return all;
}

std::string PooledAnswer::Text() const {
  const size_t slash = question.find('/');
  const std::string of = slash == question.npos ? "" : question.substr(0, slash) + ": ";
  return fmt::format(
      "{}{} ({:.3g} +- {:.2g}, permitted {:.2g}), over {} result{} together", of,
      DescribePooledAnswer(*this, std::string_view(question).substr(slash == question.npos ? 0 : slash + 1)), answer,
      deviation, margin > 0 ? std::fabs(answer) / margin : 0.0, results, results == 1 ? "" : "s");
}

std::vector<PooledAnswer> PoolTests(const RecordView& records) {
  std::map<PoolKey, size_t> places;
  std::vector<Pool> pools;
  InputNumbers inputs;
  for (const Record& r : records) {
    if (!Counts(r)) continue;
    const uint32_t number = inputs.NumberOf(r.input_hash);
    for (const PooledTest& test : ParsePooledTests(r.pooled)) {
      const Implementation implementation(r.backend, r.device, r.implementation);
      const auto [it, is_new] = places.try_emplace(PoolKey(implementation, r.op, r.dtype, test.question), pools.size());
      if (is_new) {
        Pool pool;
        pool.answer.backend = r.backend, pool.answer.device = r.device;
        pool.answer.implementation = r.implementation, pool.answer.op = r.op, pool.answer.dtype = r.dtype;
        pool.answer.question = test.question;
        pool.answer.proves = test.proves;
        pools.push_back(std::move(pool));
      }
      Pool& pool = pools[it->second];
      pool.answer.proves = pool.answer.proves && test.proves;
      pool.Add(number, test);
    }
  }
  const std::vector<uint32_t> ranks = inputs.Ranks();
  std::vector<PooledAnswer> answers;
  for (Pool& pool : pools) {
    pool.AddAlike(ranks);
    answers.push_back(pool.Answer(static_cast<double>(pools.size())));
    pool.additions = {};
  }
  return answers;
}

std::vector<PooledAnswer> FindPooled(const RecordView& records) {
  std::vector<PooledAnswer> found = PoolTests(records);
  std::erase_if(found, [](const PooledAnswer& answer) { return !answer.IsFinding(); });
  return found;
}

}  // namespace assay
