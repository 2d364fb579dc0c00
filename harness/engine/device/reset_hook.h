// SPDX-License-Identifier: Apache-2.0
// The user's command that brings a lost device back: a power switch, a driver that is loaded anew.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "harness/engine/device/device.h"

namespace assay {

class ResetHook {
 public:
  // `command`: for /bin/sh. `interrupted`: of the run. `note` is told of each use.
  ResetHook(std::string command, std::function<bool()> interrupted, std::function<void(const std::string&)> note)
      : command_(std::move(command)), interrupted_(std::move(interrupted)), note_(std::move(note)) {}

  // Runs the command with ASSAY_BACKEND, ASSAY_DEVICE (its name), ASSAY_SELECTOR ("cuda:1") and ASSAY_REASON in its
  // environment, and waits for its end, at most ten minutes. What it prints goes to standard error. After a loss that
  // follows another one of the device, without a SetBack between them, it waits before: one second, two, four, at most
  // 64. False: it cannot be run, or exits with another code than 0, or takes too long, or the run is interrupted.
  // From any thread: where another one has reset the device since `seen`, that is enough.
  bool Reset(const Device& device, const std::string& why, uint64_t seen);

  // How often the device was reset, to be taken before what may lose it.
  uint64_t Resets(const Device& device);

  void SetBack(const Device& device);  // it works again

 private:
  struct Lost {
    std::mutex mutex;  // held while the command runs
    uint64_t resets = 0;
    int in_a_row = 0;
  };
  Lost& FindLost(const Device& device);
  bool Run(const Device& device, const std::string& why);
  bool Wait(double seconds) const;

  std::string command_;
  std::function<bool()> interrupted_;
  std::mutex mutex_;  // guards what follows
  std::function<void(const std::string&)> note_;
  std::map<std::string, Lost> lost_;  // by selector
};

}  // namespace assay
