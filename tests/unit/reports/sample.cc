// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/reports/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "harness/core/base/json.h"

namespace assay::sample {
namespace {

struct Op {
  const char* name;
  std::vector<const char*> dtypes, shapes;
  double flops, bytes;
};
struct Implementation {
  const char* op;
  const char* name;
  double speed;  // relative
};
struct Backend {
  const char *name, *device, *driver, *library;
  double gflops, gbytes;
  std::vector<Implementation> implementations;
};

const std::vector<Op> kOps = {
    {"matmul", {"f32", "f16", "bf16"}, {"m=512,n=512,k=512", "m=1,n=4096,k=4096", "m=32,n=4096,k=11008"}, 2.7e8, 3.1e6},
    {"attention",
     {"f32", "bf16"},
     {"b=1,h=8,l=128,s=128,d=64", "b=1,h=32,hkv=8,l=1,s=4096,d=128,causal=1"},
     1.3e8,
     9e6},
    {"conv", {"f32", "f16"}, {"n=1,c=64,o=64,i=56x56,k=3x3,pad=1x1", "n=1,c=256,o=64,i=28x28,k=1x1"}, 2.3e8, 2e6},
    {"fft", {"f32", "f64"}, {"n=1024,batch=64", "n=1000,kind=r2c"}, 3.2e6, 1e6},
    {"reduce",
     {"f32", "bf16"},
     {"shape=4096x4096,axes=1,kind=sum", "shape=1000003,axes=0,kind=logsumexp"},
     1.6e7,
     6.7e7},
    {"softmax", {"f32", "f16"}, {"shape=128x4096", "shape=8x128256"}, 4e6, 4.2e6},
};

const std::vector<Backend> kBackends = {
    {"cpu",
     "2 x AVX-512",
     "",
     "0.1.0",
     45,
     11,
     {{"matmul", "blocked", 1},
      {"matmul", "naive", .05},
      {"attention", "two-pass", .7},
      {"conv", "direct", .6},
      {"conv", "winograd", 1.1},
      {"fft", "stockham", .5},
      {"reduce", "pairwise", 1},
      {"softmax", "three-pass", 1}}},
    {"onednn",
     "2 x AVX-512",
     "",
     "3.0.0",
     95,
     12,
     {{"matmul", "gemm:jit", 1},
      {"conv", "jit", 1},
      {"conv", "winograd", 1.6},
      {"softmax", "jit", 1},
      {"reduce", "jit", 1}}},
    {"cuda",
     "Example GPU 80GB",
     "580.12",
     "13.1",
     21000,
     2900,
     {{"matmul", "vendor", 1},
      {"matmul", "split-k", .8},
      {"attention", "flash", 1},
      {"conv", "implicit-gemm", 1},
      {"fft", "vendor", .6},
      {"reduce", "two-stage", .9},
      {"softmax", "online", .9}}},
};

class Generator {
 public:
  std::vector<Record> Make(size_t about) {
    std::vector<Record> records;
    for (uint64_t seed = 0; records.size() < about; ++seed) {
      for (const Op& op : kOps) AddOp(op, seed, records);
    }
    PlantEveryVerdict(records);
    return records;
  }

 private:
  // The raw generator alone, because distributions differ between standard libraries.
  double Uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  void AddOp(const Op& op, uint64_t seed, std::vector<Record>& records) {
    for (const char* dtype : op.dtypes) {
      for (const char* shape : op.shapes) {
        for (const Backend& backend : kBackends) AddBackend(op, dtype, shape, backend, seed, records);
      }
    }
  }

  void AddBackend(const Op& op, const std::string& dtype, const std::string& shape, const Backend& backend,
                  uint64_t seed, std::vector<Record>& records) {
    bool offered = false;
    for (const Implementation& implementation : backend.implementations) {
      if (op.name != std::string(implementation.op)) continue;
      offered = true;
      Record r = Base(op, dtype, shape, backend, seed);
      r.implementation = implementation.name;
      Judge(r);
      Time(r, op, backend, implementation.speed * (0.7 + 0.6 * Uniform()));
      records.push_back(std::move(r));
    }
    if (offered || seed > 0) return;
    Record r = Base(op, dtype, shape, backend, seed);
    r.verdict = r.outcome = "unsupported";
    r.reason = fmt::format("no {} in this backend", op.name);
    records.push_back(std::move(r));
  }

  Record Base(const Op& op, const std::string& dtype, const std::string& shape, const Backend& backend, uint64_t seed) {
    Record r;
    r.case_id = fmt::format("{}/{}/{}/fill=normal/seed={}", op.name, dtype, shape, seed);
    r.op = op.name, r.dtype = dtype, r.shape = shape, r.fill = "normal", r.seed = seed;
    r.backend = backend.name, r.device = backend.device, r.driver = backend.driver, r.library_version = backend.library;
    r.required_contract = "f32acc";
    r.tier = "fast", r.tool_version = "0.1.0", r.timestamp = "2026-01-31T12:00:00Z", r.plan_hash = "9c1d7f00a4e2b6d3";
    r.input_hash = fmt::format("{:016x}", random_());
    r.golden_hash = fmt::format("{:016x}", random_());
    r.reproduce = fmt::format("assay run --case '{}' --backend {}", r.case_id, r.backend);
    return r;
  }

  void Judge(Record& r) {
    r.verdict = r.outcome = "pass";
    r.result_class = Uniform() < 0.15 ? "bit_exact" : "within_class";
    r.contract = "in=exact;acc=f32;mid=none;out=rn;ftz=none;alg=direct;det=yes";
    r.elements = 262144, r.outliers = 0, r.nonfinite_mismatch = 0, r.worst_index = 48213;
    const bool exact = r.result_class == "bit_exact";
    SetMargin(r, exact ? 0 : 0.02 + 0.6 * Uniform() * Uniform());
    r.exact_margin = 0, r.stat_margin = exact ? 0 : 0.2 + 0.3 * Uniform(), r.exceptional_margin = 0;
    if (!exact) r.effective_bits = 23.1 + Uniform(), r.bias_z = 2 * Uniform() - 1;
    r.deterministic = true, r.twin = true, r.mutation_power = 1.0, r.reps = 2;
    r.golden_s = 0.05 * Uniform(), r.execute_s = 0.01 * Uniform(), r.compare_s = 0.004, r.input_s = 0.003;
  }

  void SetMargin(Record& r, double margin) {
    r.bound_margin = margin;
    r.max_abs_err = margin * 3.1e-5, r.max_rel_err = margin * 2.2e-4, r.max_ulp_err = margin * 40 + .5;
    r.rms_err = margin * 4.4e-6, r.nmse = margin * margin * 1e-11;
    r.margin_histogram = Histogram(margin);
    r.error_map = margin > 1 ? "32,13:......../..#+..../......!." : "";
    r.worst_elements.clear(), r.worst_errors.clear();
    for (int i = 0; i < 8 && margin > 0; ++i) {
      const double golden = 20 * Uniform() - 10, tolerance = 3e-5;
      r.worst_elements += fmt::format("{}{}:{:.9g}:{:.9g}:{:.3g}", i ? ";" : "", 48213 + 512 * i,
                                      golden + tolerance * margin * (1 - 0.03 * i), golden, tolerance);
      r.worst_errors += fmt::format("{}[{},117]:{:.3g}", i ? ";" : "", 94 + i, tolerance * margin * (1 - 0.03 * i));
    }
  }

  std::string Histogram(double margin) {
    std::string out = margin == 0 ? "262144" : "9120";
    for (int bin = 1; bin <= 22; ++bin) {
      const double distance = margin == 0 ? 99 : bin - (21 + std::log2(std::min(margin, 1.0)) - 4);
      const double count = distance > 4.5 ? 0 : 52000 * std::exp(-distance * distance / (distance > 0 ? 3 : 14));
      out += fmt::format(",{:.0f}", bin == 22 && margin > 1 ? 37 : count);
    }
    return out;
  }

  void Time(Record& r, const Op& op, const Backend& backend, double speed) {
    r.flops = op.flops, r.bytes = op.bytes;
    const double compute = op.flops / (backend.gflops * 1e9), move = op.bytes / (backend.gbytes * 1e9);
    const double ceiling = std::max(compute, move), median = ceiling / std::min(0.95, 0.75 * speed) + 2e-6;
    r.time_median_s = median, r.time_p10_s = median * (1 - 0.08 * Uniform()),
    r.time_p90_s = median * (1 + 0.2 * Uniform());
    r.samples = 40 + static_cast<int64_t>(200 * Uniform()), r.timing_clock = r.backend == "cuda" ? "device" : "host";
    r.gflops = op.flops / median * 1e-9, r.gbytes_per_s = op.bytes / median * 1e-9;
    r.time_cold_median_s = 1.05 * median, r.cold_samples = 5, r.stop_reason = "settled";
    r.roofline_fraction = ceiling / *r.time_cold_median_s, r.prepare_s = 0.02 * Uniform();
    r.memory_fraction = move / *r.time_cold_median_s, r.compute_fraction = compute / *r.time_cold_median_s;
    r.ceiling_gflops = backend.gflops, r.ceiling_gbytes_per_s = backend.gbytes;
    r.bound_by = move > compute ? "memory" : "compute";
    r.time_wall_s = median + 3e-6, r.launch_fraction = 3e-6 / *r.time_wall_s;
  }

  static void Untime(Record& r) {
    r.time_median_s = r.time_p10_s = r.time_p90_s = r.gflops = r.gbytes_per_s = r.roofline_fraction = std::nullopt;
    r.time_cold_median_s = r.memory_fraction = r.compute_fraction = r.ceiling_gflops = r.ceiling_gbytes_per_s =
        r.time_wall_s = r.launch_fraction = std::nullopt;
    r.samples = r.cold_samples = std::nullopt;
    r.bound_by = r.stop_reason = "";
  }

  static void Unjudge(Record& r) {
    r.max_abs_err = r.max_rel_err = r.max_ulp_err = r.rms_err = r.nmse = std::nullopt;
    r.exact_margin = r.bound_margin = r.stat_margin = r.exceptional_margin = std::nullopt;
    r.effective_bits = r.bias_z = std::nullopt;
    r.outliers = r.elements = r.worst_index = r.nonfinite_mismatch = std::nullopt;
    r.worst_elements = r.margin_histogram = r.result_class = "";
  }

  void Mismatch(Record& r) {
    Fail(r, "mismatch", "bound channel: 37 of 262144 elements outside, all with k block 7 missing (rows 96 to 127)");
    SetMargin(r, 3.7 + 400 * Uniform());
    r.violations = 37, r.result_class = "";
  }

  static void TwinMismatch(Record& r) {
    Fail(r, "mismatch",
         "exact channel: exact twin 0: 1 wrong, first element [32,21] got -16, expected 1, difference -17; 1 of 262144 "
         "elements, [32,21]; looks like term k=4095 missing, or k=0 added twice, or k=4049 missing");
    r.exact_margin = std::numeric_limits<double>::infinity();
    r.violations = 0, r.twin_elements = "[32,21]:-16:1:0", r.result_class = "";
  }

  static void Fail(Record& r, const std::string& outcome, const std::string& reason) {
    r.verdict = r.outcome = outcome, r.reason = reason;
    if (outcome != "inconclusive") Untime(r);
    if (outcome == "crash" || outcome == "timeout" || outcome == "error" || outcome == "missing") Unjudge(r);
  }

  void PlantEveryVerdict(std::vector<Record>& records) {
    size_t n = 0;
    for (Record& r : records) {
      if (r.implementation.empty()) continue;
      const size_t turn = n++ % 97;
      if (r.backend == "onednn" && r.op == "conv" && r.dtype == "f16" && r.implementation == "winograd")
        Mismatch(r);
      else if (turn == 5)
        Mismatch(r);
      else if (turn == 11)
        TwinMismatch(r);
      else if (turn == 17)
        Fail(r, "crash", "the worker died of SIGSEGV during execute");
      else if (turn == 29)
        Fail(r, "timeout", "no answer within 30 s during prepare");
      else if (turn == 31)
        Fail(r, "error", "CUDA_ERROR_OUT_OF_MEMORY: 2.1 GiB wanted\nwhile allocating the workspace");
      else if (turn == 43)
        Fail(r, "missing", "planned, no record: the run ended early");
      else if (turn == 47)
        Weaker(r);
      else if (turn == 53)
        Fail(r, "nondeterministic", "det=yes is claimed, but 3 of 4 repetitions differ in 12 elements");
      else if (turn == 59)
        r.outcome = "unexpected_pass", r.reason = "listed as a known failure";
      else if (turn == 61)
        Fail(r, "inconclusive", "power 0.62: an omitted term would go unseen"), r.mutation_power = 0.62;
      else if (turn == 67)
        Mismatch(r), Waive(r, "known_failure");
      else if (turn == 71)
        Mismatch(r), Waive(r, "known_flake");
      else if (turn % 23 == 9)
        r.result_class = "suspect", r.self_margin = 2.4;
      else if (turn == 79)
        NonFinite(r);
    }
    Record absent;
    absent.case_id = "matmul/f32/m=512,n=512,k=512/fill=normal/seed=0", absent.op = "matmul", absent.dtype = "f32";
    absent.backend = "vulkan", absent.verdict = absent.outcome = "unavailable";
    absent.reason = "no Vulkan device: libvulkan.so.1 not found <script>throw new Error('escaped?')</script>";
    records.push_back(absent);
  }

  // With as long a reason as those of the rules that ship.
  static void Waive(Record& r, const char* outcome) {
    r.outcome = outcome;
    r.known_reason =
        "sums of products are turned into f32 before they are stored, which is exact up to 2^24 alone, and the last "
        "bits "
        "of what is larger are lost";
    r.known_where = "backends/mine/known_issues.toml:12", r.known_issue = "sums-in-f32";
    r.known_owner = "kernel team", r.known_expires = "2027-03-31";
  }

  void Weaker(Record& r) {
    Fail(r, "below_contract", "holds for f16acc only: f32acc is required");
    SetMargin(r, 6.2);
    r.contract = "in=exact;acc=f16;mid=none;out=rn", r.result_class = "within_lower_class", r.effective_bits = 10.8;
  }

  void NonFinite(Record& r) {
    Fail(r, "mismatch", "exceptional channel: NaN where the golden is finite");
    r.bound_margin = std::numeric_limits<double>::infinity(), r.max_abs_err = std::numeric_limits<double>::quiet_NaN();
    r.nonfinite_mismatch = 4, r.worst_elements = "17:nan:0.25:3e-05;18:nan:-1.5:3e-05", r.result_class = "";
    r.worst_errors = "[0,17]:nan;[0,18]:nan", r.violations = 0;
  }

  std::mt19937_64 random_{20260131};
};

}  // namespace

std::vector<Record> SampleRecords(size_t about) {
  return Generator().Make(about);
}

std::string SampleEnvironment() {
  const Json environment = {{"tool_version", "0.1.0"},
                            {"timestamp", "2026-01-31T12:00:00Z"},
                            {"compiler", "GNU 12.2.0"},
                            {"build_type", "Release"},
                            {"os", "Debian GNU/Linux 12 (bookworm)"},
                            {"kernel", "Linux 6.1.0"},
                            {"architecture", "x86_64"},
                            {"cpu", "Example CPU @ 2.60GHz"},
                            {"cpu_mhz", "2596.99"},
                            {"cpu_flags", fmt::format("{:f>300} avx512f", "")},
                            {"cpu_governor", "performance"},
                            {"cores", 2},
                            {"memory", "16376812 kB"},
                            {"load_average", "0.42 0.31 0.20 1/210 4711"},
                            {"variables", {{"OMP_NUM_THREADS", "2"}}}};
  return environment.dump(2);
}

}  // namespace assay::sample
