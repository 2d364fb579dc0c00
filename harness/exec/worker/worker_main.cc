// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/worker/worker_main.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "harness/core/base/float_environment.h"
#include "harness/exec/sandbox/sandbox.h"
#include "harness/exec/sandbox/supervisor.h"
#include "harness/exec/worker/plugin_calls.h"
#include "harness/exec/worker_environment.h"

namespace assay {
namespace {

void IsolateProcess(int fd) {
  // The plugin's children must not keep the socket open; its prints must not mix with data on the host's stdout; a
  // crash is expected here and not worth a core file.
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_DFL);  // which the host ignores: here it says that a limit was met
}

// Before a plugin is loaded, and once.
Json SandboxWorker(const Json& request) {
  return {{"status", ASSAY_OK}, {"process", ::getpid()}, {"sandbox", EnterSandbox(DecodeSandbox(request.at("seal")))}};
}

// Another program takes this process over, with its sandbox, its number and its socket, and answers what comes next. In
// return for failure only.
int ExecProgram(std::vector<std::string> words, int fd) {
  words.push_back(std::to_string(fd));
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::fcntl(fd, F_SETFD, 0);
  ::execv(pointers[0], pointers.data());
  std::fprintf(stderr, "assay worker: cannot run %s: %s\n", pointers[0], std::strerror(errno));
  return 1;
}

}  // namespace

int WorkerMain(int fd) {
  RunSupervised(fd);
  return ServeHost(fd, "");
}

int ServeHost(int fd, const std::string& own_plugin) {
  IsolateProcess(fd);
  if (WorkersSetSpins()) ::setenv(kSpinVariable, kWorkerSpins, 0);
  FrameBuffer buffer;
  PluginCalls plugin(own_plugin);
  for (;;) {
    std::vector<UniqueFd> fds;
    const Result<std::optional<Json>> request = ReceiveFrame(fd, buffer, fds);
    if (!request) {
      std::fprintf(stderr, "assay worker: %s\n", request.error().message.c_str());
      return 1;
    }
    if (!request->has_value()) return 0;  // the host is done
    Json reply;
    const bool becomes = (*request)->at("call") == "become";
    try {
      reply = becomes                            ? Json{{"status", ASSAY_OK}}
              : (*request)->at("call") == "seal" ? SandboxWorker(**request)
                                                 : plugin.Answer(**request, std::move(fds));
    } catch (const std::exception& error) {  // a request that this worker does not understand, or no memory
      reply = {{"status", ASSAY_ERROR}, {"text", std::string("worker: ") + error.what()}};
    }
    RestoreFloatEnvironment();  // for the numbers of the reply, and for the next case
    reply[kSequence] = (*request)->at(kSequence);
    const Result<std::string> frame = EncodeFrame(reply);
    constexpr double kLongSeconds = 3600;
    if (!frame || !SendFrame(fd, *frame, {}, After(kLongSeconds))) return 1;
    if (becomes) return ExecProgram((*request)->at("words"), fd);
  }
}

}  // namespace assay
