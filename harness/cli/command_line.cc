// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "harness/cli/number_option.h"
#include "harness/cli/options.h"
#include "harness/cli/process.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/terminal/progress.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/float_environment.h"
#include "harness/core/base/nearest_word.h"
#include "harness/core/base/vectors.h"
#include "harness/engine/results/environment.h"
#include "harness/exec/clean_text.h"
#include "harness/tools/bundle/source_revision.h"
#include "reports/table.h"

namespace assay::cli {

namespace {

constexpr size_t kMostMessageBytes = 1 << 16;  // of a message

constexpr size_t kUnknownWidth = 80, kLeastWidth = 60;

using AddVerb = void (*)(CLI::App&, Action&);
struct VerbGroup {
  const char* heading;
  std::vector<AddVerb> verbs;
};
const VerbGroup kVerbs[] = {
    {"Judge", {AddRunVerb, AddCheckVerb, AddJudgeVerb, AddConformVerb, AddExploreVerb}},
    {"Investigate",
     {AddExplainVerb, AddDiffVerb, AddShrinkVerb, AddHistoryVerb, AddBisectVerb, AddFingerprintVerb, AddAlignVerb,
      AddModelVerb}},
    {"Look", {AddListVerb, AddBackendsVerb, AddInventoryVerb, AddReportVerb, AddCompareVerb}},
    {"Exchange", {AddDefineVerb, AddInputsVerb, AddImportVerb, AddMergeVerb, AddBundleVerb, AddVerifyVerb}},
    {"Maintain", {AddCheckPluginVerb, AddExpectationsVerb, AddGoldenVerb, AddPowerVerb}},
};

// Formats help texts as wide as the terminal. "--cold,--no-cold" loses the "{false}" that CLI11 adds to the second
// name.
class HelpText : public CLI::Formatter {
 public:
  explicit HelpText(size_t terminal) : width_(std::max(terminal == 0 ? kUnknownWidth : terminal, kLeastWidth)) {}

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    return make_description(app) + make_usage(app, name) + make_positionals(app) + MakeOptions(app, mode) +
           make_subcommands(app, mode) + "\n" + make_footer(app);
  }
  std::string make_description(const CLI::App* app) const override {
    return Wrapped(app->get_description(), width_, 0) + "\n";
  }
  std::string make_option_desc(const CLI::Option* option) const override { return InColumn(option->get_description()); }
  std::string make_subcommand(const CLI::App* verb) const override {
    std::ostringstream out;
    CLI::detail::format_help(out, verb->get_name(), InColumn(verb->get_description()), get_column_width());
    return out.str();
  }
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, positional);
    if (const size_t at = name.find("{false}"); at != std::string::npos) name.erase(at);
    return name;
  }

 private:
  // An option whose group is "X (further)" stands under X, where all are asked for.
  std::string MakeOptions(const CLI::App* app, CLI::AppFormatMode mode) const {
    std::string out;
    std::vector<std::string> headings;
    for (std::string group : app->get_groups()) {
      if (group.ends_with(kFurther)) group.erase(group.size() - kFurther.size());
      if (group.empty() || std::ranges::find(headings, group) != headings.end()) continue;
      headings.push_back(group);
      const auto is_shown = [&](const CLI::Option* option) {
        const bool is_further = option->get_group() == group + std::string(kFurther);
        return option->nonpositional() &&
               (option->get_group() == group || (is_further && mode == CLI::AppFormatMode::All));
      };
      if (const auto options = app->get_options(is_shown); !options.empty()) out += make_group(group, false, options);
    }
    return out;
  }
  std::string InColumn(const std::string& text) const { return Wrapped(text, width_ - get_column_width(), 0); }

  size_t width_;
};

// Lists the verbs that --help shows.
std::vector<std::string> ListKnownVerbs(const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App* v) { return !v->get_group().empty(); })) {
    known.push_back(verb->get_name());
  }
  return known;
}

// "did you mean" hint for the first unknown option.
std::string HintOption(const CLI::App& verb, const std::vector<std::string>& rest) {
  const auto wrong = std::ranges::find_if(rest, [](const std::string& word) { return word.starts_with('-'); });
  if (wrong == rest.end()) return "";
  std::vector<std::string> known;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  return DidYouMean(wrong->substr(0, wrong->find('=')), known);
}

// Hint for a file behind --json, which takes none; "" for anything else.
std::string HintJson(const CLI::App& verb, const std::vector<std::string>& rest) {
  const CLI::Option* const json = verb.get_option_no_throw("--json");
  const auto file = std::ranges::find_if(rest, [](const std::string& word) { return word.ends_with(".json"); });
  if (json == nullptr || json->count() == 0 || file == rest.end()) return "";
  return "; " + ExplainJson(*file);
}

// Explains what is wrong with the options of a verb. CLI11 itself lists unexpected words in reverse.
std::string OptionProblem(const CLI::ParseError& error, const std::vector<std::string>& rest) {
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError) || rest.empty()) return error.what();
  return fmt::format("{} not expected: {}", rest.size() == 1 ? "this argument was" : "these arguments were",
                     fmt::join(rest, " "));
}

// A word that is no verb is named, rather than reported as a verb that is missing; also where a verb takes a second
// one.
std::string ParseProblem(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> rest = app.remaining(/*recurse=*/true);
  const bool has_word = !rest.empty() && !rest[0].starts_with('-');
  const std::vector<CLI::App*> verbs = app.get_subcommands();
  if (verbs.empty()) {
    const std::string see = "see assay --help or assay VERB --help";
    if (!has_word) return fmt::format("{}; {}", error.what(), see);
    const std::vector<std::string> known = ListKnownVerbs(app);
    return fmt::format("no verb '{}'; known: {}; {}{}", rest[0], fmt::join(known, ", "), see,
                       DidYouMean(rest[0], known));
  }
  const CLI::App& verb = *verbs[0];
  const std::vector<std::string> known = ListKnownVerbs(verb);
  const std::vector<CLI::App*> second = verb.get_subcommands();
  const std::string see = fmt::format("see assay {} --help", verb.get_name());
  if (known.empty() || !second.empty()) {
    const CLI::App& of = second.empty() ? verb : *second[0];
    return fmt::format("{}; {}{}{}", OptionProblem(error, rest), see, HintOption(of, rest), HintJson(of, rest));
  }
  return fmt::format("{} takes one of {}{}; {}{}", verb.get_name(), fmt::join(known, ", "),
                     has_word ? fmt::format(", not '{}'", rest[0]) : "", see,
                     has_word ? DidYouMean(rest[0], known) : "");
}

// Every option that takes a text. Most would treat an empty one as if they had not been given at all, which a script
// whose variable is not set does not mean.
void RefuseEmptyTexts(CLI::App& app) {
  for (CLI::Option* option : app.get_options([](const CLI::Option* o) { return o->get_items_expected_max() > 0; })) {
    option->check([](const std::string& text) {
      return text.empty() ? std::string("the text is empty; is it a variable that is not set?") : std::string();
    });
  }
  for (CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) RefuseEmptyTexts(*verb);
}

// An option that may be repeated takes one value each time: what follows may be the file that the verb is about.
void TakeOneValueEach(CLI::App& app) {
  for (CLI::Option* option : app.get_options([](const CLI::Option* o) { return !o->get_positional(); })) {
    if (option->get_items_expected_max() > 1) option->allow_extra_args(false);
  }
  for (CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) TakeOneValueEach(*verb);
}

// Names of files are made whole with it, and options without a folder mean it.
std::string FolderProblem() {
  std::error_code error;
  if (!std::filesystem::current_path(error).empty()) return "";
  return fmt::format("the current folder cannot be used: {}; change to another one", error.message());
}

// A number of threads that is none would count for nothing.
std::string ThreadsProblem() {
  const char* threads = std::getenv("ASSAY_THREADS");
  if (threads == nullptr || *threads == '\0') return "";
  const std::string problem = NumberProblem<int>(threads, kThreadLimits);
  return problem.empty() ? "" : fmt::format("ASSAY_THREADS in the environment: {}, or unset it", problem);
}

// Limits the host's vector instructions below the processor's, to show that results do not depend on them.
std::string ObeyMaxVectors() {
  const char* best = std::getenv("ASSAY_MAX_VECTORS");
  if (best == nullptr || *best == '\0') return "";
  const Status status = LimitVectors(best);
  return status ? "" : fmt::format("ASSAY_MAX_VECTORS in the environment: {}; or unset it", status.error().message);
}

// "assay 0.1.0 (0123abcd...)": a commit, marked where the working tree differed from it.
std::string VersionLine() {
  const std::string_view revision = kSourceRevision;
  return fmt::format("assay {}{}", ToolVersion(), revision.empty() ? "" : fmt::format(" ({})", revision));
}

// fmt throws when standard output cannot be written to, which is no error of this program.
int RunVerb(const Action& action) try { return action(); } catch (const std::system_error& e) {
  if (std::ferror(stdout) == 0) throw;
  NoteOutputError(e.code().value());
  return kExitOk;
}

}  // namespace

std::string ExplainJson(const std::string& file) {
  return fmt::format("--json takes no file: it prints to standard output, so end the command with `> {}`", file);
}

int Main(int argc, char** argv) {
  KeepStandardStreams();
  // Neither a worker that dies nor a reader of the output that leaves may take the host with it.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond ulimit -f is an error of its writer
  CLI::App app{"Numerical conformance and consistency testing of accelerators", "assay"};
  app.formatter(std::make_shared<HelpText>(TextWidth(STDOUT_FILENO)));
  app.set_version_flag("--version", VersionLine());
  app.require_subcommand(1);
  Action action;
  for (const VerbGroup& group : kVerbs) {
    for (const AddVerb add : group.verbs) {
      add(app, action);
      app.get_subcommands([](CLI::App*) { return true; }).back()->group(group.heading);
    }
  }
  AddWorkerVerb(app, action);
  RefuseEmptyTexts(app);
  TakeOneValueEach(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return FinishOutput(app.exit(e));
    return Complain(kExitUsage, ParseProblem(app, e));
  }
  for (const std::string& problem : {FolderProblem(), ThreadsProblem(), ObeyMaxVectors()}) {
    if (!problem.empty()) return Complain(kExitUsage, problem);
  }
  if (const int code = RefuseMistakes(); code != kExitOk) return code;
  if (auto status = CheckFloatEnvironment(); !status) return Complain(kExitHarness, status.error().message);
  return FinishOutput(RunVerb(action));
}

int Complain(int exit_code, const std::string& message) {
  if (std::fflush(stdout) != 0) NoteOutputError(errno);
  Note(CleanText(message, kMostMessageBytes, Lines::kKeep));
  return exit_code;
}

}  // namespace assay::cli
