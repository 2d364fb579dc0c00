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

// Work of a call: operations and bytes of one execution, and the number of executions.
struct CallWork {
  double amount = 0;
  size_t executions = 1;
};

class CallLimits {
 public:
  // `most_s` is the limit of a call, and `most_prepare_s` that of "prepare", since compilers are slow. `is_constant`:
  // neither work nor history changes a limit. `compiles_in_calls`: a call may compile whenever it meets new shapes, so
  // that history sets no limit below `most_s`.
  CallLimits(double most_s, double most_prepare_s, bool is_constant, bool compiles_in_calls = false)
      : most_s_(most_s),
        most_prepare_s_(most_prepare_s),
        is_constant_(is_constant),
        compiles_in_calls_(compiles_in_calls) {}

  CallLimit LimitFor(std::string_view call, const CallWork& work) const;

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
