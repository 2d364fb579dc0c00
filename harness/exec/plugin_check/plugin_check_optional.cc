// SPDX-License-Identifier: Apache-2.0
// Functions that a plugin may lack: what a plan came to, the table of capabilities, memory that exists already.
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
  constexpr std::string_view kKnown[] = {"strides", "permuted", "in_place", "dynamic_shapes", "streams"};
  return feature.starts_with("layouts=") || std::ranges::find(kKnown, feature) != std::end(kKnown);
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

// A tensor as DLPack has it, of bytes on the host.
struct DlManaged {
  void* data;
  int32_t device_type = ASSAY_DEVICE_CPU, device_id = 0;
  int32_t rank = 1;
  uint8_t code = ASSAY_TYPE_UINT, bits = 8;
  uint16_t lanes = 1;
  int64_t* shape;
  int64_t* strides = nullptr;
  uint64_t byte_offset = 0;
  void* context = nullptr;
  void (*deleter)(DlManaged*) = nullptr;
};

// Bytes go both ways between an imported buffer and the memory that it stands for.
Finding IsUsedInPlace(PluginUnderTest& plugin, const assay_memory& memory, unsigned char* bytes, const char* what) {
  assay_buffer* buffer = nullptr;
  ErrorText error;
  assay_status status = plugin.api->buffer_import(plugin.device, &memory, &buffer, error.out());
  if (status == ASSAY_UNSUPPORTED) {
    return error.str().empty() ? Bad("buffer_import of {} gives no reason; write one into the text", what)
                               : Skipped("{}: {}", what, error.str());
  }
  if (status != ASSAY_OK) return Bad("{}: {}", what, DescribeStatus("buffer_import", status, error));
  if (buffer == nullptr) return Bad("buffer_import of {} returned ASSAY_OK and a NULL buffer", what);
  const unsigned char sent[3] = {7, 8, 9};
  unsigned char got[3] = {};
  bytes[20] = 41, bytes[21] = 42, bytes[22] = 43;
  Finding finding = Good("");
  status = plugin.api->buffer_download(plugin.device, buffer, 20, got, sizeof got, error.out());
  if (status != ASSAY_OK || std::memcmp(got, bytes + 20, sizeof got) != 0) {
    finding = Bad("{}: buffer_download does not return what its owner wrote there", what);
  }
  status = plugin.api->buffer_upload(plugin.device, buffer, 40, sent, sizeof sent, error.out());
  if (status != ASSAY_OK || std::memcmp(bytes + 40, sent, sizeof sent) != 0) {
    finding = Bad("{}: an upload does not reach the imported memory", what);
  }
  if (plugin.api->buffer_download(plugin.device, buffer, memory.bytes - 1, got, 2, error.out()) == ASSAY_OK) {
    finding = Bad("{}: a range that reaches outside of it is ASSAY_OK", what);
  }
  plugin.api->buffer_free(plugin.device, buffer);
  bytes[memory.bytes - 1] = 1;  // still its owner's
  return finding;
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

Finding BufferImport(PluginUnderTest& plugin) {
  if (plugin.api->buffer_import == nullptr) return Skipped("there is no buffer_import");
  constexpr uint64_t kBytes = 4096;
  alignas(4096) static unsigned char bytes[kBytes];
  assay_memory memory{};
  memory.struct_size = sizeof memory;
  memory.fd = -1;
  memory.bytes = kBytes;
  assay_buffer* buffer = nullptr;
  ErrorText error;
  memory.kind = 99;
  memory.pointer = bytes;
  if (plugin.api->buffer_import(plugin.device, &memory, &buffer, error.out()) == ASSAY_OK) {
    return Bad("buffer_import of a kind that the header does not name is ASSAY_OK");
  }
  memory.kind = ASSAY_MEMORY_HOST;
  memory.flags = uint64_t{1} << 63;
  if (plugin.api->buffer_import(plugin.device, &memory, &buffer, error.out()) == ASSAY_OK) {
    return Bad("buffer_import with a flag that the header does not name is ASSAY_OK");
  }
  memory.flags = 0;
  const Finding host = IsUsedInPlace(plugin, memory, bytes, "host memory");
  if (host.kind == Finding::Kind::kFail) return host;
  int64_t shape = static_cast<int64_t>(kBytes);
  DlManaged tensor{.data = bytes, .shape = &shape};
  memory.kind = ASSAY_MEMORY_DLPACK;
  memory.pointer = &tensor;
  const Finding dlpack = IsUsedInPlace(plugin, memory, bytes, "a DLPack tensor on the host");
  if (dlpack.kind == Finding::Kind::kFail) return dlpack;
  if (host.kind != kOk) return dlpack.kind == kOk ? dlpack : host;
  return Good("host memory{}", dlpack.kind == kOk ? ", DLPack" : "");
}

}  // namespace assay::plugin_check
