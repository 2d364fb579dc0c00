// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/profile.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>

namespace assay {

struct ThreadTrack {
  std::mutex mutex;  // guards what follows; contended only by TakeProfile
  ThreadProfile profile;
  size_t label = 0;
  bool taken = false;  // by a thread; guarded by the registry's mutex
};

namespace {

struct PhaseInfo {
  const char* name;
  bool in_backend;
};

constexpr std::array<PhaseInfo, kPhases> kPhaseInfos = {{
    {"plan", false},           {"inputs", false},    {"golden", false},  {"bounds", false},    {"twins", false},
    {"mutation power", false}, {"start", true},      {"query", true},    {"prepare", true},    {"bind", true},
    {"images", false},         {"upload", true},     {"execute", true},  {"download", true},   {"observe", false},
    {"release", true},         {"judge", false},     {"compare", false}, {"relations", false}, {"padded", false},
    {"timing", false},         {"timed loop", true}, {"record", false},  {"failures", false},  {"reports", false},
    {"wait", false},           {"run", false},
}};

std::atomic<bool> profiling{false};

struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<ThreadTrack>> tracks;

  ThreadTrack* Take(const std::string& name) {
    const std::lock_guard lock(mutex);
    const auto fits = [&](const auto& track) { return !track->taken && track->profile.thread == name; };
    const auto found = std::ranges::find_if(tracks, fits);
    ThreadTrack* track =
        found == tracks.end() ? tracks.emplace_back(std::make_unique<ThreadTrack>()).get() : found->get();
    track->profile.thread = name;
    track->taken = true;
    return track;
  }

  void Return(ThreadTrack* track) {
    const std::lock_guard lock(mutex);
    track->taken = false;
  }
};

// Never destroyed: a thread that was left behind may still end its spans.
Registry& GetRegistry() {
  static auto* registry = new Registry;
  return *registry;
}

thread_local ThreadTrack* this_track = nullptr;

ThreadTrack* ThisTrack() {
  if (this_track == nullptr) this_track = GetRegistry().Take("main");
  return this_track;
}

}  // namespace

const char* Name(Phase phase) {
  return kPhaseInfos[static_cast<size_t>(phase)].name;
}

bool IsInBackend(Phase phase) {
  return kPhaseInfos[static_cast<size_t>(phase)].in_backend;
}

Nanoseconds NowNanoseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

void StartProfile() {
  profiling = true;
}

bool IsProfiling() {
  return profiling.load(std::memory_order_relaxed);
}

std::vector<ThreadProfile> TakeProfile() {
  std::vector<ThreadProfile> profiles;
  const std::lock_guard all(GetRegistry().mutex);
  for (const auto& track : GetRegistry().tracks) {
    const std::lock_guard lock(track->mutex);
    if (!track->profile.spans.empty()) profiles.push_back(track->profile);
  }
  return profiles;
}

Span::Span(Phase phase) : phase_(phase) {
  if (!IsProfiling()) return;
  track_ = ThisTrack();
  begin_ = NowNanoseconds();
}

Span::~Span() {
  if (track_ == nullptr) return;
  const std::lock_guard lock(track_->mutex);
  track_->profile.spans.push_back({phase_, track_->label, begin_, NowNanoseconds()});
}

void Span::AddWorker(Nanoseconds begin, double seconds, int64_t repetitions, double timed_s) const {
  if (track_ == nullptr) return;
  const Nanoseconds now = NowNanoseconds();
  const Nanoseconds from = std::clamp(begin, begin_, now);
  const auto length = static_cast<Nanoseconds>(std::clamp(seconds * 1e9, 0.0, static_cast<double>(now - from)));
  const std::lock_guard lock(track_->mutex);
  track_->profile.workers.push_back({phase_, track_->label, begin_, from, from + length, repetitions, timed_s});
}

SpanContext::SpanContext(std::string_view case_id, std::string_view backend, std::string_view implementation) {
  if (!IsProfiling()) return;
  track_ = ThisTrack();
  const std::lock_guard lock(track_->mutex);
  before_ = track_->label;
  track_->label = track_->profile.labels.size();
  track_->profile.labels.push_back({std::string(case_id), std::string(backend), std::string(implementation)});
}

SpanContext::~SpanContext() {
  if (track_ == nullptr) return;
  const std::lock_guard lock(track_->mutex);
  track_->label = before_;
}

ProfiledThread::ProfiledThread(std::string name) {
  if (IsProfiling()) this_track = GetRegistry().Take(name);
}

ProfiledThread::~ProfiledThread() {
  if (this_track != nullptr) GetRegistry().Return(this_track);
  this_track = nullptr;
}

}  // namespace assay
