// SPDX-License-Identifier: Apache-2.0
// Bugs of matrix products.
#include "tests/faults/corpus/matmul_plan.h"

namespace corpus {
namespace {

template <class T>
class LastTermDropped : public MatmulPlan<T> {
 public:
  using MatmulPlan<T>::MatmulPlan;

 protected:
  T Dot(const T* a, const T* b, const Place&) override {
    T sum = 0;
    for (int64_t i = 0; i + 1 < this->spec().k; ++i) sum += a[i] * b[i];
    return sum;
  }
};

}  // namespace

std::vector<Entry> MatmulFaultEntries() {
  return {{"matmul", "fault.last-k-dropped-everywhere", MatmulContract, MatmulWhyNot,
           [](const plugin::OpDesc& op, bool exact) {
             return WithCarrier(op, exact, [&]<class T>(std::type_identity<T>) -> std::unique_ptr<plugin::Plan> {
               return std::make_unique<LastTermDropped<T>>(op, exact);
             });
           }}};
}

}  // namespace corpus
