// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/check/tensor_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>

#include "harness/core/model/other_names.h"
#include "harness/engine/cases/host_memory.h"
#include "harness/engine/device/executions.h"
#include "harness/plan/catalog.h"
#include "harness/tools/check/sampled_outputs.h"
#include "harness/tools/check/tensor_args.h"
#include "harness/tools/check/tensor_types.h"
#include "ops/empty_operands.h"

namespace assay {
namespace {

std::string TakesText(const OpSchema& schema) {
  std::vector<std::string> texts;
  for (const OperandDoc& o : schema.layouts) {
    texts.push_back(o.name + o.layout + (o.doc.empty() ? "" : " (" + o.doc + ")"));
  }
  if (texts.empty()) texts = schema.operands;
  const bool several = schema.outputs.size() > 1;
  return fmt::format("it takes {} ({} {} the output{})", fmt::join(texts, ", "), fmt::join(schema.outputs, ", "),
                     several ? "are" : "is", several ? "s" : "");
}

bool IsAmong(std::span<const std::string> names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool MayHave(const OpSchema& schema, const std::string& name) {
  const bool listed = std::ranges::find(schema.layouts, name, &OperandDoc::name) != schema.layouts.end();
  // Without layouts optional operands are not listed: Bind decides.
  return listed || schema.layouts.empty() || IsAmong(schema.operands, name);
}

Status CheckGiven(const OpSchema& schema, std::span<const std::string> names, bool is_output, Asker asker) {
  for (size_t i = 0; i < names.size(); ++i) {
    const char* kind = is_output ? "output" : "input";
    if (!MayHave(schema, names[i]) || is_output != IsAmong(schema.outputs, names[i])) {
      return UsageError(fmt::format("{} has no {} '{}'; {}{}", schema.op, kind, names[i], TakesText(schema),
                                    OperandHint(names[i], schema)));
    }
    if (IsAmong(names.first(i), names[i])) {
      return UsageError(fmt::format("{} gives '{}' twice; give it once", OptionName(asker, kind), names[i]));
    }
  }
  return {};
}

Result<AttrList> GivenAttrs(const OpSchema& schema, const CheckRequest& request, Asker asker) {
  auto given = ParsePairs(request.attrs, OptionName(asker, "attr"));
  if (!given) return tl::unexpected(given.error());
  for (const auto& [key, value] : *given) {
    if (schema.Find(key) != nullptr) continue;
    std::vector<std::string> keys;
    for (const AttrDef& known : schema.attrs) keys.push_back(known.key);
    return UsageError(fmt::format("{} has no attribute '{}'; it takes {}, which assay list ops --verbose explains{}",
                                  schema.op, key, fmt::join(keys, ", "), AttributeHint(key, schema)));
  }
  return AttrList(given->begin(), given->end());
}

std::vector<Operand> OperandsOf(const TensorSet& set) {
  std::vector<Operand> operands;
  for (const auto* tensors : {&set.inputs, &set.outputs}) {
    for (const auto& [name, tensor] : *tensors) operands.push_back({name, tensor.dtype(), tensor.shape()});
  }
  return operands;
}

// A field of contracts that says what an attribute says: golden values follow the attribute.
struct SaidTwice {
  std::string_view field;
  const char* attr;
};
constexpr SaidTwice kSaidTwice[] = {{"nan", "nan"}, {"masked", "masked_rows"}};

// The value that the text of a contract itself states for the field; "": none, or any.
std::string StatedField(const std::string& contract, std::string_view field) {
  const auto parsed = ParseRequirement(contract);
  const std::string value = contract.empty() || !parsed ? "" : FieldText(*parsed, field);
  return value == "any" ? "" : value;
}

// Sets attributes that nobody states to what the contract says; an error where both are stated and differ. With a
// requirement the attribute is what is asked for, and the contract may be weaker.
Status FollowContract(const Operator& op, const Problem& problem, const CheckRequest& request, const AttrList& stated,
                      Asker asker, AttrList& attrs) {
  if (!request.requirement.empty()) return {};
  for (const auto& [field, attr] : kSaidTwice) {
    const std::string value = StatedField(request.contract, field);
    const bool applies = op.schema().Find(attr) != nullptr && (field != "nan" || op.TraitsOf(problem, 0).selects);
    if (value.empty() || !applies || problem.Text(attr) == value) continue;
    if (std::ranges::find(stated, attr, &AttrList::value_type::first) != stated.end()) {
      return UsageError(fmt::format("the attribute {}={} contradicts {}={} of {}: leave one of them out", attr,
                                    problem.Text(attr), field, value, OptionName(asker, "contract")));
    }
    std::erase_if(attrs, [&](const auto& given) { return given.first == attr; });
    attrs.emplace_back(attr, value);
  }
  return {};
}

// Whether the operands show it: the axis of a layout, or whether an optional one is there.
bool ShowsInOperands(const OpSchema& schema, const std::string& key) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  const auto has_word = [&](const std::string& layout) {
    for (size_t at = layout.find(key); at != std::string::npos; at = layout.find(key, at + 1)) {
      const size_t end = at + key.size();
      if ((at == 0 || !is_part(layout[at - 1])) && (end == layout.size() || !is_part(layout[end]))) return true;
    }
    return false;
  };
  return std::ranges::any_of(
      schema.layouts, [&](const OperandDoc& operand) { return operand.name == key || has_word(operand.layout); });
}

// "eps=1e-05", of each attribute that has a default and is neither stated nor follows from the operands.
std::vector<std::string> ListDefaults(const Operator& op, const AttrList& known, const Problem& problem) {
  std::vector<std::string> defaults;
  for (const AttrDef& def : op.schema().attrs) {
    const auto is_it = [&](const auto& attr) { return attr.first == def.key; };
    if (def.default_value.empty() || ShowsInOperands(op.schema(), def.key) || std::ranges::any_of(known, is_it))
      continue;
    std::string value = AttrReader(problem.spec, op.schema()).Text(def.key);
    if (value == "auto" && def.type == AttrType::kFloat) value = fmt::format("{:g}", problem.Float(def.key));
    defaults.push_back(def.key + "=" + value);
  }
  return defaults;
}

// Precondition: CheckOperandNames. Lists the defaults that nobody stated.
Result<Problem> BindOperands(const Operator& op, const CheckRequest& request, const std::vector<Operand>& operands,
                             Asker asker, std::vector<std::string>& defaults) {
  auto given = GivenAttrs(op.schema(), request, asker);
  if (!given) return tl::unexpected(given.error());
  const AttrList stated = *given;
  CaseSpec spec;
  spec.op = op.schema().op;
  auto attrs = op.InferAttrs(operands, *std::move(given));
  if (!attrs) return tl::unexpected(attrs.error());
  spec.attrs = *std::move(attrs);
  Result<Problem> problem = BindTypes(op, spec, operands, asker);
  if (!problem) return problem;
  if (auto agree = FollowContract(op, *problem, request, stated, asker, spec.attrs); !agree) {
    return tl::unexpected(agree.error());
  }
  problem = BindTypes(op, spec, operands, asker);
  if (problem) defaults = ListDefaults(op, spec.attrs, *problem);
  return problem;
}

// Leading axes of extent 1 do not change which element is where.
bool SameLayout(const Shape& got, const Shape& expected) {
  const auto tail = [](const Shape& shape) {
    return Shape(std::ranges::find_if(shape, [](int64_t extent) { return extent != 1; }), shape.end());
  };
  return tail(got) == tail(expected);
}

const OpSchema& SchemaOf(const Problem& problem) {
  return OperatorRegistry::Global().Find(problem.spec.op)->schema();
}

const std::vector<OperandDoc>& LayoutsOf(const Problem& problem) {
  return SchemaOf(problem).layouts;
}

bool MayBroadcast(const Problem& problem, const std::string& name) {
  return std::ranges::any_of(LayoutsOf(problem), [&](const OperandDoc& o) { return o.name == name && o.broadcasts; });
}

// Advice on a tensor of another type than the problem has.
std::string AdviseOnType(const Operand& expected, DType got, Asker asker) {
  const std::string_view type = Name(expected.dtype);
  if (asker == Asker::kCase) {
    const bool is_numpys =
        !IsFloat(expected.dtype) || FormatOf(expected.dtype).precision >= FormatOf(DType::kF16).precision;
    return is_numpys ? fmt::format("convert it to {}, as NumPy's astype does", type)
                     : fmt::format(
                           "convert it to {}, as PyTorch, JAX and the package ml_dtypes have it, or give its bits as "
                           "uint{}",
                           type, 8 * SizeOf(expected.dtype));
  }
  const bool may_hold = IsFloat(got) && (IsFloat(expected.dtype) || IsComplex(expected.dtype));
  return may_hold ? fmt::format("say {} {}={} if its values are of that type", OptionName(asker, "dtype"),
                                expected.name, type)
                  : "convert it before it is written, as NumPy's astype does";
}

Status CheckFit(const Problem& problem, const Operand& expected, const Tensor& got, Asker asker) {
  const std::string& name = expected.name;
  std::string attrs;
  for (const auto& [key, value] : problem.spec.attrs) attrs += fmt::format(" {}={}", key, value);
  if (got.dtype() != expected.dtype) {
    return UsageError(fmt::format("{}: {} has dtype {}, expected {}; {}", problem.spec.op, name, Name(got.dtype()),
                                  Name(expected.dtype), AdviseOnType(expected, got.dtype(), asker)));
  }
  if (SameLayout(got.shape(), expected.shape)) return {};
  if (MayBroadcast(problem, name) && BroadcastsTo(got.shape(), expected.shape)) return {};
  const bool may_keep = SchemaOf(problem).Find("keepdims") != nullptr && problem.Int("keepdims") == 0;
  if (may_keep && expected.shape.size() < got.shape().size() && got.size() == NumElements(expected.shape)) {
    return UsageError(fmt::format("{}: {} has shape {}, expected {} (with{}): {}give it without {}", problem.spec.op,
                                  name, ShapeText(got.shape()), ShapeText(expected.shape), attrs,
                                  asker == Asker::kCase ? "" : "say keepdims=1 if the reduced axes are kept, else ",
                                  asker == Asker::kCase ? "the reduced axes" : "them"));
  }
  if (expected.shape.size() == 1 && got.size() == NumElements(expected.shape)) {
    return UsageError(fmt::format("{}: {} has shape {}, expected {} (with{}): give it flat, as {}.ravel()",
                                  problem.spec.op, name, ShapeText(got.shape()), ShapeText(expected.shape), attrs,
                                  name));
  }
  const std::vector<OperandDoc>& layouts = LayoutsOf(problem);
  const auto doc = std::ranges::find(layouts, name, &OperandDoc::name);
  const std::string layout = doc == layouts.end() || doc->layout.find(',') == std::string::npos
                                 ? ""
                                 : fmt::format("; {}{}: transpose a tensor of another layout", doc->name, doc->layout);
  return UsageError(fmt::format("{}: {} has shape {}, expected {} (with{}){}", problem.spec.op, name,
                                ShapeText(got.shape()), ShapeText(expected.shape), attrs, layout));
}

}  // namespace

Result<const Operator*> FindOperator(const std::string& name) {
  const Operator* op = OperatorRegistry::Global().Find(name);
  if (op != nullptr) return op;
  const auto& mistakes = OperatorRegistry::Global().mistakes();
  const auto mistake = std::ranges::find(mistakes, name, &OperatorRegistry::Mistake::op);
  if (mistake != mistakes.end()) return Fail(ErrorCode::kInternal, mistake->text);
  return UnknownOperator(name, Catalog());
}

Status CheckOperandNames(const OpSchema& schema, std::span<const std::string> inputs,
                         std::span<const std::string> outputs, Asker asker) {
  if (auto fine = CheckGiven(schema, inputs, false, asker); !fine) return fine;
  if (auto fine = CheckGiven(schema, outputs, true, asker); !fine) return fine;
  for (const std::string& name : schema.operands) {
    if (name == schema.may_lack || IsAmong(inputs, name) || IsAmong(outputs, name)) continue;
    return UsageError(fmt::format("{} needs {}, which is missing; {}", schema.op,
                                  OperandWord(asker, IsAmong(schema.outputs, name), name), TakesText(schema)));
  }
  return {};
}

Result<std::vector<Tensor>> TakeTensors(const Problem& problem, const std::vector<Operand>& expected, size_t outputs,
                                        std::vector<NamedTensor> given, Asker asker) {
  std::vector<Tensor> tensors;
  std::vector<std::string> names;
  for (const Operand& operand : expected) {
    names.push_back(operand.name);
    const auto got = std::ranges::find(given, operand.name, &NamedTensor::name);
    if (got == given.end()) {
      const bool is_output = names.size() > expected.size() - outputs;
      return UsageError(fmt::format("{} with these attributes also needs {} of {} {}", problem.spec.op,
                                    OperandWord(asker, is_output, operand.name), Name(operand.dtype),
                                    ShapeText(operand.shape)));
    }
    if (IsRelabelled(got->tensor.dtype(), operand.dtype)) {
      got->tensor = *ConvertTensor(std::move(got->tensor), operand.dtype);
    }
    if (Status status = CheckFit(problem, operand, got->tensor, asker); !status) return tl::unexpected(status.error());
    const bool complete = SameLayout(got->tensor.shape(), operand.shape);
    tensors.push_back(complete ? std::move(got->tensor) : BroadcastTo(got->tensor, operand.shape));
    tensors.back().Reshape(operand.shape);
  }
  for (const NamedTensor& got : given) {
    if (IsAmong(names, got.name)) continue;
    return UsageError(fmt::format("{} with these attributes takes {}, not '{}'; {}", problem.spec.op,
                                  fmt::join(names, ", "), got.name, kWhatOperatorsTake));
  }
  return tensors;
}

Status TakeSample(const CheckRequest& request, UserTensors& user) {
  SampleRequest sample = request.sample;
  if (sample.seed == 0) sample.seed = SampleSeedOf(user.data.input_hash);
  auto drawn = DrawSample(*user.data.op, user.data.problem, user.data.inputs, user.got, sample);
  if (drawn) {
    user.data.problem = std::move(drawn->part.problem);
    user.data.inputs = std::move(drawn->part.inputs);
    user.got = std::move(drawn->got);
    user.sample = std::move(drawn->sample);
  }
  if (BytesNeeded(user.data.problem, MemoryUse::kJudgement, request.tier) > kBytesNotAskedFor) {
    auto fits = CheckFitsHost(user.data.problem, MemoryUse::kJudgement, request.tier);
    if (!fits) return UsageError(fits.error().message);
  }
  // Operators read whole vectors of aligned memory.
  for (std::vector<Tensor>* borrowed : {&user.data.inputs, &user.got}) {
    if (!drawn) *borrowed = ClonesOf(*borrowed);
  }
  return {};
}

Result<UserTensors> BindTensors(const CheckRequest& request, TensorSet set, Asker asker) {
  UserTensors user;
  user.asker = asker;
  auto op = FindOperator(request.op);
  if (!op) return tl::unexpected(op.error());
  user.data.op = *op;
  const std::vector<Operand> operands = OperandsOf(set);
  std::vector<std::string> names;
  for (const Operand& operand : operands) names.push_back(operand.name);
  const auto all = std::span<const std::string>(names);
  const size_t inputs = set.inputs.size();
  if (auto fine = CheckOperandNames((*op)->schema(), all.first(inputs), all.subspan(inputs), asker); !fine) {
    return tl::unexpected(fine.error());
  }
  auto problem = BindOperands(**op, request, operands, asker, user.defaults);
  if (!problem) return tl::unexpected(problem.error());

  std::vector<NamedTensor> given = std::move(set.inputs);
  given.insert(given.end(), std::make_move_iterator(set.outputs.begin()), std::make_move_iterator(set.outputs.end()));
  const bool samples = request.sample.elements > 0;
  double held = 0;  // of what the case needs, and no longer available
  for (const NamedTensor& one : given) held += static_cast<double>(one.tensor.bytes());
  // Asking takes longer than to judge a small case.
  if (!samples && BytesNeeded(*problem, MemoryUse::kJudgement, request.tier) > kBytesNotAskedFor) {
    auto fits =
        CheckFitsHost(*problem, MemoryUse::kJudgement, request.tier, [held] { return AvailableBytes() + held; });
    if (!fits) return UsageError(fits.error().message);
  }
  std::vector<Operand> expected = problem->inputs;
  expected.insert(expected.end(), problem->outputs.begin(), problem->outputs.end());
  auto tensors = TakeTensors(*problem, expected, problem->outputs.size(), std::move(given), asker);
  if (!tensors) return tl::unexpected(tensors.error());
  const std::span<const Tensor> given_inputs(tensors->data(), problem->inputs.size());
  if (const Status valid = user.data.op->CheckInputs(*problem, given_inputs); !valid) {
    return tl::unexpected(valid.error());
  }
  if (auto fine = SetContracts(request, *problem, user); !fine) return tl::unexpected(fine.error());

  const auto first_output = tensors->begin() + std::ssize(problem->inputs);
  user.got.assign(std::make_move_iterator(first_output), std::make_move_iterator(tensors->end()));
  tensors->erase(first_output, tensors->end());
  for (size_t k = 0; k < problem->outputs.size(); ++k) user.data.outputs.push_back({k});
  user.data.op = &OperatorFor(**op, *problem);
  user.data.problem = *std::move(problem);
  user.data.inputs = *std::move(tensors);
  user.data.input_hash = HashInputs(user.data.inputs);
  if (samples) {
    if (auto fits = TakeSample(request, user); !fits) return tl::unexpected(fits.error());
  }
  return user;
}

}  // namespace assay
