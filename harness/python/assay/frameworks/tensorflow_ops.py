# SPDX-License-Identifier: Apache-2.0
"""Functions of TensorFlow on the CPU under the names, operands and attributes of the suites, of tensors."""
from __future__ import annotations

import os
import types

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # no lines about the machine in a worker's log
import tensorflow as tf  # noqa: E402

from assay.frameworks._shapes import dims  # noqa: E402


def matmul(a, b, c=None, bias=None, *, transa=False, transb=False, alpha=1.0, beta=0.0, **_):
    y = tf.linalg.matmul(a, b, transpose_a=bool(transa), transpose_b=bool(transb))
    y = y if alpha == 1 else y * alpha
    y = y if c is None else y + c * beta
    return y if bias is None else y + bias


def conv(x, w, bias=None, *, stride=1, pad=0, dilation=1, groups=1, **_):
    """tf.nn.convolution, with the channels behind the positions: the CPU has no other order."""
    rank = len(x.shape) - 2
    to_last, to_first = [0, *range(2, rank + 2), 1], [0, rank + 1, *range(1, rank + 1)]
    padded = tf.pad(tf.transpose(x, to_last), [[0, 0], *([p, p] for p in dims(pad, rank)), [0, 0]])
    kernels = tf.transpose(w, [*range(2, rank + 2), 1, 0])
    y = tf.nn.convolution(padded, kernels, dims(stride, rank), "VALID", dilations=dims(dilation, rank))
    y = y if bias is None else y + bias
    return tf.transpose(y, to_first)


def softmax(x, *, axis=-1, log=False, **_):
    return (tf.nn.log_softmax if log else tf.nn.softmax)(x, axis=int(axis))


REDUCTIONS = {"sum": tf.reduce_sum, "mean": tf.reduce_mean, "max": tf.reduce_max, "min": tf.reduce_min, "prod": tf.reduce_prod,
              "l2": tf.math.reduce_euclidean_norm, "logsumexp": tf.reduce_logsumexp}


def reduce(x, *, axes, kind="sum", keepdims=False, tie="first", nan="propagate", **_):
    if kind in ("argmax", "argmin"):
        y = (tf.argmax if kind == "argmax" else tf.argmin)(x, axis=axes[0], output_type=tf.int64)
        return tf.expand_dims(y, axes[0]) if keepdims else y
    return REDUCTIONS[kind](x, axis=list(axes), keepdims=bool(keepdims))


TRANSFORMS = {("c2c", "fwd"): tf.signal.fft, ("c2c", "inv"): tf.signal.ifft, ("r2c", "fwd"): tf.signal.rfft,
              ("c2r", "inv"): tf.signal.irfft}


def fft(x, *, kind, n, dir="fwd", norm="none", **_):
    """tf.signal: fft, ifft, rfft and irfft along the last axis, of which the inverse ones divide by its extent."""
    length = n[0] if isinstance(n, (tuple, list)) else n
    return TRANSFORMS[kind, dir](x, *([[length]] if kind in ("r2c", "c2r") else []))


def gelu(x, *, approx="none", **_):
    return tf.nn.gelu(x, approximate=approx == "tanh")


def element(function):
    def call(x, **_):
        return function(x)
    return call


def cumsum(x, **_):
    return tf.cumsum(x, axis=-1)


def top_k(x, *, k, smallest=False, tie="first", **_):
    """tf.math.top_k: of equal elements the one with the lower index is first."""
    values, places = tf.math.top_k(x, k=int(k), sorted=True)
    return values, tf.cast(places, tf.int64)


def sort(x, *, descending=False, tie="first", **_):
    """The values at the places that tf.argsort gives."""
    places = tf.argsort(x, axis=-1, direction="DESCENDING" if descending else "ASCENDING", stable=True)
    return tf.gather(x, places, batch_dims=len(x.shape) - 1), tf.cast(places, tf.int64)


# NumPy's names of functions that move elements.
MOVES = types.SimpleNamespace(
    concatenate=tf.concat, flip=lambda x, axis: tf.reverse(x, [axis]), roll=tf.roll, transpose=tf.transpose, where=tf.where,
    asarray=tf.constant, take_along_axis=lambda x, indices, axis: tf.gather(x, indices, axis=axis, batch_dims=axis))


def gather(table, indices, **_):
    return tf.gather(table, indices)


def scatter_add(x, indices, updates, **_):
    return tf.tensor_scatter_nd_add(x, indices[:, None], updates)
