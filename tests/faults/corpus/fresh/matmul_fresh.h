// SPDX-License-Identifier: Apache-2.0
// A matrix product with sums of its own, where its shape has a place for the bug.
#pragma once

#include <functional>

#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/matmul_plan.h"

namespace corpus {

template <class T>
class DotMatmul : public MatmulPlan<T> {
 public:
  using Sum = std::function<T(const T*, const T*, const plugin::MatmulSpec&, const Place&)>;
  DotMatmul(Description op, bool exact, Sum sum) : MatmulPlan<T>(op, exact), sum_(std::move(sum)) {}

 private:
  T Dot(const T* a, const T* b, const Place& at) override { return sum_(a, b, this->spec(), at); }
  const Sum sum_;
};

// `strikes(spec)`: where the bug shows. `dot(a, b, spec, place)` is the element's sum.
template <class Strikes, class Sum>
Entry MatmulSums(const char* name, Strikes strikes, Sum dot) {
  return {"matmul", name, MatmulContract,
          [strikes](Description op) -> std::string {
            const std::string reason = MatmulWhyNot(op);
            if (!reason.empty()) return reason;
            return strikes(plugin::ParseMatmul(op)) ? "" : "such a product has no place or type for the bug";
          },
          [dot](Description op, bool exact) {
            return WithCarrier(op, exact, [&]<class T>(std::type_identity<T>) -> std::unique_ptr<plugin::Plan> {
              return std::make_unique<DotMatmul<T>>(op, exact, dot);
            });
          }};
}

}  // namespace corpus
