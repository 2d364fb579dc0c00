// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/timing/ceilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/core/base/stopwatch.h"
#include "harness/core/base/text.h"
#include "ops/empty_operands.h"

namespace assay {
namespace {

constexpr double kUnknownCache = 0x1p26;
constexpr double kFewestCaches = 2;
constexpr double kShareOfMemory = 0.5;  // of what is available; the rest is for whatever else the machine does

// The element type whose arithmetic a case is about.
DType ArithmeticOf(DType dtype) {
  return dtype == DType::kC64 ? DType::kF32 : dtype == DType::kC128 ? DType::kF64 : dtype;
}

Rate MakeSheetRate(const SheetValue& value) {
  return {value.value, "data sheet: " + value.where, true, false};
}

// All processors, even where assay itself is told to use fewer (--jobs): a backend may use them.
int ThreadsOfHost() {
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace

double FewestFlopsOf(const Problem& problem, const Contract& contract) {
  const Operator* const op = OperatorRegistry::Global().Find(problem.spec.op);
  return op == nullptr || contract.alg != Algorithm::kDirect
             ? 0
             : OperatorFor(*op, problem).TraitsOf(problem, 0).fewest_flops;
}

Result<double> BandwidthProbeBytes(double cache_bytes, double available_bytes) {
  const double room = kShareOfMemory * available_bytes;
  if (room < kFewestCaches * cache_bytes) {
    return Fail(ErrorCode::kInternal,
                fmt::format("the bandwidth was not measured: the probe needs {:.0f} MiB, twice the caches, which is "
                            "over half of the {:.0f} MiB of free host memory; free some memory",
                            kFewestCaches * cache_bytes / 0x1p20, available_bytes / 0x1p20));
  }
  return std::min(kCachesToExceed * cache_bytes, room);
}

Ceilings::Ceilings(const std::vector<Device>& devices, std::vector<std::string> implementations,
                   std::function<bool()> interrupted, DataSheet sheet, HostMeasures host)
    : devices_(devices),
      sheet_(std::move(sheet)),
      host_(std::move(host)),
      witnesses_(devices, std::move(implementations), std::move(interrupted)) {}

double Ceilings::CacheBytes(const std::string& hardware) const {
  double bytes = hardware == kHostHardware ? host_.cache_bytes() : 0;
  if (bytes > 0) return bytes;
  for (const Device& device : devices_) {
    if (HardwareOf(device) != hardware) continue;
    bytes = std::max(bytes, ParseNumber<double>(Property(device.device.properties, "cache_bytes")).value_or(0));
  }
  return bytes > 0 ? bytes : kUnknownCache;
}

std::vector<std::string> Ceilings::NamesOf(const Device& device) const {
  const std::string hardware = HardwareOf(device);
  std::vector<std::string> names = {hardware};
  for (const Device& other : devices_) {
    if (HardwareOf(other) == hardware) names.push_back(other.device.name);
  }
  return names;
}

Ceiling Ceilings::FindCeiling(const Device& device, DType dtype, InputRounding in, Above above) {
  const Stopwatch watch;
  const std::string hardware = HardwareOf(device);
  const DType arithmetic = ArithmeticOf(dtype);
  Ceiling ceiling{.cache_bytes = CacheBytes(hardware)};
  ceiling.memory = MemoryOf(device, above.memory);
  if (const SheetValue stated = sheet_.Gflops(NamesOf(device), ArithmeticKey(dtype, in)); stated.value) {
    ceiling.compute = ceiling.most_compute = MakeSheetRate(stated);
  } else if (hardware != kHostHardware) {
    ceiling.compute = WitnessOf(device, arithmetic, above.compute);
  } else {
    ceiling.compute = HostPeakOf(arithmetic, above.compute);
    const NarrowUnits units = host_.units();
    const Number most = MostGflops(*host_peak_, units, arithmetic, in);
    ceiling.most_compute = {most, ceiling.compute.from, most.has_value(), false};
    if (!ceiling.compute.giga_per_s) ceiling.compute = WitnessOf(device, arithmetic, above.compute);
    if (most != ceiling.compute.giga_per_s) {
      ceiling.most_compute.from = "at most so many times the rate of f32 or f64 that assay measured";
    }
  }
  seconds_ += watch.Seconds();
  return ceiling;
}

// Only for the types that it measures; others may be faster or slower.
Rate Ceilings::HostPeakOf(DType arithmetic, bool above) {
  if (!host_peak_ || (above && MayRepeat("peak"))) {
    const HostPeak peak = host_.peak(ThreadsOfHost());
    if (!host_peak_) host_peak_ = peak;
    const auto keep = [](const Number& value, const std::string& how, Number& best, std::string& best_how) {
      if (value.value_or(0) > best.value_or(0)) best = value, best_how = how;
    };
    keep(peak.f32_gflops, peak.f32_how, host_peak_->f32_gflops, host_peak_->f32_how);
    keep(peak.f64_gflops, peak.f64_how, host_peak_->f64_gflops, host_peak_->f64_how);
  }
  if (arithmetic == DType::kF32) return {host_peak_->f32_gflops, "measured: " + host_peak_->f32_how, true, false};
  if (arithmetic == DType::kF64) return {host_peak_->f64_gflops, "measured: " + host_peak_->f64_how, true, false};
  return {};
}

Rate Ceilings::WitnessOf(const Device& device, DType arithmetic, bool above) {
  const bool again = above && MayRepeat(fmt::format("matmul {} {}", HardwareOf(device), Name(arithmetic)));
  const auto [witness, own] = FindWitness(witnesses_.Matmul(device, arithmetic, again), device);
  if (witness == nullptr) return {};
  return {witness->value, "a matmul of " + witness->backend, false, own};
}

Rate Ceilings::MemoryOf(const Device& device, bool above) {
  if (const SheetValue stated = sheet_.Bandwidth(NamesOf(device)); stated.value) return MakeSheetRate(stated);
  const std::string hardware = HardwareOf(device);
  const bool again = above && MayRepeat("memory " + hardware);
  if (hardware == kHostHardware) {
    if (again || (host_memory_how_.empty() && !unmeasured_.contains(hardware))) MeasureHostMemory();
    if (host_memory_how_.empty()) return {};
    return {std::max(host_bandwidth_.read_gbytes_per_s, host_bandwidth_.copy_gbytes_per_s),
            "measured: " + host_memory_how_, true, false};
  }
  const Result<double> bytes = BandwidthProbeBytes(CacheBytes(hardware), host_.available_bytes());
  if (!bytes) {
    unmeasured_[hardware] = bytes.error().message;
    return {};
  }
  const auto [witness, own] = FindWitness(witnesses_.Bandwidth(hardware, *bytes, again), device);
  if (witness == nullptr) return {};
  return {witness->value, "an operator of " + witness->backend, false, own};
}

// Through more data than the caches hold.
void Ceilings::MeasureHostMemory() {
  const double caches = CacheBytes(kHostHardware);
  const Result<double> bytes = BandwidthProbeBytes(caches, host_.available_bytes());
  if (!bytes) {
    unmeasured_[kHostHardware] = bytes.error().message;
    return;
  }
  const int threads = ThreadsOfHost();
  const HostBandwidth now = MeasureHostBandwidth(static_cast<uint64_t>(*bytes), threads);
  host_bandwidth_.read_gbytes_per_s = std::max(host_bandwidth_.read_gbytes_per_s, now.read_gbytes_per_s);
  host_bandwidth_.copy_gbytes_per_s = std::max(host_bandwidth_.copy_gbytes_per_s, now.copy_gbytes_per_s);
  host_memory_how_ =
      fmt::format("{:.0f} MiB by {} threads of assay{}", *bytes / 0x1p20, threads,
                  *bytes < kCachesToExceed * caches ? ", less than four times the caches for want of memory" : "");
}

assay::Number Ceilings::LaunchSeconds(const Device& device) {
  const Stopwatch watch;
  const auto& launch = witnesses_.Launch(device);
  seconds_ += watch.Seconds();
  return launch ? assay::Number(launch->value) : std::nullopt;
}

void Ceilings::SetFinal(RecordList& records) {
  for (size_t i = 0; i < records.size(); ++i) {
    Record record = records[i];
    const auto device = std::ranges::find_if(devices_, [&](const Device& c) {
      return c.session && c.backend == record.backend && c.device.name == record.device;
    });
    const auto contract = ParseDeclaration(record.contract);
    if (device == devices_.end() || !contract || !record.time_median_s) continue;
    const Problem problem = ProblemOf(record.case_id);
    SetRoofline(record, FindCeiling(*device, problem.inputs[0].dtype, contract->in), FewestFlopsOf(problem, *contract));
    records.Set(i, record);
  }
}

}  // namespace assay
