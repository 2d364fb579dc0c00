// SPDX-License-Identifier: Apache-2.0
// Options of a run, from any interface: which cases, which backends, how.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace assay {

// Which cases: the suite's and those named by id, as far as they match everything else that is given.
struct PlanOptions {
  std::string suite;               // "": default, or none where there are cases
  std::vector<std::string> cases;  // ids
  std::string contract;            // replaces every case's required contract
  std::string filter = "*";
  std::vector<std::string> ops, dtypes;
  std::vector<std::string> operators;  // --operators: files of definitions
  std::optional<std::string> shard;
  std::optional<uint64_t> seed;  // replaces every case's seed
};

// Permissions of workers beyond what every driver needs.
struct SandboxOptions {
  bool on = true;                             // --no-sandbox
  std::vector<std::string> passed;            // --pass-env: variables
  std::vector<std::string> granted;           // --grant: files and folders
  std::vector<std::string> limits;            // --worker-limit KIND=AMOUNT
  std::vector<std::filesystem::path> hidden;  // granted to no worker, besides the golden store
};

inline constexpr double kImportTimeoutS = 600;

struct BackendOptions {
  std::vector<std::string> plugins, kernels;   // --plugin, --kernels: [name=]PATH
  std::vector<std::string> frameworks;         // --framework: those whose functions the module assay has as kernels
  std::string python;                          // --python: of files of kernels; "": that of the environment in use
  std::vector<std::string> backends;           // --backend: NAME, or NAME:INDEX for one device
  std::vector<std::string> devices;            // --device: globs on names of devices
  std::vector<std::string> implementations;    // --impl
  std::vector<std::string> required_backends;  // --require-backend
  std::optional<double> timeout_s;             // --timeout: a constant; without, see CallLimits
  std::optional<double> import_timeout_s;  // --import-timeout: of a file of kernels, by each worker; kImportTimeoutS
  SandboxOptions sandbox;
  bool refuse_no_plugin = true;  // a file that the user named and that is none ends the verb; else it is listed
  std::function<bool()> interrupted = {};  // whether the user wants loading to end; asked before the first plugin too
};

inline constexpr const char* kEach = "each";
inline constexpr const char* kPool = "pool";  // of RunOptions::devices

struct RunOptions {
  PlanOptions selection;
  BackendOptions backend;
  std::optional<std::filesystem::path> out;  // without: out/<time> below the current directory
  bool resume = false;                       // the run in `out` goes on
  bool allow_unused = false;                 // kernels and names that meet no case are no error
  bool allow_changed = false;                // also where the environment is another one than before
  std::string devices = kEach;               // each runs every case, or those of a backend share them (kPool)
  int jobs = 0;                              // host threads; 0: all cores
  bool perf = true;
  double perf_time_s = 0.02;  // per implementation, case and round
  // Both take longer than everything else of a short case; a sweep is about them.
  std::optional<bool> cold;  // the first round also with cold caches
  std::optional<bool> roofline;
  std::optional<std::filesystem::path> ceilings;  // a data sheet
  std::vector<std::string> launches_us;           // NUMBER, or BACKEND=NUMBER; else what is usual
  std::string sweep;                              // KEY=VALUES, see ParseSweep
  int rounds = 1;
  int set_aside_after = 8;          // results in a row that end with their worker; 0: never
  int most_failures = 0;            // after which the run stops; 0: never
  std::optional<int> retries;       // of crashes, timeouts, errors and changing results; without: 1, of the first two
  std::optional<int64_t> repeat;    // passes over all cases
  std::string device_lost_command;  // for a shell; "": none
  bool until_fails = false;         // without end, until something fails
  std::optional<std::string> time;  // how long passes are repeated: "8h"
  bool strict = false;
  std::vector<std::string> expectations;  // files; empty: the shipped ones
  std::string relations = "quick";        // all | quick | none
  std::string tier = "auto";              // auto | fast | reproducible
  bool store = true;
  size_t evidence = 0;                                 // --evidence: cases whose outputs are kept; 0: none are
  std::optional<std::filesystem::path> evidence_seed;  // a file whose hash was handed in before
  std::string challenge;                               // what whoever gets the evidence adds to the draw
  std::string progress = "auto";                       // auto | bar | lines | none
  std::string color = "auto";                          // auto | always | never
  bool profile = false;
  std::optional<std::filesystem::path> trace;
};

}  // namespace assay
