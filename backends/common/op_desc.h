// SPDX-License-Identifier: Apache-2.0
// An operator description, checked once and then read without casts. It owns its data, so a plan may keep it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backends/abi/assay_backend.h"
#include "backends/common/dtype.h"

namespace plugin {

// One operand: shape and strides in elements, same length.
struct Tensor {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  uint32_t alias = 0;  // of an output in place: the number of its input, plus 1

  int Rank() const { return static_cast<int>(shape.size()); }
  int64_t Elements() const;
  bool IsDense() const;  // row-major, without gaps

  // The bytes that the tensor may touch, relative to its element zero: [first, last). Empty tensors touch none.
  struct Extent {
    int64_t first = 0;
    int64_t last = 0;
  };
  Extent ByteExtent() const;
};

// How far rows of a tensor are apart, and elements of a row: 0 where one stands for all.
struct RowSteps {
  int64_t row = 0, element = 0;
};

// "[2, 3, 4]"
std::string ShapeText(const std::vector<int64_t>& shape);

class OpDesc {
 public:
  // Copies and checks `raw`; throws Error naming the member that is missing or malformed (ASSAY_ERROR), or what of it
  // this adapter does not know (ASSAY_UNSUPPORTED).
  explicit OpDesc(const assay_op_desc* raw);

  const std::string& name() const { return name_; }
  const std::vector<Tensor>& inputs() const { return inputs_; }
  const std::vector<Tensor>& outputs() const { return outputs_; }

  // Attributes. A missing key or another type throws Error (ASSAY_ERROR). AttrFloat takes an integer too, AttrList
  // takes a single integer as a list of one.
  int64_t AttrInt(std::string_view key) const;
  double AttrFloat(std::string_view key) const;
  const std::string& AttrString(std::string_view key) const;
  std::vector<int64_t> AttrList(std::string_view key) const;
  bool AttrBool(std::string_view key) const;
  DType AttrType(std::string_view key) const;
  std::vector<double> AttrFloats(std::string_view key) const;

  // Says that these are known, though nothing needs to read them: the operands tell the same, or any value will do.
  void MayIgnore(std::initializer_list<std::string_view> keys) const;
  // Throws Unsupported when there is an attribute that was neither read nor named to MayIgnore() so far, and that is
  // not flagged as optional: whoever does not know it would compute something else than was asked for.
  void RefuseUnknownAttrs() const;

  // Whether `holds(dtype)` of every operand.
  template <class Predicate>
  bool AllTypes(const Predicate& holds) const {
    const auto of = [&](const Tensor& tensor) { return holds(tensor.dtype); };
    return std::ranges::all_of(inputs_, of) && std::ranges::all_of(outputs_, of);
  }
  bool AllDense() const {
    return std::ranges::all_of(inputs_, &Tensor::IsDense) && std::ranges::all_of(outputs_, &Tensor::IsDense);
  }
  // For functions of elements whose output has at most two axes: a vector stands for rows or columns as `per` says.
  RowSteps StepsOf(const Tensor& operand) const;
  // Whether an output is asked for where an input lies, each element in the place of the same one.
  bool LiesInPlace(size_t output, size_t input) const {
    const Tensor &y = outputs_[output], &x = inputs_[input];
    return y.alias == input + 1 && y.strides == x.strides && y.dtype == x.dtype;
  }
  bool HasAlias() const {
    return std::ranges::any_of(outputs_, [](const Tensor& output) { return output.alias != 0; });
  }
  // "bf16-bf16-f32": the types of all operands, for messages.
  std::string DTypesText() const;

 private:
  using Value = std::variant<int64_t, double, std::string, std::vector<int64_t>, bool, DType, std::vector<double>>;
  struct Attr {
    Value value;
    bool is_optional = false;
    mutable bool is_known = false;  // read, or named to MayIgnore()
  };
  void AddAttr(const assay_attr& raw);
  std::optional<Value> ReadValue(const assay_attr& raw) const;
  const Value& Find(std::string_view key) const;
  [[noreturn]] void FailType(std::string_view key, const char* wanted) const;

  std::string name_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  std::map<std::string, Attr, std::less<>> attrs_;
};

}  // namespace plugin
