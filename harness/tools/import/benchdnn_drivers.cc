// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/import/benchdnn_drivers.h"

#include <algorithm>

namespace assay {
namespace {

Status CheckAttributes(const BenchdnnChoice& choice) {
  for (const auto& [option, value] : choice) {
    if (!option.starts_with("attr-") || value.empty()) continue;
    if (option == "attr-post-ops") return UsageError("attr-post-ops: what follows the operator is not part of a case");
    return UsageError(option + ": no such scaling or rounding here");
  }
  return {};
}

using Options = std::vector<std::pair<std::string_view, std::string_view>>;

Options WithAttributes(Options options) {
  for (const char* name :
       {"attr-post-ops", "attr-scales", "attr-oscale", "attr-zero-points", "attr-dropout", "attr-others"}) {
    options.emplace_back(name, "");
  }
  return options;
}

const std::vector<BenchdnnDriver>& Drivers() {
  static const std::vector<BenchdnnDriver> drivers = {
      {"matmul",
       WithAttributes(
           {{"dt", "f32"}, {"stag", "ab"}, {"wtag", "ab"}, {"bia-dt", "undef"}, {"bia-mask", "2"}, {"encoding", ""}}),
       benchdnn::MapMatmul},
      {"conv", WithAttributes({{"dir", "FWD_B"}, {"dt", "f32"}, {"cfg", ""}, {"bia-dt", "undef"}, {"mb", "0"}}),
       benchdnn::MapConv},
      {"ip", WithAttributes({{"dir", "FWD_B"}, {"dt", "f32"}, {"cfg", ""}, {"bia-dt", "undef"}, {"mb", "0"}}),
       benchdnn::MapInnerProduct},
      {"softmax",
       WithAttributes(
           {{"dir", "FWD_D"}, {"sdt", "f32"}, {"ddt", "f32"}, {"alg", "SOFTMAX"}, {"axis", "1"}, {"mb", "0"}}),
       benchdnn::MapSoftmax},
      {"reduction", WithAttributes({{"sdt", "f32"}, {"ddt", "f32"}, {"alg", "sum"}, {"p", "1"}, {"eps", ""}}),
       benchdnn::MapReduction},
      {"lnorm", WithAttributes({{"dir", "FWD_D"}, {"dt", "f32"}, {"ss-dt", "f32"}, {"flags", ""}}),
       benchdnn::MapLayerNorm},
      {"gnorm", WithAttributes({{"dir", "FWD_D"}, {"dt", "f32"}, {"ss-dt", "f32"}, {"flags", ""}, {"mb", "0"}}),
       benchdnn::MapGroupNorm},
      {"eltwise", WithAttributes({{"dir", "FWD_D"}, {"dt", "f32"}, {"alg", "RELU"}, {"mb", "0"}}),
       benchdnn::MapEltwise}};
  return drivers;
}

const std::vector<BenchdnnDriver>& DriversElsewhere() {
  static const std::vector<BenchdnnDriver> drivers = [] {
    std::vector<BenchdnnDriver> all;
    for (const char* name : {"binary", "bnorm", "brgemm", "concat", "deconv", "graph", "lrn", "pool", "prelu",
                             "reorder", "resampling", "rnn", "self", "shuffle", "sum", "zeropad"}) {
      all.push_back({name, {}, nullptr});
    }
    return all;
  }();
  return drivers;
}

// "ba", "acb": the last two axes change places in memory.
bool IsTransposed(std::string_view tag) {
  if (tag.size() < 2) return false;
  const char last = static_cast<char>('a' + tag.size() - 1);
  if (tag[tag.size() - 2] != last || tag.back() != last - 1) return false;
  return std::ranges::all_of(tag, [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

const BenchdnnDriver* FindBenchdnnDriver(std::string_view name) {
  for (const auto* list : {&Drivers(), &DriversElsewhere()}) {
    for (const BenchdnnDriver& driver : *list) {
      if (driver.name == name) return &driver;
    }
  }
  return nullptr;
}

Result<CaseSpec> MapBenchdnn(const BenchdnnDriver& driver, const BenchdnnChoice& choice, std::string_view problem) {
  if (auto fine = CheckAttributes(choice); !fine) return tl::unexpected(fine.error());
  return driver.map(choice, problem);
}

bool BenchdnnLeavesResult(std::string_view option) {
  constexpr std::string_view kOptions[] = {"allow-enum-tags-only",
                                           "attr-fpmath",
                                           "attr-acc-mode",
                                           "attr-scratchpad",
                                           "attr-deterministic",
                                           "tag",
                                           "stag",
                                           "wtag",
                                           "dtag",
                                           "stat-tag",
                                           "strides",
                                           "inplace",
                                           "skip-impl",
                                           "impl",
                                           "runtime-dims-masks",
                                           "alg",
                                           "alpha",
                                           "beta",
                                           "mode",
                                           "cold-cache",
                                           "perf-template",
                                           "fix-times-per-prb",
                                           "max-ms-per-prb",
                                           "engine",
                                           "ctx-init",
                                           "ctx-exe",
                                           "memory-kind",
                                           "mem-check",
                                           "fast-ref",
                                           "v",
                                           "v0",
                                           "v1",
                                           "v2",
                                           "v5",
                                           "canonical",
                                           "start"};
  return std::ranges::find(kOptions, option) != std::end(kOptions);
}

std::string BenchdnnMeaning(std::string_view option, std::string_view value) {
  if (option == "dir" || option == "alg") {
    std::string text(value);
    for (char& c : text) {
      const bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
      if (option == "dir" ? lower : upper) c = static_cast<char>(c ^ 0x20);
    }
    return text;
  }
  if (option == "stag" || option == "wtag") return IsTransposed(value) ? "transposed" : "";
  if (option.starts_with("attr-") || option == "encoding") return value.empty() ? "" : "...";
  if (option == "eps") return value.empty() || value == "0" || value == "0.0" ? "" : std::string(value);
  return std::string(value);
}

}  // namespace assay
