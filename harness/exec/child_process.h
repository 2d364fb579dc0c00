// SPDX-License-Identifier: Apache-2.0
// Host side: one worker as the operating system sees it. The host's child is its supervisor (sandbox/supervisor.h),
// which ends as the worker did once nothing is left of what a plugin started.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/exec/loaded_libraries.h"
#include "harness/exec/sandbox/worker_folder.h"
#include "harness/exec/unique_fd.h"
#include "harness/exec/wire/protocol.h"

namespace assay {

// How a process ended, as waitpid tells.
struct ExitStatus {
  int wait_status = 0;
  bool killed_by_host = false;
  std::string Text() const;  // "was killed by SIGSEGV (segmentation fault)", "exited with code 3"
};

// Makes a list of words or variables as execve takes it.
std::vector<char*> MakeArgumentList(std::vector<std::string>& texts);

// Whether any thread of the process `pid` is running.
bool AnyThreadRuns(pid_t pid);

class ChildProcess {
 public:
  // Runs `executable worker --fd N`, N being the other end of socket(), in `folder` with these variables. It is killed
  // when the calling *thread* ends (PR_SET_PDEATHSIG), so that thread has to live as long as the worker.
  static Result<ChildProcess> Spawn(const std::string& executable, std::vector<std::string> variables,
                                    WorkerFolder folder);

  ChildProcess() = default;
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  bool running() const { return pid_ > 0; }
  int socket() const { return socket_.get(); }
  int stderr_pipe() const { return stderr_.get(); }
  int pidfd() const { return pidfd_.get(); }  // readable once it has ended; -1 where the kernel lacks it

  // Which process below the supervisor it is, as it says itself before it loads a plugin.
  void SetWorker(pid_t worker) { worker_ = worker; }

  // Whether a thread of it computes, waits for a processor to do so, or spins.
  bool AnyThreadRuns() const;

  LibraryPaths LoadedLibraries() const {
    return running() && worker_ > 0 ? LibrariesLoadedBy(worker_) : LibraryPaths();
  }

  // Closes the socket, which asks the worker to end; gives it until the deadline, then has it killed, and
  // all that it started.
  ExitStatus Stop(Deadline deadline);

 private:
  bool WaitUntilEnded(Deadline deadline) const;
  pid_t pid_ = -1, worker_ = -1;
  WorkerFolder folder_;
  UniqueFd socket_, stderr_, pidfd_;
};

}  // namespace assay
