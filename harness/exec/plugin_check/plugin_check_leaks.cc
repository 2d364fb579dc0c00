// SPDX-License-Identifier: Apache-2.0
// Whether whole cycles (open, allocate, prepare, execute, destroy, close) leave something behind. Caches fill up and
// stop growing; a leak grows in every batch of cycles, by at least one small allocation each.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "harness/exec/plugin_check/plugin_check_operands.h"
#include "harness/exec/worker/found_implementations.h"

namespace assay::plugin_check {
namespace {

constexpr int kLeastWarmUp = 3, kMostWarmUp = 20;
constexpr double kWarmUpSeconds = 4;
constexpr int kBatches = 3, kMostBatches = 18;
constexpr double kMostSeconds = 35;  // of all, well below the time that a check has
constexpr double kSecondsPerBatch = 3;
constexpr int kLeastCycles = 4, kMostCycles = 50;
constexpr double kLeakedHeap = 24;           // bytes per cycle in every batch; the smallest piece of malloc takes 32
constexpr double kLeakedResident = 1 << 16;  // where memory does not come from malloc; pages are coarse
constexpr double kLeakedFiles = 0.5;         // per cycle

using Clock = std::chrono::steady_clock;

// Resources that the process holds.
struct Holdings {
  double heap = 0, resident = 0, files = 0;
};

Holdings Measure() {
  const struct mallinfo2 heap = ::mallinfo2();
  std::ifstream statm("/proc/self/statm");
  double pages = 0;
  statm >> pages >> pages;  // the second number
  std::error_code error;
  const auto files = std::distance(std::filesystem::directory_iterator("/proc/self/fd", error), {});
  return {static_cast<double>(heap.uordblks + heap.hblkhd), pages * static_cast<double>(::sysconf(_SC_PAGESIZE)),
          static_cast<double>(files)};
}

struct NamedOffer {
  const assay_op_desc* op;
  std::string implementation;
};

Finding Cycle(PluginUnderTest& plugin, const std::vector<NamedOffer>& offers) {
  ErrorText error;
  const assay_status status = plugin.api->device_open(0, &plugin.device, error.out());
  if (status != ASSAY_OK) {
    plugin.device = nullptr;
    return Bad("{}", DescribeStatus("device_open", status, error));
  }
  for (const NamedOffer& offer : offers) {
    {
      FoundImplementations found(*plugin.api, plugin.device);
      found.Query(*offer.op, error);
    }
    Operands operands(plugin);
    TestPlan plan(plugin);
    if (Finding f = operands.Make(*offer.op); f.kind != Finding::Kind::kOk) return f;
    if (Finding f = plan.Create(*offer.op, offer.implementation.c_str()); f.kind != Finding::Kind::kOk) return f;
    if (Finding f = plan.Execute(operands); f.kind != Finding::Kind::kOk) return f;
  }
  plugin.api->device_close(plugin.device);
  plugin.device = nullptr;
  return Good("");
}

// Runs kBatches of so many cycles; *least becomes the growth per cycle in the batch that grew least, if that is less.
Finding Batches(PluginUnderTest& plugin, const std::vector<NamedOffer>& offers, int cycles, Holdings* least) {
  Holdings before = Measure();
  for (int batch = 0; batch < kBatches; ++batch) {
    for (int i = 0; i < cycles; ++i) {
      if (Finding f = Cycle(plugin, offers); f.kind != Finding::Kind::kOk) return f;
    }
    const Holdings now = Measure();
    least->heap = std::min(least->heap, (now.heap - before.heap) / cycles);
    least->resident = std::min(least->resident, (now.resident - before.resident) / cycles);
    least->files = std::min(least->files, (now.files - before.files) / cycles);
    before = now;
  }
  return Good("");
}

bool HasGrown(const Holdings& per_cycle) {
  return per_cycle.heap >= kLeakedHeap || per_cycle.resident >= kLeakedResident || per_cycle.files >= kLeakedFiles;
}

}  // namespace

Finding Leaks(PluginUnderTest& plugin) {
  std::vector<NamedOffer> offers;
  for (const CheckedOffer& offer : plugin.offers) {
    offers.push_back({&offer.op->get(), offer.implementations.front().name});
  }
  plugin.api->device_close(plugin.device);
  plugin.device = nullptr;
  const Clock::time_point begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  int warm_up = 0;
  for (; warm_up < kLeastWarmUp || (warm_up < kMostWarmUp && seconds() < kWarmUpSeconds); ++warm_up) {
    if (Finding f = Cycle(plugin, offers); f.kind != Finding::Kind::kOk) return f;
  }
  const double fitting = kSecondsPerBatch * warm_up / seconds();
  const int cycles = static_cast<int>(std::clamp<double>(fitting, kLeastCycles, kMostCycles));

  Holdings least{1e300, 1e300, 1e300};
  int batches = 0;
  do {  // a leak goes on; caches that a busy host had no time to fill before do not
    if (Finding f = Batches(plugin, offers, cycles, &least); f.kind != Finding::Kind::kOk) return f;
    batches += kBatches;
  } while (HasGrown(least) && batches < kMostBatches && seconds() < kMostSeconds);
  if (least.heap >= kLeakedHeap) {
    return Bad(
        "malloc's memory grew by {:.0f} bytes per cycle or more in each of {} batches of {}, by the plugin or by a "
        "library below it; run it under a leak checker",
        least.heap, batches, cycles);
  }
  if (least.resident >= kLeakedResident) {
    return Bad(
        "resident memory grew by {:.0f} bytes per cycle or more in each of {} batches of {}; look for mappings and "
        "buffers that are not freed",
        least.resident, batches, cycles);
  }
  if (least.files >= kLeakedFiles) return Bad("{:.1f} file descriptors per cycle stay open", least.files);
  return Good("no growth over {} cycles after {}", batches * cycles, warm_up);
}

}  // namespace assay::plugin_check
