// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/wire/protocol.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "harness/core/base/json_text.h"
#include "harness/exec/clean_text.h"
#include "harness/exec/wire/frame_shape.h"

namespace assay {
namespace {

struct Header {
  char magic[4];
  uint32_t length;
};
constexpr char kFrameMagic[4] = {'a', 's', 'y', '1'};

}  // namespace

Deadline After(double seconds) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

int MillisecondsLeft(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  constexpr int64_t kLongest = 1 << 30;
  return static_cast<int>(std::clamp<int64_t>(left, 0, kLongest));
}

Result<std::string> EncodeFrame(const Json& message) {
  const std::string payload = DumpJson(message);
  if (payload.size() > kMaxFrameBytes) {
    return Fail(ErrorCode::kInternal,
                fmt::format("a message of {} bytes exceeds the limit of {}", payload.size(), kMaxFrameBytes));
  }
  Header header{{}, static_cast<uint32_t>(payload.size())};
  std::memcpy(header.magic, kFrameMagic, sizeof kFrameMagic);
  std::string frame(sizeof header, '\0');
  std::memcpy(frame.data(), &header, sizeof header);
  return frame + payload;
}

Result<std::optional<Json>> FrameBuffer::Next() {
  Header header;
  // A wrong magic shows with the first byte: a plugin that writes text to this descriptor is told so at once.
  const size_t seen = std::min(pending_.size(), sizeof kFrameMagic);
  if (std::memcmp(pending_.data(), kFrameMagic, seen) != 0) {
    return Fail(ErrorCode::kInternal,
                "this is not a message (wrong magic); did the plugin write to a descriptor that it does not own?");
  }
  if (pending_.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, pending_.data(), sizeof header);
  if (header.length > kMaxFrameBytes) {
    return Fail(ErrorCode::kInternal,
                fmt::format("a message claims {} bytes; the limit is {}", header.length, kMaxFrameBytes));
  }
  if (pending_.size() < sizeof header + header.length) return std::nullopt;
  const std::string_view text = std::string_view(pending_).substr(sizeof header, header.length);
  if (Status shape = CheckShape(text); !shape) return tl::unexpected(shape.error());
  Json json = ParseJson(text);
  pending_.erase(0, sizeof header + header.length);
  if (!json.is_object()) return Fail(ErrorCode::kInternal, "a message is not a JSON object");
  return json;
}

Status SendFrame(int socket, std::string_view frame, std::span<const int> fds, Deadline deadline) {
  while (!frame.empty()) {
    iovec io{const_cast<char*>(frame.data()), frame.size()};
    msghdr message{};
    message.msg_iov = &io;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(kMaxFrameFds * sizeof(int))] = {};
    if (!fds.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(fds.size_bytes());
      cmsghdr* head = CMSG_FIRSTHDR(&message);
      head->cmsg_level = SOL_SOCKET;
      head->cmsg_type = SCM_RIGHTS;
      head->cmsg_len = CMSG_LEN(fds.size_bytes());
      std::memcpy(CMSG_DATA(head), fds.data(), fds.size_bytes());
    }
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent > 0) {
      frame.remove_prefix(static_cast<size_t>(sent));
      fds = {};
    } else if (errno == EAGAIN) {
      pollfd waiting{socket, POLLOUT, 0};
      if (::poll(&waiting, 1, MillisecondsLeft(deadline)) == 0) return Fail(ErrorCode::kIo, "timed out while sending");
    } else if (errno != EINTR) {
      return Fail(ErrorCode::kIo, fmt::format("sending failed: {}", std::strerror(errno)));
    }
  }
  return {};
}

Result<std::optional<Json>> ReceiveFrame(int socket, FrameBuffer& buffer, std::vector<UniqueFd>& fds) {
  for (;;) {
    Result<std::optional<Json>> next = buffer.Next();
    if (!next || next->has_value()) return next;
    char bytes[16384];
    iovec io{bytes, sizeof bytes};
    alignas(cmsghdr) char control[CMSG_SPACE(kMaxFrameFds * sizeof(int))];
    msghdr message{};
    message.msg_iov = &io;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (got == 0) return std::nullopt;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Fail(ErrorCode::kIo, fmt::format("receiving failed: {}", std::strerror(errno)));
    for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
      if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
      for (size_t i = 0; i < (head->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
        int fd;
        std::memcpy(&fd, CMSG_DATA(head) + i * sizeof fd, sizeof fd);
        fds.emplace_back(fd);
      }
    }
    buffer.Append({bytes, static_cast<size_t>(got)});
  }
}

}  // namespace assay
