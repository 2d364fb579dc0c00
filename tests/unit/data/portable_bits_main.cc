// SPDX-License-Identifier: Apache-2.0
// Compares the bits of random numbers and fills with pinned hashes. Built several times with different flags.
#include <fmt/format.h>

#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/data/fill/fill.h"
#include "harness/data/fill/portable_math.h"
#include "harness/data/fill/rng.h"

namespace {

using namespace assay;

constexpr size_t kCount = 1 << 16;

template <class T>
uint64_t HashOf(const std::vector<T>& values) {
  return HashBytes(values.data(), values.size() * sizeof(T));
}

template <class T>
uint64_t NormalHash() {
  std::vector<T> values(kCount);
  RandomStream(7, 3).FillNormal(5, std::span(values));
  return HashOf(values);
}

uint64_t SingleNormalHash() {
  std::vector<double> values(kCount);
  for (size_t i = 0; i < kCount; ++i) values[i] = RandomStream(7, 3).Normal(5 + i);
  return HashOf(values);
}

uint64_t SingleFloatNormalHash() {
  std::vector<float> values(kCount);
  for (size_t i = 0; i < kCount; ++i) values[i] = RandomStream(7, 3).FloatNormal(5 + i);
  return HashOf(values);
}

uint64_t ExpLogHash() {
  std::vector<double> values;
  for (size_t i = 0; i < kCount; ++i) {
    const double u = RandomStream(8, 0).Uniform(i);
    values.push_back(internal::ExpKernel((u - 0.5) * 1500));
    values.push_back(internal::LogKernel(u * 1e10));
  }
  return HashOf(values);
}

// Fills that came later have hashes of their own, so that those of the ones before them stay.
int GenerationOf(const std::string& fill) {
  const std::set<std::string> second = {"edges", "masked", "ties", "large", "extremes"};
  if (fill == "offset") return 3;
  return second.contains(fill) ? 2 : 1;
}

uint64_t FillHash(DType dtype, int generation) {
  std::vector<uint64_t> all;
  for (const std::string& name : KnownFills()) {
    if (GenerationOf(name) != generation) continue;
    Tensor tensor(dtype, {96, 128});
    FillTensor(ParseFill(name == "cancel-K" ? "cancel-1e4" : name).value(), 11, 2, -1, 0, tensor);
    all.push_back(HashBytes(tensor.data(), tensor.bytes()));
  }
  return HashOf(all);
}

bool Check(const char* what, uint64_t got, uint64_t want) {
  if (got != want) fmt::print("{}: {:#018x}, pinned {:#018x}\n", what, got, want);
  return got == want;
}

}  // namespace

int main() {
  bool ok = Check("FillNormal", NormalHash<double>(), 0xa3296456c5110ba5);
  ok &= Check("Normal", SingleNormalHash(), 0xa3296456c5110ba5);
  ok &= Check("FillNormal of float", NormalHash<float>(), 0x8ffd326f3543df16);
  ok &= Check("FloatNormal", SingleFloatNormalHash(), 0x8ffd326f3543df16);
  ok &= Check("ExpKernel and LogKernel", ExpLogHash(), 0x54b32214055de6ac);
  ok &= Check("fills f64", FillHash(DType::kF64, 1), 0xaf98509771bcfb84);
  ok &= Check("fills f16", FillHash(DType::kF16, 1), 0x2b8b06ff5de55b87);
  ok &= Check("fills f32", FillHash(DType::kF32, 1), 0xd3a629a45234bd1f);
  ok &= Check("fills i8", FillHash(DType::kI8, 1), 0x4070bab6b845b8fd);
  ok &= Check("second fills f64", FillHash(DType::kF64, 2), 0x2eb0b546326529b5);
  ok &= Check("second fills f16", FillHash(DType::kF16, 2), 0xb0d4aaedae8f409b);
  ok &= Check("second fills f32", FillHash(DType::kF32, 2), 0x291ce14425d14e52);
  ok &= Check("second fills i8", FillHash(DType::kI8, 2), 0x04ae81855690c9e3);
  ok &= Check("third fills f64", FillHash(DType::kF64, 3), 0xc4fba728e045180e);
  ok &= Check("third fills f16", FillHash(DType::kF16, 3), 0x4e6e32201f622c26);
  ok &= Check("third fills f32", FillHash(DType::kF32, 3), 0x5062044a91c5ab6f);
  ok &= Check("third fills i8", FillHash(DType::kI8, 3), 0x090129d03994c8ae);
  return ok ? 0 : 1;
}
