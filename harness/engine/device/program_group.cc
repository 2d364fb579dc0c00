// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/program_group.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <utility>

extern char** environ;

namespace assay {
namespace {

std::vector<char*> PointersTo(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

ProgramGroup::ProgramGroup(ProgramStart start) {
  for (char** variable = environ; *variable != nullptr; ++variable) start.variables.emplace_back(*variable);
  const std::vector<char*> argv = PointersTo(start.words), env = PointersTo(start.variables);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!start.has_input) posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, start.output, STDOUT_FILENO);
  if (!start.has_errors) posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  problem_ = posix_spawnp(&child_, argv[0], &actions, &attributes, argv.data(), env.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
}

std::optional<int> ProgramGroup::Ended() {
  int status = 0;
  if (!status_ && waitpid(child_, &status, WNOHANG) == child_) status_ = status;
  return status_;
}

void ProgramGroup::Kill() {
  kill(-child_, SIGKILL);
  int status = 0;
  if (!status_ && waitpid(child_, &status, 0) == child_) status_ = status;
}

}  // namespace assay
