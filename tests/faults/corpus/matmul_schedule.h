// SPDX-License-Identifier: Apache-2.0
// A matrix product as three functions: of the operands' elements, of the sum, of the result. Legal schedules and
// narrowing bugs differ in nothing else.
#pragma once

#include <utility>

#include "tests/faults/corpus/arithmetic.h"
#include "tests/faults/corpus/matmul_plan.h"

namespace corpus {

// Facts that the order of a sum may depend on.
struct DotContext {
  int64_t k = 0;
  int64_t tile = 0;  // number of the 16 x 16 tile of y
  int64_t run = 0;   // completed executions of the plan
};

template <class T>
struct Schedule {
  T (*dot)(const T* a, const T* b, const DotContext& x) = nullptr;
  T (*cast)(T) = nullptr;                  // of every element of a and b; null: none
  T (*store)(T, plugin::DType) = nullptr;  // of every result, given its type; null: none
};

template <class T>
class SchedulePlan : public MatmulPlan<T> {
 public:
  SchedulePlan(const plugin::OpDesc& op, bool exact, Schedule<T> schedule)
      : MatmulPlan<T>(op, exact), schedule_(schedule) {}

 protected:
  void Prepare(MatmulOperands<T>& x) override {
    if (schedule_.cast == nullptr) return;
    for (T& element : x.a) element = schedule_.cast(element);
    for (T& element : x.b) element = schedule_.cast(element);
  }
  T Dot(const T* a, const T* b, const Place& at) override {
    const plugin::MatmulSpec& s = this->spec();
    const int64_t tile = (at.batch * s.m + at.row) / 16 * ((s.n + 15) / 16) + at.column / 16;
    return schedule_.dot(a, b, {s.k, tile, this->runs()});
  }
  T Epilogue(T product, const MatmulOperands<T>& x, const Place& at) override {
    const T y = MatmulPlan<T>::Epilogue(product, x, at);
    return schedule_.store == nullptr ? y
                                      : schedule_.store(y, this->exact() ? this->spec().a.dtype : this->spec().y.dtype);
  }

 private:
  const Schedule<T> schedule_;
};

// An entry whose `make(std::type_identity<T>{})` gives the schedule in T.
template <class Make>
Entry ScheduleEntry(std::string name, TextOf contract, TextOf why_not, Make make) {
  return {"matmul", std::move(name), contract, why_not, [make](Description op, bool exact) {
            return WithCarrier(op, exact, [&]<class T>(std::type_identity<T> type) -> std::unique_ptr<plugin::Plan> {
              return std::make_unique<SchedulePlan<T>>(op, exact, make(type));
            });
          }};
}

template <class A>
typename A::Value SequentialDot(const typename A::Value* a, const typename A::Value* b, const DotContext& x) {
  typename A::Value sum = 0;
  for (int64_t i = 0; i < x.k; ++i) sum = A::MultiplyAdd(a[i], b[i], sum);
  return sum;
}

}  // namespace corpus
