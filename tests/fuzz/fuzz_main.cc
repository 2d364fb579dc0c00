// SPDX-License-Identifier: Apache-2.0
// frame_fuzz [--seconds N] [--seed N] [FILE...]: changed inputs of the corpus for so many seconds, the same ones for
// the same seed, or the inputs in files. Exits with 1 when the target never took an input, or never refused one; what
// it finds ends it by a signal or a sanitizer.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tests/fuzz/fuzz_target.h"

namespace assay {
namespace {

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed), corpus_(FuzzCorpus()) {}

  std::string Make() {
    std::string input = Any();
    for (uint64_t changes = Below(6); changes-- > 0;) Change(input);
    if (Below(8) != 0) RepairInput(input);
    return input;
  }

 private:
  uint64_t Below(uint64_t end) { return end == 0 ? 0 : random_() % end; }
  const std::string& Any() { return corpus_[Below(corpus_.size())]; }

  void Change(std::string& input) {
    const size_t at = Below(input.size() + 1), size = Below(input.size() - at + 1);
    switch (Below(8)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(random_());
        return;
      case 1:
        input.erase(at, Below(2) == 0 ? 1 : size);
        return;
      case 2:
        input.insert(at, input.substr(at, size));
        return;
      case 3: {  // of another input
        const std::string& other = Any();
        const size_t from = Below(other.size());
        input.insert(at, other.substr(from, Below(other.size() - from)));
        return;
      }
      case 4: {  // what readers like least, many times
        const char* const pieces[] = {"[",       "{\"a\":", "]",    "}",    ",",   "\"",  "\\",
                                      "\\u0000", "\\ud800", "\xFF", "1e",   "-",   "0",   ".",
                                      "1e99999", "[1,2],",  ":",    "null", "{},", "asy1"};
        std::string many;
        const char* piece = pieces[Below(std::size(pieces))];
        for (uint64_t left = uint64_t{1} << Below(Below(24) == 0 ? 20 : 7); left > 0; --left) many += piece;
        input.insert(at, many);
        return;
      }
      case 5:
        input.resize(at);
        return;
      case 6: {
        const uint64_t numbers[] = {0, 1, 0x7F, 0xFFFFFFFF, 0x80000000, 0xFFFFFFFFFFFFFFFF, random_()};
        const uint64_t number = numbers[Below(std::size(numbers))];
        std::memcpy(input.data() + std::min(at, input.size() - std::min<size_t>(input.size(), 8)), &number,
                    std::min<size_t>(input.size(), 8));
        return;
      }
      default:
        input.insert(at, std::to_string(static_cast<int64_t>(random_())));
        return;
    }
  }

  std::mt19937_64 random_;
  std::vector<std::string> corpus_;
};

void Run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

int Fuzz(double seconds, uint64_t seed) {
  Mutator mutator(seed);
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  uint64_t inputs = 0;
  for (; passed() < seconds; ++inputs) Run(mutator.Make());
  fmt::print("{} inputs in {:.0f} s with seed {}: {} accepted, {} refused\n", inputs, passed(), seed,
             fuzz_counts.accepted, fuzz_counts.refused);
  return fuzz_counts.accepted > 0 && fuzz_counts.refused > 0 ? 0 : 1;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  double seconds = 5;
  uint64_t seed = 1;
  bool files = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
    } else if (std::strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else {
      std::ifstream file(argv[i], std::ios::binary);
      if (!file) return 2;
      assay::Run(std::string((std::istreambuf_iterator<char>(file)), {}));
      files = true;
    }
  }
  return files ? 0 : assay::Fuzz(seconds, seed);
}
