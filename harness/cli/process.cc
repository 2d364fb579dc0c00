// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/process.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <new>
#include <string_view>
#include <system_error>
#include <thread>

#include "harness/cli/terminal/output.h"
#include "harness/cli/verbs.h"
#include "harness/engine/cases/host_memory.h"
#include "ops/formula/formula_error.h"
#include "ops/operator.h"

namespace assay::cli {
namespace {

// JSON values of nlohmann allocate while they are destroyed, which ends the program where no memory is left. The first
// allocation that fails gives this block back, so that unwinding has some and ends in a message.
std::atomic<char*> spare_memory = nullptr;

void GiveSpareMemoryBack() {
  delete[] spare_memory.exchange(nullptr);
  throw std::bad_alloc();
}

void KeepSpareMemory() {
  constexpr size_t kBytes = size_t{1} << 20;
  spare_memory = new char[kBytes];
  std::set_new_handler(GiveSpareMemoryBack);
}

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// A closing terminal may send SIGHUP twice: by the shell, and by the kernel when the shell has gone.
void OnInterrupt(int number) {
  interrupted = true;
  std::signal(number, number == SIGHUP ? SIG_IGN : SIG_DFL);
}

}  // namespace

bool IsWorker(int argc, char** argv) {
  return argc > 1 && std::string_view(argv[1]) == "worker";
}

// A worker's memory is the plugin's: it is as the system has it, so that a backend is measured, and fails, as it would
// in any other program.
void PrepareProcess(int argc, char** argv) {
  umask(umask(0) | S_IWOTH);  // records are evidence: nobody else writes to them, whatever the shell says
  if (IsWorker(argc, argv)) return;
  KeepFreedMemory();
  KeepSpareMemory();
}

int RunOnLargeStack(const std::function<int()>& program) {
  constexpr size_t kLeast = size_t{1} << 20,
                   kGranted = size_t{8} << 20;  // what Linux grants where nobody says otherwise
  const auto guarded = [&] {
    try {
      return program();
    } catch (const std::exception& e) {
      return ComplainOfException(e);
    }
  };
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kLeast) return guarded();
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return guarded();
  const bool set =
      ::pthread_attr_setstacksize(&attributes, kGranted) == 0 && ::pthread_setattr_default_np(&attributes) == 0;
  ::pthread_attr_destroy(&attributes);
  if (!set) return guarded();
  int code = 0;
  std::thread([&] { code = guarded(); }).join();
  return code;
}

int RefuseMistakes() {
  int code = kExitOk;
  for (const auto& [op, text] : OperatorRegistry::Global().mistakes()) code = Complain(kExitHarness, text);
  return code;
}

int ComplainOfException(const std::exception& exception) {
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) {
    return Complain(kExitHarness,
                    "memory ran out: raise the limit of this shell or container (ulimit -v), or give smaller cases. A "
                    "run that had begun goes on with --resume");
  }
  const auto* system = dynamic_cast<const std::system_error*>(&exception);
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again) {
    return Complain(kExitHarness,
                    "the system grants no further thread: raise the limits of this shell or container (ulimit -u, "
                    "ulimit -v). A run that had begun goes on with --resume");
  }
  const bool is_mistake = dynamic_cast<const formula::FormulaError*>(&exception) != nullptr;
  return Complain(kExitHarness, (is_mistake ? "" : "internal error: ") + std::string(exception.what()));
}

void WatchForInterrupts() {
  static std::once_flag watched;  // else a second Ctrl-C would only be noted as well
  std::call_once(watched, [] {
    std::signal(SIGINT, OnInterrupt);
    std::signal(SIGTERM, OnInterrupt);
    if (std::signal(SIGHUP, OnInterrupt) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
  });
}

bool WatchAndAsk() {
  WatchForInterrupts();
  return Interrupted();
}

bool Interrupted() {
  return interrupted;
}

}  // namespace assay::cli
