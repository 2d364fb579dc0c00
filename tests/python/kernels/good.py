# SPDX-License-Identifier: Apache-2.0
"""Kernels of NumPy that are right, in each of the ways in which one can be written."""
import numpy as np

import assay


@assay.kernel("softmax", contract="f32acc", dtypes=["f32"])
def softmax(x, *, axis, log):
    shifted = x.astype(np.float64) - x.max(axis, keepdims=True)
    y = shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))
    return (y if log else np.exp(y)).astype(x.dtype)


def promise(dtypes, attrs):
    return "f32acc; det=yes" if attrs["log"] is False and dtypes[0] == "f32" else "f32acc"


def is_of_last_axis(case):
    return case.attrs["axis"] in (-1, len(case.shapes["x"]) - 1) or "the last axis alone"


@assay.kernel("softmax", contract=promise, dtypes=["f32"], name="last-axis", supports=is_of_last_axis)
def last_axis(x, **attrs):
    assert set(attrs) == {"shape", "axis", "log"} and attrs["shape"] == x.shape, attrs
    return softmax(x, axis=-1, log=attrs["log"])


@assay.kernel("softmax", contract="f32acc", dtypes=["f32"], name="plain")
def plain(x):
    return softmax(x, axis=-1, log=False)


@assay.kernel("matmul", contract="f32acc", dtypes=["f32"])
def matmul(a, b, c, bias, *, transa, transb, alpha, beta, out):
    assert transa in (True, False) and isinstance(transa, bool) and isinstance(alpha, float)
    a, b = (np.swapaxes(m, -1, -2) if flag else m for m, flag in ((a, transa), (b, transb)))
    y = alpha * (a.astype(np.float64) @ b.astype(np.float64))
    y = y if c is None else y + beta * c.astype(np.float64)
    out[...] = y if bias is None else y + bias.astype(np.float64)


@assay.kernel("layer_norm", contract="f32acc", dtypes=["f32"])
def layer_norm(x, gamma, beta, *, eps, stats):
    wide = x.astype(np.float64)
    mean, rstd = wide.mean(-1), 1 / np.sqrt(wide.var(-1) + eps)
    y = (wide - mean[:, None]) * rstd[:, None] * gamma + beta
    results = tuple(part.astype(x.dtype) for part in (y, mean, rstd))
    return results if stats else results[0]


@assay.kernel("exp", contract="f32acc", dtypes=["f32"])
def exp(x):
    print("a kernel may print")
    return np.exp(x.astype(np.float64)).astype(x.dtype)
