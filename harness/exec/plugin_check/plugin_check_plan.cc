// SPDX-License-Identifier: Apache-2.0
// Plans: created, executed, destroyed; and the device behind them.
#include <cmath>
#include <deque>
#include <limits>

#include "harness/core/base/amounts.h"
#include "harness/core/model/contract.h"
#include "harness/exec/plugin_check/plugin_check_operands.h"
#include "harness/exec/worker/found_implementations.h"

namespace assay::plugin_check {
namespace {

constexpr int kRounds = 20;

}  // namespace

Finding TwoExecutions(PluginUnderTest& plugin, const CheckedOffer& offer, const char* implementation, bool* same) {
  Operands operands(plugin);
  TestPlan plan(plugin);
  std::vector<unsigned char> first, second;
  if (Finding f = operands.Make(offer.op->get()); f.kind != kOk) return f;
  if (Finding f = plan.Create(offer.op->get(), implementation); f.kind != kOk) return f;
  if (Finding f = plan.Execute(operands); f.kind != kOk) return f;
  if (Finding f = operands.Download(first); f.kind != kOk) return f;
  if (Finding f = operands.Renew(offer.op->get()); f.kind != kOk) return f;
  if (Finding f = plan.Execute(operands); f.kind != kOk) return f;
  if (Finding f = operands.Download(second); f.kind != kOk) return f;
  *same = first == second;
  return Good("");
}

Finding CallBatch(PluginUnderTest& plugin, const CheckedOffer& offer, const char* implementation) {
  constexpr uint64_t kExecutions = 3;
  constexpr size_t kAnnounced = offsetof(assay_batch, clock_is_device);
  TestPlan plan(plugin);
  if (Finding f = plan.Create(offer.op->get(), implementation); f.kind != kOk) return f;
  std::deque<Operands> operands;
  std::vector<const assay_args*> args;
  for (uint64_t i = 0; i < kExecutions; ++i) {
    if (Finding f = operands.emplace_back(plugin).Make(offer.op->get()); f.kind != kOk) return f;
    args.push_back(&operands.back().args());
  }
  std::vector<double> seconds(kExecutions + 1, std::numeric_limits<double>::quiet_NaN());
  OtherVersion<assay_batch> batch(kAnnounced);
  *batch.get() = {kAnnounced, kExecutions, args.data(), ASSAY_CACHE_WARM, 0, seconds.data(), -1, -1};
  ErrorText error;
  const assay_status status = plugin.api->execute_batch(plan.get(), batch.get(), error.out());
  if (status != ASSAY_OK) {
    return Bad("{} {}: {}", offer.name, implementation, DescribeStatus("execute_batch", status, error));
  }
  if (batch.get()->clock_is_device != -1 || batch.get()->cache_was_flushed != -1) {
    return Bad("execute_batch wrote beyond struct_size {}; ask ASSAY_HAS before each member", kAnnounced);
  }
  for (uint64_t i = 0; i < kExecutions; ++i) {
    if (std::isfinite(seconds[i]) && seconds[i] >= 0) continue;
    return Bad("{} {}: execution {} of {} got the duration {}; write one for each", offer.name, implementation, i,
               kExecutions, seconds[i]);
  }
  if (!std::isnan(seconds[kExecutions])) return Bad("execute_batch wrote more durations than there are executions");
  return Good("");
}

Finding CheckRefusesFlags(const char* function, assay_status status, const ErrorText& error) {
  if (status == ASSAY_OK) {
    return Bad("{} of arguments with flags {:#x} is ASSAY_OK; refuse what the header does not name", function,
               kUnknownFlag);
  }
  return error.str().empty() ? Bad("{} refused arguments with unknown flags without a text", function) : Good("");
}

bool ClaimsSameBits(const CheckedOffer::Implementation& implementation) {
  const auto contract = ParseDeclaration(implementation.contract);
  return contract && contract->deterministic;
}

Finding OpenClose(PluginUnderTest& plugin) {
  for (int round = 0; round < kRounds; ++round) {
    plugin.api->device_close(plugin.device);
    plugin.device = nullptr;
    ErrorText error;
    const assay_status status = plugin.api->device_open(0, &plugin.device, error.out());
    if (status == ASSAY_OK && plugin.device != nullptr) continue;
    plugin.device = nullptr;
    return Bad("round {}: {}; device_close has to give everything back", round,
               DescribeStatus("device_open", status, error));
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
    for (const CheckedOffer::Implementation& implementation : offer.implementations) {
      for (int round = 0; round < kRounds; ++round, ++made) {
        TestPlan plan(plugin);
        if (Finding f = plan.Create(offer.op->get(), implementation.name.c_str()); f.kind != kOk) return f;
      }
    }
  }
  return Good("{} plans", made);
}

Finding ExecuteTwice(PluginUnderTest& plugin) {
  int claimed = 0, all = 0;
  for (const CheckedOffer& offer : plugin.offers) {
    for (const CheckedOffer::Implementation& implementation : offer.implementations) {
      bool same = false;
      if (Finding f = TwoExecutions(plugin, offer, implementation.name.c_str(), &same); f.kind != kOk) return f;
      const bool claims = ClaimsSameBits(implementation);
      if (claims && !same) {
        return Bad("{} {} declares det=yes and gave other bits the second time; declare det=no or fix it", offer.name,
                   implementation.name);
      }
      claimed += claims;
      ++all;
    }
  }
  return Good("{} executed; {} with det=yes, which is kept", Counted(all, "implementation"), claimed);
}

Finding ExecuteBatch(PluginUnderTest& plugin) {
  if (plugin.api->execute_batch == nullptr) return Skipped("there is no execute_batch; the host's clock is used");
  for (const CheckedOffer& offer : plugin.offers) {
    const std::string& implementation = offer.implementations.front().name;
    if (Finding f = CallBatch(plugin, offer, implementation.c_str()); f.kind != kOk) return f;
  }
  return Good("{}", Counted(std::ssize(plugin.offers), "operator"));
}

Finding ArgumentFlags(PluginUnderTest& plugin) {
  for (const CheckedOffer& offer : plugin.offers) {
    const std::string& implementation = offer.implementations.front().name;
    Operands operands(plugin);
    TestPlan plan(plugin);
    if (Finding f = operands.Make(offer.op->get()); f.kind != kOk) return f;
    if (Finding f = plan.Create(offer.op->get(), implementation.c_str()); f.kind != kOk) return f;
    assay_args args = operands.args();
    args.flags = kUnknownFlag;
    ErrorText alone, in_batch;
    const assay_status executed = plugin.api->execute(plan.get(), &args, alone.out());
    if (Finding f = CheckRefusesFlags("execute", executed, alone); f.kind != kOk) return f;
    if (plugin.api->execute_batch == nullptr) continue;
    const assay_args* all[] = {&args};
    double seconds = 0;
    assay_batch batch{sizeof batch, 1, all, ASSAY_CACHE_WARM, 0, &seconds, 0, 0};
    const assay_status executed_batch = plugin.api->execute_batch(plan.get(), &batch, in_batch.out());
    if (Finding f = CheckRefusesFlags("execute_batch", executed_batch, in_batch); f.kind != kOk) return f;
  }
  return Good("{}", Counted(std::ssize(plugin.offers), "operator"));
}

Finding DestroyNull(PluginUnderTest& plugin) {
  plugin.api->query_free(plugin.device, nullptr);
  plugin.api->plan_destroy(nullptr);
  plugin.api->buffer_free(plugin.device, nullptr);
  plugin.api->device_close(nullptr);
  return Good("query_free, plan_destroy, buffer_free, device_close");
}

Finding CloseAfterUse(PluginUnderTest& plugin) {
  for (int round = 0; round < 2; ++round) {
    const CheckedOffer& offer = plugin.offers.front();
    bool same = false;
    const std::string& implementation = offer.implementations.front().name;
    if (Finding f = TwoExecutions(plugin, offer, implementation.c_str(), &same); f.kind != kOk) return f;
    if (Finding f = OpenClose(plugin); f.kind != kOk) return f;
    ErrorText error;
    FoundImplementations found(*plugin.api, plugin.device);
    const assay_status status = found.Query(offer.op->get(), error);
    if (status != ASSAY_OK) return Bad("after opening again: {}", DescribeStatus("query", status, error));
  }
  return Good("used, closed, opened and used again");
}

}  // namespace assay::plugin_check
