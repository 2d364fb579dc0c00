// SPDX-License-Identifier: Apache-2.0
// The rules of the ABI, for every plugin: errors as status and text, truncation, struct sizes, bounds, timing, exports.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

#include "tests/unit/backends/matmul_case.h"

namespace plugin_test {
namespace {

class Abi : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!HasDevice(GetParam())) GTEST_SKIP() << "no device of " << GetParam();
  }
  Plugin& plugin() { return PluginAt(GetParam()); }
  const assay_backend_api& api() { return plugin().api(); }
  assay_device* device() { return plugin().device(); }

  // A device of its own has one, but for Vulkan queues without time stamps.
  bool HasClock() {
    assay_device_info info{sizeof info};
    EXPECT_EQ(api().device_info(0, &info, nullptr), ASSAY_OK);
    return !plugin().IsHost() && std::string(info.properties).find("timestamp_ns=absent") == std::string::npos;
  }

  assay_status Query(const assay_op_desc* op, assay_text* error) {
    const assay_implementations* found = nullptr;
    const assay_status status = api().query(device(), op, &found, error);
    api().query_free(device(), found);
    return status;
  }
};

TEST_P(Abi, DescribesItselfAndItsDevices) {
  Text error;
  assay_backend_info info{sizeof info};
  ASSERT_EQ(api().describe(&info, error.raw()), ASSAY_OK);
  EXPECT_EQ(info.name, PluginName(GetParam()));
  uint32_t count = 0;
  ASSERT_EQ(api().device_count(&count, error.raw()), ASSAY_OK);
  ASSERT_TRUE(count == 1 || (count > 1 && !plugin().IsHost())) << count;
  assay_device_info device{sizeof device};
  ASSERT_EQ(api().device_info(0, &device, error.raw()), ASSAY_OK);
  EXPECT_GT(device.memory_bytes, 0u);
  EXPECT_NE(std::string(device.properties).find('='), std::string::npos);
  EXPECT_EQ(api().device_info(700, &device, error.raw()), ASSAY_ERROR);
  EXPECT_NE(error.str().find("no device 700"), std::string::npos);
}

TEST_P(Abi, WritesOnlyMembersThatTheCallerKnows) {
  assay_backend_info info;
  std::memset(&info, 0x5A, sizeof info);
  const assay_backend_info before = info;
  info.struct_size = offsetof(assay_backend_info, version);
  ASSERT_EQ(api().describe(&info, nullptr), ASSAY_OK);
  EXPECT_STREQ(info.vendor, "assay");
  EXPECT_EQ(info.version, before.version);
  EXPECT_EQ(info.library_version, before.library_version);
}

TEST_P(Abi, NamesAnUnknownOperatorAndType) {
  Text error;
  Op unknown("transmogrify");
  EXPECT_EQ(Query(unknown.raw(), error.raw()), ASSAY_UNSUPPORTED);
  EXPECT_NE(error.str().find("transmogrify"), std::string::npos) << error.str();
  constexpr Type kI16{0, 16, 0, 0, "i16"};
  Op narrow = MatmulArgs{.in = kI16, .out = kI16}.Description();
  EXPECT_EQ(Query(narrow.raw(), error.raw()), ASSAY_UNSUPPORTED);
  EXPECT_NE(error.str().find("i16"), std::string::npos) << error.str();
}

TEST_P(Abi, CallsAMalformedDescriptionAnError) {
  Text error;
  EXPECT_EQ(Query(nullptr, error.raw()), ASSAY_ERROR);
  Op missing("matmul");
  EXPECT_EQ(Query(missing.raw(), error.raw()), ASSAY_ERROR);
  EXPECT_NE(error.str().find("'m' is missing"), std::string::npos) << error.str();
  Op wrong = MatmulArgs{.m = 3}.Description();
  wrong.inputs[0].shape[0] = 4;
  EXPECT_EQ(Query(wrong.raw(), error.raw()), ASSAY_ERROR);
  EXPECT_NE(error.str().find("[4, 1]"), std::string::npos) << error.str();
  Op good = MatmulArgs{}.Description();
  assay_op_desc desc = *good.raw();
  desc.struct_size = 16;
  EXPECT_EQ(Query(&desc, error.raw()), ASSAY_ERROR);
  assay_plan* plan = nullptr;
  EXPECT_EQ(api().plan_create(device(), good.raw(), "no-such", &plan, error.raw()), ASSAY_ERROR);
  EXPECT_NE(error.str().find("no-such"), std::string::npos) << error.str();
  EXPECT_EQ(plan, nullptr);
}

TEST_P(Abi, TruncatesTextToTheCallersBuffer) {
  Op unknown("transmogrify");
  for (uint64_t capacity : {0, 1, 5}) {
    Text error(capacity);
    EXPECT_EQ(Query(unknown.raw(), error.raw()), ASSAY_UNSUPPORTED);
    EXPECT_EQ(error.at(capacity), '~') << "wrote beyond " << capacity;
    if (capacity > 0) {
      EXPECT_EQ(error.str().size(), capacity - 1);
    }
  }
  assay_text none{sizeof none, nullptr, 0};
  EXPECT_EQ(Query(unknown.raw(), &none), ASSAY_UNSUPPORTED);
  EXPECT_EQ(Query(unknown.raw(), nullptr), ASSAY_UNSUPPORTED);
}

TEST_P(Abi, ListsImplementationsUntilTheyAreFreed) {
  Op op = MatmulArgs{.m = 4, .n = 4, .k = 4}.Description();
  const assay_implementations *first = nullptr, *second = nullptr;
  ASSERT_EQ(api().query(device(), op.raw(), &first, nullptr), ASSAY_OK);
  ASSERT_EQ(api().query(device(), op.raw(), &second, nullptr), ASSAY_OK);
  ASSERT_GE(first->count, 2u);
  ASSERT_EQ(second->count, first->count);
  api().query_free(device(), first);
  EXPECT_GE(second->struct_size, sizeof(assay_implementations));
  for (uint64_t i = 0; i < second->count; ++i) {
    EXPECT_GE(second->items[i]->struct_size, sizeof(assay_implementation));
    EXPECT_GT(std::strlen(second->items[i]->name) * std::strlen(second->items[i]->contract), 0u);
  }
  api().query_free(device(), second);
  api().query_free(device(), nullptr);
}

TEST_P(Abi, RefusesWhatItDoesNotKnow) {
  Text error;
  Op unknown = MatmulArgs{}.Description();
  unknown.Int("swizzle", 1);
  EXPECT_EQ(Query(unknown.raw(), error.raw()), ASSAY_UNSUPPORTED);
  EXPECT_NE(error.str().find("'swizzle' is not known"), std::string::npos) << error.str();
  assay_plan* plan = nullptr;
  Op known = MatmulArgs{}.Description();
  const auto name = plugin().Offered(known).at(0).name;
  EXPECT_EQ(api().plan_create(device(), unknown.raw(), name.c_str(), &plan, error.raw()), ASSAY_UNSUPPORTED);
  assay_op_desc flagged = *known.raw();
  flagged.flags = 1;
  EXPECT_EQ(Query(&flagged, error.raw()), ASSAY_UNSUPPORTED);
  EXPECT_NE(error.str().find("flag"), std::string::npos) << error.str();
}

TEST_P(Abi, ChecksRangesOfBuffersAndOperands) {
  Text error;
  assay_buffer* buffer = nullptr;
  ASSERT_EQ(api().buffer_alloc(device(), 64, &buffer, error.raw()), ASSAY_OK);
  char bytes[128] = {};
  EXPECT_EQ(api().buffer_upload(device(), buffer, 60, bytes, 5, error.raw()), ASSAY_ERROR);
  EXPECT_EQ(api().buffer_download(device(), buffer, ~uint64_t{0}, bytes, 5, error.raw()), ASSAY_ERROR);
  EXPECT_EQ(api().buffer_upload(device(), buffer, 60, bytes, 4, error.raw()), ASSAY_OK);
  Op op = MatmulArgs{.m = 4, .n = 4, .k = 4}.Description();
  assay_plan* plan = nullptr;
  const auto name = plugin().Offered(op).at(0).name;
  ASSERT_EQ(api().plan_create(device(), op.raw(), name.c_str(), &plan, error.raw()), ASSAY_OK) << error.str();
  assay_tensor_arg arg{sizeof arg, buffer, 4};
  const assay_tensor_arg* args[] = {&arg, &arg};
  assay_args all{sizeof all, 2, args, 1, args, 0};
  EXPECT_EQ(api().execute(plan, &all, error.raw()), ASSAY_ERROR);
  EXPECT_NE(error.str().find("operand 'a' at byte 4"), std::string::npos) << error.str();
  all.n_inputs = 1;
  EXPECT_EQ(api().execute(plan, &all, error.raw()), ASSAY_ERROR);
  EXPECT_NE(error.str().find("1 inputs were given, the description has 2"), std::string::npos) << error.str();
  all.flags = 2;
  EXPECT_EQ(api().execute(plan, &all, error.raw()), ASSAY_UNSUPPORTED);
  EXPECT_NE(error.str().find("arguments with flags 0x2 are not known"), std::string::npos) << error.str();
  api().plan_destroy(plan);
  api().buffer_free(device(), buffer);
}

TEST_P(Abi, ReportsAnImpossibleAllocation) {
  Text error;
  assay_buffer* buffer = nullptr;
  EXPECT_EQ(api().buffer_alloc(device(), uint64_t{1} << 60, &buffer, error.raw()), ASSAY_OUT_OF_MEMORY);
  EXPECT_EQ(buffer, nullptr);
}

TEST_P(Abi, GivesEveryExecutionOfABatchItsDuration) {
  Text error;
  Op op = MatmulArgs{.m = 8, .n = 8, .k = 8}.Description();
  assay_plan* plan = nullptr;
  const auto name = plugin().Offered(op).at(0).name;
  ASSERT_EQ(api().plan_create(device(), op.raw(), name.c_str(), &plan, error.raw()), ASSAY_OK) << error.str();
  assay_buffer* buffer = nullptr;
  ASSERT_EQ(api().buffer_alloc(device(), 1024, &buffer, error.raw()), ASSAY_OK);
  float values[256];
  std::fill(values, values + 64, 1.0f), std::fill(values + 64, values + 256, -7.0f);
  api().buffer_upload(device(), buffer, 0, values, sizeof values, error.raw());
  // Both sets read the ones; they write to bytes 256 and 512.
  assay_tensor_arg in{sizeof in, buffer, 0}, out0 = in, out1 = in;
  out0.byte_offset = 256, out1.byte_offset = 512;
  const assay_tensor_arg *inputs[] = {&in, &in}, *outputs0[] = {&out0}, *outputs1[] = {&out1};
  const assay_args set0{sizeof set0, 2, inputs, 1, outputs0, 0}, set1{sizeof set1, 2, inputs, 1, outputs1, 0};
  const assay_args* sets[] = {&set0, &set1};
  for (const int32_t cache : {ASSAY_CACHE_WARM, ASSAY_CACHE_COLD}) {
    double seconds[2] = {-1, -1};
    assay_batch batch{sizeof batch, 2, sets, cache, 0, seconds, -1, -1};
    ASSERT_EQ(api().execute_batch(plan, &batch, error.raw()), ASSAY_OK) << error.str();
    for (double s : seconds) EXPECT_GT(s, 0);
    EXPECT_EQ(batch.clock_is_device, HasClock() ? 1 : 0);
    EXPECT_EQ(batch.cache_was_flushed, cache == ASSAY_CACHE_COLD ? 1 : 0);
  }
  api().buffer_download(device(), buffer, 0, values, sizeof values, error.raw());
  EXPECT_EQ(values[64], 8.0f);
  EXPECT_EQ(values[128 + 63], 8.0f);
  EXPECT_EQ(values[192], -7.0f);
  assay_batch no_args{sizeof no_args, 1, nullptr, 0, 0, nullptr, 0, 0};
  EXPECT_EQ(api().execute_batch(plan, &no_args, error.raw()), ASSAY_ERROR);
  assay_batch nothing{sizeof nothing, 0, nullptr, 0, 0, nullptr, -1, -1};
  EXPECT_EQ(api().execute_batch(plan, &nothing, error.raw()), ASSAY_OK) << error.str();
  api().plan_destroy(plan);
  api().buffer_free(device(), buffer);
}

TEST_P(Abi, ExportsOneSymbol) {
  const std::string command = std::string(ASSAY_NM) + " -D --defined-only --format=posix '" + GetParam() + "'";
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  ASSERT_EQ(pclose(pipe), 0);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_TRUE(text.starts_with("assay_backend_v1 T")) << text;
}

INSTANTIATE_TEST_SUITE_P(Plugins, Abi, testing::ValuesIn(PluginPaths()),
                         [](const auto& each) { return PluginName(each.param); });

}  // namespace
}  // namespace plugin_test
