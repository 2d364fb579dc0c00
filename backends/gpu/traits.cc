// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/traits.h"

#include <fmt/format.h>

namespace gpu {

std::string Traits::Properties() const {
  return fmt::format(
      "architecture={};multiprocessors={};cache_bytes={};shared_bytes={};subnormals=kept;rounding=nearest;matrix_units="
      "{}",
      architecture, units, cache_bytes, shared_bytes, has_unit ? unit_accumulator.substr(4) : "none");
}

}  // namespace gpu
