// SPDX-License-Identifier: Apache-2.0
#include "harness/run/ceilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/parallel.h"
#include "harness/base/stopwatch.h"
#include "harness/base/text.h"
#include "harness/perf/host_bandwidth.h"
#include "harness/run/probe.h"
#include "ops/operator.h"

namespace assay {
namespace {

constexpr double kUnknownCache = 0x1p26;
constexpr double kLargestDeviceProbeBytes = 0x1p30;  // both sets of one
constexpr double kFewestCaches = 2;
constexpr double kShareOfMemory = 0.5;  // of what is available; the rest is for whatever else the machine does
constexpr int kSmallestMatmul = 256, kLargestMatmul = 4096;
// A larger matmul is tried while it is expected to take no longer than this, eight times the one before.
constexpr double kLongestMatmulSeconds = 0.03;
constexpr int kMostTimesAgain = 2;
constexpr double kNotWorthALargerOne = 0.5;  // of the fastest

// The element type whose arithmetic a case is about.
DType ArithmeticOf(DType dtype) {
  return dtype == DType::kC64 ? DType::kF32 : dtype == DType::kC128 ? DType::kF64 : dtype;
}

std::string MatmulId(DType dtype, int n) {
  const std::string types = dtype == DType::kI8 ? "i8-i8-i32" : std::string(Name(dtype));
  return fmt::format("matmul/{}/m={},n={},k={}/fill=uniform/seed=0", types, n, n, n);
}

Probe ProbeOf(const Device& device, double value, const std::string& case_id, const ProbeTime& time) {
  return {value,   device.backend,      device.device.name,
          case_id, time.implementation, "the fastest repetition by the clock of the backend"};
}

void Keep(std::optional<Probe>& best, const Probe& probe) {
  if (!best || probe.value > best->value) best = probe;
}

nlohmann::ordered_json ProbeJson(const Probe& p, const char* unit) {
  nlohmann::ordered_json out = {{unit, p.value}, {"how", p.how}};
  if (!p.backend.empty()) out.update({{"backend", p.backend}, {"device", p.device}});
  if (!p.case_id.empty()) out.update({{"case_id", p.case_id}, {"implementation", p.implementation}});
  return out;
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

bool DoesWhatIsCounted(const std::string& op, const Contract& contract) {
  const Operator* const known = OperatorRegistry::Global().Find(op);
  return contract.alg == Algorithm::kDirect && !(known != nullptr && known->MayDoFewerFlops());
}

Result<double> BandwidthProbeBytes(double cache_bytes, double available_bytes) {
  const double room = kShareOfMemory * available_bytes;
  if (room < kFewestCaches * cache_bytes) {
    return Fail(ErrorCode::kInternal,
                fmt::format("the bandwidth was not measured: the probe takes {:.0f} MiB, twice the caches, and at most "
                            "half of the {:.0f} MiB of host memory that are available; end what else uses memory",
                            kFewestCaches * cache_bytes / 0x1p20, available_bytes / 0x1p20));
  }
  return std::min(kCachesToExceed * cache_bytes, room);
}

Ceilings::Ceilings(const std::vector<Device>& devices, std::vector<std::string> implementations,
                   std::function<bool()> interrupted, std::function<double()> available_bytes)
    : devices_(devices),
      implementations_(std::move(implementations)),
      interrupted_(std::move(interrupted)),
      available_bytes_(std::move(available_bytes)) {}

std::vector<const Device*> Ceilings::DevicesOn(const std::string& hardware) const {
  std::vector<const Device*> on;
  for (const Device& device : devices_) {
    if (device.session && !given_up_.contains(device.selector) && HardwareOf(device) == hardware) on.push_back(&device);
  }
  return on;
}

double Ceilings::CacheBytes(const std::string& hardware) const {
  double bytes = 0;
  for (const Device& device : devices_) {
    if (HardwareOf(device) != hardware) continue;
    bytes = std::max(bytes, ParseNumber<double>(Property(device.device.properties, "cache_bytes")).value_or(0));
  }
  return bytes > 0 ? bytes : kUnknownCache;
}

Ceiling Ceilings::For(const Device& device, DType dtype, bool above) {
  const std::string hardware = HardwareOf(device);
  const std::pair key(hardware, ArithmeticOf(dtype));
  const Stopwatch watch;
  if (!bandwidth_.contains(hardware)) MeasureBandwidth(hardware);
  if (!matmul_.contains(key)) MeasureMatmul(device, key.second);
  if (above && matmul_[key].again < kMostTimesAgain) {
    ++matmul_[key].again;
    MeasureMatmul(device, key.second);
  }
  seconds_ += watch.Seconds();
  Ceiling ceiling{{}, {}, CacheBytes(hardware)};
  if (const auto& best = bandwidth_[hardware].best) ceiling.gbytes_per_s = best->value;
  if (const auto& best = matmul_[key].best) ceiling.gflops = best->value;
  return ceiling;
}

// Through more data than the caches hold: the host's by the harness itself, another device's by the operators of its
// backends that do little else. Two sets take turns, so that each is half of it.
void Ceilings::MeasureBandwidth(const std::string& hardware) {
  Rate& rate = bandwidth_[hardware];
  const double caches = CacheBytes(hardware);
  const Result<double> probe_bytes = BandwidthProbeBytes(caches, available_bytes_());
  if (!probe_bytes) {
    unmeasured_[hardware] = probe_bytes.error().message;
    return;
  }
  if (hardware == kHostHardware) {
    const double bytes = *probe_bytes;
    const HostBandwidth host = MeasureHostBandwidth(static_cast<uint64_t>(bytes), ThreadCount());
    const std::string what =
        fmt::format("{:.0f} MiB by {} threads of the harness{}", bytes / 0x1p20, ThreadCount(),
                    bytes < kCachesToExceed * caches ? ", less than four times the caches for want of memory" : "");
    for (const auto& [value, how] : {std::pair(host.read_gbytes_per_s, "read "), {host.copy_gbytes_per_s, "copy "}}) {
      rate.all.push_back({value, "", "", "", "", how + what});
      Keep(rate.best, rate.all.back());
    }
    return;
  }
  const double bytes = std::min(*probe_bytes, kLargestDeviceProbeBytes);
  const auto columns = static_cast<int64_t>(bytes / 2 / SizeOf(DType::kF32)) / 4096;
  const ProbeSettings settings{.max_seconds = 0.1};
  for (const Device* device : DevicesOn(hardware)) {
    std::optional<Probe> best;
    for (const char* id : {"reduce/f32/shape=4096x{},axes=1,kind=sum/fill=uniform/seed=0",
                           "softmax/f32/shape=4096x{}/fill=uniform/seed=0"}) {
      const Problem problem = ProblemOf(fmt::format(fmt::runtime(id), columns));
      const auto times = TimeProbe(*device, problem, settings);
      if (!times) {
        given_up_[device->selector] = times.error().message;
        break;
      }
      for (const ProbeTime& time : *times) {
        if (time.best_s > 0) Keep(best, ProbeOf(*device, problem.bytes / time.best_s * 1e-9, problem.spec.Id(), time));
      }
    }
    if (!best) continue;
    rate.all.push_back(*best);
    Keep(rate.best, *best);
  }
}

void Ceilings::MeasureMatmul(const Device& asking, DType dtype) {
  const std::string hardware = HardwareOf(asking);
  Rate& rate = matmul_[{hardware, dtype}];
  if (dtype != DType::kI8 && (!IsFloat(dtype) || SizeOf(dtype) < 2)) return;
  for (const Device* device : DevicesOn(hardware)) {
    const auto best = FindFastestMatmul(*device, dtype, device->selector == asking.selector);
    if (!best) continue;
    const auto same = [&](const Probe& p) { return p.backend == best->backend && p.device == best->device; };
    const auto before = std::ranges::find_if(rate.all, same);
    if (before == rate.all.end()) {
      rate.all.push_back(*best);
    } else if (best->value > before->value) {
      *before = *best;
    }
    Keep(rate.best, *best);
  }
}

std::optional<Probe> Ceilings::FindFastestMatmul(const Device& device, DType dtype, bool others) {
  std::optional<Probe> best;
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
      Keep(best, ProbeOf(device, problem.flops / time.best_s * 1e-9, problem.spec.Id(), time));
      if (fastest_s == 0 || time.best_s < fastest_s) fastest_s = time.best_s;
    }
    if (fastest_s == 0 || (n > kSmallestMatmul && 8 * fastest_s > kLongestMatmulSeconds)) break;
    for (const ProbeTime& time : *times) {
      if (fastest_s < kNotWorthALargerOne * time.best_s) settings.left_out.insert(time.implementation);
    }
  }
  return best;
}

assay::Number Ceilings::LaunchSeconds(const Device& device) {
  const auto [it, first] = launch_.try_emplace(device.selector);
  if (first && !given_up_.contains(device.selector)) {
    const Stopwatch watch;
    const ProbeSettings settings{.max_seconds = 0.005, .preferred = implementations_};
    for (const char* id : {"reduce/f32/shape=1,axes=0,kind=sum/fill=uniform/seed=0",
                           "softmax/f32/shape=1/fill=uniform/seed=0", "matmul/f32/m=1,n=1,k=1/fill=uniform/seed=0"}) {
      const auto times = TimeProbe(device, ProblemOf(id), settings);
      if (!times) {
        given_up_[device.selector] = times.error().message;
        break;
      }
      for (const ProbeTime& time : *times) {
        Probe probe = ProbeOf(device, time.wall_s, id, time);
        probe.how = "smallest launch: the worker's clock around a batch of repetitions, for one";
        if (!it->second || probe.value < it->second->value) it->second = probe;
      }
      if (it->second) break;
    }
    seconds_ += watch.Seconds();
  }
  return it->second ? assay::Number(it->second->value) : std::nullopt;
}

void Ceilings::SetFinal(std::vector<Record>& records) {
  for (Record& record : records) {
    const auto device = std::ranges::find_if(devices_, [&](const Device& c) {
      return c.session && c.backend == record.backend && c.device.name == record.device;
    });
    const auto dtypes = ParseDTypeList(record.dtype);
    const auto contract = ParseDeclaration(record.contract);
    if (device == devices_.end() || !dtypes || !contract || !record.ceiling_gbytes_per_s) continue;
    SetRoofline(record, For(*device, dtypes->front()), DoesWhatIsCounted(record.op, *contract));
  }
}

nlohmann::ordered_json Ceilings::Json() const {
  nlohmann::ordered_json out = {{"schema_version", 1}, {"seconds", seconds_}};
  out["memory"] = out["compute"] = out["launch"] = out["given_up"] = nlohmann::ordered_json::array();
  const auto add = [&](const char* list, nlohmann::ordered_json head, const Probe& probe, const char* unit) {
    head.update(ProbeJson(probe, unit));
    out[list].push_back(std::move(head));
  };
  for (const auto& [hardware, rate] : bandwidth_) {
    const nlohmann::ordered_json head = {{"hardware", hardware}, {"cache_bytes", CacheBytes(hardware)}};
    for (const Probe& probe : rate.all) add("memory", head, probe, "gbytes_per_s");
  }
  for (const auto& [key, rate] : matmul_) {
    for (const Probe& probe : rate.all) {
      add("compute", {{"hardware", key.first}, {"dtype", Name(key.second)}}, probe, "gflops");
    }
  }
  for (const auto& [selector, probe] : launch_) {
    if (probe) add("launch", {{"selector", selector}}, *probe, "seconds");
  }
  for (const auto& [hardware, why] : unmeasured_) {
    out["given_up"].push_back({{"hardware", hardware}, {"selector", nullptr}, {"reason", why}});
  }
  for (const auto& [selector, why] : given_up_) {
    const auto device = std::ranges::find(devices_, selector, &Device::selector);
    out["given_up"].push_back({{"hardware", HardwareOf(*device)}, {"selector", selector}, {"reason", why}});
  }
  return out;
}

}  // namespace assay
