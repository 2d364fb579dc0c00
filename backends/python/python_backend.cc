// SPDX-License-Identifier: Apache-2.0
// Python callables as a backend: the process is the user's interpreter, which has registered what it offers. Memory,
// checks of arguments and cold caches are those of every host backend; kernels are called back.
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/common/backend.h"
#include "backends/common/host.h"
#include "backends/common/status.h"
#include "backends/python/python_calls.h"

namespace python {
namespace {

const assay_python_calls* calls = nullptr;
const assay_op_desc* asked = nullptr;  // what query() or plan_create() has at hand: the interpreter reads it as it is

const assay_python_calls& Calls() {
  if (calls != nullptr) return *calls;
  throw plugin::Unavailable("no interpreter is in this process; give the kernels with --kernels FILE.py");
}

// What an interpreter answers.
struct Answer {
  int32_t status = ASSAY_PYTHON_NO_ANSWER;
  std::string text;
};
template <class Call>
Answer AnswerOf(const Call& call) {
  constexpr uint64_t kTextBytes = 16384;
  Answer answer{.text = std::string(kTextBytes, '\0')};
  call(&answer.status, answer.text.data(), kTextBytes);
  answer.text.resize(std::min<size_t>(answer.text.find('\0'), kTextBytes));
  return answer;
}

// The answer of a call, or its failure with the text.
template <class Call>
std::string Ask(const Call& call) {
  Answer answer = AnswerOf(call);
  if (answer.status == ASSAY_PYTHON_NO_ANSWER) {
    answer = AnswerOf(Calls().interruption);
    const bool is_told = answer.status == ASSAY_OK && !answer.text.empty();
    throw plugin::Failure("an exception came from outside of the kernel, as another thread or a signal raises it: {}",
                          is_told ? answer.text : "one that cannot be told, as more came meanwhile");
  }
  if (answer.status != ASSAY_OK) throw plugin::Error(answer.status, answer.text);
  return answer.text;
}

std::vector<std::string> Split(const std::string& text, char by) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(by, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

class PythonPlan : public plugin::HostPlan {
 public:
  PythonPlan(uint32_t device, const std::string& implementation) {
    Ask([&](int32_t* status, char* text, uint64_t capacity) {
      Calls().prepare(device, asked, implementation.c_str(), &plan_, status, text, capacity);
    });
  }
  ~PythonPlan() override { Calls().release(plan_); }

  // The interpreter's durations are those of the kernel alone: a view of an operand has to be made for each execution.
  void ExecuteBatch(plugin::Batch& batch) override {
    bool flushed = batch.cold, device_clock = true;
    for (size_t i = 0; i < batch.args.size(); ++i) {
      if (batch.cold) flushed = EvictOperands(*batch.args[i]) && flushed;
      Execute(*batch.args[i]);
      batch.seconds[i] = seconds_;
      device_clock = device_clock && (flags_ & ASSAY_PYTHON_DEVICE_CLOCK) != 0;
      flushed = flushed && (flags_ & ASSAY_PYTHON_COPIES) == 0;
    }
    batch.clock_is_device = device_clock && !batch.args.empty();
    batch.cache_was_flushed = flushed && !batch.args.empty();
  }

 protected:
  void Run(Pointers inputs, Pointers outputs) override {
    addresses_.clear();
    for (const Pointers operands : {inputs, outputs}) {
      for (std::byte* const pointer : operands) addresses_.push_back(reinterpret_cast<uint64_t>(pointer));
    }
    Ask([&](int32_t* status, char* text, uint64_t capacity) {
      Calls().execute(plan_, addresses_.data(), &seconds_, &flags_, status, text, capacity);
    });
  }

 private:
  int64_t plan_ = 0;
  std::vector<uint64_t> addresses_;
  double seconds_ = 0;
  int32_t flags_ = 0;
};

// The interpreter decides about attributes, which it reads from the description itself.
void LeaveAttributes(const plugin::OpDesc& op) {
  for (uint64_t i = 0; i < asked->n_attrs; ++i) op.MayIgnore({asked->attrs[i]->key});
}

class PythonDevice : public plugin::HostDevice {
 public:
  explicit PythonDevice(uint32_t index) : index_(index) {}
  std::vector<plugin::Implementation> Query(const plugin::OpDesc& op) override {
    LeaveAttributes(op);
    const std::string found = Ask(
        [&](int32_t* status, char* text, uint64_t capacity) { Calls().query(index_, asked, status, text, capacity); });
    std::vector<plugin::Implementation> list;
    for (const std::string& line : Split(found, '\n')) {
      const size_t tab = line.find('\t');
      if (tab == line.npos) throw plugin::Failure("'{}' is no implementation with its contract", line);
      list.push_back({line.substr(0, tab), line.substr(tab + 1)});
    }
    return list;
  }
  std::unique_ptr<plugin::Plan> CreatePlan(const plugin::OpDesc& op, const std::string& implementation) override {
    LeaveAttributes(op);
    return std::make_unique<PythonPlan>(index_, implementation);
  }

 private:
  uint32_t index_;
};

class PythonBackend : public plugin::Backend {
 public:
  plugin::BackendInfo Info() override {
    Describe();
    return {lines_[0], "assay", "0.1.0", lines_[1]};
  }
  std::vector<plugin::DeviceInfo> Devices() override {
    Describe();
    std::vector<plugin::DeviceInfo> devices;
    for (size_t i = 2; i < lines_.size(); ++i) {
      std::vector<std::string> parts = Split(lines_[i], '\t');
      parts.resize(3);
      const std::string& name = parts[0];
      const bool host = name == "cpu" || name.starts_with("cpu:");  // JAX can have several of the host
      devices.push_back({name == "cpu" ? "host" : name, "", host ? ASSAY_DEVICE_CPU : ASSAY_DEVICE_EXT,
                         static_cast<int32_t>(i - 2),
                         host ? plugin::HostMemoryBytes() : std::strtoull(parts[1].c_str(), nullptr, 10),
                         host ? "type=cpu" : parts[2], plugin::kHostAlignment});
    }
    return devices;
  }
  std::unique_ptr<plugin::Device> Open(uint32_t index) override { return std::make_unique<PythonDevice>(index); }

 private:
  void Describe() {
    if (!lines_.empty()) return;
    lines_ = Split(Ask(Calls().describe), '\n');
    if (lines_.size() < 3) throw plugin::Failure("the interpreter's description is cut off");
  }
  std::vector<std::string> lines_;
};

const assay_backend_api* adapter = nullptr;

class Asking {
 public:
  explicit Asking(const assay_op_desc* op) { asked = op; }
  ~Asking() { asked = nullptr; }
};

assay_status Query(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                   assay_text* error) {
  const Asking asking(op);
  return adapter->query(device, op, out, error);
}

assay_status PlanCreate(assay_device* device, const assay_op_desc* op, const char* implementation, assay_plan** out,
                        assay_text* error) {
  const Asking asking(op);
  return adapter->plan_create(device, op, implementation, out, error);
}

assay_backend_api Table() {
  assay_backend_api table = *adapter;
  table.query = Query;
  table.plan_create = PlanCreate;
  return table;
}

std::unique_ptr<plugin::Backend> Make() {
  return std::make_unique<PythonBackend>();
}

}  // namespace
}  // namespace python

extern "C" void assay_python_register(const assay_python_calls* registered) {
  python::calls = registered;
}

extern "C" const assay_backend_api* assay_backend_v1(const assay_host_info* host) {
  python::adapter = plugin::Api(python::Make, host);
  if (python::adapter == nullptr) return nullptr;
  static const assay_backend_api table = python::Table();
  return &table;
}
