// SPDX-License-Identifier: Apache-2.0
// Sweeps: how the speed of a case grows with its size, and where its limit changes from memory to compute.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/core/model/record_list.h"

namespace assay {

struct SweepPointOf {
  double value = 0;  // of the swept attribute
  size_t place = 0;  // of the record among all
  std::shared_ptr<const Record> record;
};

// The fastest implementation of one backend (and device) at each size, by size.
struct SweepCurve {
  std::string backend;
  std::vector<SweepPointOf> points;  // at least one
};

struct SweepGroup {
  std::string key;    // "b"
  std::string title;  // the case without it: "attention/bf16/h=32,l=1/fill=normal/seed=0"
  std::vector<SweepCurve> curves;
};

// Sizes are numbers: points of a sweep over texts (7x7) are left out.
std::vector<SweepGroup> SweepsOf(const RecordView& records);

// The time that a point is about: cold where there is one, as the roofline takes it.
double SweepSeconds(const Record& record);

// Where the memory takes as long as the operations, between the two neighbours around it (by logarithms, since sizes
// are that far apart); nothing where one of both binds throughout.
Number CrossoverOf(const SweepCurve& curve);

// Plain sentences: "cpu: memory-bound below b=24, compute-bound above".
std::vector<std::string> SweepAdvice(const SweepGroup& group);

}  // namespace assay
