// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/worker.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/check.h"
#include "harness/exec/clean_text.h"

namespace assay {
namespace {

constexpr size_t kStderrTailBytes = 8192;
constexpr size_t kTailInMessageBytes = 600;
constexpr double kStopSeconds = 2;  // for an orderly end
constexpr double kLongestPoll = 1 << 30;
constexpr double kEndedSeconds = 0.5;  // between a closed socket and the end of its process

}  // namespace

Call<void> Worker::Start() {
  ASSAY_CHECK(!running());
  buffer_ = {};
  stderr_tail_.clear();
  stderr_open_ = true;
  Result<ChildProcess> child = ChildProcess::Spawn(options_.executable);
  if (!child) return CallFailed(Outcome::kError, child.error().message);
  process_ = std::move(*child);
  if (options_.plugin.empty()) return {};
  const Call<Json> loaded = Request("load", {{"plugin", options_.plugin}}, options_.startup_timeout_s);
  if (loaded) return {};
  const bool answered = running();  // else the message has what it printed
  Stop();
  const std::string why = answered ? WithTail(loaded.error().message) : loaded.error().message;
  return CallFailed(loaded.error().outcome, fmt::format("while loading {}: {}", options_.plugin, why));
}

Call<Json> Worker::Request(const std::string& call, Json message, double timeout_s, std::span<const int> fds) {
  ASSAY_CHECK(running());
  message["call"] = call;
  const Result<std::string> frame = EncodeFrame(message);
  if (!frame) return CallFailed(Outcome::kError, frame.error().message);
  const Call<Json> json = Exchange(call, *frame, timeout_s, fds);
  if (!json) return json;
  Reply reply(*json);
  const int64_t status = reply.Integer("status");
  const std::string text = status == 0 ? "" : reply.Text("text", kMaxTextBytes);
  if (!reply.problem().empty()) return Killed(Outcome::kProtocol, fmt::format("{}: {}", call, reply.problem()));
  if (status == 0) return json;
  const Outcome outcome = OutcomeOf(status);
  // A lost device is of no more use to this process, and nothing is to be believed of one whose memory was written
  // over; the next call starts a fresh one.
  if (outcome == Outcome::kDeviceLost || outcome == Outcome::kMemoryFault) return Killed(outcome, text);
  return CallFailed(outcome, text);
}

Call<Json> Worker::Exchange(const std::string& call, const std::string& frame, double timeout_s,
                            std::span<const int> fds) {
  // A failed send is seen by Await, as the end of the process or as the deadline.
  [[maybe_unused]] const Status sent = SendFrame(process_.socket(), frame, fds, After(timeout_s));
  return Await(call, timeout_s);
}

Call<Json> Worker::Await(const std::string& call, double timeout_s) {
  const double end = time_->Seconds() + timeout_s;
  // Rounded up. Where time is shared, poll() is back before the end.
  const auto milliseconds_left = [&] {
    return static_cast<int>(std::clamp(std::ceil((end - time_->Seconds()) * 1e3), 0.0, kLongestPoll));
  };
  for (;;) {
    // A pipe whose writers have all gone is always ready: it is left out then (-1), so that poll() waits.
    pollfd events[] = {{process_.socket(), POLLIN, 0},
                       {process_.pidfd(), POLLIN, 0},
                       {stderr_open_ ? process_.stderr_pipe() : -1, POLLIN, 0}};
    const int ready = ::poll(events, 3, milliseconds_left());
    if (ready < 0 && errno != EINTR) return Killed(Outcome::kError, fmt::format("{}: poll failed", call));
    DrainStderr();
    const bool open = ReadSocket();
    Result<std::optional<Json>> message = buffer_.Next();
    if (!message) return Killed(Outcome::kProtocol, fmt::format("{}: {}", call, message.error().message));
    if (message->has_value()) return std::move(**message);
    if (!open || (events[1].revents & POLLIN) != 0) return Ended(call);
    if (milliseconds_left() == 0) {
      return Killed(Outcome::kTimeout,
                    fmt::format("{} did not end within {} s; the worker was killed", call, timeout_s));
    }
  }
}

bool Worker::ReadSocket() {
  for (;;) {
    char bytes[65536];
    // No room for ancillary data: descriptors that a worker might send are dropped by the kernel.
    const ssize_t got = ::recv(process_.socket(), bytes, sizeof bytes, 0);
    if (got == 0) return false;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    buffer_.Append({bytes, static_cast<size_t>(got)});
    // One answer at most is due: what exceeds it is judged by the caller before more is read.
    if (got < static_cast<ssize_t>(sizeof bytes) || buffer_.size() > kMaxFrameBytes) return true;
  }
}

void Worker::DrainStderr() {
  char bytes[16384];
  // Bounded per call, so that a plugin that never stops printing cannot hold the host past the deadline.
  for (int round = 0; round < 64; ++round) {
    const ssize_t got = ::read(process_.stderr_pipe(), bytes, sizeof bytes);
    if (got == 0) stderr_open_ = false;
    if (got <= 0) return;
    stderr_tail_.append(bytes, static_cast<size_t>(got));
    if (stderr_tail_.size() > kStderrTailBytes) stderr_tail_.erase(0, stderr_tail_.size() - kStderrTailBytes);
  }
}

tl::unexpected<WorkerFailure> Worker::Ended(const std::string& call) {
  const ExitStatus status = process_.Stop(After(kEndedSeconds));
  DrainStderr();
  const std::string how = status.killed_by_host ? "closed its connection without ending" : status.Text();
  return CallFailed(Outcome::kCrash, WithTail(fmt::format("the worker {} during {}", how, call)));
}

tl::unexpected<WorkerFailure> Worker::Killed(Outcome outcome, const std::string& message) {
  process_.Stop(After(0));
  DrainStderr();
  return CallFailed(outcome, WithTail(message));
}

void Worker::Stop() {
  if (!running()) return;
  process_.Stop(After(kStopSeconds));
  DrainStderr();
}

std::string Worker::StderrTail() const {
  return CleanText(stderr_tail_, kStderrTailBytes, Lines::kKeep);
}

std::string Worker::WithTail(std::string message) const {
  const size_t begin = stderr_tail_.size() - std::min(stderr_tail_.size(), kTailInMessageBytes);
  const std::string tail = CleanText(std::string_view(stderr_tail_).substr(begin), kTailInMessageBytes);
  return tail.empty() ? message : message + "; it printed: " + tail;
}

}  // namespace assay
