// SPDX-License-Identifier: Apache-2.0
// Set-up of every program of this project, its exit codes, and its end by the user.
#pragma once

#include <exception>
#include <functional>

namespace assay::cli {

// Whether this process is a worker of a run: the program started itself as `worker --fd N`.
bool IsWorker(int argc, char** argv);

// Sets the umask, makes the allocator keep freed memory, and keeps some for when it runs out, but not in workers.
void PrepareProcess(int argc, char** argv);

// Runs the program in a thread with a large stack, since the shell may grant a small one (ulimit -s 64), which threads
// without a size of their own get too. Returns its exit code, or that of an exception.
int RunOnLargeStack(const std::function<int()>& program);

// Names operators with wrong definitions and returns the exit code for that; 0 if there are none.
int RefuseMistakes();

// Prints an exception that nothing has caught, and returns its exit code.
int ComplainOfException(const std::exception& exception);

// Takes note, from now on, of the user's wish to end a long command, which then writes what it has: Ctrl-C, SIGTERM,
// and SIGHUP, which the end of a terminal or of a remote session sends, unless the command was started to outlive it
// (nohup). A second Ctrl-C or SIGTERM ends the process at once.
void WatchForInterrupts();
bool Interrupted();
bool WatchAndAsk();  // Interrupted(), and watches from its first call on

}  // namespace assay::cli
