// SPDX-License-Identifier: Apache-2.0
// Messages between host and worker: a JSON object behind an 8-byte header (magic, length), over a Unix stream
// socket. The host answers for nothing it reads: sizes, counts, nesting and texts pass through FrameBuffer and Reply,
// which bound them. File descriptors travel from the host to the worker only.
// Each request carries a number ("seq") that the host draws at random, and its answer carries the same. Nothing may lie
// in the socket when a request is sent, and nothing may follow an answer: what does is late, or of somebody who should
// not write there, and ends the worker.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/base/json.h"
#include "harness/core/base/result.h"
#include "harness/exec/unique_fd.h"

namespace assay {

using Deadline = std::chrono::steady_clock::time_point;

inline constexpr size_t kMaxFrameBytes = size_t{4} << 20;
inline constexpr int kMaxFrameFds = 4;
inline constexpr const char* kSequence = "seq";
inline constexpr size_t kMaxNameBytes = 256;   // names of devices, implementations, versions
inline constexpr size_t kMaxTextBytes = 4096;  // error texts, properties, contracts
inline constexpr uint64_t kMaxDevices = 256;
inline constexpr uint64_t kMaxImplementations = 1024;
inline constexpr uint64_t kMaxCapabilities = 4096;

Deadline After(double seconds);
int MillisecondsLeft(Deadline deadline);  // for poll(); rounded up, at least 0

// The bytes of one message; invalid UTF-8 in it is replaced. Error when it exceeds kMaxFrameBytes.
Result<std::string> EncodeFrame(const Json& message);

// Bytes in, messages out.
class FrameBuffer {
 public:
  void Append(std::span<const char> bytes) { pending_.append(bytes.data(), bytes.size()); }
  // The next whole message, nullopt while it is incomplete, an error when this is no message.
  Result<std::optional<Json>> Next();
  size_t size() const { return pending_.size(); }

 private:
  std::string pending_;
};

// Sends all of `frame`, `fds` with its first byte. The socket may be non-blocking.
Status SendFrame(int socket, std::string_view frame, std::span<const int> fds, Deadline deadline);

// Worker side: blocks for the next message; nullopt when the host closed. Descriptors that came with it go to `fds`.
Result<std::optional<Json>> ReceiveFrame(int socket, FrameBuffer& buffer, std::vector<UniqueFd>& fds);

// Bounded access to a worker's message. The first thing that is absent, of the wrong type or out of bounds is kept
// as problem(); what is read after it is empty.
class Reply {
 public:
  explicit Reply(const Json& json) : json_(&json) {}
  std::string Text(const char* key, size_t max_bytes);
  uint64_t Count(const char* key, uint64_t max);
  int64_t Integer(const char* key);
  double Seconds(const char* key);  // finite and not negative
  std::vector<double> SecondsList(const char* key, size_t max_size);
  const Json& List(const char* key, size_t max_size);
  const std::string& problem() const { return problem_; }

 private:
  const Json* Find(const char* key);
  void Problem(const char* key, std::string_view what);
  const Json* json_;
  std::string problem_;
};

}  // namespace assay
