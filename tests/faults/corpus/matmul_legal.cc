// SPDX-License-Identifier: Apache-2.0
// Correct orders of a matrix product's sums, each for any arithmetic.
#include "tests/faults/corpus/arithmetic.h"
#include "tests/faults/corpus/matmul_plan.h"

namespace corpus {
namespace {

template <class T>
using DotFunction = T (*)(const T* a, const T* b, int64_t k);

template <class T>
class DotPlan : public MatmulPlan<T> {
 public:
  DotPlan(const plugin::OpDesc& op, DotFunction<T> dot) : MatmulPlan<T>(op, false), dot_(dot) {}

 protected:
  T Dot(const T* a, const T* b, const Place&) override { return dot_(a, b, this->spec().k); }

 private:
  const DotFunction<T> dot_;
};

template <class A>
typename A::Value Sequential(const typename A::Value* a, const typename A::Value* b, int64_t k) {
  typename A::Value sum = 0;
  for (int64_t i = 0; i < k; ++i) sum = A::MultiplyAdd(a[i], b[i], sum);
  return sum;
}

}  // namespace

std::vector<Entry> MatmulLegalEntries() {
  return {{"matmul", "legal.sequential", MatmulContract, MatmulWhyNot, [](const plugin::OpDesc& op, bool exact) {
             return WithCarrier(op, exact, [&]<class T>(std::type_identity<T>) -> std::unique_ptr<plugin::Plan> {
               return std::make_unique<DotPlan<T>>(op, Sequential<Plain<T>>);
             });
           }}};
}

}  // namespace corpus
