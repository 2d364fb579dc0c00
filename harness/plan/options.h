// SPDX-License-Identifier: Apache-2.0
// Which cases and which backends a run is asked for, from any interface.
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
  std::string scale;               // "1/8": divides the extents that the suite names; "": they stay
  std::string sweep;               // KEY=VALUES, which each of them gets in turn: see ParseSweep
  std::string contract;            // replaces every case's required contract
  std::string filter = "*";
  std::vector<std::string> ops, dtypes;
  std::vector<std::string> operators;  // --operators: files of definitions
  std::optional<std::string> shard;
  std::optional<uint64_t> seed;  // replaces every case's seed
  bool allow_unused = false;     // kernels and names that meet no case are no error
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
inline constexpr const char* kEach = "each";
inline constexpr const char* kPool = "pool";

struct BackendOptions {
  std::vector<std::string> plugins, kernels;   // --plugin, --kernels: [name=]PATH
  std::vector<std::string> frameworks;         // --framework: those whose functions the module assay has as kernels
  std::string python;                          // --python: of files of kernels; "": that of the environment in use
  std::vector<std::string> backends;           // --backend: NAME, or NAME:INDEX for one device
  std::vector<std::string> devices;            // --device: globs on names of devices
  std::string sharing = kEach;                 // --devices: each runs every case, or those of a backend share them
  std::vector<std::string> implementations;    // --impl
  std::vector<std::string> required_backends;  // --require-backend
  std::optional<double> timeout_s;             // --timeout: a constant; without, see CallLimits
  std::optional<double> import_timeout_s;  // --import-timeout: of a file of kernels, by each worker; kImportTimeoutS
  SandboxOptions sandbox;
  bool refuse_no_plugin = true;  // a file that the user named and that is none ends the verb; else it is listed
  std::function<bool()> interrupted = {};  // whether the user wants loading to end; asked before the first plugin too

  bool IsInterrupted() const { return interrupted && interrupted(); }
};

}  // namespace assay
