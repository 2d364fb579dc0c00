// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/backends/plugin_fixture.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>

namespace plugin_test {
namespace {

constexpr std::byte kGuard{0xA5};
constexpr int64_t kGuardElements = 13;  // odd, so that elements are not aligned to vectors

// A device allocation that holds one tensor between guards.
class Placed {
 public:
  Placed(const Plugin& plugin, const Layout& layout, const std::vector<double>* values)
      : plugin_(plugin), layout_(layout), size_(layout.type.bits / 8), offsets_(layout.Offsets()) {
    int64_t reach = 0;
    for (int64_t offset : offsets_) reach = std::max(reach, offset);
    bytes_.assign(static_cast<size_t>((reach + 1 + 2 * kGuardElements) * size_), kGuard);
    const int parts = layout.type.Parts();
    for (size_t i = 0; values != nullptr && i < offsets_.size() * parts; ++i) {
      std::byte* element = At(bytes_, offsets_[i / parts]);
      Encode(layout.type.Part(), values->at(i), element + i % parts * size_ / parts);
    }
    Text error;
    EXPECT_EQ(plugin.api().buffer_alloc(plugin.device(), bytes_.size(), &buffer_, error.raw()), ASSAY_OK)
        << error.str();
    plugin.api().buffer_upload(plugin.device(), buffer_, 0, bytes_.data(), bytes_.size(), error.raw());
    arg_ = {sizeof arg_, buffer_, static_cast<uint64_t>(kGuardElements * size_)};
  }
  ~Placed() { plugin_.api().buffer_free(plugin_.device(), buffer_); }
  Placed(const Placed&) = delete;  // owns a device allocation
  Placed& operator=(const Placed&) = delete;

  const assay_tensor_arg* arg() const { return &arg_; }

  void ExpectUnchanged() { EXPECT_EQ(Downloaded(), bytes_) << layout_.name << " was written to"; }

  std::vector<double> Values() {
    std::vector<std::byte> now = Downloaded();
    std::vector<double> values;
    for (int64_t offset : offsets_) {
      const int parts = layout_.type.Parts();
      for (int part = 0; part < parts; ++part) {
        values.push_back(Decode(layout_.type.Part(), At(now, offset) + part * size_ / parts));
      }
      std::fill_n(At(now, offset), size_, kGuard);
    }
    EXPECT_EQ(now, bytes_) << "bytes outside the elements of " << layout_.name << " were written to";
    return values;
  }

 private:
  std::byte* At(std::vector<std::byte>& bytes, int64_t offset) const {
    return bytes.data() + (offset + kGuardElements) * size_;
  }
  std::vector<std::byte> Downloaded() {
    std::vector<std::byte> now(bytes_.size());
    Text error;
    EXPECT_EQ(plugin_.api().buffer_download(plugin_.device(), buffer_, 0, now.data(), now.size(), error.raw()),
              ASSAY_OK)
        << error.str();
    return now;
  }

  const Plugin& plugin_;
  const Layout& layout_;
  int64_t size_;
  std::vector<int64_t> offsets_;
  std::vector<std::byte> bytes_;
  assay_buffer* buffer_ = nullptr;
  assay_tensor_arg arg_{};
};

assay_tensor_desc Describe(const Layout& layout) {
  return {sizeof(assay_tensor_desc),
          layout.name.c_str(),
          layout.type.code,
          layout.type.bits,
          0,
          static_cast<int32_t>(layout.shape.size()),
          layout.shape.data(),
          layout.strides.data(),
          0,
          0};
}

}  // namespace

const assay_host_info& Host() {
  static const assay_host_info host{sizeof host,
                                    ASSAY_ABI_MAJOR,
                                    ASSAY_ABI_MINOR,
                                    "assay tests",
                                    "0",
                                    [](void*, int32_t, const char* text) { std::puts(text); },
                                    nullptr};
  return host;
}

assay_attr& Op::Attr(const std::string& key, int32_t type) {
  assay_attr& attr = attrs_.emplace_back();
  attr.struct_size = sizeof attr;
  attr.key = strings_.emplace_back(key).c_str();
  attr.type = type;
  return attr;
}

Op& Op::Int(const std::string& key, int64_t value) {
  return Attr(key, ASSAY_ATTR_INT).i = value, *this;
}
Op& Op::Float(const std::string& key, double value) {
  return Attr(key, ASSAY_ATTR_FLOAT).f = value, *this;
}
Op& Op::String(const std::string& key, const std::string& value) {
  return Attr(key, ASSAY_ATTR_STRING).s = strings_.emplace_back(value).c_str(), *this;
}
Op& Op::List(const std::string& key, const std::vector<int64_t>& value) {
  assay_attr& attr = Attr(key, ASSAY_ATTR_INT_LIST);
  attr.ints = lists_.emplace_back(value).data();
  attr.count = value.size();
  return *this;
}

const assay_op_desc* Op::raw() {
  tensors_.clear(), attr_pointers_.clear(), input_pointers_.clear(), output_pointers_.clear();
  for (const Layout& layout : inputs) input_pointers_.push_back(&tensors_.emplace_back(Describe(layout)));
  for (const Layout& layout : outputs) output_pointers_.push_back(&tensors_.emplace_back(Describe(layout)));
  for (const assay_attr& attr : attrs_) attr_pointers_.push_back(&attr);
  raw_ = {sizeof raw_,
          name_.c_str(),
          inputs.size(),
          input_pointers_.data(),
          outputs.size(),
          output_pointers_.data(),
          attr_pointers_.size(),
          attr_pointers_.data(),
          0};
  return &raw_;
}

std::vector<std::vector<double>> RandomInputs(const Op& op) {
  std::vector<std::vector<double>> inputs;
  for (const Layout& layout : op.inputs) {
    inputs.push_back(RandomValues(layout.type.Part(), static_cast<size_t>(layout.Elements() * layout.type.Parts()),
                                  7 + inputs.size()));
  }
  return inputs;
}

Plugin::Plugin(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  const auto entry = reinterpret_cast<assay_backend_entry>(dlsym(library, ASSAY_BACKEND_ENTRY));
  EXPECT_NE(entry, nullptr);
  api_ = entry(&Host());
  Text error;
  EXPECT_EQ(api_->device_open(0, &device_, error.raw()), ASSAY_OK) << error.str();
}

Plugin::~Plugin() {
  api_->device_close(device_);
}

bool Plugin::IsHost() const {
  assay_device_info info{sizeof info};
  Text error;
  EXPECT_EQ(api_->device_info(0, &info, error.raw()), ASSAY_OK) << error.str();
  return info.device_type == ASSAY_DEVICE_CPU;
}

std::vector<Implementation> Plugin::Query(Op& op, std::string* reason) {
  Text error;
  const assay_implementations* found = nullptr;
  const assay_status status = api_->query(device_, op.raw(), &found, error.raw());
  const uint64_t count = found == nullptr ? 0 : found->count;
  *reason = status == ASSAY_OK ? "" : error.str();
  EXPECT_TRUE(status == ASSAY_OK || status == ASSAY_UNSUPPORTED) << status << ": " << error.str();
  EXPECT_EQ(status == ASSAY_OK, count > 0);
  EXPECT_TRUE(status == ASSAY_OK || !error.str().empty()) << "unsupported without a reason";
  std::vector<Implementation> implementations;
  for (uint64_t i = 0; i < count; ++i) implementations.push_back({found->items[i]->name, found->items[i]->contract});
  api_->query_free(device_, found);
  return implementations;
}

std::vector<Implementation> Plugin::Offered(Op& op) {
  std::string reason;
  auto implementations = Query(op, &reason);
  EXPECT_FALSE(implementations.empty()) << reason;
  return implementations;
}

std::string Plugin::Refusal(Op op) {
  std::string reason;
  EXPECT_TRUE(Query(op, &reason).empty());
  return reason;
}

namespace {

// A plan and its operands, executed once.
class Execution {
 public:
  Execution(const Plugin& plugin, Op& op, const std::string& implementation,
            const std::vector<std::vector<double>>& inputs)
      : plugin_(plugin), op_(op) {
    Text error;
    EXPECT_EQ(plugin.api().plan_create(plugin.device(), op.raw(), implementation.c_str(), &plan_, error.raw()),
              ASSAY_OK)
        << error.str();
    if (plan_ == nullptr) return;
    std::vector<const assay_tensor_arg*> in, out;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      in.push_back(placed_.emplace_back(plugin, op.inputs[i], &inputs[i]).arg());
    }
    for (const Layout& layout : op.outputs) out.push_back(placed_.emplace_back(plugin, layout, nullptr).arg());
    const assay_args args{sizeof args, in.size(), in.data(), out.size(), out.data(), 0};
    status_ = plugin.api().execute(plan_, &args, error.raw());
    if (status_ != ASSAY_OK) error_ = error.str();
  }
  Execution(const Execution&) = delete;  // owns a plan
  Execution& operator=(const Execution&) = delete;
  ~Execution() {
    if (plan_ != nullptr) plugin_.api().plan_destroy(plan_);
  }

  bool HasPlan() const { return plan_ != nullptr; }
  assay_status status() const { return status_; }
  const std::string& error() const { return error_; }
  std::vector<double> Values() {
    for (size_t i = 0; i < op_.inputs.size(); ++i) placed_[i].ExpectUnchanged();
    return placed_[op_.inputs.size()].Values();
  }

 private:
  const Plugin& plugin_;
  Op& op_;
  assay_plan* plan_ = nullptr;
  std::deque<Placed> placed_;
  assay_status status_ = ASSAY_ERROR;
  std::string error_;
};

}  // namespace

std::vector<double> Plugin::Run(Op& op, const std::string& implementation,
                                const std::vector<std::vector<double>>& inputs) {
  Execution execution(*this, op, implementation, inputs);
  if (!execution.HasPlan()) return {};
  EXPECT_EQ(execution.status(), ASSAY_OK) << execution.error();
  return execution.Values();
}

std::string Plugin::TryRun(Op& op, const std::string& implementation, const std::vector<std::vector<double>>& inputs) {
  return Execution(*this, op, implementation, inputs).error();
}

std::vector<const char*> PluginPaths() {
  return {
      ASSAY_CPU_PLUGIN,
#ifdef ASSAY_ONEDNN_PLUGIN
      ASSAY_ONEDNN_PLUGIN,
#endif
#ifdef ASSAY_OPENCL_PLUGIN
      ASSAY_OPENCL_PLUGIN,
#endif
#ifdef ASSAY_VULKAN_PLUGIN
      ASSAY_VULKAN_PLUGIN,
#endif
  };
}

bool HasDevice(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  uint32_t count = 0;
  const auto entry = reinterpret_cast<assay_backend_entry>(dlsym(library, ASSAY_BACKEND_ENTRY));
  return entry != nullptr && entry(&Host())->device_count(&count, nullptr) == ASSAY_OK;
}

Plugin& PluginAt(const char* path) {
  static std::map<std::string, std::unique_ptr<Plugin>> plugins;
  auto& plugin = plugins[path];
  if (plugin == nullptr) plugin = std::make_unique<Plugin>(path);
  return *plugin;
}

Plugin& Cpu() {
  return PluginAt(ASSAY_CPU_PLUGIN);
}
bool IsCpu(const char* path) {
  return std::string(path) == ASSAY_CPU_PLUGIN;
}

std::string PluginName(const char* path) {
  const std::string name = std::filesystem::path(path).stem().string(), prefix = "libassay_";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

}  // namespace plugin_test
