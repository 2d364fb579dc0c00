// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/suite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <unordered_map>

#include "harness/core/base/text.h"
#include "harness/core/base/utf8.h"
#include "harness/core/base/whole_file.h"
#include "harness/core/model/calls_tag.h"
#include "harness/core/model/contract.h"
#include "harness/core/model/other_names.h"
#include "harness/plan/suite_line.h"
#include "ops/operator.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostSampled = 1'000'000'000, kMostCalls = 1'000'000'000'000;

Status CheckIsText(std::string_view bytes, const std::string& name) {
  const size_t at = FindNonText(bytes);
  if (at == std::string_view::npos) return {};
  return UsageError(
      fmt::format("{}:{}: not a text file, it has byte 0x{:02x}; a suite is UTF-8 text with a case family a "
                  "line",
                  name, 1 + std::ranges::count(bytes.substr(0, at), '\n'), static_cast<unsigned char>(bytes[at])));
}

// Key of a file, however its path is written.
std::string FileKey(const fs::path& path) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(path, error);
  return (error ? path.lexically_normal() : canonical).string();
}

Result<std::string> ReadSuiteFile(const fs::path& path) {
  auto text = ReadStream(path);
  if (text) return text;
  return Fail(ErrorCode::kIo, fmt::format("cannot read the suite file {}; check the path", text.error().message));
}

class SuiteParser {
 public:
  explicit SuiteParser(const OpCatalog& ops, SuiteScale* scale = nullptr) : ops_(ops), scale_(scale) {}

  Status ParseFile(const fs::path& path) {
    const Result<std::string> text = ReadSuiteFile(path);
    return text ? ParseText(*text, path.string()) : tl::unexpected(text.error());
  }

  Status ParseText(std::string_view text, const std::string& name) {
    if (Status status = CheckIsText(text, name); !status) return status;
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // that some editors begin UTF-8 with
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    open_files_.push_back(name);
    Scope scope;
    size_t number = 0;
    for (std::string_view content : Split(text, '\n')) {
      SuiteLine line{name, ++number, SplitWords(content)};
      if (line.words.empty()) continue;
      if (Status status = ParseLine(line, content, scope); !status) return status;
    }
    open_files_.pop_back();
    return {};
  }

  std::vector<PlannedCase> TakeCases() { return std::move(cases_); }

 private:
  // Settings for the following lines of one file.
  struct Scope {
    std::string requirement, tag, source;
    std::string calls;                // the tag "calls-12"; ""
    std::vector<std::string> scaled;  // keys whose extents --scale divides
    bool timed = true;
    int64_t sample = 0;
    double thorough = std::numeric_limits<double>::infinity();  // cases of each operator and list of types
    std::map<std::string, double> planned;                      // since `thorough` was set
  };

  Status ParseLine(const SuiteLine& line, std::string_view content, Scope& scope) {
    const std::string_view first = line.words[0].text;
    if (first == "include") return Include(line);
    if (first == "require") return Require(line, content, scope);
    if (first == "tag") return Tag(line, scope);
    if (first == "scale") return SetScaled(line, scope);
    if (first == "timed") return SetTimed(line, scope);
    if (first == "thorough") return SetThorough(line, scope);
    if (first == "sample") return SetSample(line, scope);
    if (first == "others") return AddOthers(line, scope);
    Result<std::vector<PlannedCase>> family = ExpandFamily(line, ops_);
    if (!family) return tl::unexpected(family.error());
    for (PlannedCase& planned : *family) {
      if (Status status = ScaleDown(line, scope, planned.spec); !status) return status;
      planned.timed = scope.timed;
      planned.sample = scope.sample;
      planned.thorough = scope.planned[planned.spec.op + DTypeListText(planned.spec.dtypes)]++ < scope.thorough;
      if (Status status = Add(line, std::move(planned), scope); !status) return status;
    }
    return {};
  }

  Status AddOthers(const SuiteLine& line, const Scope& scope) {
    if (line.words.size() != 1) return line.Fail(line.words[1].column, "others takes no words; write: others");
    std::set<std::string_view> named;
    for (const PlannedCase& planned : cases_) named.insert(planned.spec.op);
    std::vector<CaseSpec> few;
    for (const std::string& name : ops_.names) {
      const Operator* op = ops_.op && !named.contains(name) ? ops_.op(name) : nullptr;
      if (op != nullptr) std::ranges::move(op->FewCases(), std::back_inserter(few));
    }
    for (CaseSpec& spec : few) {
      const Result<SharedCase> bound = ops_.bind ? ops_.bind(spec) : SharedCase();
      if (!bound) return line.Fail(line.words[0].column, bound.error().message);
      PlannedCase planned{.spec = std::move(spec), .timed = false, .sample = scope.sample};
      if (Status status = Add(line, std::move(planned), scope); !status) return status;
    }
    return {};
  }

  Status Include(const SuiteLine& line) {
    if (line.words.size() != 2) {
      return line.Fail(line.words[0].column, "include takes one file; write: include other.suite");
    }
    const size_t column = line.words[1].column;
    const fs::path path = (fs::path(line.file).parent_path() / line.words[1].text).lexically_normal();
    const auto same = [&](const std::string& open) { return FileKey(open) == FileKey(path); };
    if (const auto open = std::ranges::find_if(open_files_, same); open != open_files_.end()) {
      return line.Fail(column, fmt::format("includes form a cycle, {} -> {}; remove one of them",
                                           fmt::join(open, open_files_.end(), " -> "), path.string()));
    }
    const Result<std::string> text = ReadSuiteFile(path);
    return text ? ParseText(*text, path.string()) : Status(line.Fail(column, text.error().message));
  }

  static Status Require(const SuiteLine& line, std::string_view content, Scope& scope) {
    constexpr std::string_view kKey = "contract=";
    if (line.words.size() < 2 || !line.words[1].text.starts_with(kKey)) {
      return line.Fail(line.words.back().column, "require takes a contract; write: require contract=f32acc");
    }
    // The contract may contain spaces, so it is taken from the line, up to the end of the last word before a comment.
    const size_t begin = line.words[1].column - 1 + kKey.size();
    const size_t end = line.words.back().column - 1 + line.words.back().text.size();
    const std::string_view text = Trim(content.substr(begin, end - begin));
    if (text == "none") {
      scope.requirement.clear();
      return {};
    }
    const auto contract = ParseRequirement(text);
    if (!contract) return line.Fail(begin + 1, contract.error().message);
    if (text.empty()) return line.Fail(begin + 1, "the contract is empty; write contract=none for the default");
    scope.requirement = text;
    return {};
  }

  static Status Tag(const SuiteLine& line, Scope& scope) {
    constexpr std::string_view kSource = "source=", kCalls = "calls=";
    constexpr const char* kForm = "write: tag layer.3.ffn calls=32 source=URL";
    const std::vector<Word>& words = line.words;
    if (words.size() < 2 || words[1].text.find('=') != std::string_view::npos) {
      return line.Fail(words[std::min<size_t>(words.size() - 1, 1)].column,
                       fmt::format("the label is missing; {}", kForm));
    }
    scope.tag = words[1].text == "none" ? "" : words[1].text;
    scope.source.clear(), scope.calls.clear();
    for (const Word& word : std::span(words).subspan(2)) {
      const auto calls =
          word.text.starts_with(kCalls) ? ParseNumber<int64_t>(word.text.substr(kCalls.size())) : std::nullopt;
      if (calls && *calls >= 1 && *calls <= kMostCalls && scope.calls.empty()) {
        scope.calls = fmt::format("{}{}", kCallsTag, *calls);
      } else if (word.text.starts_with(kSource) && scope.source.empty()) {
        scope.source = word.text.substr(kSource.size());
      } else {
        return line.Fail(word.column,
                         fmt::format("'{}' is neither calls=NUMBER nor source=URL, once; {}", word.text, kForm));
      }
    }
    return {};
  }

  static Status SetScaled(const SuiteLine& line, Scope& scope) {
    scope.scaled.clear();
    if (line.words.size() < 2) return line.Fail(line.words[0].column, "scale takes keys, or none; write: scale n k");
    for (const Word& word : std::span(line.words).subspan(1)) {
      const std::string key(word.text), whole = key.substr(0, key.find('.'));
      for (const std::string& other : scope.scaled) {
        if (other != key && other != whole && !other.starts_with(key + '.')) continue;
        return line.Fail(word.column,
                         fmt::format("scale: {} and {} would divide an extent twice; leave one out", other, key));
      }
      scope.scaled.push_back(key);
    }
    if (scope.scaled == std::vector<std::string>{"none"}) scope.scaled.clear();
    return {};
  }

  // Makes the case as small as --scale asks for.
  Status ScaleDown(const SuiteLine& line, const Scope& scope, CaseSpec& spec) {
    if (scale_ != nullptr) ++scale_->cases;
    if (scope.scaled.empty()) return {};
    const int64_t divisor = scale_ == nullptr ? 1 : scale_->divisor;
    auto scaled = ScaleCase(spec, scope.scaled, divisor, *ops_.find(spec.op));
    if (!scaled) return line.Fail(line.words[0].column, scaled.error().message);
    if (*scaled == spec) return {};
    if (const auto bound = ops_.bind ? ops_.bind(*scaled) : SharedCase(); !bound) {
      return line.Fail(line.words[0].column,
                       fmt::format("--scale 1/{}: {}; give a larger scale", divisor, bound.error().message));
    }
    if (scale_->smaller++ == 0) scale_->example = fmt::format("{} for {}", scaled->Id(), spec.Id());
    spec = *std::move(scaled);
    return {};
  }

  static Status SetTimed(const SuiteLine& line, Scope& scope) {
    const bool is_known = line.words.size() == 2 && (line.words[1].text == "yes" || line.words[1].text == "no");
    if (!is_known) return line.Fail(line.words.back().column, "timed takes yes or no; write: timed no");
    scope.timed = line.words[1].text == "yes";
    return {};
  }

  static Status SetThorough(const SuiteLine& line, Scope& scope) {
    const std::string_view text = line.words.back().text;
    const auto count = ParseNumber<int>(text);
    if (line.words.size() != 2 || (text != "all" && !(count && *count >= 1))) {
      return line.Fail(line.words.back().column, "thorough takes a number of at least 1, or all; write: thorough 2");
    }
    scope.thorough = count ? *count : Scope().thorough;
    scope.planned.clear();
    return {};
  }

  static Status SetSample(const SuiteLine& line, Scope& scope) {
    const std::string_view text = line.words.back().text;
    const auto count = ParseNumber<int64_t>(text);
    if (line.words.size() != 2 || (text != "all" && !(count && *count >= 1 && *count <= kMostSampled))) {
      return line.Fail(line.words.back().column,
                       fmt::format("sample takes a number from 1 to {}, or all; write: sample 4096", kMostSampled));
    }
    scope.sample = count.value_or(0);
    return {};
  }

  Status Add(const SuiteLine& line, PlannedCase planned, const Scope& scope) {
    const auto [it, is_new] = index_of_id_.try_emplace(planned.spec.Id(), cases_.size());
    if (is_new) {
      planned.requirement = scope.requirement;
      planned.source = scope.source;
      planned.where = line.Where();
      AddTag(scope.tag, planned.tags);
      AddTag(scope.calls, planned.tags);
      cases_.push_back(std::move(planned));
      return {};
    }
    PlannedCase& known = cases_[it->second];
    if (known.requirement.empty()) known.requirement = scope.requirement;
    if (!scope.requirement.empty() && known.requirement != scope.requirement) {
      return line.Fail(line.words[0].column,
                       fmt::format("{} is required to meet '{}' here and '{}' at {}; one case has one requirement",
                                   it->first, scope.requirement, known.requirement, known.where));
    }
    AddTag(scope.tag, known.tags);
    AddTag(scope.calls, known.tags);
    if (known.source.empty()) known.source = scope.source;
    known.timed = known.timed || planned.timed;
    known.thorough = known.thorough || planned.thorough;
    known.sample = known.sample == 0 || planned.sample == 0 ? 0 : std::max(known.sample, planned.sample);
    return {};
  }

  const OpCatalog& ops_;
  SuiteScale* const scale_;  // null: nobody asks for smaller extents
  std::vector<PlannedCase> cases_;
  std::unordered_map<std::string, size_t> index_of_id_;
  std::vector<std::string> open_files_;  // the chain of includes that leads here
};

}  // namespace

std::string DefaultRequirement(const CaseSpec& spec) {
  const auto has = [&](auto... dtypes) {
    return std::ranges::any_of(spec.dtypes, [&](DType d) { return ((d == dtypes) || ...); });
  };
  // A field that is left out asks for nothing, so slack that no implementation needs has to be named. math: oneDNN's
  // logsoftmax in f32 needs 256 ulp; published bounds of double functions lie far below 8. Left open, because normal
  // practice differs: flushing, the algorithm, and 16-bit intermediates between 16-bit operands (P of attention), which
  // operators that have no use for them refuse (ProblemTraits::required_fields).
  if (has(DType::kF16, DType::kBF16, DType::kE4M3, DType::kE5M2)) return "f32acc;out=rn;math=256";
  if (has(DType::kF32, DType::kC64)) return "f32;out=rn;math=256";
  if (has(DType::kF64, DType::kC128)) return "f64;out=rn;math=8";
  return "acc=i32";
}

std::string RequirementOf(const PlannedCase& planned) {
  std::string text = planned.requirement.empty() ? DefaultRequirement(planned.spec) : planned.requirement;
  for (std::string_view rest = planned.asked; !rest.empty();) {
    const size_t end = std::min(rest.find(';'), rest.size());
    const std::string joined = fmt::format("{};{}", text, rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (ParseRequirement(joined)) text = joined;  // refused: the field is there already
  }
  return text;
}

PlannedCase PlanUntimed(CaseSpec spec, const std::string& requirement) {
  PlannedCase planned;
  planned.spec = std::move(spec);
  planned.requirement = requirement;
  const SharedCase bound = planned.Bound();
  planned.asked = bound->op->TraitsOf(bound->problem, 0).required_fields;
  planned.timed = false;
  return planned;
}

void AddTag(std::string_view tag, std::vector<std::string>& tags) {
  if (tag.empty()) return;
  const int64_t calls = CallsOfTag(tag);
  const auto same = std::ranges::find_if(
      tags, [&](const std::string& known) { return calls > 0 ? CallsOfTag(known) > 0 : known == tag; });
  if (same == tags.end()) {
    tags.emplace_back(tag);
  } else if (calls > 0) {
    *same = fmt::format("{}{}", kCallsTag, CallsOfTag(*same) + calls);
  }
}

Result<std::vector<PlannedCase>> LoadSuite(const std::string& path, const OpCatalog& ops, SuiteScale* scale) {
  SuiteParser parser(ops, scale);
  if (Status status = parser.ParseFile(path); !status) return tl::unexpected(status.error());
  return parser.TakeCases();
}

Result<std::vector<PlannedCase>> ParseSuite(std::string_view text, const std::string& name, const OpCatalog& ops,
                                            SuiteScale* scale) {
  SuiteParser parser(ops, scale);
  if (Status status = parser.ParseText(text, name); !status) return tl::unexpected(status.error());
  return parser.TakeCases();
}

std::string KnownOperators(std::string_view name, const OpCatalog& ops) {
  constexpr size_t kMostListed = 20;  // a longer list would hide the hint
  const std::string known = ops.names.size() > kMostListed
                                ? fmt::format("assay list ops names all {}", ops.names.size())
                                : fmt::format("known: {}", fmt::join(ops.names, ", "));
  return known + OperatorHint(name, ops.names);
}

tl::unexpected<Error> UnknownOperator(std::string_view name, const OpCatalog& ops) {
  return UsageError(fmt::format("no operator '{}'; {}", name, KnownOperators(name, ops)));
}

}  // namespace assay
