// SPDX-License-Identifier: Apache-2.0
// Plans: created, executed, timed, destroyed; and the device behind them.
#include <cmath>
#include <limits>

#include "harness/exec/plugin_check/plugin_check_operands.h"
#include "harness/model/contract.h"

namespace assay::plugin_check {
namespace {

constexpr int kRounds = 20;
constexpr auto kOk = Finding::Kind::kOk;

// Executes twice; *same says whether the bytes agree.
Finding TwoExecutions(PluginUnderTest& plugin, const CheckedOffer& offer, const char* implementation, bool* same) {
  Operands operands(plugin);
  TestPlan plan(plugin);
  std::vector<unsigned char> first, second;
  if (Finding f = operands.Make(offer.op->get()); f.kind != kOk) return f;
  if (Finding f = plan.Create(offer.op->get(), implementation); f.kind != kOk) return f;
  if (Finding f = plan.Execute(operands); f.kind != kOk) return f;
  if (Finding f = operands.Download(first); f.kind != kOk) return f;
  if (Finding f = plan.Execute(operands); f.kind != kOk) return f;
  if (Finding f = operands.Download(second); f.kind != kOk) return f;
  *same = first == second;
  return Good("");
}

// One timed call on two sets, by a caller whose assay_timing ends before the members that are answered.
Finding TimedCall(PluginUnderTest& plugin, const CheckedOffer& offer, const char* implementation) {
  constexpr uint64_t kRepetitions = 5;
  constexpr size_t kAnnounced = offsetof(assay_timing, clock_is_device);
  Operands first(plugin), second(plugin);
  TestPlan plan(plugin);
  if (Finding f = first.Make(offer.op->get()); f.kind != kOk) return f;
  if (Finding f = second.Make(offer.op->get()); f.kind != kOk) return f;
  if (Finding f = plan.Create(offer.op->get(), implementation); f.kind != kOk) return f;
  const assay_args* sets[] = {&first.args(), &second.args()};
  std::vector<double> seconds(kRepetitions + 1, std::numeric_limits<double>::quiet_NaN());
  OtherVersion<assay_timing> timing(kAnnounced);
  *timing.get() = {kAnnounced, kRepetitions, 2, sets, ASSAY_CACHE_WARM, 0, seconds.data(), -1, -1};
  ErrorText error;
  const assay_status status = plugin.api->execute_timed(plan.get(), timing.get(), error.out());
  if (status != ASSAY_OK) return Bad("{} {}: {}", offer.name, implementation, Told("execute_timed", status, error));
  if (timing.get()->clock_is_device != -1 || timing.get()->cache_was_flushed != -1) {
    return Bad("execute_timed wrote beyond struct_size {}; ask ASSAY_HAS before each member", kAnnounced);
  }
  for (uint64_t r = 0; r < kRepetitions; ++r) {
    if (std::isfinite(seconds[r]) && seconds[r] >= 0) continue;
    return Bad("{} {}: repetition {} of {} got the duration {}; write one for each", offer.name, implementation, r,
               kRepetitions, seconds[r]);
  }
  if (!std::isnan(seconds[kRepetitions])) return Bad("execute_timed wrote more durations than there are repetitions");
  return Good("");
}

}  // namespace

Finding OpenClose(PluginUnderTest& plugin) {
  for (int round = 0; round < kRounds; ++round) {
    plugin.api->device_close(plugin.device);
    plugin.device = nullptr;
    ErrorText error;
    const assay_status status = plugin.api->device_open(0, &plugin.device, error.out());
    if (status == ASSAY_OK && plugin.device != nullptr) continue;
    plugin.device = nullptr;
    return Bad("round {}: {}; device_close has to give everything back", round, Told("device_open", status, error));
  }
  return Good("{} times", kRounds);
}

Finding PlanUnknown(PluginUnderTest& plugin) {
  const CheckedOffer& offer = plugin.offers.front();
  assay_plan* plan = nullptr;
  ErrorText error;
  const assay_status status =
      plugin.api->plan_create(plugin.device, &offer.op->get(), "no-such-implementation", &plan, error.out());
  if (status == ASSAY_OK) {
    return Bad("plan_create of '{}' is ASSAY_OK; compare the name with those that query lists",
               "no-such-implementation");
  }
  if (error.str().empty()) return Bad("plan_create failed with status {} and no text", status);
  return Good("\"{}\"", error.str());
}

Finding Plans(PluginUnderTest& plugin) {
  size_t made = 0;
  for (const CheckedOffer& offer : plugin.offers) {
    for (const assay_implementation* implementation : offer.implementations) {
      for (int round = 0; round < kRounds; ++round, ++made) {
        TestPlan plan(plugin);
        if (Finding f = plan.Create(offer.op->get(), implementation->name); f.kind != kOk) return f;
      }
    }
  }
  return Good("{} plans", made);
}

Finding ExecuteTwice(PluginUnderTest& plugin) {
  int claimed = 0, all = 0;
  for (const CheckedOffer& offer : plugin.offers) {
    for (const assay_implementation* implementation : offer.implementations) {
      bool same = false;
      if (Finding f = TwoExecutions(plugin, offer, implementation->name, &same); f.kind != kOk) return f;
      const auto contract = ParseDeclaration(implementation->contract);
      const bool claims = contract && contract->deterministic;
      if (claims && !same) {
        return Bad("{} {} declares det=yes and gave other bits the second time; declare det=no or mend it", offer.name,
                   implementation->name);
      }
      claimed += claims;
      ++all;
    }
  }
  return Good("{} implementations executed; {} declare det=yes and keep it", all, claimed);
}

Finding ExecuteTimed(PluginUnderTest& plugin) {
  if (!ASSAY_HAS(plugin.api, execute_timed) || plugin.api->execute_timed == nullptr) {
    return Skipped("there is no execute_timed; the host's clock is used");
  }
  for (const CheckedOffer& offer : plugin.offers) {
    const char* implementation = offer.implementations.front()->name;
    if (Finding f = TimedCall(plugin, offer, implementation); f.kind != kOk) return f;
  }
  return Good("{} operators", plugin.offers.size());
}

Finding DestroyNull(PluginUnderTest& plugin) {
  plugin.api->plan_destroy(nullptr);
  plugin.api->buffer_free(plugin.device, nullptr);
  plugin.api->device_close(nullptr);
  return Good("plan_destroy, buffer_free, device_close");
}

Finding CloseAfterUse(PluginUnderTest& plugin) {
  for (int round = 0; round < 2; ++round) {
    const CheckedOffer& offer = plugin.offers.front();
    bool same = false;
    // The name is the device's, which is closed below.
    const std::string implementation = offer.implementations.front()->name;
    if (Finding f = TwoExecutions(plugin, offer, implementation.c_str(), &same); f.kind != kOk) return f;
    if (Finding f = OpenClose(plugin); f.kind != kOk) return f;
    uint64_t count = 1;
    ErrorText error;
    const assay_implementation* found = nullptr;
    const assay_status status = plugin.api->query(plugin.device, &offer.op->get(), &found, &count, error.out());
    if (status != ASSAY_OK || found == nullptr) return Bad("after opening again: {}", Told("query", status, error));
    plugin.offers.front().implementations.front() = found;
  }
  return Good("used, closed, opened and used again");
}

}  // namespace assay::plugin_check
