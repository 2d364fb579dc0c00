// SPDX-License-Identifier: Apache-2.0
#include "harness/run/prices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "harness/base/text.h"

namespace assay {

Result<std::map<std::string, double>> ParsePrices(const std::vector<std::string>& texts) {
  std::map<std::string, double> prices;
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    const size_t number = equals == text.npos ? 0 : equals + 1;
    const auto price = ParseNumber<double>(std::string_view(text).substr(number));
    if (!price || !std::isfinite(*price) || *price < 0 || equals == 0) {
      return UsageError(fmt::format("'{}' is no price; give a number per hour, as 0.2 or cuda=3.5", text));
    }
    prices[number == 0 ? "" : text.substr(0, equals)] = *price;
  }
  return prices;
}

std::string FindUnusedPrices(const std::map<std::string, double>& prices, const std::set<std::string>& backends) {
  std::vector<std::string> unused;
  for (const auto& [backend, price] : prices) {
    if (!backend.empty() && !backends.contains(backend)) unused.push_back(backend);
  }
  if (unused.empty()) return "";
  return fmt::format("--price: unused for {}; the backends of this run are {}", fmt::join(unused, ", "),
                     fmt::join(backends, ", "));
}

}  // namespace assay
