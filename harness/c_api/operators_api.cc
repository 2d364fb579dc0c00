// SPDX-License-Identifier: Apache-2.0
// Describes operators as JSON, for bindings that translate arguments.
#include <algorithm>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/c_api/api_call.h"
#include "harness/core/base/json.h"
#include "harness/core/model/other_names.h"
#include "ops/definition_file.h"
#include "ops/operator.h"

namespace assay::c_api {
namespace {

bool IsAmong(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

Json AttrJson(const AttrDef& attr, const OpSchema& schema) {
  const char* types[] = {"int", "float", "name", "dims", "axes"};
  return {{"key", attr.key},
          {"type", types[static_cast<int>(attr.type)]},
          {"default", attr.default_value},
          {"choices", attr.choices},
          {"doc", attr.doc},
          {"other_names", OtherNamesOf(attr.key, schema)}};
}

Json OperatorJson(const OpSchema& schema) {
  Json json = {{"op", schema.op}, {"doc", schema.doc}};
  json["inputs"] = schema.FindNeededInputs(), json["optional_inputs"] = Json::array();
  json["outputs"] = schema.outputs;
  json["layouts"] = Json::object(), json["attrs"] = Json::array();
  for (const OperandDoc& o : schema.layouts) {
    json["layouts"][o.name] = o.layout;
    if (o.name == schema.may_lack || (!IsAmong(schema.operands, o.name) && !IsAmong(schema.outputs, o.name)))
      json["optional_inputs"].push_back(o.name);
  }
  for (const AttrDef& attr : schema.attrs) json["attrs"].push_back(AttrJson(attr, schema));
  return json;
}

// The texts stay: somebody may still read an earlier one.
const std::string& AllOperators() {
  static std::mutex mutex;
  static std::deque<std::pair<std::vector<const Operator*>, std::string>> texts;
  const std::lock_guard lock(mutex);
  const std::vector<const Operator*> operators = OperatorRegistry::Global().All();
  if (!texts.empty() && texts.back().first == operators) return texts.back().second;
  Json all = Json::array();
  for (const Operator* op : operators) all.push_back(OperatorJson(op->schema()));
  return texts.emplace_back(operators, all.dump()).second;
}

}  // namespace
}  // namespace assay::c_api

int32_t assay_operators(const char** json) {
  return assay::c_api::Call([&]() -> assay::Status {
    if (json == nullptr) return assay::UsageError("there is nowhere to put the text: it is NULL");
    *json = assay::c_api::AllOperators().c_str();
    return {};
  });
}

int32_t assay_add_operators(const char* definitions) {
  return assay::c_api::Call([&]() -> assay::Status {
    if (definitions == nullptr) return assay::UsageError("the text of definitions is NULL");
    const auto added = assay::AddDefinitions(definitions, "definitions");
    return added ? assay::Status() : tl::unexpected(added.error());
  });
}
