// SPDX-License-Identifier: Apache-2.0
// Tables of the transforms, computed in long double and rounded once to the type of the computation.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plugin {

// Complex numbers of one type, one table after the other.
class FftTables {
 public:
  explicit FftTables(bool wide) : wide_(wide) {}

  // Where the tables of an axis of length n start, in complex numbers. Radix stages read its roots alone, Bluestein's
  // algorithm those of PaddedLength(n).
  struct AxisStarts {
    uint32_t roots = 0, chirp = 0, spectrum = 0;
  };
  AxisStarts AddAxis(int64_t n, bool bluestein);

  // e^(-2 pi i j / n) for j < n. Returns where the table starts, in complex numbers.
  uint32_t AddRoots(int64_t n);

  std::vector<std::byte> Bytes() const;

 private:
  // e^(-i pi j^2 / n) for j < n.
  uint32_t AddChirp(int64_t n);
  // The transform of the conjugate chirp, wrapped around to PaddedLength(n), over that length.
  uint32_t AddSpectrum(int64_t n);
  uint32_t Add(const std::vector<std::complex<long double>>& table);

  bool wide_;
  std::vector<std::complex<long double>> all_;
};

}  // namespace plugin
