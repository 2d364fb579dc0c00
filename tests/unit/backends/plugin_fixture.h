// SPDX-License-Identifier: Apache-2.0
// A plugin as the harness uses it, with checks that it touches nothing but the outputs' elements.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "backends/abi/assay_backend.h"
#include "tests/unit/backends/plugin_values.h"

namespace plugin_test {

// Host information that a plugin's entry gets in these tests; its log is printed.
const assay_host_info& Host();

// A text buffer of the caller.
class Text {
 public:
  explicit Text(uint64_t capacity = 1024) : data_(capacity + 1, '~') { raw_ = {sizeof raw_, data_.data(), capacity}; }
  assay_text* raw() { return &raw_; }
  std::string str() const { return data_.data(); }
  char at(size_t i) const { return data_[i]; }

 private:
  std::vector<char> data_;  // one more than announced: it must stay '~'
  assay_text raw_;
};

// An operator description that owns what it points to.
class Op {
 public:
  explicit Op(std::string name) : name_(std::move(name)) {}
  Op(Op&&) = default;  // what it points to moves along; a copy would point into the original
  Op& In(Layout layout) { return inputs.push_back(std::move(layout)), *this; }
  Op& Out(Layout layout) { return outputs.push_back(std::move(layout)), *this; }
  Op& Int(const std::string& key, int64_t value);
  Op& Float(const std::string& key, double value);
  Op& String(const std::string& key, const std::string& value);
  Op& List(const std::string& key, const std::vector<int64_t>& value);
  const assay_op_desc* raw();

  std::deque<Layout> inputs, outputs;

 private:
  assay_attr& Attr(const std::string& key, int32_t type);

  std::string name_;
  std::deque<std::string> strings_;
  std::deque<std::vector<int64_t>> lists_;
  std::deque<assay_attr> attrs_;
  std::deque<assay_tensor_desc> tensors_;
  std::vector<const assay_attr*> attr_pointers_;
  std::vector<const assay_tensor_desc*> input_pointers_, output_pointers_;
  assay_op_desc raw_{};
};

// Random values for every input, from a stream of its own.
std::vector<std::vector<double>> RandomInputs(const Op& op);

struct Implementation {
  std::string name, contract;
  bool Declares(const std::string& text) const { return contract.find(text) != std::string::npos; }
};

class Plugin {
 public:
  explicit Plugin(const char* path);  // loads, opens device 0
  ~Plugin();
  Plugin(const Plugin&) = delete;  // owns an open device
  Plugin& operator=(const Plugin&) = delete;

  const assay_backend_api& api() const { return *api_; }
  assay_device* device() const { return device_; }
  bool IsHost() const;  // its device is the processor that the tests run on, without a driver between

  // Empty with a reason when the plugin says UNSUPPORTED; fails the test on any other status.
  std::vector<Implementation> Query(Op& op, std::string* reason);
  // Fails the test when there is none, so that a loop over them runs.
  std::vector<Implementation> Offered(Op& op);
  // The reason of a plugin that offers nothing for it; fails the test when it offers something.
  std::string Refusal(Op op);

  // Runs one implementation on row-major input values (two per complex element); returns the first output's likewise.
  // Fails the test when a byte outside the output's elements, or an input, has changed.
  std::vector<double> Run(Op& op, const std::string& implementation, const std::vector<std::vector<double>>& inputs);

  // Runs it and returns the error of execute(), "" when it succeeds. Operands are not looked at afterwards.
  std::string TryRun(Op& op, const std::string& implementation, const std::vector<std::vector<double>>& inputs);

 private:
  const assay_backend_api* api_ = nullptr;
  assay_device* device_ = nullptr;
};

// Whether a plugin's device_count says that there is one.
bool HasDevice(const char* path);

// The plugins under test: those that were built, whether or not they have a device here. Loaded once, never unloaded.
std::vector<const char*> PluginPaths();
Plugin& Cpu();
Plugin& PluginAt(const char* path);
bool IsCpu(const char* path);
// The name of a plugin's file, for parameterised tests.
std::string PluginName(const char* path);

}  // namespace plugin_test
