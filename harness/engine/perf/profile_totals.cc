// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/perf/profile_totals.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
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

}  // namespace assay
