// SPDX-License-Identifier: Apache-2.0
// assay align: whether two implementations, or one in another batch, place or memory, give the same bits.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/options.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/terminal/stage_progress.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/json_text.h"
#include "harness/engine/results/environment.h"
#include "harness/plan/catalog.h"
#include "harness/tools/align/alignment.h"

namespace assay::cli {
namespace {

struct AlignOptions {
  RunOptions run;
  std::vector<std::string> sides, cases;
  SharedNumbers shared;
  bool json = false;
};

// Long sums of data whose roundings differ in any other order, with rows, heads or images to take a few of.
constexpr const char* kAlignedCases[] = {
    "matmul/f32/m=64,n=48,k=512/fill=normal/seed=0",
    "matmul/bf16-bf16-f32/m=64,n=48,k=512/fill=normal/seed=0",
    "conv/f32/n=8,c=32,o=16,i=12x12,k=3x3/fill=normal/seed=0",
    "reduce/f32/shape=64x5000,axes=1/fill=normal/seed=0",
    "softmax/f32/shape=64x5000/fill=normal/seed=0",
    "rms_norm/f32/rows=64,n=1000/fill=normal/seed=0",
    "layer_norm/f32/rows=64,n=1000/fill=normal/seed=0",
    "attention/f32/b=4,h=4,l=17,s=300,d=64/fill=normal/seed=0",
    "attention/f32/b=1,h=2,l=200,s=200,d=64,causal=1/fill=normal/seed=0",
};

// A side as it is named: "BACKEND", or "BACKEND/IMPLEMENTATION".
struct Wanted {
  std::string backend, implementation;
};

Wanted ParseSide(const std::string& text) {
  const size_t slash = std::min(text.find('/'), text.size());
  return {text.substr(0, slash), text.substr(std::min(slash + 1, text.size()))};
}

class Aligning {
 public:
  explicit Aligning(const AlignOptions& options) : options_(options) {
    for (const std::string& side : options.sides) wanted_.push_back(ParseSide(side));
  }

  int Run() {
    BackendOptions backend = options_.run.backend;
    for (const Wanted& side : wanted_) {
      if (std::ranges::find(backend.backends, side.backend) == backend.backends.end())
        backend.backends.push_back(side.backend);
    }
    std::vector<std::string> absent;
    auto devices = OpenDevices(backend, absent);
    if (!devices) return Complain(kExitUsage, devices.error().message);
    devices_ = *std::move(devices);
    std::vector<std::string> ids = options_.cases;
    if (ids.empty()) ids.assign(std::begin(kAlignedCases), std::end(kAlignedCases));
    for (const std::string& id : ids) {
      if (const auto tried = TryCase(id); !tried)
        return Complain(tried.error().code == ErrorCode::kUsage ? kExitUsage : kExitHarness, tried.error().message);
    }
    return Finish();
  }

 private:
  // Errors: the case is none, or a backend fails.
  Status TryCase(const std::string& id) {
    auto spec = ParseId(id);
    if (!spec) return UsageError(fmt::format("--case {}: {}", id, spec.error().message));
    if (auto known = CheckOperator(spec->op, Catalog()); !known)
      return UsageError(fmt::format("--case {}: {}", id, known.error().message));
    auto canonical = Canonicalise(*std::move(spec), OperatorRegistry::Global().Find(ParseId(id)->op)->schema());
    if (!canonical) return UsageError(fmt::format("--case {}: {}", id, canonical.error().message));
    const auto data = PrepareCase(*canonical, "auto", GoldenStore{std::filesystem::path()});
    if (!data) return UsageError(fmt::format("--case {}: {}", id, data.error().message));
    std::vector<AlignedSide> sides;
    for (const Wanted& wanted : wanted_) {
      auto side = FindSide(wanted, *data);
      if (!side) {
        skipped_.push_back(fmt::format("{}: {}", id, side.error().message));
        return {};
      }
      sides.push_back(*std::move(side));
    }
    StageProgress progress(Progress::ParseMode(options_.run.progress));
    progress.Begin(id);
    auto alignment = Align(*data, sides, options_.shared);
    if (!alignment) return Fail(ErrorCode::kUnavailable, fmt::format("{}: {}", id, alignment.error().message));
    if (!options_.json) Print(TextOf(*alignment));
    alignments_.push_back(*std::move(alignment));
    return {};
  }

  // The implementation that it names, or the first one that takes the case.
  Result<AlignedSide> FindSide(const Wanted& wanted, const PreparedCase& data) const {
    std::vector<std::string> have;
    std::string why = fmt::format("there is no device {}", wanted.backend);
    for (const Device& device : devices_) {
      if (device.selector != wanted.backend && device.backend != wanted.backend) continue;
      if (!device.problem.empty())
        return Fail(ErrorCode::kUnavailable, fmt::format("{}: {}", device.selector, device.problem));
      const auto offers = device.session->Query(device.device_index, data.problem);
      if (!offers) {
        why = fmt::format("{}: {}", device.selector, offers.error().message);
        continue;
      }
      for (const ImplementationInfo& offer : *offers) {
        have.push_back(offer.name);
        if (!wanted.implementation.empty() && offer.name != wanted.implementation) continue;
        const auto contract = ParseDeclaration(offer.contract_text);
        if (!contract) return Fail(ErrorCode::kUnavailable, contract.error().message);
        return AlignedSide{device, offer.name, *contract};
      }
      why = fmt::format("{} has no implementation {} of it, but {}", device.selector, wanted.implementation,
                        fmt::join(have, ", "));
    }
    return Fail(ErrorCode::kUnavailable, why);
  }

  int Finish() const {
    for (const std::string& text : skipped_) Complain(kExitOk, "not compared: " + text);
    if (alignments_.empty()) {
      return Complain(
          kExitNothing,
          "nothing was compared: none of the cases is taken by what was named, as the lines above say; give "
          "another --case or implementation, or a backend alone");
    }
    size_t differing = 0, certified = 0;
    for (const Alignment& of : alignments_)
      differing += of.CountDiffering() > 0 ? 1 : 0, certified += of.IsCertified() ? 1 : 0;
    if (options_.json) {
      Json alignments = Json::array();
      for (const Alignment& of : alignments_) alignments.push_back(ToJson(of));
      Json devices = Json::array();
      for (const Device& device : devices_) devices.push_back(DescribeDevice(device));
      Print(
          DumpJson(Json{{"schema_version", 1}, {"devices", devices}, {"alignments", alignments}, {"skipped", skipped_}},
                   2) +
          "\n");
    } else if (alignments_.size() > 1) {
      Print(fmt::format("{} cases: {} certified, {} differ, {} not shown\n", alignments_.size(), certified, differing,
                        alignments_.size() - certified - differing));
    }
    return differing > 0 ? kExitFailed : certified == alignments_.size() ? kExitOk : kExitNothing;
  }

  const AlignOptions& options_;
  std::vector<Wanted> wanted_;
  std::vector<Device> devices_;
  std::vector<Alignment> alignments_;
  std::vector<std::string> skipped_;
};

}  // namespace

void AddAlignVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<AlignOptions>();
  CLI::App* verb = app.add_subcommand(
      "align", "Say whether two implementations, or one in another batch, place or memory, give the same bits");
  verb->add_option("SIDES", o->sides,
                   "one or two of BACKEND or BACKEND/IMPLEMENTATION, as cpu/splitk or mine/kernel; one: beside itself")
      ->required()
      ->expected(1, 2);
  AddBackends(*verb, o->run);
  AddOptions(*verb, o->run, {"--progress"});
  verb->add_option("--case", o->cases, "ids of the cases instead of the usual ones")->delimiter('\0');
  verb->add_option("--ranks", o->shared.ranks,
                   "also with sums that so many ranks share, added in order, as a tree and as a ring: 2,4,8")
      ->delimiter(',')
      ->check(CLI::Range(2, 1024));
  verb->add_option("--splits", o->shared.splits,
                   "also in so many slices of the keys, merged by their logarithms of sums, or of summed terms: 2,4")
      ->delimiter(',')
      ->check(CLI::Range(2, 1024));
  verb->add_flag("--json", o->json, "print JSON instead of text");
  verb->callback([o, &action] { action = [o] { return Aligning(*o).Run(); }; });
}

}  // namespace assay::cli
