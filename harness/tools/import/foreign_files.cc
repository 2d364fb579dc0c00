// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/import/foreign_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "harness/core/base/json_text.h"
#include "harness/engine/device/interpreter.h"
#include "harness/engine/device/program_group.h"
#include "ops/definition_file.h"

namespace assay {
namespace {

// The reader's output: lines of JSON, and behind some of them the bytes of tensors.
class ReaderOutput {
 public:
  explicit ReaderOutput(int descriptor) : file_(fdopen(descriptor, "r")) {}
  ~ReaderOutput() {
    std::free(line_);
    if (file_ != nullptr) std::fclose(file_);
  }
  ReaderOutput(const ReaderOutput&) = delete;

  // Nothing at the end of the output. Lines that the interpreter itself prints are left out.
  std::optional<Json> ReadLine() {
    for (;;) {
      const ssize_t length = file_ == nullptr ? -1 : getline(&line_, &capacity_, file_);
      if (length < 0) return std::nullopt;
      if (Json line = ParseJson({line_, static_cast<size_t>(length)}); line.is_object()) return line;
    }
  }
  // Elements stay zero where the output has ended.
  Tensor ReadTensor(DType dtype, const Shape& shape) {
    Tensor tensor(dtype, shape);
    if (std::fread(tensor.data(), 1, tensor.bytes(), file_) != tensor.bytes())
      std::memset(tensor.data(), 0, tensor.bytes());
    return tensor;
  }

 private:
  FILE* file_;
  char* line_ = nullptr;
  size_t capacity_ = 0;
};

std::vector<NamedTensor> ReadTensors(const Json& described, ReaderOutput& output) {
  std::vector<NamedTensor> tensors;
  for (const Json& one : described) {
    const DType dtype = *ParseDType(one.at(1).get<std::string>());
    tensors.push_back({one.at(0), output.ReadTensor(dtype, one.at(2).get<Shape>())});
  }
  return tensors;
}

// A case without data, which may be stated again.
struct Taken {
  std::string reason;  // why it was refused; "": it is mapped
  bool other_types = false;
};

Taken TakeCase(const Json& line, ReaderOutput& output, Imports& imports) {
  const ForeignCase from{line.at("where"), line.at("text")};
  CaseSpec spec{.op = line.at("op"), .dtypes = {}, .attrs = line.at("attrs").get<AttrList>(), .fill = line.at("fill")};
  for (const std::string name : line.at("dtypes")) spec.dtypes.push_back(*ParseDType(name));
  const std::string label = line.at("label");
  Status defined;
  if (line.contains("definition")) {
    const auto added = AddDefinitions(JoinDefinitions({DumpJson(line.at("definition"))}), "the definition");
    if (!added) defined = tl::unexpected(added.error());
  }
  Taken taken{defined ? "" : defined.error().message, line.at("other_types")};
  if (line.contains("inputs")) {
    ForeignTensors tensors;
    tensors.inputs = ReadTensors(line.at("inputs"), output);
    tensors.outputs = ReadTensors(line.at("outputs"), output);
    if (defined) imports.AddWithTensors(from, std::move(spec), label, std::move(tensors));
  } else if (defined) {
    taken.reason = imports.Add(from, std::move(spec), label);
  }
  if (!defined) imports.Refuse(from, taken.reason);
  if (taken.other_types && taken.reason.empty()) imports.CountReplacedTypes(1);
  return taken;
}

// `again`: pairs of a case's number and how often it was stated again.
void CountAgain(const Json& again, const std::vector<Taken>& taken, Imports& imports) {
  for (const Json& one : again) {
    const Taken& found = taken.at(one.at(0));
    const size_t count = one.at(1);
    if (!found.reason.empty()) {
      imports.CountRefused(found.reason, count);
      continue;
    }
    imports.CountAgain(count);
    if (found.other_types) imports.CountReplacedTypes(count);
  }
}

Status TakeLines(const std::string& python, ReaderOutput& output, Imports& imports) {
  std::vector<Taken> taken;
  while (const std::optional<Json> line = output.ReadLine()) {
    if (line->contains("done")) return {};
    if (line->contains("error")) return UsageError(line->at("error"));
    if (line->contains("refused")) {
      imports.CountRefused(line->at("refused"), line->at("count"));
    } else if (line->contains("option")) {
      imports.PassOver(line->at("option").get<std::string>(), line->at("known"));
    } else if (line->contains("again")) {
      CountAgain(line->at("again"), taken, imports);
    } else if (line->contains("reason")) {
      imports.Refuse({line->at("where"), line->at("text")}, line->at("reason"));
    } else {
      Taken one = TakeCase(*line, output, imports);
      if (!line->contains("inputs")) taken.push_back(std::move(one));
    }
  }
  return Fail(ErrorCode::kInternal, fmt::format("the interpreter {} ended before it had read all files; what it says "
                                                "of that stands above",
                                                python));
}

}  // namespace

Status ReadForeignFiles(const ForeignFiles& files, Imports& imports) {
  const auto modules = FindModules();
  if (!modules) return tl::unexpected(modules.error());
  const std::string python = ChoosePython(files.python);
  const Json settings = {{"format", files.format},
                         {"driver", files.driver},
                         {"near_types", files.near_types},
                         {"by_node", files.by_node},
                         {"with_tensors", files.with_tensors},
                         {"verbose", files.verbose}};
  std::vector<std::string> words = {python, (*modules / "assay/_reader.py").string(), DumpJson(settings)};
  words.insert(words.end(), files.paths.begin(), files.paths.end());
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Fail(ErrorCode::kIo, std::strerror(errno));
  ReaderOutput output(ends[0]);
  ProgramGroup reader({.words = std::move(words), .output = ends[1], .has_input = true});
  close(ends[1]);
  if (reader.problem() != 0) {
    return UsageError(
        fmt::format("the interpreter {} cannot be run: {}; name one of CPython 3.10 or later with "
                    "--python PATH",
                    python, std::strerror(reader.problem())));
  }
  const Status taken = TakeLines(python, output, imports);
  reader.Kill();
  return taken;
}

}  // namespace assay
