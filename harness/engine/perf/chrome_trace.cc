// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/perf/chrome_trace.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "harness/core/base/json_text.h"

namespace assay {
namespace {

constexpr int kHost = 1;    // process number; the workers' follow, one for each device
constexpr int kPlugin = 1;  // thread number in a worker

class TraceWriter {
 public:
  TraceWriter(std::ostream& out, Nanoseconds begin) : out_(out), begin_(begin) {
    out_ << kChromeTraceBeginning;
    Name("process_name", kHost, 0, "assay");
  }
  ~TraceWriter() { out_ << "\n]}\n"; }

  void Add(const ThreadProfile& thread) {
    Name("thread_name", kHost, ++threads_, thread.thread);
    for (const HostSpan& span : thread.spans) {
      Event("X", assay::Name(span.phase), kHost, threads_, span.begin,
            {{"cat", "host"},
             {"dur", Microseconds(span.end - span.begin)},
             {"args", Arguments(thread.labels[span.label])}});
    }
    for (const WorkerSpan& span : thread.workers) AddWorker(thread.labels[span.label], span);
  }

 private:
  void AddWorker(const SpanLabel& label, const WorkerSpan& span) {
    const int process = ProcessOf(label.backend);
    Json arguments = Arguments(label);
    if (span.repetitions > 0) arguments.update({{"repetitions", span.repetitions}, {"timed_s", span.timed_s}});
    const char* name = assay::Name(span.phase);
    Event("X", name, process, kPlugin, span.begin,
          {{"cat", "backend"}, {"dur", Microseconds(span.end - span.begin)}, {"args", std::move(arguments)}});
    ++flows_;
    Event("s", name, kHost, threads_, span.call, {{"id", flows_}, {"cat", "call"}});
    Event("f", name, process, kPlugin, span.begin, {{"id", flows_}, {"cat", "call"}, {"bp", "e"}});
  }

  int ProcessOf(const std::string& backend) {
    const auto place = std::ranges::find(backends_, backend) - backends_.begin();
    const int process = kHost + 1 + static_cast<int>(place);
    if (place < std::ssize(backends_)) return process;
    backends_.push_back(backend);
    Name("process_name", process, 0, backend + " worker");
    Name("thread_name", process, kPlugin, "plugin");
    return process;
  }

  static Json Arguments(const SpanLabel& label) {
    Json arguments = Json::object();
    if (!label.case_id.empty()) arguments["case"] = label.case_id;
    if (!label.backend.empty()) arguments["backend"] = label.backend;
    if (!label.implementation.empty()) arguments["implementation"] = label.implementation;
    return arguments;
  }

  static double Microseconds(Nanoseconds ns) { return static_cast<double>(ns) / 1e3; }

  void Name(const char* what, int process, int thread, const std::string& name) {
    Write({{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}});
  }

  void Event(const char* type, const char* name, int process, int thread, Nanoseconds at, const Json& more) {
    Json event = {{"ph", type}, {"name", name}, {"pid", process}, {"tid", thread}, {"ts", Microseconds(at - begin_)}};
    event.update(more);
    Write(event);
  }

  void Write(const Json& event) {
    out_ << (first_ ? "\n" : ",\n") << DumpJson(event);
    first_ = false;
  }

  std::ostream& out_;
  Nanoseconds begin_;
  bool first_ = true;
  int threads_ = 0, flows_ = 0;
  std::vector<std::string> backends_;
};

}  // namespace

void WriteChromeTrace(std::ostream& out, const std::vector<ThreadProfile>& threads, Nanoseconds begin) {
  TraceWriter writer(out, begin);
  for (const ThreadProfile& thread : threads) writer.Add(thread);
}

}  // namespace assay
