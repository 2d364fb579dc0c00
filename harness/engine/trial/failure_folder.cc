// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/trial/failure_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/core/base/atomic_file.h"
#include "harness/core/base/whole_file.h"
#include "harness/engine/trial/failure_tensors.h"
#include "harness/engine/trial/reproduction.h"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr const char* kLinesFile = "reproduce.txt";

// A part of a file name from a plugin's text.
std::string FileWord(const std::string& text) {
  constexpr size_t kLongest = 60;
  std::string word = text.substr(0, kLongest);
  for (char& c : word) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!plain) c = '_';
  }
  return word;
}

std::string OneLine(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

// A check says math=4 where a declaration says nothing, which means 0.
std::string ExplicitContract(const Contract& contract) {
  const std::string text = ToText(contract);
  return text.find("math=") == std::string::npos ? text + "; math=0" : text;
}

// One kept output with its files' names.
struct Entry {
  const Attempt* attempt;
  const KeptOutputSet* kept;
  std::string stem;  // "cpu-naive", "cpu-naive-twin0"
  bool OwnInputs() const { return kept->twin != KeptOutputSet::kOwn; }
  std::string File(const std::string& what) const {
    return OwnInputs() || what == "got" ? what + "-" + stem + ".safetensors" : what + ".safetensors";
  }
};

std::vector<Entry> Entries(const std::vector<Attempt*>& failing) {
  std::vector<Entry> entries;
  std::set<std::string> used;
  for (const Attempt* attempt : failing) {
    for (const KeptOutputSet& kept : attempt->kept) {
      std::string stem = FileWord(attempt->record.backend) + "-" + FileWord(attempt->implementation);
      if (attempt->kept.size() > 1 || kept.twin != KeptOutputSet::kOwn) stem += "-" + kept.label;
      const std::string base = stem;
      for (int i = 2; !used.insert(stem).second; ++i) stem = fmt::format("{}-{}", base, i);  // several devices
      entries.push_back({attempt, &kept, stem});
    }
  }
  return entries;
}

// Note for the check line: if another channel failed the result, the numbers of this line may hold.
std::string NoteOf(const Entry& entry) {
  const Record& r = entry.attempt->record;
  const bool alone = entry.OwnInputs() || entry.kept->label == "timed";
  const auto fails = [](const Number& margin) { return margin.value_or(0) > 1; };
  if (alone || fails(r.bound_margin) || fails(r.exact_margin) || fails(r.exceptional_margin)) return "";
  if (fails(r.stat_margin)) return " (the statistic fails a run, and makes tensors suspect: --strict)";
  const bool execution = entry.attempt->memory_fault || fails(r.metamorphic_margin) ||
                         entry.attempt->verdict == Verdict::kNondeterministic;
  return execution ? " (what failed is the execution, which the line above repeats: its numbers hold)" : "";
}

// For a shell in the folder, so that it holds wherever the folder is taken to.
std::string CheckLineOf(const Entry& entry, const PreparedCase& data, const TrialRunner& runner,
                        const std::string& program) {
  CheckRequest request;
  request.op = data.problem.spec.op;
  for (const auto& [key, value] : data.problem.spec.attrs) request.attrs.push_back(key + "=" + value);
  const auto file = [&](const std::string& name, const char* what) {
    return fmt::format("{0}={1}:{0}", name, entry.File(what));
  };
  const auto add_complex = [&](const Operand& o) {
    if (IsComplex(o.dtype)) request.dtypes.push_back(fmt::format("{}={}", o.name, Name(o.dtype)));
  };
  for (const Operand& o : data.problem.inputs) {
    request.inputs.push_back(file(o.name, "inputs"));
    add_complex(o);
  }
  for (const Operand& o : data.problem.outputs) {
    request.outputs.push_back(file(o.name, "got"));
    add_complex(o);
  }
  request.contract = ExplicitContract(entry.attempt->contract);
  // The numbers are held against the declaration; that this is too little is a verdict of its own.
  const std::string& required = entry.attempt->record.required_contract;
  if (!Meets(entry.attempt->contract, ParseRequirement(required).value())) request.requirement = required;
  request.tier = Name(data.golden().tier);
  // A twin is exact in one output.
  if (entry.kept->twin >= 0 && data.outputs.size() == 1) {
    const ContractData* contract = runner.context().DataOf(*entry.attempt);
    request.exact_ulp = contract->twins[static_cast<size_t>(entry.kept->twin)].ToleranceUlp();
  }
  return CheckLine(program, request, LinePaths::kAsGiven);
}

Goldens GoldensOf(const PreparedCase& data) {
  Goldens goldens;
  for (const PreparedOutput& output : data.outputs) goldens.push_back(&output.golden);
  return goldens;
}

// Golden values of other inputs, and the outputs by them.
Status WriteOfOtherInputs(const Entry& entry, const PreparedCase& data, const std::vector<Tensor>& inputs,
                          const GotFile& got, const fs::path& folder) {
  std::vector<Golden> goldens;
  for (const PreparedOutput& output : data.outputs) {
    goldens.push_back(data.op->ComputeGolden(data.problem, output.number, inputs, data.golden().tier));
  }
  std::vector<BoundModel> bounds;
  Goldens golden_pointers;
  Bounds bound_pointers;
  for (size_t k = 0; k < goldens.size(); ++k) {
    bounds.push_back(data.op->Bound(data.problem, k, goldens[k], entry.attempt->contract));
    golden_pointers.push_back(&goldens[k]);
  }
  for (const BoundModel& bound : bounds) bound_pointers.push_back(&bound);
  Status status = WriteOperands(folder / entry.File("inputs"), data.problem, inputs);
  if (status) status = WriteGoldenPlanes(folder / entry.File("golden"), data.problem, golden_pointers);
  if (status) status = WriteGot(got, golden_pointers, bound_pointers);
  return status;
}

Status WriteTensors(const std::vector<Entry>& entries, const PreparedCase& data, const TrialRunner& runner,
                    const fs::path& folder) {
  Status status = WriteOperands(folder / "inputs.safetensors", data.problem, data.inputs);
  if (status) status = WriteGoldenPlanes(folder / "golden.safetensors", data.problem, GoldensOf(data));
  for (const Entry& entry : entries) {
    if (!status) return status;
    const ContractData& contract = *runner.context().DataOf(*entry.attempt);
    const GotFile got{*entry.attempt, *entry.kept, data.problem, folder / entry.File("got")};
    if (entry.OwnInputs()) {
      const std::vector<Tensor>& inputs = runner.context().InputsOf(*entry.attempt, *entry.kept);
      status = WriteOfOtherInputs(entry, data, inputs, got, folder);
      continue;
    }
    Bounds bounds;
    for (const ContractData::OfOutput& output : contract.outputs) bounds.push_back(&output.bound);
    status = WriteGot(got, GoldensOf(data), bounds);
  }
  return status;
}

uint64_t TensorBytes(const std::vector<Entry>& entries, const PreparedCase& data) {
  const uint64_t set = BytesOfSet(data.problem, GoldensOf(data));
  uint64_t bytes = set;
  for (const Entry& entry : entries) {
    for (const Tensor& output : entry.kept->outputs) bytes += output.bytes();
    for (const PreparedOutput& output : data.outputs) bytes += output.golden.value.size() * sizeof(double);
    bytes += entry.OwnInputs() ? set : 0;
  }
  return bytes;
}

// Keeps the lines that the resumed run already wrote.
std::string LinesOf(const fs::path& folder, const std::string& case_id) {
  const Result<std::string> written = ReadWholeFile(folder / kLinesFile);
  return written && !written->empty() ? *written + "\n" : fmt::format("# {}\n", case_id);
}

}  // namespace

FailureFolders::FailureFolders(fs::path out, std::string program, FailureLimits limits)
    : out_(std::move(out)), program_(std::move(program)), limits_(limits) {}

Status FailureFolders::Write(const PreparedCase& data, const TrialRunner& runner,
                             const std::vector<Attempt*>& failing) {
  const CaseSpec& spec = data.executed().spec;  // samples of several cases may have one id
  const std::string hash = spec.IdHash();
  const fs::path below = fs::path("failures") / hash;
  const fs::path folder = out_ / below;
  const std::vector<Entry> entries = Entries(failing);
  auto [known, is_new] = folders_.try_emplace(hash, Folder{"", folders_.size() < limits_.cases});
  auto& [text, keeps_tensors] = known->second;
  if (is_new) text = LinesOf(folder, spec.Id());
  const uint64_t bytes = TensorBytes(entries, data);
  const bool keep = keeps_tensors && bytes <= limits_.bytes;
  if (!keeps_tensors) {
    text += fmt::format("# Without tensors: {} cases of this run have failed already.\n", limits_.cases);
  } else if (!keep) {
    text += fmt::format("# Without tensors: they take {} MB, more than {}.\n", bytes >> 20, limits_.bytes >> 20);
  } else {
    text +=
        "# Lines for a shell in this folder, wherever it is now; if assay is elsewhere, write its path as the first "
        "word.\n";
  }
  if (keep) {
    if (Status status = WriteTensors(entries, data, runner, folder); !status) return status;
  }
  for (Attempt* attempt : failing) {
    const Record& r = attempt->record;
    const std::string what = fmt::format("{} {}: {}: {}", r.backend, r.implementation, r.verdict, r.reason);
    text += fmt::format("\n# {}\n{}\n", OneLine(what), OneLine(r.reproduce));
    for (const Entry& entry : entries) {
      if (!keep || entry.attempt != attempt) continue;
      text += fmt::format("# {} alone{}:\n{}\n", entry.File("got"), NoteOf(entry),
                          OneLine(CheckLineOf(entry, data, runner, program_)));
    }
  }
  Status status = WriteFileAtomically(folder / kLinesFile, {{text.data(), text.size()}});
  if (!status) return status;
  for (Attempt* attempt : failing) attempt->record.failure_dir = below.string();
  return {};
}

}  // namespace assay
