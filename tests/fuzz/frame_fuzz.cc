// SPDX-License-Identifier: Apache-2.0
// The reader of what a worker sends (harness/exec/wire): whatever the bytes, it ends, keeps within its bounds and gives
// out objects only, of which every accessor can be asked.
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "harness/core/base/check.h"
#include "harness/exec/wire/protocol.h"
#include "tests/fuzz/fuzz_target.h"

namespace assay {

FuzzCounts fuzz_counts;

namespace {

constexpr size_t kHeaderBytes = 8;

void AskEverything(const Json& json) {
  for (const char* key : {"status", "text", "seq", "name", "seconds", "devices", "plan", "absent"}) {
    Reply(json).Integer(key);
    Reply(json).Seconds(key);
    ASSAY_CHECK(Reply(json).Count(key, 9) <= 9);
    ASSAY_CHECK(Reply(json).Text(key, 64).size() <= 64);
    ASSAY_CHECK(Reply(json).SecondsList(key, 4).size() <= 4);
    ASSAY_CHECK(Reply(json).List(key, 4).size() <= 4);
  }
}

}  // namespace

std::vector<std::string> FuzzCorpus() {
  const Json described = {{"status", 0},
                          {"seq", 18446744073709551615u},
                          {"name", "x\u00e9\\\""},
                          {"devices", Json::array({{{"name", nullptr}, {"memory_bytes", 1 << 30}}})}};
  std::vector<std::string> corpus;
  for (const Json& json :
       {described, Json{{"status", -3}, {"seq", 1}, {"text", "no"}},
        Json{{"status", 0}, {"seq", 2}, {"seconds", {1e-300, 2.5, 0}}, {"plan", 7}}, Json::object()}) {
    corpus.push_back(EncodeFrame(json).value());
  }
  corpus.push_back(corpus[0] + corpus[1]);
  return corpus;
}

// The first frame's header, as if all of the rest were its text.
void RepairInput(std::string& input) {
  if (input.size() < kHeaderBytes) input.resize(kHeaderBytes);
  const auto length = static_cast<uint32_t>(input.size() - kHeaderBytes);
  std::memcpy(input.data(), "asy1", 4);
  std::memcpy(input.data() + 4, &length, 4);
}

}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  FrameBuffer buffer;
  // In one piece or in many, as the bytes themselves say.
  const size_t piece = size > 0 && data[size - 1] % 2 == 0 ? std::max<size_t>(size / 7, 1) : std::max<size_t>(size, 1);
  for (size_t at = 0; at < size; at += piece) {
    buffer.Append({reinterpret_cast<const char*>(data) + at, std::min(piece, size - at)});
    for (;;) {
      const Result<std::optional<Json>> next = buffer.Next();
      if (!next) {
        ++fuzz_counts.refused;
        ASSAY_CHECK(!next.error().message.empty() && next.error().message.size() < 1000);
        return 0;
      }
      if (!next->has_value()) break;
      ++fuzz_counts.accepted;
      ASSAY_CHECK((*next)->is_object());
      AskEverything(**next);
    }
  }
  return 0;
}
