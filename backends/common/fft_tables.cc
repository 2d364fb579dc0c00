// SPDX-License-Identifier: Apache-2.0
#include "backends/common/fft_tables.h"

#include <cmath>
#include <cstring>
#include <numbers>

#include "backends/common/fft_spec.h"

namespace plugin {
namespace {

using Complex = std::complex<long double>;

// e^(-2 pi i j / n): reduced in integers to an eighth of a turn, where sine and cosine are accurate and symmetric.
Complex Root(int64_t j, int64_t n) {
  const int64_t octant = 8 * j / n, rest = 8 * j % n;
  const bool mirrored = octant % 2 != 0;
  const auto part = static_cast<long double>(mirrored ? n - rest : rest) / static_cast<long double>(n);
  const long double angle = part * (std::numbers::pi_v<long double> / 4);
  Complex root(std::cos(angle), mirrored ? std::sin(angle) : -std::sin(angle));
  for (int64_t quarter = 0; quarter < (octant + 1) / 2; ++quarter) root = {root.imag(), -root.real()};
  return root;
}

std::vector<Complex> ChirpOf(int64_t n) {
  std::vector<Complex> chirp;
  for (int64_t j = 0; j < n; ++j) chirp.push_back(Root(j * j % (2 * n), 2 * n));
  return chirp;
}

// Decimation in time, for powers of two.
std::vector<Complex> Transform(const std::vector<Complex>& x) {
  const size_t n = x.size();
  if (n == 1) return x;
  std::vector<Complex> even, odd, y(n);
  for (size_t j = 0; j < n; j += 2) even.push_back(x[j]), odd.push_back(x[j + 1]);
  even = Transform(even), odd = Transform(odd);
  for (size_t k = 0; k < n / 2; ++k) {
    const Complex turned = Root(static_cast<int64_t>(k), static_cast<int64_t>(n)) * odd[k];
    y[k] = even[k] + turned, y[k + n / 2] = even[k] - turned;
  }
  return y;
}

template <class Real>
std::vector<std::byte> Rounded(const std::vector<Complex>& all) {
  std::vector<Real> parts;
  for (const Complex& c : all) {
    // By way of double, so that ties of f32 are broken as they are for a value that is known to 53 bits.
    parts.push_back(static_cast<Real>(static_cast<double>(c.real())));
    parts.push_back(static_cast<Real>(static_cast<double>(c.imag())));
  }
  std::vector<std::byte> bytes(parts.size() * sizeof(Real));
  std::memcpy(bytes.data(), parts.data(), bytes.size());
  return bytes;
}

}  // namespace

uint32_t FftTables::Add(const std::vector<Complex>& table) {
  const auto start = static_cast<uint32_t>(all_.size());
  all_.insert(all_.end(), table.begin(), table.end());
  return start;
}

FftTables::AxisStarts FftTables::AddAxis(int64_t n, bool bluestein) {
  if (!bluestein) return {AddRoots(n), 0, 0};
  return {AddRoots(PaddedLength(n)), AddChirp(n), AddSpectrum(n)};
}

uint32_t FftTables::AddRoots(int64_t n) {
  std::vector<Complex> roots;
  for (int64_t j = 0; j < n; ++j) roots.push_back(Root(j, n));
  return Add(roots);
}

uint32_t FftTables::AddChirp(int64_t n) {
  return Add(ChirpOf(n));
}

uint32_t FftTables::AddSpectrum(int64_t n) {
  const int64_t padded = PaddedLength(n);
  const std::vector<Complex> chirp = ChirpOf(n);
  std::vector<Complex> wrapped(static_cast<size_t>(padded));
  for (int64_t j = 0; j < n; ++j) {
    const auto at = static_cast<size_t>(j), mirror = static_cast<size_t>((padded - j) % padded);
    wrapped[at] = wrapped[mirror] = std::conj(chirp[at]);
  }
  std::vector<Complex> spectrum = Transform(wrapped);
  for (Complex& c : spectrum) c /= static_cast<long double>(padded);
  return Add(spectrum);
}

std::vector<std::byte> FftTables::Bytes() const {
  return wide_ ? Rounded<double>(all_) : Rounded<float>(all_);
}

}  // namespace plugin
