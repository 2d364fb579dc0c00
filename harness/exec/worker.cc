// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/worker.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/core/base/check.h"
#include "harness/core/base/entropy.h"
#include "harness/exec/clean_text.h"
#include "harness/exec/interpreter_fault.h"
#include "harness/exec/sandbox/worker_setup.h"

namespace assay {
namespace {

constexpr size_t kStderrTailBytes = 8192;
constexpr size_t kKeptStderrBytes = 32768;  // and all of what a crashed interpreter says of it
constexpr size_t kTailInMessageBytes = 600;
constexpr double kStopSeconds = 2;  // for an orderly end
constexpr double kLongestPoll = 1 << 30;
constexpr int kInterruptPoll = 100;    // milliseconds
constexpr double kHeldUpSeconds = 1;   // that poll() may be late by on a busy machine
constexpr double kEndedSeconds = 0.5;  // between a closed socket and the end of its process
constexpr const char* kNotDue = "it came late, or something besides the worker's loop writes to the host's socket";

std::string_view LastBytes(std::string_view text, size_t most) {
  return text.substr(text.size() - std::min(text.size(), most));
}

}  // namespace

Call<void> Worker::Start() {
  ASSAY_CHECK(!running());
  buffer_ = {};
  stderr_tail_.clear();
  stderr_open_ = true;
  has_started_ = import_hung_ = false;
  if (Call<void> started = StartInSandbox(); !started) {
    Stop();
    return started;
  }
  if (!options_.words.empty()) {
    const Call<Json> become = Request("become", {{"words", options_.words}}, CallLimit{options_.startup_timeout_s});
    if (!become) return tl::unexpected(become.error());
  }
  if (!options_.plugin.empty() && options_.loads) {
    Call<void> ready = Load();
    if (ready && !options_.words.empty()) ready = Import();
    if (!ready) return ready;
  }
  has_started_ = true;
  return {};
}

Call<void> Worker::Load() {
  const double limit_s = options_.words.empty() ? options_.startup_timeout_s
                                                : std::max(options_.startup_timeout_s, options_.import_timeout_s);
  const Call<Json> loaded = Request("load", {{"plugin", options_.plugin}}, CallLimit{limit_s});
  if (loaded) return {};
  import_hung_ = !options_.words.empty() && loaded.error().kind == FailureKind::kTimeout;
  const bool answered = running();  // else the message has what it printed
  Stop();
  std::string why = answered ? AppendStderrTail(loaded.error().message) : loaded.error().message;
  if (options_.words.empty() && options_.sandbox.is_on && why.find(std::strerror(EACCES)) != why.npos) {
    why += "; a plugin may read only itself and the libraries that it links: allow more with --grant PATH";
  }
  return CallFailed(loaded.error().kind, fmt::format("while loading {}: {}", options_.plugin, why));
}

// The first question makes the interpreter import the file. Asked here, no other call has that time within its own, and
// a failure is one of the worker, not of a case.
Call<void> Worker::Import() {
  constexpr std::string_view kCall = "describe: ";
  const Call<Json> described = Request("describe", Json::object(), CallLimit{options_.import_timeout_s});
  if (described) return {};
  Stop();
  WorkerFailure failure = described.error();
  import_hung_ = failure.kind == FailureKind::kTimeout;
  if (import_hung_) {
    failure.message = AppendStderrTail(fmt::format(
        "importing {} did not end within {} s; import less in it, or allow more time with --import-timeout SECONDS",
        options_.plugin, options_.import_timeout_s));
  } else if (failure.kind == FailureKind::kCrash) {
    failure.message = fmt::format("while importing {}: {}", options_.plugin, failure.message);
  } else if (failure.message.starts_with(kCall)) {
    failure.message.erase(0, kCall.size());
  }
  return tl::unexpected(std::move(failure));
}

Call<void> Worker::StartInSandbox() {
  Result<WorkerSetup> made = MakeWorkerSetup(options_.sandbox, options_.plugin, options_.executable);
  if (!made) return CallFailed(FailureKind::kHost, made.error().message);
  hidden_ = made->hidden;
  if (options_.sandbox.is_on) HideThisProcess();
  auto child = ChildProcess::Spawn(options_.executable, std::move(made->variables), std::move(made->folder));
  if (!child) return CallFailed(FailureKind::kHost, child.error().message);
  process_ = std::move(*child);
  // The sandbox is assay's own work: no time that a backend is given bounds it.
  const Call<Json> entered =
      Request("seal", {{"seal", EncodeSandbox(made->sandbox)}},
              CallLimit{std::max(options_.startup_timeout_s, WorkerOptions().startup_timeout_s)});
  if (!entered) return tl::unexpected(entered.error());
  Reply reply(*entered);
  process_.SetWorker(static_cast<pid_t>(reply.Count("process", std::numeric_limits<pid_t>::max())));
  sandbox_ = reply.Text("sandbox", kMaxTextBytes);
  if (reply.problem().empty()) return {};
  return Killed(FailureKind::kProtocol, fmt::format("seal: {}", reply.problem()));
}

Call<Json> Worker::Request(const std::string& call, Json message, const CallLimit& limit, std::span<const int> fds) {
  ASSAY_CHECK(running());
  // Not by counting: a plugin that reads what was asked before cannot have the next answer ready.
  const uint64_t number = DrawEntropy();
  message["call"] = call;
  message[kSequence] = number;
  const Result<std::string> frame = EncodeFrame(message);
  if (!frame) return CallFailed(FailureKind::kError, frame.error().message);
  const Call<Json> json = Exchange(call, *frame, limit, fds);
  if (!json) return json;
  if (Call<void> own = CheckIsAnswer(call, *json, number); !own) return tl::unexpected(own.error());
  Reply reply(*json);
  const int64_t status = reply.Integer("status");
  const std::string text = status == 0 ? "" : reply.Text("text", kMaxTextBytes);
  if (!reply.problem().empty()) return Killed(FailureKind::kProtocol, fmt::format("{}: {}", call, reply.problem()));
  if (status == 0) return json;
  const FailureKind kind = FailureKindOf(status);
  // A lost device is of no more use to this process, and nothing is to be believed of one whose memory was written
  // over.
  if (RuleOf(kind).ends_worker) return Killed(kind, text);
  return CallFailed(kind, kind == FailureKind::kOutOfMemory ? AppendLimitHint(text, 0) : text);
}

Call<Json> Worker::Exchange(const std::string& call, const std::string& frame, const CallLimit& limit,
                            std::span<const int> fds) {
  ReadSocket();  // whether it is closed is seen by Await
  if (buffer_.size() > 0) {
    return Killed(FailureKind::kProtocol, fmt::format("{}: the worker had sent {} bytes before it was asked: {}", call,
                                                      buffer_.size(), kNotDue));
  }
  // A failed send is seen by Await, as the end of the process or as the deadline.
  [[maybe_unused]] const Status sent = SendFrame(process_.socket(), frame, fds, After(limit.seconds));
  return Await(call, limit);
}

Call<void> Worker::CheckIsAnswer(const std::string& call, const Json& answer, uint64_t number) {
  if (buffer_.size() > 0) {
    return Killed(FailureKind::kProtocol,
                  fmt::format("{}: {} bytes followed the worker's answer: {}", call, buffer_.size(), kNotDue));
  }
  Reply reply(answer);
  const uint64_t got = reply.Count(kSequence, std::numeric_limits<uint64_t>::max());
  if (reply.problem().empty() && got == number) return {};
  const std::string what =
      reply.problem().empty() ? fmt::format("it is of request {}, not {}", got, number) : reply.problem();
  return Killed(FailureKind::kProtocol,
                fmt::format("{}: the answer belongs to another request: {}: {}", call, what, kNotDue));
}

Call<Json> Worker::Await(const std::string& call, const CallLimit& limit) {
  double end = time_->Seconds() + limit.seconds;
  // Rounded up. Where time is shared, poll() is back before the end.
  const auto milliseconds_left = [&] {
    return static_cast<int>(std::clamp(std::ceil((end - time_->Seconds()) * 1e3), 0.0, kLongestPoll));
  };
  for (;;) {
    // A pipe whose writers have all gone is always ready: it is left out then (-1), so that poll() waits.
    pollfd events[] = {{process_.socket(), POLLIN, 0},
                       {process_.pidfd(), POLLIN, 0},
                       {stderr_open_ ? process_.stderr_pipe() : -1, POLLIN, 0}};
    const int most = std::min(milliseconds_left(), interrupted_ ? kInterruptPoll : INT_MAX);
    const double before = time_->Seconds();
    const int ready = ::poll(events, 3, most);
    // A host that was held up, or whose clock jumped, has not waited for the worker meanwhile.
    const double late = time_->Seconds() - before - 1e-3 * most;
    if (late > kHeldUpSeconds) end += late;
    if (ready < 0 && errno != EINTR) return Killed(FailureKind::kError, fmt::format("{}: poll failed", call));
    DrainStderr();
    const bool open = ReadSocket();
    Result<std::optional<Json>> message = buffer_.Next();
    if (!message) return Killed(FailureKind::kProtocol, fmt::format("{}: {}", call, message.error().message));
    if (message->has_value()) return std::move(**message);
    if (!open || (events[1].revents & POLLIN) != 0) return Ended(call);
    if (interrupted_ && interrupted_()) {
      return Killed(FailureKind::kInterrupted, fmt::format("{} was cut short by an interrupt", call));
    }
    if (milliseconds_left() == 0) {
      return Killed(FailureKind::kTimeout,
                    fmt::format("{} did not end within {} s{}; the worker was killed", call, limit.seconds, limit.why));
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
    if (got <= 0) break;
    stderr_tail_.append(bytes, static_cast<size_t>(got));
  }
  if (stderr_tail_.size() <= kKeptStderrBytes) return;
  size_t begin = stderr_tail_.size() - kKeptStderrBytes;
  if (!options_.words.empty()) begin = std::min(begin, FindFaultBegin(stderr_tail_));
  stderr_tail_.erase(0, begin);
}

tl::unexpected<WorkerFailure> Worker::Ended(const std::string& call) {
  const ExitStatus status = process_.Stop(After(kEndedSeconds));
  DrainStderr();
  const std::string how = status.killed_by_host ? "closed its connection without ending" : status.Text();
  const int signal = WIFSIGNALED(status.wait_status) ? WTERMSIG(status.wait_status) : 0;
  const std::string what = fmt::format("the worker {} during {}{}", how, call, PlaceInInterpreter());
  return CallFailed(FailureKind::kCrash, AppendStderrTail(AppendLimitHint(what, signal)));
}

tl::unexpected<WorkerFailure> Worker::Killed(FailureKind kind, const std::string& message) {
  process_.Stop(After(0));
  DrainStderr();
  return CallFailed(kind, AppendStderrTail(message));
}

void Worker::Stop() {
  if (!running()) return;
  const ExitStatus status = process_.Stop(After(kStopSeconds));
  DrainStderr();
  if (has_started_ && !status.killed_by_host && status.wait_status != 0) crash_at_end_ = status.Text();
}

std::string Worker::StderrTail() const {
  return CleanText(LastBytes(stderr_tail_, kStderrTailBytes), kStderrTailBytes, Lines::kKeep);
}

std::string Worker::PlaceInInterpreter() const {
  if (options_.words.size() < 2) return "";
  const std::filesystem::path script = options_.words[1];
  std::error_code error;
  const std::filesystem::path kernels = std::filesystem::weakly_canonical(options_.plugin, error);
  return PlacesOfFault(stderr_tail_, {kernels.string(), script.parent_path().string()});
}

std::string Worker::AppendLimitHint(std::string text, int signal) const {
  const std::string hint = options_.sandbox.is_on ? LimitHint(options_.sandbox.limits, signal) : "";
  return hint.empty() ? text : text + "; " + hint;
}

std::string Worker::AppendStderrTail(std::string message) const {
  const std::string printed = options_.words.empty() ? stderr_tail_ : StripTraceback(stderr_tail_);
  const std::string tail = CleanText(LastBytes(printed, kTailInMessageBytes), kTailInMessageBytes);
  return tail.empty() ? message : message + "; it printed: " + tail;
}

}  // namespace assay
