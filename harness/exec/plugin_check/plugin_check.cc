// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/plugin_check/plugin_check.h"

#include <algorithm>

#include "harness/exec/plugin_check/plugin_check_rules.h"
#include "harness/exec/worker/found_implementations.h"
#include "harness/exec/worker/plugin_loader.h"

namespace assay {
namespace plugin_check {
namespace {

using Stage = PluginStage;

constexpr PluginCheck kChecks[] = {
    {"loads", "the file is a shared library that the loader takes", Stage::kFile, Loads, Stage::kLibrary, true},
    {"entry-symbol", "assay_backend_v1 is exported and returns one table", Stage::kLibrary, EntrySymbol, Stage::kTable,
     true},
    {"exports", "nothing but the entry point is exported", Stage::kLibrary, Exports},
    {"entry-is-quiet", "the entry point starts no thread and opens no device", Stage::kLibrary, EntryIsQuiet},
    {"newer-host", "a host of a later minor version is served", Stage::kLibrary, NewerHost},
    {"abi-version", "the table is of this major version", Stage::kLibrary, AbiVersion, Stage::kTable, true},
    {"functions", "every required function is there", Stage::kLibrary, Functions, Stage::kTable, true},
    {"describe", "the backend names itself", Stage::kTable, Describes},
    {"devices", "devices are listed, or it is said why there is none", Stage::kTable, Devices, Stage::kDevice, true},
    {"device-index", "an index that does not exist is refused", Stage::kTable, DeviceIndex},
    {"older-caller", "only members within struct_size are written", Stage::kTable, OlderCaller},
    {"newer-caller", "members that the plugin does not know stay untouched", Stage::kTable, NewerCaller},
    {"error-reason", "a failing call says why", Stage::kTable, ErrorReason},
    {"error-null", "a failing call takes NULL for the text", Stage::kTable, ErrorNull},
    {"error-empty", "a text without room is left alone", Stage::kTable, ErrorEmpty},
    {"error-short", "a text is cut to its room and terminated", Stage::kTable, ErrorShort},
    {"open-close", "a device can be opened again and again", Stage::kDevice, OpenClose, Stage::kDevice, true},
    {"unknown-operator", "an unknown operator is unsupported, with the reason", Stage::kDevice, UnknownOperator},
    {"buffer-roundtrip", "what is uploaded comes back, whole and in part", Stage::kDevice, BufferRoundTrip},
    {"buffer-zero", "an allocation of no bytes is answered", Stage::kDevice, BufferZero},
    {"buffer-huge", "an impossible allocation is refused", Stage::kDevice, BufferHuge},
    {"buffer-range", "transfers outside of an allocation are refused", Stage::kDevice, BufferRange},
    {"buffer-alignment", "the alignment of allocations is a power of two, or not stated", Stage::kDevice,
     BufferAlignment},
    {"destroy-null", "close, free and destroy take NULL", Stage::kDevice, DestroyNull},
    {"implementations", "names are legal and unique, contracts are understood", Stage::kOffer, Implementations},
    {"query-free", "every query has a list of its own, which query_free ends", Stage::kOffer, QueryFree},
    {"unknown-type", "an unknown element type is unsupported, with the reason", Stage::kOffer, UnknownType},
    {"unknown-attribute", "an unknown attribute is unsupported, unless it is flagged as optional", Stage::kOffer,
     UnknownAttribute},
    {"unknown-flags", "flags and reserved members that the header does not name are unsupported", Stage::kOffer,
     UnknownFlags},
    {"in-place", "an output in the memory of an input is right, or unsupported", Stage::kOffer, InPlace},
    {"outputs", "another number of outputs is refused, and each of several is written", Stage::kOffer, Outputs},
    {"capabilities", "the table of capabilities says what query says", Stage::kOffer, Capabilities},
    {"newer-description", "descriptions of a newer caller are understood", Stage::kOffer, NewerDescription},
    {"plan-unknown", "an implementation that does not exist is refused", Stage::kOffer, PlanUnknown},
    {"plans", "plans can be created and destroyed many times", Stage::kOffer, Plans},
    {"execute-twice", "what is declared deterministic gives the same bits twice", Stage::kOffer, ExecuteTwice},
    {"execute-batch", "every execution of a batch gets a duration", Stage::kOffer, ExecuteBatch},
    {"argument-flags", "arguments with flags that the header does not name are refused, with the reason", Stage::kOffer,
     ArgumentFlags},
    {"float-environment", "rounding, subnormal numbers and traps are as before after a call", Stage::kOffer,
     FloatEnvironment},
    {"changed-inputs", "inputs may change in part between executions", Stage::kOffer, ChangedInputs},
    {"plan-info", "what a plan came to is told within struct_size", Stage::kOffer, PlanInfo},
    {"close-after-use", "the device closes and opens again after all objects are destroyed", Stage::kOffer,
     CloseAfterUse},
    {"leaks", "memory does not grow from cycle to cycle", Stage::kOffer, Leaks},
    {"unload", "a process that has used the plugin ends without a crash", Stage::kFile, Unload},
};

Finding OpenFirstDevice(PluginUnderTest& plugin) {
  ErrorText error;
  uint32_t count = 0;
  assay_status status = plugin.api->device_count(&count, error.out());
  if (status == ASSAY_UNAVAILABLE || (status == ASSAY_OK && count == 0)) {
    return Skipped("there is no device: {}", error.str().empty() ? "no reason is given" : error.str());
  }
  if (status != ASSAY_OK) return Bad("{}", DescribeStatus("device_count", status, error));
  status = plugin.api->device_open(0, &plugin.device, error.out());
  if (status == ASSAY_UNAVAILABLE) return Skipped("device 0 cannot be used: {}", error.str());
  if (status != ASSAY_OK) return Bad("{}", DescribeStatus("device_open", status, error));
  if (plugin.device == nullptr) return Bad("device_open returned ASSAY_OK and a NULL device");
  return Good("");
}

// The first problem of each operator that the plugin takes.
Finding FindOffers(PluginUnderTest& plugin, const Json& problems) {
  std::string last_reason = "no problem was tried";
  for (const Json& problem : problems) {
    const std::string op_name = problem.at("op");
    const auto known = [&](const CheckedOffer& offer) { return offer.op->get().op == op_name; };
    if (std::any_of(plugin.offers.begin(), plugin.offers.end(), known)) continue;
    CheckedOffer offer{op_name, std::make_unique<OpDescription>(problem), {}};
    FoundImplementations found(*plugin.api, plugin.device);
    ErrorText error;
    const assay_status status = found.Query(offer.op->get(), error);
    if (status != ASSAY_OK) last_reason = DescribeStatus("query", status, error);
    if (status != ASSAY_OK) continue;
    if (const std::string what = found.Problem(); !what.empty()) return Bad("query of {}: {}", op_name, what);
    for (const assay_implementation* item : found.items()) {
      // The check of implementations reports a NULL.
      const auto text = [](const char* s) { return std::string(s == nullptr ? "" : s); };
      offer.implementations.push_back({text(item->name), text(item->contract)});
    }
    plugin.offers.push_back(std::move(offer));
  }
  if (!plugin.offers.empty()) return Good("");
  return Skipped("the plugin offers none of the {} problems tried; name one that it offers with --case. Last: {}",
                 problems.size(), last_reason);
}

}  // namespace

Finding Reach(PluginUnderTest& plugin, Stage stage, const Json& problems) {
  if (stage >= Stage::kTable) {
    const Result<const assay_backend_api*> api = LoadPlugin(plugin.path);
    if (!api) return Bad("{}", api.error().message);
    plugin.api = *api;
  }
  if (stage >= Stage::kDevice) {
    if (Finding opened = OpenFirstDevice(plugin); opened.kind != Finding::Kind::kOk) return opened;
  }
  return stage >= Stage::kOffer ? FindOffers(plugin, problems) : Good("");
}

std::string DescribeStatus(const char* function, assay_status status, const ErrorText& error) {
  const std::string text = error.str();
  return fmt::format("{} returned status {}: {}", function, status, text.empty() ? "without a text" : text);
}

bool IsUntouched(const void* bytes, size_t size) {
  const auto* begin = static_cast<const unsigned char*>(bytes);
  return std::all_of(begin, begin + size, [](unsigned char b) { return b == kUntouched; });
}

}  // namespace plugin_check

std::string_view Name(Finding::Kind kind) {
  return kind == Finding::Kind::kOk ? "ok" : kind == Finding::Kind::kFail ? "FAIL" : "skip";
}

PluginUnderTest::~PluginUnderTest() {
  if (device != nullptr) api->device_close(device);
}

std::span<const PluginCheck> PluginChecks() {
  return plugin_check::kChecks;
}

Json RunPluginCheck(const Json& request) {
  const std::string name = request.at("check");
  const std::span<const PluginCheck> checks = PluginChecks();
  const auto check = std::find_if(checks.begin(), checks.end(), [&](const auto& c) { return c.name == name; });
  if (check == checks.end()) return Failed(ASSAY_ERROR, "worker: unknown check '" + name + "'");
  PluginUnderTest plugin;
  plugin.path = request.at("plugin");
  plugin.problems = &request.at("problems");
  plugin.timeout_s = request.at("timeout_s");
  Finding finding = plugin_check::Reach(plugin, check->needs, request.at("problems"));
  if (finding.kind == Finding::Kind::kOk) finding = check->run(plugin);
  return {{"status", ASSAY_OK}, {"kind", Name(finding.kind)}, {"finding", finding.text}};
}

}  // namespace assay
