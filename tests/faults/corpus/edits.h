// SPDX-License-Identifier: Apache-2.0
// Entries as rows: a name, where the bug can strike, and what it changes of the operator's correct kernel. A row is
// written once for every type T that carries the values:
//   of("fault.scale-missing", kScaled).scale = [](Spec) { return T{1}; };
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/faults/corpus/dense.h"
#include "tests/faults/corpus/entry.h"

namespace corpus {

// The rows of a list in one type. `Spec`: an operator's description, as the plan reads it.
template <class Kernel, class Spec>
class Edits {
 public:
  using Strikes = std::function<bool(const Spec&)>;
  struct Row {
    std::string name;
    Strikes strikes;
    TextOf contract;  // null: the contract of the list
    Kernel kernel;
  };

  // A correct kernel to be changed.
  Kernel& operator()(std::string name, Strikes strikes = nullptr, TextOf contract = nullptr) {
    rows_.push_back({std::move(name), std::move(strikes), contract, Kernel{}});
    return Last();
  }
  Kernel& Last() { return rows_.back().kernel; }
  const std::deque<Row>& rows() const { return rows_; }

 private:
  std::deque<Row> rows_;
};

// The entries of `fill(edits)`, which is called once for each T. `why_not`: why the operator takes no description at
// all.
template <template <class> class Plan, template <class> class Kernel, class Spec, class Fill>
std::vector<Entry> EntriesOf(const char* op, TextOf contract, TextOf why_not, Spec (*spec_of)(Description), Fill fill) {
  const auto rows_of = [fill]<class T>(std::type_identity<T>) -> const auto& {
    static const Edits<Kernel<T>, Spec> edits = [&] {
      Edits<Kernel<T>, Spec> made;
      fill(made);
      return made;
    }();
    return edits.rows();
  };
  std::vector<Entry> all;
  for (const auto& row : rows_of(std::type_identity<float>{})) {
    const auto why = [strikes = row.strikes, why_not, spec_of](Description description) -> std::string {
      const std::string reason = why_not(description);
      if (!reason.empty() || !strikes || strikes(spec_of(description))) return reason;
      return "the operands have no place or type for the bug";
    };
    const auto create = [rows_of, at = all.size()](Description description, bool exact) {
      return WithCarrier(description, exact, [&]<class T>(std::type_identity<T> type) -> std::unique_ptr<plugin::Plan> {
        return std::make_unique<Plan<T>>(description, exact, rows_of(type)[at].kernel);
      });
    };
    all.push_back({op, row.name, row.contract == nullptr ? contract : row.contract, why, create});
  }
  return all;
}

}  // namespace corpus
