// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/traits.h"

#include "backends/common/status.h"

namespace gpu {

std::string Traits::Properties() const {
  return fmt::format(
      "architecture={};multiprocessors={};cache_bytes={};shared_bytes={};subnormals=kept;rounding=nearest;matrix_units="
      "{}",
      architecture, units, cache_bytes, shared_bytes, has_unit ? unit_accumulator.substr(4) : "none");
}

std::vector<Traits> KeepBuiltFor(std::vector<Traits> found, const std::function<bool(const Traits&)>& is_built_for,
                                 const std::string& built_for, const char* variable) {
  std::vector<Traits> kept;
  std::string left_out;
  for (Traits& t : found) {
    if (is_built_for(t)) {
      kept.push_back(std::move(t));
    } else {
      left_out += fmt::format(" {} is {};", t.name, t.architecture);
    }
  }
  if (!kept.empty()) return kept;
  throw plugin::Unavailable(
      "no device of an architecture that this plugin has code for ({}):{} configure with its architecture in {}",
      built_for, left_out, variable);
}

}  // namespace gpu
