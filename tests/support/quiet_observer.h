// SPDX-License-Identifier: Apache-2.0
// An observer that keeps what the engine tells instead of showing it.
#pragma once

#include <string>
#include <vector>

#include "harness/engine/observer.h"

namespace assay {

class QuietObserver : public RunObserver {
 public:
  void Progressed(size_t, size_t, size_t, const std::string&) override {}
  void Failed(const Record& record) override { failed.push_back(record); }
  void Noted(const std::string& text) override { notes.push_back(text); }

  std::vector<Record> failed;
  std::vector<std::string> notes;
};

}  // namespace assay
