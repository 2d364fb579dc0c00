// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/perf/data_sheet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/core/base/glob.h"
#include "harness/core/base/whole_file.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 8> kArithmetics = {"f64", "f32", "tf32", "f16", "bf16", "e4m3", "e5m2", "i8"};

class SheetReader {
 public:
  explicit SheetReader(const std::string& file) : file_(file) {}

  Result<DataSheet> Read(const toml::table& table) const {
    DataSheet sheet;
    for (const auto& [key, value] : table) {
      if (key.str() != "device") return NoKey(key, "[[device]]");
    }
    const toml::node* devices = table.get("device");
    if (devices == nullptr) return ErrorAt(table.source(), "there is no [[device]]");
    if (!devices->is_array_of_tables()) {
      return ErrorAt(devices->source(), "'device' must be a list of tables; write [[device]]");
    }
    for (const toml::node& node : *devices->as_array()) {
      auto entry = ReadEntry(*node.as_table());
      if (!entry) return tl::unexpected(entry.error());
      sheet.entries.push_back(std::move(*entry));
    }
    return sheet;
  }

  tl::unexpected<Error> ErrorAt(const toml::source_region& where, const std::string& what) const {
    return UsageError(fmt::format("{}:{}:{}: {}", file_, where.begin.line, where.begin.column, what));
  }

 private:
  tl::unexpected<Error> NoKey(const toml::key& key, const std::string& known) const {
    return ErrorAt(key.source(), fmt::format("no key '{}'; known: {}", key.str(), known));
  }

  Result<SheetEntry> ReadEntry(const toml::table& table) const {
    SheetEntry entry{.where = fmt::format("{}:{}", file_, table.source().begin.line)};
    for (const auto& [key, value] : table) {
      Status read;
      if (key.str() == "name") {
        entry.name = value.value_exact<std::string>().value_or("");
      } else if (key.str() == "gbytes_per_s") {
        read = ReadRate(key, value, entry.gbytes_per_s);
      } else if (key.str() == "gflops") {
        read = ReadGflops(value, entry);
      } else {
        return NoKey(key, "name, gbytes_per_s, gflops.TYPE");
      }
      if (!read) return tl::unexpected(read.error());
    }
    if (entry.name.empty()) return ErrorAt(table.source(), "a device needs name = \"GLOB\", such as \"NVIDIA H200*\"");
    if (!entry.gbytes_per_s && entry.gflops.empty()) {
      return ErrorAt(table.source(), "the device has no value; give gbytes_per_s or gflops.f32");
    }
    return entry;
  }

  Status ReadGflops(const toml::node& node, SheetEntry& entry) const {
    const toml::table* rates = node.as_table();
    if (rates == nullptr) return ErrorAt(node.source(), "'gflops' takes a value for each type: gflops.f32 = 1000");
    for (const auto& [key, value] : *rates) {
      const std::string name(key.str());
      if (std::ranges::find(kArithmetics, name) == kArithmetics.end()) {
        return NoKey(key, fmt::format("{}", fmt::join(kArithmetics, ", ")));
      }
      Number rate;
      if (auto read = ReadRate(key, value, rate); !read) return read;
      entry.gflops[name] = *rate;
    }
    return {};
  }

  Status ReadRate(const toml::key& key, const toml::node& node, Number& rate) const {
    const auto number = node.is_number() ? node.value<double>() : std::nullopt;
    if (!number || !std::isfinite(*number) || *number <= 0) {
      return ErrorAt(node.source(), fmt::format("'{}' takes a number above 0", key.str()));
    }
    rate = *number;
    return {};
  }

  const std::string& file_;
};

bool Fits(const SheetEntry& entry, const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [&](const std::string& name) { return MatchesGlob(entry.name, name); });
}

}  // namespace

SheetValue DataSheet::Bandwidth(const std::vector<std::string>& names) const {
  SheetValue found;
  for (const SheetEntry& entry : entries) {
    if (entry.gbytes_per_s && Fits(entry, names)) found = {entry.gbytes_per_s, entry.where};
  }
  return found;
}

SheetValue DataSheet::Gflops(const std::vector<std::string>& names, const std::string& arithmetic) const {
  SheetValue found;
  for (const SheetEntry& entry : entries) {
    const auto rate = entry.gflops.find(arithmetic);
    if (rate != entry.gflops.end() && Fits(entry, names)) found = {rate->second, entry.where};
  }
  return found;
}

std::string DataSheet::FindUnused(const std::vector<std::string>& names) const {
  std::vector<std::string> unused;
  for (const SheetEntry& entry : entries) {
    if (!Fits(entry, names)) unused.push_back(fmt::format("'{}' ({})", entry.name, entry.where));
  }
  if (unused.empty()) return "";
  return fmt::format("--ceilings: unused for {}; the devices of this run are {}", fmt::join(unused, ", "),
                     fmt::join(names, ", "));
}

std::string ArithmeticKey(DType dtype, InputRounding in) {
  if (dtype == DType::kC64) dtype = DType::kF32;
  if (dtype == DType::kC128) dtype = DType::kF64;
  if (dtype != DType::kF32) return in == InputRounding::kExact ? std::string(Name(dtype)) : "";
  switch (in) {
    case InputRounding::kExact:
      return "f32";
    case InputRounding::kTF32RN:
    case InputRounding::kTF32RZ:
      return "tf32";
    case InputRounding::kBF16:
    case InputRounding::kBF16x3:
      return "bf16";
    case InputRounding::kFP8:
      break;
  }
  return "";
}

Result<DataSheet> ParseDataSheet(std::string_view text, const std::string& file) {
  const SheetReader reader(file);
  try {
    return reader.Read(toml::parse(text, file));
  } catch (const toml::parse_error& e) {
    return reader.ErrorAt(e.source(), fmt::format("not TOML: {}", e.description()));
  }
}

Result<DataSheet> LoadDataSheet(const std::string& path) {
  const auto text = ReadStream(path);
  if (text) return ParseDataSheet(*text, path);
  return UsageError(fmt::format("cannot read the file of ceilings {}; check the path", text.error().message));
}

}  // namespace assay
