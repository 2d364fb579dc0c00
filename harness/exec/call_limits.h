// SPDX-License-Identifier: Apache-2.0
// How long each call of a backend may take before it counts as hung. Where the user names no constant, it follows from
// the call's own work, at the rate of a slow device, and from the calls of its kind that ended before: once there were
// many, one that takes far longer than the slowest of them hangs.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace assay {

struct CallLimit {
  double seconds = 60;
  std::string why = {};  // as it follows in a message: ", 50 times as long as ..."
};

// What a call has to do: operations and bytes of one execution, and how many executions.
struct CallWork {
  double amount = 0;
  size_t executions = 1;
};

class CallLimits {
 public:
  // `most_s` of a call, and `most_prepare_s` of "prepare", since compilers are slow. `is_constant`: the work and the
  // history change nothing. `compiles_in_calls`: what is called may compile itself when it meets new shapes, whenever
  // that is, so that its history shortens no call below `most_s`.
  CallLimits(double most_s, double most_prepare_s, bool is_constant, bool compiles_in_calls = false)
      : most_s_(most_s),
        most_prepare_s_(most_prepare_s),
        is_constant_(is_constant),
        compiles_in_calls_(compiles_in_calls) {}

  CallLimit Of(std::string_view call, const CallWork& work) const;

  // The call has ended in time.
  void NoteEnd(std::string_view call, const CallWork& work, double seconds);

  // The call has not: what was known of its kind is forgotten, so that a further try has the whole time.
  void NoteTimeout(std::string_view call);

 private:
  struct History {
    size_t calls = 0;
    double slowest_s = 0;     // of one execution
    double slowest_rate = 0;  // seconds of an operation or byte
  };
  double most_s_, most_prepare_s_;
  bool is_constant_, compiles_in_calls_;
  std::map<std::string, History, std::less<>> history_;  // of each call
};

}  // namespace assay
