// SPDX-License-Identifier: Apache-2.0
// Counts, sizes and times as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

std::string Counted(int64_t count, std::string_view noun);  // "1 case", "2 cases"
std::string BytesText(int64_t bytes);                       // "12.3 MB"
std::string AgeText(double seconds);                        // "3 d"

// "500M", "2Gi", "1000"; "30d", "12h". nullopt: no such number.
std::optional<int64_t> ParseBytes(std::string_view text);
std::optional<double> ParseAge(std::string_view text);

}  // namespace assay
