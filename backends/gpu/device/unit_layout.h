// SPDX-License-Identifier: Apache-2.0
// Which elements of a 16 x 16 product the lanes of a wave hold, for each kind of matrix unit: sum i of a lane is at
// (Row, Column). A lane's sums lie in kSlots rows; the lanes that share a row are those that differ in the bits of
// kRowMask. kWaves of them share a tile of a product: what a lane then holds fits its registers. Pure index arithmetic.
#pragma once

#include "backends/gpu/device/vendor.h"

namespace gpu {

// mma.sync.aligned.m16n8k16 of sm_80 and later, twice: PTX ISA, "Matrix fragments for mma.m16n8k16".
struct NvidiaLayout {
  static constexpr int kLanes = 32, kSums = 8, kSlots = 2, kRowMask = 3, kWaves = 4;
  GPU_FN static int Row(int lane, int i) { return lane / 4 + i % 4 / 2 * 8; }
  GPU_FN static int Column(int lane, int i) { return i / 4 * 8 + lane % 4 * 2 + i % 2; }
  GPU_FN static int Slot(int i) { return i % 4 / 2; }
};

// v_mfma_f32_16x16x16 of CDNA, waves of 64: AMD matrix instruction calculator.
struct CdnaLayout {
  static constexpr int kLanes = 64, kSums = 4, kSlots = 4, kRowMask = 15, kWaves = 4;
  GPU_FN static int Row(int lane, int i) { return lane / 16 * 4 + i; }
  GPU_FN static int Column(int lane, int) { return lane % 16; }
  GPU_FN static int Slot(int i) { return i; }
};

// v_wmma_f32_16x16x16 of RDNA 3, waves of 32: RDNA 3 ISA, "Wave matrix multiply accumulate".
struct RdnaLayout {
  static constexpr int kLanes = 32, kSums = 8, kSlots = 8, kRowMask = 15, kWaves = 8;
  GPU_FN static int Row(int lane, int i) { return 2 * i + lane / 16; }
  GPU_FN static int Column(int lane, int) { return lane % 16; }
  GPU_FN static int Slot(int i) { return i; }
};

// Where there is no matrix unit: a lane has a row.
struct PlainLayout {
  static constexpr int kLanes = 16, kSums = 16, kSlots = 1, kRowMask = 0, kWaves = 8;
  GPU_FN static int Row(int lane, int) { return lane; }
  GPU_FN static int Column(int, int i) { return i; }
  GPU_FN static int Slot(int) { return 0; }
};

}  // namespace gpu
