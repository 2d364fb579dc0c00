// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "harness/tools/shrink/shrunk_failure.h"

namespace assay {
namespace {

using Simpler = double (*)(double);
double Zero(double) {
  return 0;
}
double One(double) {
  return 1;
}
double NearestInteger(double x) {
  return std::isfinite(x) ? std::nearbyint(x) : x;
}
double NearestPower(double x) {
  return std::isfinite(x) && x != 0 ? std::copysign(std::exp2(std::nearbyint(std::log2(std::fabs(x)))), x) : x;
}

// Simplest first; a number that one of them leaves as it is stays.
constexpr Simpler kSimpler[] = {Zero, One, NearestInteger, NearestPower};

class DataShrinker {
 public:
  DataShrinker(std::vector<Tensor> data, const std::function<bool(const std::vector<Tensor>&)>& does_it,
               const std::function<bool()>& is_over)
      : data_(std::move(data)), does_it_(does_it), is_over_(is_over) {
    for (const Tensor& tensor : data_) values_.push_back(tensor.ToDoubles());
  }

  std::vector<Tensor> Run() {
    for (size_t level = 0; level < std::size(kSimpler); ++level) {
      for (size_t tensor = 0; tensor < data_.size(); ++tensor) Simplify(tensor, level);
    }
    return std::move(data_);
  }

 private:
  // Whether the number is as simple as this level makes it, or simpler.
  static bool IsSimple(double x, size_t level) {
    for (size_t below = 0; below <= level; ++below) {
      if (x == kSimpler[below](x)) return true;
    }
    return false;
  }

  // Halves of what is left, until single numbers have been tried.
  void Simplify(size_t tensor, size_t level) {
    std::vector<size_t> places;
    for (size_t i = 0; i < values_[tensor].size(); ++i) {
      if (!IsSimple(values_[tensor][i], level)) places.push_back(i);
    }
    for (size_t size = places.size(); size > 0 && !is_over_(); size /= 2) {
      std::vector<size_t> left;
      for (size_t begin = 0; begin < places.size(); begin += size) {
        const std::vector<size_t> some(
            places.begin() + static_cast<std::ptrdiff_t>(begin),
            places.begin() + static_cast<std::ptrdiff_t>(std::min(begin + size, places.size())));
        if (is_over_() || !TrySimpler(tensor, some, level)) left.insert(left.end(), some.begin(), some.end());
      }
      places = std::move(left);
    }
  }

  bool TrySimpler(size_t tensor, const std::vector<size_t>& places, size_t level) {
    const std::vector<double> before = values_[tensor];
    for (const size_t i : places) values_[tensor][i] = kSimpler[level](before[i]);
    Tensor original = data_[tensor].Clone();
    data_[tensor].SetDoubles(values_[tensor]);
    if (does_it_(data_)) return true;
    values_[tensor] = before;
    data_[tensor] = std::move(original);
    return false;
  }

  std::vector<Tensor> data_;
  std::vector<std::vector<double>> values_;
  const std::function<bool(const std::vector<Tensor>&)>& does_it_;
  const std::function<bool()>& is_over_;
};

}  // namespace

std::vector<Tensor> SimplifyData(std::vector<Tensor> data,
                                 const std::function<bool(const std::vector<Tensor>&)>& does_it,
                                 const std::function<bool()>& is_over) {
  return DataShrinker(std::move(data), does_it, is_over).Run();
}

DataCounts CountData(const std::vector<Tensor>& data) {
  DataCounts counts;
  for (const Tensor& tensor : data) {
    const std::vector<double> values = tensor.ToDoubles();
    counts.elements += std::ssize(values);
    counts.zeros += std::ranges::count(values, 0.0);
    counts.ones += std::ranges::count(values, 1.0);
  }
  return counts;
}

}  // namespace assay
