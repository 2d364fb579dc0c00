// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/wire/protocol.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "harness/exec/wire/frame_shape.h"

namespace assay {
namespace {

using testing::HasSubstr;

std::string Frame(const Json& json) {
  return EncodeFrame(json).value();
}

TEST(FrameBuffer, MessagesByteByByte) {
  const std::string bytes = Frame({{"a", 1}}) + Frame({{"b", "x"}});
  FrameBuffer buffer;
  std::vector<Json> got;
  for (const char byte : bytes) {
    buffer.Append({&byte, 1});
    const auto next = buffer.Next();
    ASSERT_TRUE(next);
    if (next->has_value()) got.push_back(**next);
  }
  EXPECT_THAT(got, testing::ElementsAre(Json{{"a", 1}}, Json{{"b", "x"}}));
  EXPECT_EQ(buffer.size(), 0u);
}

TEST(FrameBuffer, WhatIsNoMessage) {
  const auto error_of = [](std::string bytes) {
    FrameBuffer buffer;
    buffer.Append(bytes);
    const auto next = buffer.Next();
    return next ? std::string("no error") : next.error().message;
  };
  EXPECT_THAT(error_of("h"), HasSubstr("wrong magic"));
  EXPECT_THAT(error_of("asy2"), HasSubstr("wrong magic"));
  EXPECT_THAT(error_of(std::string("asy1\xFF\xFF\xFF\xFF", 8)), HasSubstr("claims 4294967295 bytes"));
  EXPECT_THAT(error_of(std::string("asy1\x02\0\0\0", 8) + "{]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(error_of(std::string("asy1\x02\0\0\0", 8) + "[]"), HasSubstr("not a JSON object"));
  EXPECT_EQ(error_of(std::string("asy1\x02\0\0\0", 8) + "{"), "no error");  // incomplete
}

TEST(FrameBuffer, DeepNestingIsAnErrorNotAStackOverflow) {
  const std::string deep(kMaxFrameBytes, '[');
  const uint32_t length = kMaxFrameBytes;
  FrameBuffer buffer;
  buffer.Append(std::string_view("asy1"));
  buffer.Append({reinterpret_cast<const char*>(&length), 4});
  buffer.Append(deep);
  EXPECT_FALSE(buffer.Next());
}

// A valid message can be nested so deeply that freeing its value ends the program: shapes are bounded.
TEST(FrameBuffer, ShapesAreBounded) {
  const auto next = [](const std::string& text) {
    const auto length = static_cast<uint32_t>(text.size());
    FrameBuffer buffer;
    buffer.Append(std::string_view("asy1"));
    buffer.Append({reinterpret_cast<const char*>(&length), 4});
    buffer.Append(text);
    const auto got = buffer.Next();
    return got ? std::string() : got.error().message;
  };
  const auto nested = [](size_t depth) { return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}"; };
  const auto many = [](size_t values) {
    std::string text = "{\"a\":[0";
    while (values-- > 1) text += ",0";
    return text + "]}";
  };
  const auto long_text = [](size_t size) { return "{\"a\":\"" + std::string(size, 'x') + "\"}"; };
  EXPECT_EQ(next(nested(kMaxFrameDepth - 1)), "");
  EXPECT_THAT(next(nested(kMaxFrameDepth)), HasSubstr("nested deeper than 32"));
  EXPECT_THAT(next(nested(1'900'000)), HasSubstr("nested deeper than 32"));
  EXPECT_EQ(next(many(kMaxFrameValues - 4)), "");
  EXPECT_THAT(next(many(kMaxFrameValues)), HasSubstr("more values than 262144"));
  const auto members = [](size_t count) {
    std::string text = "{\"a\":{\"\":0";
    for (size_t i = 1; i < count; ++i) text += ",\"" + std::to_string(i) + "\":0";
    return text + "}}";
  };
  EXPECT_EQ(next(members(kMaxFrameMembers)), "");
  EXPECT_THAT(next(members(kMaxFrameMembers + 1)), HasSubstr("an object of more members than 1024"));
  EXPECT_EQ(next(long_text(kMaxFrameStringBytes - 1)), "");
  EXPECT_THAT(next(long_text(kMaxFrameStringBytes + 1)), HasSubstr("a text of more bytes than 65536"));
  EXPECT_EQ(next("{\"a\":\"" + std::string(100, '[') + "\\\"" + std::string(100, '{') + "\"}"), "");  // in a text
}

// No bytes make it abort, hang or hold more than one message; whatever comes out is an object.
TEST(FrameBuffer, Fuzzed) {
  std::mt19937 random(7);
  const std::string good = Frame({{"status", 0}, {"seconds", {1e-3, 2.5}}, {"name", "x\u00e9"}});
  int messages = 0, errors = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good + good;
    for (uint32_t flips = random() % 4; flips-- > 0;) bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % (bytes.size() + 1));
    FrameBuffer buffer;
    buffer.Append(bytes);
    for (;;) {
      const auto next = buffer.Next();
      if (!next) ++errors;
      if (!next || !next->has_value()) break;
      ++messages;
      ASSERT_TRUE((*next)->is_object());
      Reply reply(**next);
      EXPECT_LE(reply.SecondsList("seconds", 2).size(), 2u);
      EXPECT_LE(reply.Text("name", 3).size(), 3u);
    }
  }
  EXPECT_GT(messages, 1000);
  EXPECT_GT(errors, 1000);
}

TEST(EncodeFrame, BoundedAndValid) {
  EXPECT_FALSE(EncodeFrame({{"x", std::string(kMaxFrameBytes, 'x')}}));
  FrameBuffer buffer;
  buffer.Append(Frame({{"x", "\xFF"}}));
  EXPECT_EQ(buffer.Next().value().value()["x"], "\uFFFD");
}

TEST(Reply, ReadsWhatIsThere) {
  const Json json = {{"t", "x"}, {"n", 3u}, {"i", -3}, {"s", 0.5}, {"l", {1, 2.5}}};
  Reply reply(json);
  EXPECT_EQ(reply.Text("t", 10), "x");
  EXPECT_EQ(reply.Count("n", 3), 3u);
  EXPECT_EQ(reply.Integer("i"), -3);
  EXPECT_EQ(reply.Seconds("s"), 0.5);
  EXPECT_THAT(reply.SecondsList("l", 2), testing::ElementsAre(1, 2.5));
  EXPECT_EQ(reply.problem(), "");
}

template <class Read>
std::string ProblemOf(const Json& value, Read read) {
  const Json json = {{"k", value}};
  Reply reply(json);
  read(reply);
  return reply.problem();
}

TEST(Reply, RefusesWhatIsOutOfBounds) {
  const auto count = [](Reply& r) { r.Count("k", 10); };
  for (const Json& value : {Json(11), Json(-1), Json(1.5), Json("1"), Json(nullptr), Json(1e300)}) {
    EXPECT_THAT(ProblemOf(value, count), HasSubstr("not a count of at most 10")) << value;
  }
  const auto seconds = [](Reply& r) { r.Seconds("k"); };
  for (const Json& value : {Json(-1e-9), Json(nullptr), Json("1"), Json(std::numeric_limits<double>::infinity())}) {
    EXPECT_THAT(ProblemOf(value, seconds), HasSubstr("not a duration")) << value;
  }
  EXPECT_THAT(ProblemOf({1, -1}, [](Reply& r) { r.SecondsList("k", 9); }), HasSubstr("not a duration"));
  EXPECT_THAT(ProblemOf({1, 2}, [](Reply& r) { r.List("k", 1); }), HasSubstr("at most 1 entries"));
  EXPECT_THAT(ProblemOf(nullptr, [](Reply& r) { r.Text("k", 9); }), HasSubstr("is NULL"));
  EXPECT_THAT(ProblemOf(1, [](Reply& r) { r.Text("absent", 9); }),
              HasSubstr("'absent' in the worker's answer is absent"));
}

TEST(Reply, KeepsTheFirstProblem) {
  const Json json = {{"n", 3u}};
  Reply reply(json);
  reply.Text("first", 9);
  EXPECT_EQ(reply.Count("n", 9), 0u);
  reply.Text("second", 9);
  EXPECT_THAT(reply.problem(), HasSubstr("'first'"));
}

class SocketTest : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    a_ = UniqueFd(ends[0]);
    b_ = UniqueFd(ends[1]);
  }
  UniqueFd a_, b_;
};

TEST_F(SocketTest, CarriesDescriptors) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const UniqueFd read_end(pipe[0]), write_end(pipe[1]);
  const int fds[] = {read_end.get(), write_end.get()};
  ASSERT_TRUE(SendFrame(a_.get(), Frame({{"x", 1}}), fds, After(1)));
  FrameBuffer buffer;
  std::vector<UniqueFd> got;
  const auto message = ReceiveFrame(b_.get(), buffer, got);
  ASSERT_TRUE(message && message->has_value());
  ASSERT_EQ(got.size(), 2u);
  ASSERT_EQ(::write(got[1].get(), "z", 1), 1);
  char byte = 0;
  ASSERT_EQ(::read(read_end.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'z');
  EXPECT_EQ(::fcntl(got[0].get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(SocketTest, TheEndOfTheOtherSide) {
  a_.Close();
  FrameBuffer buffer;
  std::vector<UniqueFd> fds;
  const auto message = ReceiveFrame(b_.get(), buffer, fds);
  ASSERT_TRUE(message);
  EXPECT_FALSE(message->has_value());
  EXPECT_FALSE(SendFrame(b_.get(), Frame({{"x", 1}}), {}, After(1)));
}

TEST_F(SocketTest, SendingToSomeoneWhoDoesNotReadEndsAtTheDeadline) {
  ::fcntl(a_.get(), F_SETFL, O_NONBLOCK);
  const std::string big = Frame({{"x", std::string(1 << 21, 'x')}});
  const Status sent = SendFrame(a_.get(), big, {}, After(0.1));
  ASSERT_FALSE(sent);
  EXPECT_THAT(sent.error().message, HasSubstr("timed out"));
}

}  // namespace
}  // namespace assay
