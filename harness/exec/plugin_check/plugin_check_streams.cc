// SPDX-License-Identifier: Apache-2.0
// Executions that overlap, and inputs that change between executions.
#include <deque>

#include "harness/core/base/amounts.h"
#include "harness/exec/plugin_check/plugin_check_operands.h"

namespace assay::plugin_check {
namespace {

constexpr int kStreams = 2, kEach = 3;

// Streams and events, destroyed in the order of the header: events, then streams.
class Overlap {
 public:
  explicit Overlap(const PluginUnderTest& plugin) : plugin_(&plugin) {}
  Overlap(const Overlap&) = delete;
  Overlap& operator=(const Overlap&) = delete;
  ~Overlap() {
    for (assay_event* event : events_) plugin_->api->event_destroy(event);
    for (assay_stream* stream : streams_) plugin_->api->stream_destroy(stream);
  }

  Finding Create() {
    for (int i = 0; i < kStreams; ++i) {
      assay_stream* stream = nullptr;
      ErrorText error;
      const assay_status status = plugin_->api->stream_create(plugin_->device, &stream, error.out());
      if (status == ASSAY_UNSUPPORTED && !error.str().empty()) return Skipped("{}", error.str());
      if (status != ASSAY_OK) return Bad("{}", DescribeStatus("stream_create", status, error));
      if (stream == nullptr) return Bad("stream_create returned ASSAY_OK and a NULL stream");
      streams_.push_back(stream);
    }
    return Good("");
  }
  Finding Submit(int stream, assay_plan* plan, const assay_args& args) {
    assay_event* event = nullptr;
    ErrorText error;
    const auto at = static_cast<size_t>(stream);
    const assay_status status = plugin_->api->submit(plan, streams_[at], &args, &event, error.out());
    if (status != ASSAY_OK) return Bad("{}", DescribeStatus("submit", status, error));
    if (event == nullptr) return Bad("submit returned ASSAY_OK and a NULL event");
    events_.push_back(event);
    return Good("");
  }
  Finding RefusesUnknownFlags(assay_plan* plan, assay_args args) {
    args.flags = kUnknownFlag;
    assay_event* event = nullptr;
    ErrorText error;
    const assay_status status = plugin_->api->submit(plan, streams_[0], &args, &event, error.out());
    if (status == ASSAY_OK && event != nullptr) plugin_->api->event_destroy(event);
    return CheckRefusesFlags("submit", status, error);
  }
  // Waits for all, twice each: their times are alike, none ends before it begins, and those of a stream are in order.
  Finding Wait() {
    double last_end[kStreams] = {};
    for (size_t i = 0; i < events_.size(); ++i) {
      assay_event_times times[2] = {};
      for (assay_event_times& one : times) {
        one.struct_size = sizeof one;
        ErrorText error;
        const assay_status status = plugin_->api->event_wait(events_[i], &one, error.out());
        if (status != ASSAY_OK) return Bad("execution {}: {}", i, DescribeStatus("event_wait", status, error));
      }
      if (times[0].begin_s != times[1].begin_s || times[0].end_s != times[1].end_s) {
        return Bad("event_wait of one event tells two times");
      }
      const double begin = times[0].begin_s, end = times[0].end_s;
      if (!(begin <= end)) return Bad("execution {} began at {} s and ended at {} s", i, begin, end);
      double& before = last_end[i % kStreams];
      if (i >= kStreams && begin < before) {
        return Bad("execution {} of a stream began before the one before it had ended", i / kStreams);
      }
      before = end;
    }
    return Good("");
  }

 private:
  const PluginUnderTest* plugin_;
  std::vector<assay_stream*> streams_;
  std::vector<assay_event*> events_;
};

// Whether an output is in place of this input.
bool IsOverwritten(const assay_op_desc& op, uint32_t input) {
  for (uint64_t i = 0; i < op.n_outputs; ++i) {
    if (op.outputs[i]->alias == input + 1) return true;
  }
  return false;
}

}  // namespace

Finding RunOverlapping(PluginUnderTest& plugin, const CheckedOffer& offer, int* right) {
  const CheckedOffer::Implementation& implementation = offer.implementations.front();
  const assay_op_desc& op = offer.op->get();
  std::deque<TestPlan> plans;
  std::deque<Operands> operands;
  for (int i = 0; i < kStreams; ++i) {
    if (Finding f = plans.emplace_back(plugin).Create(op, implementation.name.c_str()); f.kind != kOk) return f;
  }
  std::vector<unsigned char> expected, got;
  if (Finding f = operands.emplace_back(plugin).Make(op); f.kind != kOk) return f;
  if (Finding f = plans[0].Execute(operands[0]); f.kind != kOk) return f;
  if (Finding f = operands[0].Download(expected); f.kind != kOk) return f;
  for (int i = 0; i < kStreams * kEach; ++i) {
    if (Finding f = operands.emplace_back(plugin).Make(op); f.kind != kOk) return f;
  }
  {
    Overlap overlap(plugin);
    if (Finding f = overlap.Create(); f.kind != kOk) return f;
    if (Finding f = overlap.RefusesUnknownFlags(plans[0].get(), operands[1].args()); f.kind != kOk) return f;
    for (int i = 0; i < kStreams * kEach; ++i) {
      const int stream = i % kStreams;
      const assay_args& args = operands[static_cast<size_t>(i + 1)].args();
      Finding f = overlap.Submit(stream, plans[static_cast<size_t>(stream)].get(), args);
      if (f.kind != kOk) return f;
    }
    if (Finding f = overlap.Wait(); f.kind != kOk) return f;
  }
  for (size_t i = 1; i < operands.size(); ++i) {
    if (Finding f = operands[i].Download(got); f.kind != kOk) return f;
    if (got == expected || !ClaimsSameBits(implementation)) continue;
    return Bad("{} {}: a submitted execution gave another result than execute", offer.name, implementation.name);
  }
  *right += kStreams * kEach;
  return Good("");
}

Finding Streams(PluginUnderTest& plugin) {
  const assay_backend_api& api = *plugin.api;
  const int there = (api.stream_create != nullptr) + (api.stream_destroy != nullptr) + (api.submit != nullptr) +
                    (api.event_wait != nullptr) + (api.event_destroy != nullptr);
  if (there == 0) return Skipped("there are no streams");
  if (there != 5) return Bad("{} of the five functions of streams are there; give all of them or none", there);
  api.stream_destroy(nullptr);
  api.event_destroy(nullptr);
  int right = 0;
  for (const CheckedOffer& offer : plugin.offers) {
    if (Finding f = RunOverlapping(plugin, offer, &right); f.kind != kOk) return f;
  }
  return Good("{} on {} streams at a time", Counted(right, "execution"), kStreams);
}

// After part of an input has changed, an execution has to give what a new plan gives.
Finding ChangedInputs(PluginUnderTest& plugin) {
  int compared = 0;
  for (const CheckedOffer& offer : plugin.offers) {
    for (const CheckedOffer::Implementation& implementation : offer.implementations) {
      if (!ClaimsSameBits(implementation)) continue;
      std::vector<unsigned char> got, expected;
      Operands operands(plugin);
      TestPlan used(plugin), fresh(plugin);
      const assay_op_desc& op = offer.op->get();
      constexpr unsigned char kFlips = 0x01;
      if (Finding f = operands.Make(op); f.kind != kOk) return f;
      if (Finding f = used.Create(op, implementation.name.c_str()); f.kind != kOk) return f;
      if (Finding f = used.Execute(operands); f.kind != kOk) return f;
      if (Finding f = operands.Renew(op); f.kind != kOk) return f;
      if (Finding f = operands.ChangeFirstHalf(*op.inputs[0], 0, kFlips); f.kind != kOk) return f;
      if (Finding f = used.Execute(operands); f.kind != kOk) return f;
      if (Finding f = operands.Download(got); f.kind != kOk) return f;
      if (Finding f = fresh.Create(op, implementation.name.c_str()); f.kind != kOk) return f;
      if (Finding f = operands.Renew(op); f.kind != kOk) return f;
      if (IsOverwritten(op, 0)) {  // the change went with the execution
        if (Finding f = operands.ChangeFirstHalf(*op.inputs[0], 0, kFlips); f.kind != kOk) return f;
      }
      if (Finding f = fresh.Execute(operands); f.kind != kOk) return f;
      if (Finding f = operands.Download(expected); f.kind != kOk) return f;
      if (got != expected) {
        return Bad("{} {}: after a part of an input changed, the result is not that of the new input", offer.name,
                   implementation.name);
      }
      ++compared;
    }
  }
  return Good("{}", Counted(compared, "implementation"));
}

}  // namespace assay::plugin_check
