// SPDX-License-Identifier: Apache-2.0
// Libraries and drivers that refuse a description only when they prepare a plan for it.
#pragma once

#include <exception>
#include <map>
#include <string>

#include "backends/common/op_desc.h"
#include "backends/common/status.h"

namespace plugin {

// Makes plans to see whether they can be made. A failure that is no refusal is told to whoever asks for that plan next:
// a driver that fails once has failed.
class TriedPlans {
 public:
  void Clear() { failures_.clear(); }
  // Why `create` refuses; "" where it does not.
  template <class Create>
  std::string Try(const std::string& name, const OpDesc& op, Create create) {
    try {
      create();
    } catch (const Error& error) {
      if (error.status() == ASSAY_UNSUPPORTED) return error.what();
      failures_[KeyOf(name, op)] = std::current_exception();
    } catch (const std::exception&) {
      failures_[KeyOf(name, op)] = std::current_exception();
    }
    return "";
  }
  void RethrowFailure(const std::string& name, const OpDesc& op) {
    const auto failure = failures_.extract(KeyOf(name, op));
    if (!failure.empty()) std::rethrow_exception(failure.mapped());
  }

 private:
  // The implementation, the operator and the operands' types and shapes: a failure is that of this question alone.
  static std::string KeyOf(const std::string& name, const OpDesc& op) {
    std::string key = name + ' ' + op.name() + ' ' + op.DTypesText();
    for (const auto* operands : {&op.inputs(), &op.outputs()}) {
      for (const Tensor& tensor : *operands) {
        key += ' ';
        for (const int64_t extent : tensor.shape) key += std::to_string(extent) + 'x';
      }
    }
    return key;
  }
  std::map<std::string, std::exception_ptr> failures_;
};

}  // namespace plugin
