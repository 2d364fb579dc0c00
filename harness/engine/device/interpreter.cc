// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/interpreter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "harness/core/base/json_text.h"
#include "harness/core/base/nearest_word.h"
#include "harness/engine/device/program_group.h"
#include "harness/plan/catalog.h"
#include "ops/definition_file.h"
#include "ops/operator.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOldest = "3.10";

// One line, which follows whatever the interpreter's own start prints. Where this script is run from is no place of
// its. An interpreter that was started without its module `site` does not know that it is of a virtual environment, and
// reads the environment's pyvenv.cfg when it is started as usual.
constexpr std::string_view kQuestion =
    "import sys, json, os; above = os.path.dirname(os.path.dirname(sys.executable)); print(); "
    "print(json.dumps({\"executable\": sys.executable, \"old\": sys.version_info < (3, 10), "
    "\"version\": sys.version.split()[0], \"prefixes\": [sys.prefix, sys.base_prefix, sys.exec_prefix] + "
    "[above] * os.path.exists(os.path.join(above, \"pyvenv.cfg\")), "
    "\"path\": [p for p in sys.path if p.startswith(\"/\")]}))";

Result<Json> AskInterpreter(const std::string& python, double limit_s) {
  const LimitedOutput output = RunWithin(limit_s, {python, "-c", std::string(kQuestion)});
  if (output.end == ProgramEnd::kLate) {
    return UsageError(
        fmt::format("the interpreter {} did not answer within {} s (--import-timeout) and was killed; name one of "
                    "CPython {} or later with --python PATH",
                    python, limit_s, kOldest));
  }
  if (output.end == ProgramEnd::kInterrupted) {
    return UsageError(fmt::format("interrupted before the interpreter {} had answered", python));
  }
  Json answer;
  if (output.end == ProgramEnd::kWell) {
    const std::string_view line = std::string_view(output.text).substr(0, output.text.find_last_not_of('\n') + 1);
    answer = ParseJson(line.substr(line.rfind('\n') + 1));
  }
  if (!answer.is_object() || !answer.contains("executable") || !answer.at("executable").is_string()) {
    return UsageError(fmt::format(
        "the interpreter {} cannot be run; name one of CPython {} or later with --python PATH", python, kOldest));
  }
  if (!answer.at("old").get<bool>()) return answer;
  return UsageError(fmt::format("the interpreter {} is Python {}; kernels need {} or later: --python PATH", python,
                                answer.at("version").get<std::string>(), kOldest));
}

// The worker as a library, beside this program.
Result<fs::path> FindWorkerLibrary() {
  const fs::path library =
      (fs::path(ExecutablePath()).parent_path() / "../lib/assay/libassay_worker.so").lexically_normal();
  std::error_code error;
  if (fs::exists(library, error)) return library;
  return UsageError(fmt::format("{} is not there, which files of kernels need: build target product, or install it",
                                library.string()));
}

bool IsFlag(const AttrDef& attr) {
  return attr.type == AttrType::kInt && attr.choices == std::vector<std::string>{"0", "1"};
}

// Describes the operands and attributes of each operator, which tell the interpreter what a kernel may leave out.
Json DescribeOperators() {
  Json all = Json::object();
  for (const Operator* op : OperatorRegistry::Global().All()) {
    const OpSchema& schema = op->schema();
    Json operands = Json::array(), attrs = Json::object();
    for (const OperandDoc& operand : schema.layouts) {
      if (std::ranges::find(schema.outputs, operand.name) == schema.outputs.end()) operands.push_back(operand.name);
    }
    if (operands.empty()) operands = schema.operands;
    constexpr const char* kTypes[] = {"int", "float", "name", "dims", "axes"};
    for (const AttrDef& attr : schema.attrs) {
      attrs[attr.key] = {IsFlag(attr) ? "flag" : kTypes[static_cast<int>(attr.type)], attr.default_value};
    }
    const size_t needed = schema.FindNeededInputs().size();
    all[schema.op] = {{"operands", std::move(operands)}, {"needed", needed}, {"attrs", std::move(attrs)}};
  }
  return all;
}

// Parts that fit into a word of a command line each: a worker takes 64 KiB, and Linux 128, which many operators exceed.
std::vector<std::string> SplitIntoWords(const std::string& text) {
  constexpr size_t kMostBytes = size_t{1} << 15;
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size(); at += kMostBytes) words.push_back(text.substr(at, kMostBytes));
  return words;
}

// Files of --operators, whose functions are kernels of the frameworks' columns.
std::vector<std::string> ListDefinitionFiles() {
  std::vector<std::string> files;
  std::error_code error;
  for (const std::string& place : DefinitionPlaces()) {
    if (fs::is_regular_file(place, error)) files.push_back(fs::weakly_canonical(place).string());
  }
  return files;
}

}  // namespace

std::string ChoosePython(const std::string& stated) {
  if (!stated.empty()) return stated;
  const char* installed_for = std::getenv("ASSAY_PYTHON");
  if (installed_for != nullptr && *installed_for != '\0') return installed_for;
  const char* environment = std::getenv("VIRTUAL_ENV");
  return environment != nullptr && *environment == '/' ? std::string(environment) + "/bin/python3" : "python3";
}

Result<fs::path> FindModules() {
  const fs::path folder = fs::path(ExecutablePath()).parent_path();
  std::error_code error;
  for (const char* place : {"../lib/assay/python", "../../.."}) {  // in a wheel the program lies in the module
    const fs::path modules = fs::weakly_canonical(folder / place, error);
    if (fs::exists(modules / "assay/_worker.py", error)) return modules;
  }
  return UsageError(fmt::format("the module assay is neither in {} nor around this program; install both together",
                                (folder / "../lib/assay/python").lexically_normal().string()));
}

Result<fs::path> FrameworkKernels(const std::string& name) {
  constexpr std::string_view kEnd = "_kernels.py";
  const Result<fs::path> modules = FindModules();
  if (!modules) return tl::unexpected(modules.error());
  std::vector<std::string> known;
  std::error_code error;
  const fs::path folder = *modules / "assay/frameworks/columns";
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(kEnd)) continue;
    known.push_back(file.substr(0, file.size() - kEnd.size()));
    if (known.back() == name) return entry.path();
  }
  std::ranges::sort(known);
  return UsageError(fmt::format("--framework {}: unknown framework; the module assay has {}{}", name,
                                fmt::join(known, ", "), DidYouMean(name, known)));
}

Result<Interpreter> FindInterpreter(const std::string& stated, const fs::path& kernels, double import_timeout_s) {
  const Result<fs::path> library = FindWorkerLibrary(), modules = FindModules();
  if (!library || !modules) return tl::unexpected(library ? modules.error() : library.error());
  const Result<Json> answer = AskInterpreter(ChoosePython(stated), import_timeout_s);
  if (!answer) return tl::unexpected(answer.error());
  const std::string executable = answer->at("executable");
  const std::vector<std::string> definitions = ListDefinitionFiles();
  const Json told = {{"library", library->string()},         {"kernels", fs::weakly_canonical(kernels).string()},
                     {"import_timeout_s", import_timeout_s}, {"path", answer->at("path")},
                     {"operators", DescribeOperators()},     {"definitions", definitions}};
  Interpreter found;
  found.words = {executable, (*modules / "assay/_worker.py").string()};
  std::ranges::move(SplitIntoWords(told.dump(-1, ' ', /*ensure_ascii=*/true)), std::back_inserter(found.words));
  // The module alone, not what lies beside it: in a wheel that is another environment.
  found.readable = {executable, (*modules / "assay").string(), library->parent_path().string()};
  found.readable.insert(found.readable.end(), definitions.begin(), definitions.end());
  const char* home = std::getenv("HOME");
  const std::string whole_home = home == nullptr ? "/" : home;  // not for a path that names it
  for (const char* key : {"prefixes", "path"}) {
    for (const std::string folder : answer->at(key)) {
      if (folder != "/" && folder != whole_home) found.readable.push_back(folder);
    }
  }
  return found;
}

}  // namespace assay
