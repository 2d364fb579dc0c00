// SPDX-License-Identifier: Apache-2.0
// Host side: a worker process with one plugin in it, and request and answer with a deadline for each call. Whatever
// happens to the process becomes a WorkerFailure. After a crash, timeout, protocol error or lost device it is gone, and
// Start() begins afresh.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/exec/call_limits.h"
#include "harness/exec/child_process.h"
#include "harness/exec/failure.h"
#include "harness/exec/sandbox/sandbox.h"
#include "harness/exec/shared_time.h"
#include "harness/exec/wire/protocol.h"

namespace assay {

struct WorkerOptions {
  std::string executable;  // run as `executable worker --fd N`; see WorkerMain()
  std::string plugin;      // absolute path; "": none is loaded by Start()
  double startup_timeout_s = 60;
  SandboxRequest sandbox = {};
  bool loads = true;  // Start() loads the plugin; else a request does
  // The program, with its arguments, that takes the process over inside the sandbox and gets its socket's number as the
  // last one; none: the worker goes on itself.
  std::vector<std::string> words = {};
  // Limit for this program to start and import what it offers: modules on a cold disk take minutes.
  double import_timeout_s = 600;
};

class Worker {
 public:
  explicit Worker(WorkerOptions options) : options_(std::move(options)) {}
  ~Worker() { Stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Starts the process, has it enter the sandbox and loads the plugin. Precondition: not running.
  Call<void> Start();
  bool running() const { return process_.running(); }
  // The last start was given up as its import had not ended in time, which a further one would take as long to find.
  bool import_hung() const { return import_hung_; }

  // Sends {"call": call, ...} and returns the answer of an ASSAY_OK. `fds` are copied to the worker.
  Call<Json> Request(const std::string& call, Json message, const CallLimit& limit, std::span<const int> fds = {});

  // Calls stop waiting once `interrupted` returns true; their deadlines count by `time`. Set neither during a call.
  void EndWhen(std::function<bool()> interrupted) { interrupted_ = std::move(interrupted); }
  void ShareTime(std::shared_ptr<SharedTime> time) { time_ = std::move(time); }

  // Sandbox of the running worker or the last one: kFullSandbox, kNoSandbox, "partial: ..."; "" before the first.
  const std::string& sandbox() const { return sandbox_; }
  // Folders near the plugin that it cannot see; see AllowList::HiddenText().
  const std::string& hidden() const { return hidden_; }

  bool AnyThreadRuns() const { return process_.AnyThreadRuns(); }
  LibraryPaths LoadedLibraries() const { return process_.LoadedLibraries(); }

  // Lets it destroy its plans and close its devices, for a while.
  void Stop();

  // How a worker ended that was asked to, by a signal that no one had sent: "was killed by SIGSEGV (...)"; "": none
  // did.
  const std::string& crash_at_end() const { return crash_at_end_; }

  // The end of what this process, or the last one, printed; at most a few KiB, cleaned.
  std::string StderrTail() const;

 private:
  Call<Json> Await(const std::string& call, const CallLimit& limit);
  Call<Json> Exchange(const std::string& call, const std::string& frame, const CallLimit& limit,
                      std::span<const int> fds);
  // Checks that a message answers this request and that nothing follows it.
  Call<void> CheckIsAnswer(const std::string& call, const Json& answer, uint64_t number);
  bool ReadSocket();   // false: the other end is closed
  void DrainStderr();  // a full pipe would stall the worker
  tl::unexpected<WorkerFailure> Ended(const std::string& call);
  tl::unexpected<WorkerFailure> Killed(FailureKind kind, const std::string& message);
  Call<void> StartInSandbox();
  Call<void> Load();
  Call<void> Import();  // of a program that has taken over
  // Finds the place of a crash in the output of the interpreter: "; at mine.py:4 in <module>"; "" if it is unknown.
  std::string PlaceInInterpreter() const;
  std::string AppendStderrTail(std::string message) const;
  // `text` with the limit that may be behind it.
  std::string AppendLimitHint(std::string text, int signal) const;

  WorkerOptions options_;
  std::function<bool()> interrupted_;  // empty: never
  std::shared_ptr<SharedTime> time_ = std::make_shared<SharedTime>();
  ChildProcess process_;
  FrameBuffer buffer_;
  bool has_started_ = false;  // in its sandbox, and with its plugin if it has one
  std::string stderr_tail_, sandbox_, hidden_, crash_at_end_;
  bool stderr_open_ = false, import_hung_ = false;
};

}  // namespace assay
