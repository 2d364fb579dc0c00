// SPDX-License-Identifier: Apache-2.0
// The modes of floating-point arithmetic after each way to execute. The harness restores them after each call, and so
// sees no wrong number; another caller would.
#include <functional>

#include "harness/core/base/amounts.h"
#include "harness/core/base/float_environment.h"
#include "harness/exec/plugin_check/plugin_check_operands.h"

namespace assay::plugin_check {
namespace {

struct WayToExecute {
  const char* function;
  bool is_there;
  std::function<Finding(const CheckedOffer&, const std::string& implementation)> run;
};

std::vector<WayToExecute> ListWaysToExecute(PluginUnderTest& plugin) {
  const assay_backend_api& api = *plugin.api;
  return {{"execute", true,
           [&](const CheckedOffer& offer, const std::string& implementation) {
             bool same = false;
             return TwoExecutions(plugin, offer, implementation.c_str(), &same);
           }},
          {"execute_batch", api.execute_batch != nullptr,
           [&](const CheckedOffer& offer, const std::string& implementation) {
             return CallBatch(plugin, offer, implementation.c_str());
           }}};
}

}  // namespace

Finding FloatEnvironment(PluginUnderTest& plugin) {
  if (const Status loaded = CheckFloatEnvironment(); !loaded) return Bad("after loading: {}", loaded.error().message);
  std::string ways;
  for (const WayToExecute& way : ListWaysToExecute(plugin)) {
    if (!way.is_there) continue;
    for (const CheckedOffer& offer : plugin.offers) {
      for (const CheckedOffer::Implementation& implementation : offer.implementations) {
        // Other checks report any other fault of the execution.
        way.run(offer, implementation.name);
        const Status after = CheckFloatEnvironment();
        RestoreFloatEnvironment();
        if (after) continue;
        return Bad("after {} of {} {}: {}; restore what you change before you return", way.function, offer.name,
                   implementation.name, after.error().message);
      }
    }
    ways += (ways.empty() ? "" : ", ") + std::string(way.function);
  }
  return Good("{}, by {}", Counted(std::ssize(plugin.offers), "operator"), ways);
}

}  // namespace assay::plugin_check
