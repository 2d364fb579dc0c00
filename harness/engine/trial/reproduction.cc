// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/trial/reproduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "harness/plan/catalog.h"

namespace assay {
namespace {

constexpr const char* kTestProgram = "assay_gtest";

// "x=x.npy" with the path from the root. A '=' in the path of a file without a name would begin one.
std::string MakePathAbsolute(const std::string& named) {
  const auto file = ParseNamedFile(named, true);
  if (!file) return named;
  const std::string path = std::filesystem::absolute(file->path).string();
  if (!file->name.empty()) return file->name + "=" + path;
  return path.find('=') == std::string::npos ? path : named;
}

}  // namespace

std::string Quoted(const std::string& text) {
  const bool plain = text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,+:") ==
                     std::string::npos;
  if (plain && !text.empty()) return text;
  std::string out = "'";
  for (char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string ProgramWord() {
  const std::filesystem::path program = ExecutablePath();
  return Quoted(program.filename() == kTestProgram ? program.parent_path() / "assay" : program);
}

std::string ReproductionLine(const RunnerSettings& settings, const PlannedCase& planned, const Device& device,
                             const std::string& implementation) {
  std::string line = fmt::format("{} --case {}", settings.command, Quoted(planned.spec.Id()));
  const std::string& selector = device.selector.empty() ? device.backend : device.selector;
  if (!selector.empty()) line += " --backend " + Quoted(selector);
  if (!implementation.empty()) line += " --impl " + Quoted(implementation);
  if (!planned.requirement.empty()) line += " --contract " + Quoted(planned.requirement);
  const bool has_sample = std::ranges::find(settings.carried, "--sample") != settings.carried.end();
  if (planned.sample > 0 && !has_sample) line += fmt::format(" --sample {}", planned.sample);
  for (const auto* words : {&device.plugin_words, &settings.carried}) {
    for (const std::string& word : *words) line += " " + Quoted(word);
  }
  return line;
}

Result<NamedFile> ParseNamedFile(const std::string& text, bool name_optional) {
  const size_t equals = text.find('=');
  NamedFile file;
  if (equals != std::string::npos) file.name = text.substr(0, equals);
  file.path = equals == std::string::npos ? text : text.substr(equals + 1);
  if ((file.name.empty() && !(name_optional && equals == std::string::npos)) || file.path.empty()) {
    return UsageError(fmt::format("'{}' is not NAME=FILE, such as x=x.npy or x=dump.safetensors:x", text));
  }
  return file;
}

std::string CheckLine(const std::string& program, const CheckRequest& request, LinePaths paths) {
  const auto path = [&](const std::string& named) {
    return paths == LinePaths::kFromRoot ? MakePathAbsolute(named) : named;
  };
  std::string line = program + " check --op " + Quoted(request.op);
  const auto add = [&](const char* option, const std::vector<std::string>& values) {
    for (const std::string& value : values) line += std::string(" ") + option + " " + Quoted(value);
  };
  add("--attr", request.attrs);
  for (const std::string& input : request.inputs) add("--input", {path(input)});
  for (const std::string& output : request.outputs) add("--output", {path(output)});
  add("--dtype", request.dtypes);
  if (!request.contract.empty()) add("--contract", {request.contract});
  if (!request.requirement.empty()) add("--require", {request.requirement});
  if (request.tier != "auto") add("--tier", {request.tier});
  if (request.exact_ulp) add("--exact-ulp", {fmt::format("{}", *request.exact_ulp)});
  if (request.sample.elements > 0) add("--sample", {std::to_string(request.sample.elements)});
  if (request.sample.seed > 0) add("--sample-seed", {std::to_string(request.sample.seed)});
  return line;
}

}  // namespace assay
