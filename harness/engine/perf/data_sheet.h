// SPDX-License-Identifier: Apache-2.0
// Rates of devices that the user knows, as a TOML file (--ceilings FILE). They replace what assay would measure:
//   [[device]]
//   name = "NVIDIA H200*"        # glob on the device's name; "host": this machine's processors
//   gbytes_per_s = 4800
//   gflops.f32 = 66900           # also f64, f16, bf16, tf32 (f32 with operands rounded to it), e4m3, e5m2, i8
// If several entries fit and have a value, the last one decides.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/core/data/dtype.h"
#include "harness/core/model/contract.h"
#include "harness/core/model/record.h"

namespace assay {

// A value, and where it stands: "ceilings.toml:3".
struct SheetValue {
  Number value;
  std::string where;
};

struct SheetEntry {
  std::string name, where;
  Number gbytes_per_s;
  std::map<std::string, double> gflops;  // by arithmetic
};

class DataSheet {
 public:
  // Rates of hardware with these names; null if no entry has one.
  SheetValue Bandwidth(const std::vector<std::string>& names) const;
  SheetValue Gflops(const std::vector<std::string>& names, const std::string& arithmetic) const;

  // Lists the entries that fit none of the names, since a line of the user's without effect may be a slip.
  std::string FindUnused(const std::vector<std::string>& names) const;  // "" when each fits one

  std::vector<SheetEntry> entries;
};

// The key of the rate that bounds a case: the type, or what operands in f32 are rounded to ("tf32", "bf16"). "" where
// there is none.
std::string ArithmeticKey(DType dtype, InputRounding in);

// Errors are "file:line:column: what; what to write instead".
Result<DataSheet> ParseDataSheet(std::string_view toml, const std::string& file);
Result<DataSheet> LoadDataSheet(const std::string& path);

}  // namespace assay
