// SPDX-License-Identifier: Apache-2.0
// From the command line of `assay check` to a bound problem with its tensors.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "harness/cases/host_memory.h"
#include "harness/check/check_case.h"
#include "harness/check/tensor_args.h"
#include "harness/plan/catalog.h"

namespace assay {
namespace {

using Pairs = std::map<std::string, std::string>;

struct Loaded {
  std::vector<Operand> operands;  // inputs in the order given, then outputs
  std::vector<Tensor> tensors;
  const Operand* Find(const std::string& name) const {
    const auto it = std::ranges::find(operands, name, &Operand::name);
    return it == operands.end() ? nullptr : &*it;
  }
};

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

bool IsOutput(const OpSchema& schema, const std::string& name) {
  return std::ranges::find(schema.outputs, name) != schema.outputs.end();
}

bool MayHave(const OpSchema& schema, const std::string& name) {
  const bool listed = std::ranges::find(schema.layouts, name, &OperandDoc::name) != schema.layouts.end();
  // Without layouts optional operands are not listed: Bind decides.
  return listed || schema.layouts.empty() || std::ranges::find(schema.operands, name) != schema.operands.end();
}

// `inputs` of the files are.
Status CheckNames(const OpSchema& schema, const std::vector<NamedFile>& files, size_t inputs, const Pairs& dtypes) {
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string& name = files[i].name;
    const bool is_output = i >= inputs;
    if (!MayHave(schema, name) || is_output != IsOutput(schema, name)) {
      return UsageError(
          fmt::format("{} has no {} '{}'; {}", schema.op, is_output ? "output" : "input", name, TakesText(schema)));
    }
    const auto end = files.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::ranges::find(files.begin(), end, name, &NamedFile::name) != end) {
      return UsageError(fmt::format("--{} gives '{}' twice; give it once", is_output ? "output" : "input", name));
    }
  }
  for (const std::string& name : schema.operands) {
    if (std::ranges::find(files, name, &NamedFile::name) != files.end()) continue;
    return UsageError(fmt::format("{} needs --{} {}=FILE, which is missing; {}", schema.op,
                                  IsOutput(schema, name) ? "output" : "input", name, TakesText(schema)));
  }
  for (const auto& [name, dtype] : dtypes) {
    if (std::ranges::find(files, name, &NamedFile::name) != files.end()) continue;
    return UsageError(fmt::format("--dtype {}={}: there is no tensor '{}'", name, dtype, name));
  }
  return {};
}

Result<Loaded> LoadTensors(const OpSchema& schema, const CheckRequest& request) {
  std::vector<NamedFile> files;
  for (const std::string& text : request.inputs) {
    auto file = ParseNamedFile(text, false);
    if (!file) return UsageError("--input " + file.error().message);
    files.push_back(*std::move(file));
  }
  const size_t inputs = files.size();
  for (const std::string& text : request.outputs) {
    auto output = ParseNamedFile(text, request.outputs.size() == 1);
    if (!output) return UsageError("--output " + output.error().message);
    if (output->name.empty()) output->name = schema.outputs[0];
    files.push_back(*std::move(output));
  }
  auto dtypes = ParsePairs(request.dtypes, "--dtype");
  if (!dtypes) return tl::unexpected(dtypes.error());
  if (Status status = CheckNames(schema, files, inputs, *dtypes); !status) return tl::unexpected(status.error());

  Loaded loaded;
  for (const NamedFile& file : files) {
    auto tensor = LoadOperand(file, (*dtypes)[file.name]);
    if (!tensor) return tl::unexpected(tensor.error());
    loaded.operands.push_back({file.name, tensor->dtype(), tensor->shape()});
    loaded.tensors.push_back(*std::move(tensor));
  }
  return loaded;
}

Result<Problem> BindLoaded(const Operator& op, const CheckRequest& request, const Loaded& loaded) {
  auto given = ParsePairs(request.attrs, "--attr");
  if (!given) return tl::unexpected(given.error());
  CaseSpec spec;
  spec.op = op.schema().op;
  spec.attrs.assign(given->begin(), given->end());
  for (const auto& [key, value] : spec.attrs) {
    if (op.schema().Find(key) != nullptr) continue;
    return UsageError(
        fmt::format("{} has no attribute '{}'; assay list ops --verbose shows what it takes", spec.op, key));
  }
  auto attrs = op.InferAttrs(loaded.operands, std::move(spec.attrs));
  if (!attrs) return tl::unexpected(attrs.error());
  spec.attrs = *std::move(attrs);
  for (const std::string& name : op.schema().operands) spec.dtypes.push_back(loaded.Find(name)->dtype);
  return op.Bind(spec);
}

// Leading axes of extent 1 do not change which element is where.
bool SameLayout(const Shape& got, const Shape& expected) {
  const auto tail = [](const Shape& shape) {
    return Shape(std::ranges::find_if(shape, [](int64_t extent) { return extent != 1; }), shape.end());
  };
  return tail(got) == tail(expected);
}

bool MayBroadcast(const Problem& problem, const std::string& name) {
  const std::vector<OperandDoc>& layouts = OperatorRegistry::Global().Find(problem.spec.op)->schema().layouts;
  return std::ranges::any_of(layouts, [&](const OperandDoc& o) { return o.name == name && o.broadcasts; });
}

Status CheckFit(const Problem& problem, const Operand& expected, const Operand& got) {
  std::string attrs;
  for (const auto& [key, value] : problem.spec.attrs) attrs += fmt::format(" {}={}", key, value);
  if (got.dtype != expected.dtype) {
    return UsageError(fmt::format("{}: {} has dtype {}, expected {}; say --dtype {}={} if its values are of that type",
                                  problem.spec.op, got.name, Name(got.dtype), Name(expected.dtype), got.name,
                                  Name(expected.dtype)));
  }
  if (SameLayout(got.shape, expected.shape)) return {};
  if (MayBroadcast(problem, got.name) && BroadcastsTo(got.shape, expected.shape)) return {};
  const std::vector<OperandDoc>& layouts = OperatorRegistry::Global().Find(problem.spec.op)->schema().layouts;
  const auto doc = std::ranges::find(layouts, got.name, &OperandDoc::name);
  const std::string layout = doc == layouts.end() || doc->layout.find(',') == std::string::npos
                                 ? ""
                                 : fmt::format("; {}{}: transpose a tensor of another layout", doc->name, doc->layout);
  return UsageError(fmt::format("{}: {} has shape {}, expected {} (with{}){}", problem.spec.op, got.name,
                                ShapeText(got.shape), ShapeText(expected.shape), attrs, layout));
}

// The tensor of each operand of the problem, inputs first, in its order and shape.
Result<std::vector<Tensor>> TakeTensors(const Problem& problem, Loaded& loaded) {
  std::vector<Operand> expected = problem.inputs;
  expected.insert(expected.end(), problem.outputs.begin(), problem.outputs.end());
  std::vector<Tensor> tensors;
  std::vector<std::string> names;
  for (const Operand& operand : expected) {
    names.push_back(operand.name);
    const Operand* got = loaded.Find(operand.name);
    if (got == nullptr) {
      const bool is_output = names.size() > problem.inputs.size();
      return UsageError(fmt::format("{} with these attributes also needs --{} {}=FILE of {} {}", problem.spec.op,
                                    is_output ? "output" : "input", operand.name, Name(operand.dtype),
                                    ShapeText(operand.shape)));
    }
    if (Status status = CheckFit(problem, operand, *got); !status) return tl::unexpected(status.error());
    Tensor& tensor = loaded.tensors[static_cast<size_t>(got - loaded.operands.data())];
    const bool complete = SameLayout(got->shape, operand.shape);
    tensors.push_back(complete ? std::move(tensor) : BroadcastTo(tensor, operand.shape));
    tensors.back().Reshape(operand.shape);
  }
  for (const Operand& got : loaded.operands) {
    if (std::ranges::find(names, got.name) != names.end()) continue;
    return UsageError(fmt::format("{} with these attributes takes {}, not '{}'; see assay list ops --verbose",
                                  problem.spec.op, fmt::join(names, ", "), got.name));
  }
  return tensors;
}

}  // namespace

Result<UserCase> BindUserCase(const CheckRequest& request) {
  UserCase user;
  user.data.op = OperatorRegistry::Global().Find(request.op);
  if (user.data.op == nullptr) {
    return UnknownOperator(request.op, Catalog());
  }
  auto loaded = LoadTensors(user.data.op->schema(), request);
  if (!loaded) return tl::unexpected(loaded.error());
  auto problem = BindLoaded(*user.data.op, request, *loaded);
  if (!problem) return tl::unexpected(problem.error());
  double held = 0;  // of what the case needs, and no longer available
  for (const Tensor& tensor : loaded->tensors) held += static_cast<double>(tensor.bytes());
  if (auto fits = CheckFitsHost(*problem, [held] { return AvailableBytes() + held; }); !fits) {
    return UsageError(fits.error().message);
  }
  auto tensors = TakeTensors(*problem, *loaded);
  if (!tensors) return tl::unexpected(tensors.error());
  const std::span<const Tensor> inputs(tensors->data(), problem->inputs.size());
  if (const Status valid = user.data.op->CheckInputs(*problem, inputs); !valid) return tl::unexpected(valid.error());
  auto contract = JudgingContract(request.contract, problem->spec);
  if (!contract) return UsageError("--contract: " + contract.error().message);
  auto required = request.requirement.empty() ? contract : ParseRequirement(request.requirement);
  if (!required) return UsageError("--require: " + required.error().message);

  const auto first_output = tensors->begin() + std::ssize(problem->inputs);
  user.got.assign(std::make_move_iterator(first_output), std::make_move_iterator(tensors->end()));
  tensors->erase(first_output, tensors->end());
  for (size_t k = 0; k < problem->outputs.size(); ++k) user.data.outputs.push_back({FocusedOn(*problem, k)});
  user.data.problem = *std::move(problem);
  user.data.inputs = *std::move(tensors);
  user.contract = *contract, user.required = *required;
  user.contract_is_default = request.contract.empty();
  return user;
}

}  // namespace assay
