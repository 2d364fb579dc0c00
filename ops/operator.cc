// SPDX-License-Identifier: Apache-2.0
#include "ops/operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <shared_mutex>

#include "harness/core/base/check.h"
#include "ops/case_space.h"
#include "ops/relation.h"

namespace assay {
namespace {

// Definitions may be added by any thread while others look operators up.
constinit std::shared_mutex registry_mutex;

const ResolvedAttr& FindAttr(const Problem& problem, std::string_view key) {
  const auto it = std::ranges::find(problem.attrs, key, &ResolvedAttr::key);
  ASSAY_CHECK(it != problem.attrs.end());
  return *it;
}

}  // namespace

uint64_t BytesOf(const Operand& operand) {
  return static_cast<uint64_t>(NumElements(operand.shape)) * static_cast<uint64_t>(SizeOf(operand.dtype));
}

int64_t Problem::Int(std::string_view key) const {
  const ResolvedAttr& attr = FindAttr(*this, key);
  ASSAY_CHECK(attr.type == AttrType::kInt);
  return attr.i;
}

double Problem::Float(std::string_view key) const {
  const ResolvedAttr& attr = FindAttr(*this, key);
  ASSAY_CHECK(attr.type == AttrType::kFloat);
  return attr.f;
}

const std::string& Problem::Text(std::string_view key) const {
  const ResolvedAttr& attr = FindAttr(*this, key);
  ASSAY_CHECK(attr.type == AttrType::kName);
  return attr.s;
}

const std::vector<int64_t>& Problem::List(std::string_view key) const {
  const ResolvedAttr& attr = FindAttr(*this, key);
  ASSAY_CHECK(attr.type == AttrType::kDims || attr.type == AttrType::kAxes);
  return attr.list;
}

bool IsOverwritten(const Problem& problem, size_t index) {
  return std::ranges::any_of(problem.outputs, [index](const Operand& output) { return output.alias == index + 1; });
}

Result<AttrList> OperatorBinding::InferAttrs(const std::vector<Operand>& /*operands*/, AttrList given) const {
  std::string missing;
  for (const AttrDef& def : schema().attrs) {
    const bool has = std::ranges::find(given, def.key, &AttrList::value_type::first) != given.end();
    if (def.default_value.empty() && !has) missing += fmt::format(" --attr {}=", def.key);
  }
  if (missing.empty()) return given;
  return UsageError(fmt::format("{} does not infer attributes from shapes: give{}", schema().op, missing));
}

Status CheckDeclared(const Operator& op, const std::vector<DType>& dtypes, const Contract& contract) {
  const std::string& name = op.schema().op;
  const std::vector<Algorithm> known = op.traits().algorithms;
  if (std::ranges::find(known, contract.alg) == known.end()) {
    std::vector<std::string_view> names;
    for (const Algorithm algorithm : known) names.push_back(AlgorithmName(algorithm));
    return UsageError(fmt::format("{} has no bound for alg={}: its contracts may say alg={}", name,
                                  AlgorithmName(contract.alg), fmt::join(names, " or alg=")));
  }
  if (const std::string why = op.WhyUnbounded(contract); !why.empty()) {
    return UsageError(fmt::format("{} has no bound for alg={}: {}", name, FieldText(contract, "alg"), why));
  }
  if (contract.acc != Accumulator::kI32 || !std::ranges::all_of(dtypes, IsFloat)) return {};
  return UsageError(
      fmt::format("acc=i32 is for integers, and operands of this {} are {}: declare acc=f32 or another float", name,
                  DTypeListText(dtypes)));
}

CaseSpace OperatorBinding::Space() const {
  return {};
}

std::unique_ptr<SumProducts> OperatorNumerics::Products(const Problem& /*problem*/, size_t /*output*/,
                                                        std::span<const Tensor> /*inputs*/) const {
  return nullptr;
}

std::vector<std::vector<double>> OperatorNumerics::SummedTerms(const Problem& problem, size_t output,
                                                               std::span<const Tensor> inputs,
                                                               const Contract& /*contract*/, int64_t element) const {
  const auto products = Products(problem, output, inputs);
  if (products == nullptr) return {};
  std::vector<double> terms(static_cast<size_t>(products->terms()));
  products->Read(element, terms);
  return {std::move(terms)};
}

std::unique_ptr<NarrowedOrders> OperatorNumerics::Narrowed(const Problem& /*problem*/, size_t /*output*/,
                                                           std::span<const Tensor> /*inputs*/,
                                                           const FloatFormat& /*format*/) const {
  return nullptr;
}

std::vector<Relation> Operator::Relations(const Problem& /*problem*/, size_t /*output*/) const {
  return {};
}

std::vector<SliceAxes> Operator::Slices(const Problem& /*problem*/, size_t /*output*/) const {
  return {};
}

std::vector<int> Operator::ScaledInputs(const Problem& /*problem*/) const {
  return {};
}

OperatorRegistry& OperatorRegistry::Global() {
  static OperatorRegistry registry;
  return registry;
}

// Kept sorted: the order of registration depends on the linker.
void OperatorRegistry::Add(std::unique_ptr<Operator> op) {
  const std::string& name = op->schema().op;
  if (Find(name) != nullptr) {
    return AddMistake(
        {name, fmt::format("operator {}: two definitions have this name; give one of them another", name)});
  }
  const std::unique_lock lock(registry_mutex);
  const auto at = std::ranges::upper_bound(ops_, name, {}, [](const auto& other) { return other->schema().op; });
  ops_.insert(at, std::move(op));
}

const Operator* OperatorRegistry::Find(std::string_view name) const {
  const std::shared_lock lock(registry_mutex);
  const auto it = std::ranges::find_if(ops_, [&](const auto& op) { return op->schema().op == name; });
  return it == ops_.end() ? nullptr : it->get();
}

std::vector<const Operator*> OperatorRegistry::All() const {
  const std::shared_lock lock(registry_mutex);
  std::vector<const Operator*> all;
  for (const auto& op : ops_) all.push_back(op.get());
  return all;
}

}  // namespace assay
