// SPDX-License-Identifier: Apache-2.0
// Performance targets of this project's own code. A benchmark program checks its targets after its run, prints one
// line each and exits with 1 when one is missed. Ratios of two things timed in turn in one run, by the median, so that
// a busy machine slows both.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace assay::bench {

inline double SecondsOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// How many times as fast as `yardstick` the subject is: the median of ratios of neighbouring runs. 0.5 is half as fast.
inline double RelativeSpeed(const std::function<void()>& subject, const std::function<void()>& yardstick, int rounds) {
  subject();
  yardstick();
  std::vector<double> ratios;
  for (int i = 0; i < rounds; ++i) {
    const double before = SecondsOf(yardstick), time = SecondsOf(subject), after = SecondsOf(yardstick);
    ratios.push_back((before + after) / 2 / time);
  }
  return Median(std::move(ratios));
}

class Targets {
 public:
  void AtLeast(const std::string& name, double target, double measured) {
    Check(name, target, measured, measured >= target);
  }
  void AtMost(const std::string& name, double target, double measured) {
    Check(name, target, measured, measured <= target);
  }
  int ExitCode() const { return all_met_ ? 0 : 1; }

 private:
  // scripts/bench.sh reads these lines.
  void Check(const std::string& name, double target, double measured, bool met) {
    std::printf("%s target %.3g got %.3g %s\n", name.c_str(), target, measured, met ? "ok" : "SHORT");
    all_met_ = all_met_ && met;
  }
  bool all_met_ = true;
};

// The body of main: the registered benchmarks as the flags select them, then the targets.
inline int RunWithTargets(int argc, char** argv, const std::function<void(Targets&)>& check) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  Targets targets;
  check(targets);
  return targets.ExitCode();
}

}  // namespace assay::bench
