# SPDX-License-Identifier: Apache-2.0
"""PyTorch's functions under the names, operands and attributes of the suites: spectra, scans, sparse products."""
from __future__ import annotations

import torch
from torch._higher_order_ops.associative_scan import associative_scan as _scan

from ._columns import Column

_FFT = "alg=fft"


def stft(x, window, *, hop=1, **_):
    """torch.stft, which has frames behind frequencies."""
    n = window.shape[0]
    spectra = torch.stft(x, n, hop, n, window, center=False, onesided=True, return_complex=True)
    return torch.view_as_real(spectra.transpose(-1, -2)).contiguous()


def fft_conv(x, kernel, **_):
    """Transforms of twice the length, as models with long convolutions have it."""
    n, size = x.shape[-1], 2 * x.shape[-1]
    return torch.fft.irfft(torch.fft.rfft(x, size) * torch.fft.rfft(kernel, size), size)[..., :n].contiguous()


def associative_scan(a, b, **_):
    """The prototype behind torch.compile; combine_mode="generic" is the one that takes operands on the CPU."""
    return _scan(lambda x, y: (x[0] * y[0], y[0] * x[1] + y[1]), (a, b), 1, combine_mode="generic")[1]


def sparse_mm(values, places, b, **_):
    """A product with a matrix in CSR: semi-structured matrices are for GPUs alone."""
    m, half = values.shape
    columns = (torch.arange(half, device=b.device) // 2 * 4 + places.to(torch.int64)).reshape(-1)
    rows = torch.arange(m + 1, device=b.device) * half
    return torch.sparse_csr_tensor(rows, columns, values.reshape(-1), (m, 2 * half)) @ b


COLUMNS = [
    Column("stft", stft, ("f32", "f64"), extra=_FFT),
    Column("fft_conv", fft_conv, ("f32", "f64"), extra=_FFT),
    Column("associative_scan", associative_scan, ("f32", "f64")),
    Column("sparse_mm", sparse_mm, ("f32-u8-f32-f32",)),
]
