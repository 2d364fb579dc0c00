// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/perf/profile_files.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>

#include "harness/core/base/json_text.h"

namespace assay {
namespace {

constexpr int kProfileSchemaVersion = 1;

double Seconds(Nanoseconds ns) {
  return static_cast<double>(ns) * 1e-9;
}

using Interval = std::pair<Nanoseconds, Nanoseconds>;

// Length of the union of the intervals.
Nanoseconds Covered(std::vector<Interval> intervals) {
  std::ranges::sort(intervals);
  Nanoseconds covered = 0, until = 0;
  for (const auto& [begin, end] : intervals) {
    const Nanoseconds from = std::max(begin, until);
    if (end > from) covered += end - from;
    until = std::max(until, end);
  }
  return covered;
}

class Summing {
 public:
  void Add(const ThreadProfile& thread) {
    std::vector<const HostSpan*> spans;
    for (const HostSpan& span : thread.spans) spans.push_back(&span);
    // The outer one of two before the inner one, which stands first where they begin and end together.
    std::ranges::reverse(spans);
    std::ranges::stable_sort(spans, {}, [](const HostSpan* s) { return std::tuple(s->begin, -s->end); });
    std::vector<const HostSpan*> open;
    for (const HostSpan* span : spans) {
      while (!open.empty() && open.back()->end <= span->begin) open.pop_back();
      if (!open.empty()) Entry(thread, *open.back()).seconds -= Seconds(span->end - span->begin);
      PhaseTotal& total = Entry(thread, *span);
      total.seconds += Seconds(span->end - span->begin);
      ++total.spans;
      if (IsInBackend(span->phase)) in_backend_.emplace_back(span->begin, span->end);
      open.push_back(span);
    }
  }

  ProfileTotals Result(Nanoseconds wall) {
    ProfileTotals totals{Seconds(wall), Seconds(Covered(std::move(in_backend_))), {}};
    for (auto& [key, total] : totals_) totals.phases.push_back(std::move(total));
    return totals;
  }

 private:
  PhaseTotal& Entry(const ThreadProfile& thread, const HostSpan& span) {
    const std::string& backend = thread.labels[span.label].backend;
    const auto place = std::ranges::find(backends_, backend) - backends_.begin();
    if (place == std::ssize(backends_)) backends_.push_back(backend);
    PhaseTotal& total = totals_[{place, span.phase}];
    total.backend = backend;
    total.phase = span.phase;
    return total;
  }

  std::vector<std::string> backends_{""};
  std::map<std::pair<std::ptrdiff_t, Phase>, PhaseTotal> totals_;
  std::vector<Interval> in_backend_;
};

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

ProfileTotals TotalsOf(const std::vector<ThreadProfile>& threads, Nanoseconds begin, Nanoseconds end) {
  Summing sum;
  for (const ThreadProfile& thread : threads) sum.Add(thread);
  return sum.Result(end - begin);
}

std::string ProfileJson(const ProfileTotals& totals) {
  const auto share = [&](double seconds) { return totals.wall_s > 0 ? seconds / totals.wall_s : 0; };
  const double host = totals.wall_s - totals.backends_s;
  Json json = {{"schema_version", kProfileSchemaVersion}, {"wall_s", totals.wall_s},
               {"backends_s", totals.backends_s},         {"host_alone_s", host},
               {"host_alone_share", share(host)},         {"phases", Json::array()}};
  for (const PhaseTotal& total : totals.phases) {
    json["phases"].push_back({{"backend", total.backend},
                              {"phase", Name(total.phase)},
                              {"in_backend", IsInBackend(total.phase)},
                              {"seconds", total.seconds},
                              {"share", share(total.seconds)},
                              {"spans", total.spans}});
  }
  return DumpJson(json, 2) + "\n";
}

void WriteChromeTrace(std::ostream& out, const std::vector<ThreadProfile>& threads, Nanoseconds begin) {
  TraceWriter writer(out, begin);
  for (const ThreadProfile& thread : threads) writer.Add(thread);
}

}  // namespace assay
