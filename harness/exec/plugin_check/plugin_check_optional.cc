// SPDX-License-Identifier: Apache-2.0
// Functions that a plugin may lack: what a plan came to, and the table of capabilities.
#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

#include "harness/core/base/amounts.h"
#include "harness/exec/plugin_check/plugin_check_operands.h"

namespace assay::plugin_check {
namespace {

using Key = std::tuple<std::string, int, int>;  // operator, type code and bits of the first operand

std::string TextOf(const Key& key) {
  return fmt::format("{} of type {} with {} bits", std::get<0>(key), std::get<1>(key), std::get<2>(key));
}

bool IsKnownFeature(std::string_view feature) {
  constexpr std::string_view kKnown[] = {"strides", "permuted", "in_place"};
  return std::ranges::find(kKnown, feature) != std::end(kKnown);
}

// "" or the feature that the header does not name.
std::string UnknownFeature(std::string_view features) {
  while (!features.empty()) {
    const size_t end = std::min(features.find(';'), features.size());
    if (!IsKnownFeature(features.substr(0, end))) return std::string(features.substr(0, end));
    features.remove_prefix(std::min(end + 1, features.size()));
  }
  return "";
}

Finding ReadTable(const assay_capabilities& table, std::set<Key>& keys) {
  if (!ASSAY_HAS(&table, items) || (table.count > 0 && table.items == nullptr)) {
    return Bad("the table of capabilities is cut off; set struct_size to sizeof(assay_capabilities)");
  }
  for (uint64_t i = 0; i < table.count; ++i) {
    const assay_capability* line = table.items[i];
    if (line == nullptr || !ASSAY_HAS(line, features)) return Bad("line {} is NULL or cut off", i);
    std::string problem = ProblemOfText("op", line->op, kMaxNameBytes);
    if (problem.empty()) problem = ProblemOfText("features", line->features, kMaxTextBytes);
    if (!problem.empty()) return Bad("line {}: {}", i, problem);
    const std::string unknown = UnknownFeature(line->features);
    if (!unknown.empty()) return Bad("line {}: '{}' is not a feature of the header", i, unknown);
    const Key key{line->op, line->type_code, line->bits};
    if (!keys.insert(key).second) return Bad("{} is listed twice", TextOf(key));
  }
  return Good("");
}

}  // namespace

Finding PlanInfo(PluginUnderTest& plugin) {
  if (plugin.api->plan_info == nullptr) return Skipped("there is no plan_info");
  std::string told;
  for (const CheckedOffer& offer : plugin.offers) {
    TestPlan plan(plugin);
    const std::string& name = offer.implementations.front().name;
    if (Finding f = plan.Create(offer.op->get(), name.c_str()); f.kind != kOk) return f;
    ErrorText error;
    constexpr size_t kAnnounced = offsetof(assay_plan_info, algorithm);
    OtherVersion<assay_plan_info> older(kAnnounced), newer(kNewerSize<assay_plan_info>);
    assay_status status = plugin.api->plan_info(plan.get(), older.get(), error.out());
    if (status == ASSAY_UNSUPPORTED && !error.str().empty()) continue;
    if (status == ASSAY_OK) status = plugin.api->plan_info(plan.get(), newer.get(), error.out());
    if (status != ASSAY_OK) return Bad("{} {}: {}", offer.name, name, DescribeStatus("plan_info", status, error));
    if (!older.IsUntouchedFrom(kAnnounced) || !newer.IsUntouchedFrom(sizeof(assay_plan_info))) {
      return Bad("plan_info wrote beyond the members that both sides know; use ASSAY_SET");
    }
    std::string problem = ProblemOfText("algorithm", newer.get()->algorithm, kMaxTextBytes);
    if (problem.empty()) problem = ProblemOfText("kernel", newer.get()->kernel, kMaxTextBytes);
    if (!problem.empty()) return Bad("{} {}: plan_info: {}", offer.name, name, problem);
    told += fmt::format("{}{}: {} bytes", told.empty() ? "" : ", ", name, newer.get()->workspace_bytes);
  }
  return told.empty() ? Skipped("no plan tells what it came to") : Good("{}", told);
}

Finding Capabilities(PluginUnderTest& plugin) {
  if (plugin.api->capabilities == nullptr) return Skipped("there is no table of capabilities");
  const assay_capabilities* table = nullptr;
  ErrorText error;
  const assay_status status = plugin.api->capabilities(plugin.device, &table, error.out());
  if (status == ASSAY_UNSUPPORTED) return Skipped("{}", error.str());
  if (status != ASSAY_OK) return Bad("{}", DescribeStatus("capabilities", status, error));
  if (table == nullptr) return Bad("capabilities returned ASSAY_OK and no table");
  std::set<Key> listed, tried, offered;
  if (Finding f = ReadTable(*table, listed); f.kind != kOk) return f;
  for (const Json& problem : *plugin.problems) {
    const OpDescription op(problem);
    if (op.get().n_inputs == 0) continue;
    const assay_tensor_desc& first = *op.get().inputs[0];
    const Key key{op.get().op, first.type_code, first.bits};
    tried.insert(key);
    if (Ask(plugin, op.get()).status == ASSAY_OK) offered.insert(key);
  }
  for (const Key& key : offered) {
    if (!listed.contains(key)) return Bad("query offers {}, which the table lacks", TextOf(key));
  }
  int compared = 0;
  for (const Key& key : listed) {
    if (!tried.contains(key)) continue;
    if (!offered.contains(key)) return Bad("the table lists {}, which query does not offer", TextOf(key));
    ++compared;
  }
  return Good("{}, {} of them compared with query", Counted(std::ssize(listed), "line"), compared);
}

Finding BufferAlignment(PluginUnderTest& plugin) {
  assay_device_info info{};
  info.struct_size = sizeof info;
  ErrorText error;
  const assay_status status = plugin.api->device_info(0, &info, error.out());
  if (status != ASSAY_OK) return Bad("{}", DescribeStatus("device_info", status, error));
  if (info.buffer_alignment == 0) return Good("not stated");
  if (std::has_single_bit(info.buffer_alignment)) return Good("{} bytes", info.buffer_alignment);
  return Bad("buffer_alignment is {}; state a power of two, or 0 for none", info.buffer_alignment);
}

}  // namespace assay::plugin_check
