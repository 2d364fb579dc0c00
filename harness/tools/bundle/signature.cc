// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/bundle/signature.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "harness/core/base/text.h"

extern char** environ;

namespace assay {
namespace {

constexpr const char* kProgram = "ssh-keygen";

struct KeygenEnd {
  int code = 0;
  std::string text;  // of both streams
};

// With `input` as standard input.
Result<KeygenEnd> RunKeygen(std::vector<std::string> words, const std::string& input) {
  words.insert(words.begin(), kProgram);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Fail(ErrorCode::kIo, fmt::format("pipe: {}", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, kProgram, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  KeygenEnd ended;
  std::array<char, 4096> block{};
  for (ssize_t n = 0; failed == 0 && (n = read(ends[0], block.data(), block.size())) > 0;) {
    ended.text.append(block.data(), static_cast<size_t>(n));
  }
  close(ends[0]);
  if (failed != 0) {
    return Fail(ErrorCode::kIo,
                fmt::format("cannot run {}: {}; install openssh-client", kProgram, std::strerror(failed)));
  }
  int status = 0;
  waitpid(child, &status, 0);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ended.text = Trim(ended.text);
  return ended;
}

}  // namespace

std::filesystem::path SignatureOf(const std::filesystem::path& file) {
  return file.string() + ".sig";
}

Status SignFile(const std::filesystem::path& file, const std::filesystem::path& key) {
  std::error_code error;
  std::filesystem::remove(SignatureOf(file), error);  // it would ask
  const auto done =
      RunKeygen({"-Y", "sign", "-f", key.string(), "-n", kSignatureNamespace, file.string()}, "/dev/null");
  if (!done) return tl::unexpected(done.error());
  if (done->code == 0 && std::filesystem::exists(SignatureOf(file), error)) return {};
  return UsageError(fmt::format("cannot sign with {}: {}", key.string(), done->text));
}

Result<std::string> CheckSignature(const std::filesystem::path& file, const std::optional<Signer>& signer) {
  const std::string signature = SignatureOf(file).string();
  std::vector<std::string> words = {"-Y", "check-novalidate", "-n", kSignatureNamespace, "-s", signature};
  if (signer) {
    words = {"-Y", "verify", "-f", signer->allowed.string(), "-I", signer->identity, "-n", kSignatureNamespace,
             "-s", signature};
  }
  auto done = RunKeygen(std::move(words), file.string());
  if (!done) return tl::unexpected(done.error());
  if (done->code != 0) return UsageError(fmt::format("{}: {}", signature, done->text));
  return done->text;
}

}  // namespace assay
