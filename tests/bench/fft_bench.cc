// SPDX-License-Identifier: Apache-2.0
// The golden transform of 2^20 complex points in double against FFTW's, both planned beforehand and on one thread,
// interleaved. Target: at most 4 times FFTW. FFTW is a witness here and is linked by nothing else; it is loaded at run
// time, and without it the comparison is skipped with a line.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

#include "golden/fft/fft.h"
#include "golden/fft/fft_transform.h"
#include "harness/core/base/parallel.h"
#include "tests/bench/targets.h"

namespace assay {
namespace {

constexpr int64_t kPoints = int64_t{1} << 20;
constexpr int kRounds = 11;
constexpr double kTarget = 4;

using bench::Median;
using bench::SecondsOf;

// fftw_plan_dft_1d and its companions, by their documented C interface.
struct Fftw {
  using Plan = void* (*)(int n, double* in, double* out, int sign, unsigned flags);
  using Execute = void (*)(void* plan);
  Plan plan = nullptr;
  Execute execute = nullptr;

  Fftw() {
    void* library = dlopen("libfftw3.so.3", RTLD_NOW);
    if (library == nullptr) return;
    plan = reinterpret_cast<Plan>(dlsym(library, "fftw_plan_dft_1d"));
    execute = reinterpret_cast<Execute>(dlsym(library, "fftw_execute"));
  }
  bool Usable() const { return plan != nullptr && execute != nullptr; }
};

template <class R>
std::function<void()> Golden1D() {
  const auto transform = std::make_shared<std::unique_ptr<Transform<R>>>(MakeTransform<R>(kPoints));
  const auto re = std::make_shared<std::vector<R>>(kPoints), im = std::make_shared<std::vector<R>>(kPoints);
  const auto work = std::make_shared<std::vector<R>>((*transform)->WorkSize(1));
  for (int64_t i = 0; i < kPoints; ++i) (*re)[i] = R{static_cast<double>(i * 2654435761 % 1000003) * 1e-6};
  return [=] { (*transform)->Run(re->data(), im->data(), 1, work->data()); };
}

int Main() {
  SetThreadCount(1);
  const std::function<void()> fast = Golden1D<double>(), exact = Golden1D<DD>();
  const Fftw fftw;
  constexpr int kForward = -1;
  constexpr unsigned kMeasure = 0;
  std::vector<double> in(2 * kPoints), out(2 * kPoints), ours, theirs, tight;
  void* plan = fftw.Usable() ? fftw.plan(kPoints, in.data(), out.data(), kForward, kMeasure) : nullptr;
  for (int round = 0; round <= kRounds; ++round) {
    const double golden = SecondsOf(fast);
    const double witness = plan != nullptr ? SecondsOf([&] { fftw.execute(plan); }) : 0;
    if (round == 0) continue;  // first touch
    ours.push_back(golden), theirs.push_back(witness);
  }
  for (int round = 0; round < 3; ++round) tight.push_back(SecondsOf(exact));
  std::printf("fft 2^20 in double %.1f ms, in double-double %.1f ms\n", 1e3 * Median(ours), 1e3 * Median(tight));
  if (plan == nullptr) {
    std::printf("golden_fft skipped: libfftw3.so.3 is not installed\n");
    return 0;
  }
  bench::Targets targets;
  targets.AtMost("golden_fft", kTarget, Median(ours) / Median(theirs));
  return targets.ExitCode();
}

}  // namespace
}  // namespace assay

int main() {
  return assay::Main();
}
