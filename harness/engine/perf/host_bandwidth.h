// SPDX-License-Identifier: Apache-2.0
// How fast the host's processors reach its memory.
#pragma once

#include <cstdint>

namespace assay {

struct HostBandwidth {
  double read_gbytes_per_s = 0;
  double copy_gbytes_per_s = 0;  // bytes read and bytes written
};

// The fastest of a few passes over `bytes` of memory, by `threads` threads at once. Takes some tenths of a second.
HostBandwidth MeasureHostBandwidth(uint64_t bytes, int threads);

}  // namespace assay
