// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/timing/witnesses.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/base/text.h"
#include "harness/engine/perf/machine_state.h"

namespace assay {
namespace {

constexpr double kLargestDeviceProbeBytes = 0x1p30;  // both sets of one
constexpr int kSmallestMatmul = 256, kLargestMatmul = 4096;
// A larger matmul is tried while it is expected to take no longer than this, eight times the one before.
constexpr double kLongestMatmulSeconds = 0.03;
constexpr double kNotWorthALargerOne = 0.5;  // of the fastest

std::string MatmulId(DType dtype, int n) {
  const std::string types = dtype == DType::kI8 ? "i8-i8-i32" : std::string(Name(dtype));
  return fmt::format("matmul/{}/m={},n={},k={}/fill=uniform/seed=0", types, n, n, n);
}

Witness WitnessOf(const Device& device, double value, const std::string& case_id, const ProbeTime& time) {
  return {value,
          device.backend,
          device.device.name,
          device.description.name,
          case_id,
          time.implementation,
          "the fastest repetition by the clock of the backend"};
}

void Keep(std::optional<Witness>& best, const Witness& witness) {
  if (!best || witness.value > best->value) best = witness;
}

// Each device has one.
void KeepAmong(std::vector<Witness>& all, const Witness& witness) {
  const auto before = std::ranges::find_if(
      all, [&](const Witness& w) { return w.backend == witness.backend && w.device == witness.device; });
  if (before == all.end()) {
    all.push_back(witness);
  } else if (witness.value > before->value) {
    *before = witness;
  }
}

}  // namespace

std::string Property(const std::string& properties, std::string_view key) {
  for (const std::string_view entry : Split(properties, ';')) {
    if (entry.starts_with(key) && entry.substr(key.size()).starts_with("=")) {
      return std::string(entry.substr(key.size() + 1));
    }
  }
  return "";
}

std::string HardwareOf(const Device& device) {
  const bool host = device.device.IsHost() || Property(device.device.properties, "type") == "cpu";
  return host ? kHostHardware : device.device.name;
}

double CacheBytesOf(const Device& device) {
  if (HardwareOf(device) == kHostHardware) {
    static const double known = HostCacheBytes();
    if (known > 0) return known;
  }
  return ParseNumber<double>(Property(device.device.properties, "cache_bytes")).value_or(0);
}

WitnessFor FindWitness(const std::vector<Witness>& witnesses, const Device& device) {
  WitnessFor found;
  for (const Witness& w : witnesses) {
    const bool own = w.backend == device.backend || (!w.plugin.empty() && w.plugin == device.description.name);
    const bool better = found.witness == nullptr || w.value > found.witness->value;
    if (found.witness != nullptr && own != found.own ? found.own : better) found = {&w, own};
  }
  return found;
}

Witnesses::Witnesses(const std::vector<Device>& devices, std::vector<std::string> implementations,
                     std::function<bool()> interrupted)
    : devices_(devices), implementations_(std::move(implementations)), interrupted_(std::move(interrupted)) {}

std::vector<const Device*> Witnesses::FindDevicesOn(const std::string& hardware) const {
  std::vector<const Device*> on;
  for (const Device& device : devices_) {
    if (device.session && !given_up_.contains(device.selector) && HardwareOf(device) == hardware) on.push_back(&device);
  }
  return on;
}

// Two sets take turns, so that each is half of the memory.
const std::vector<Witness>& Witnesses::Bandwidth(const std::string& hardware, double bytes, bool again) {
  const auto [it, first] = bandwidth_.try_emplace(hardware);
  if (!first && !again) return it->second;
  bytes = std::min(bytes, kLargestDeviceProbeBytes);
  const auto columns = static_cast<int64_t>(bytes / 2 / SizeOf(DType::kF32)) / 4096;
  const ProbeSettings settings{.max_seconds = 0.1};
  for (const Device* device : FindDevicesOn(hardware)) {
    std::optional<Witness> best;
    for (const char* id : {"reduce/f32/shape=4096x{},axes=1,kind=sum/fill=uniform/seed=0",
                           "softmax/f32/shape=4096x{}/fill=uniform/seed=0"}) {
      const Problem problem = ProblemOf(fmt::format(fmt::runtime(id), columns));
      const auto times = TimeProbe(*device, problem, settings);
      if (!times) {
        given_up_[device->selector] = times.error().message;
        break;
      }
      for (const ProbeTime& time : *times) {
        if (time.best_s <= 0) continue;
        Keep(best, WitnessOf(*device, problem.bytes / time.best_s * 1e-9, problem.spec.Id(), time));
      }
    }
    if (best) KeepAmong(it->second, *best);
  }
  return it->second;
}

const std::vector<Witness>& Witnesses::Matmul(const Device& asking, DType dtype, bool again) {
  const std::string hardware = HardwareOf(asking);
  const auto [it, first] = matmul_.try_emplace({hardware, dtype});
  const bool measurable = dtype == DType::kI8 || (IsFloat(dtype) && SizeOf(dtype) >= 2);
  if ((!first && !again) || !measurable) return it->second;
  for (const Device* device : FindDevicesOn(hardware)) {
    const auto best = FindFastestMatmul(*device, dtype, device->selector == asking.selector);
    if (best) KeepAmong(it->second, *best);
  }
  return it->second;
}

std::optional<Witness> Witnesses::FindFastestMatmul(const Device& device, DType dtype, bool others) {
  std::optional<Witness> best;
  ProbeSettings settings{.max_seconds = 0.06, .preferred = implementations_, .others = others};
  for (int n = kSmallestMatmul; n <= kLargestMatmul && !interrupted_(); n *= 2) {
    const Problem problem = ProblemOf(MatmulId(dtype, n));
    const auto times = TimeProbe(device, problem, settings);
    if (!times) {
      given_up_[device.selector] = times.error().message;
      return best;
    }
    double fastest_s = 0;
    for (const ProbeTime& time : *times) {
      if (time.best_s <= 0) continue;
      Keep(best, WitnessOf(device, problem.flops / time.best_s * 1e-9, problem.spec.Id(), time));
      if (fastest_s == 0 || time.best_s < fastest_s) fastest_s = time.best_s;
    }
    if (fastest_s == 0 || (n > kSmallestMatmul && 8 * fastest_s > kLongestMatmulSeconds)) break;
    for (const ProbeTime& time : *times) {
      if (fastest_s < kNotWorthALargerOne * time.best_s) settings.left_out.insert(time.implementation);
    }
  }
  return best;
}

const std::optional<Witness>& Witnesses::Launch(const Device& device) {
  const auto [it, first] = launch_.try_emplace(device.selector);
  if (!first || given_up_.contains(device.selector)) return it->second;
  const ProbeSettings settings{.max_seconds = 0.005, .preferred = implementations_};
  for (const char* id : {"reduce/f32/shape=1,axes=0,kind=sum/fill=uniform/seed=0",
                         "softmax/f32/shape=1/fill=uniform/seed=0", "matmul/f32/m=1,n=1,k=1/fill=uniform/seed=0"}) {
    const auto times = TimeProbe(device, ProblemOf(id), settings);
    if (!times) {
      given_up_[device.selector] = times.error().message;
      break;
    }
    for (const ProbeTime& time : *times) {
      Witness launch = WitnessOf(device, time.wall_s, id, time);
      launch.how = "smallest launch: the worker's clock around a batch of repetitions, for one";
      if (!it->second || launch.value < it->second->value) it->second = launch;
    }
    if (it->second) break;
  }
  return it->second;
}

}  // namespace assay
