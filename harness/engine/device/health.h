// SPDX-License-Identifier: Apache-2.0
// Whether a device is worth being asked further. One that has died would take the whole timeout of every case: after a
// number of results in a row that ended with its worker it is set aside, for the operator that they are of at first,
// whose kernels may alone be broken, and as a whole when other operators fare no better.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace assay {

class DeviceHealth {
 public:
  // `most_in_a_row` of 0: never set aside.
  explicit DeviceHealth(size_t most_in_a_row) : most_in_a_row_(most_in_a_row) {}

  // A result of an operator: `reason` is how the worker or the device ended in it, "" where neither did.
  void Note(std::string_view op, std::string_view reason);

  // Why the operator is not run on the device any more; "": it is.
  std::string ExplainSetAside(std::string_view op) const;

 private:
  size_t most_in_a_row_;
  size_t in_a_row_ = 0;                                        // of any operator
  size_t of_operator_ = 0;                                     // of these, the latest ones, of one operator
  std::string operator_;                                       // that one
  std::string whole_;                                          // why the device as a whole is set aside
  std::map<std::string, std::string, std::less<>> operators_;  // why each of these is
};

}  // namespace assay
