# SPDX-License-Identifier: Apache-2.0
"""Arithmetic in 16 bits by NumPy: values of bf16 and f16 in float32, rounded as frameworks store them."""
import numpy as np


def bf16(x):
    """To nearest even, as float32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def f16(x):
    with np.errstate(over="ignore"):
        return np.asarray(x).astype(np.float16).astype(np.float32)


def bits(x, count):
    """To so many significant bits, of any exponent, in f64."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.round(mantissa * 2.0**count), exponent - count)


ROUND = {"bf16": bf16, "f16": f16}


def normals(rng, round_to, *shape):
    return round_to(rng.standard_normal(shape, np.float32))


def attention(q, k, v, store):
    """PyTorch's math backend: scores, probabilities and the result are stored by `store`, sums are in f32."""
    scores = store(store(q @ np.swapaxes(k, -1, -2)) * np.float32(q.shape[-1] ** -0.5))
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return store(store(e / e.sum(-1, keepdims=True, dtype=np.float32)) @ v)


def attention_of_onnx(q, k, v, store):
    """The reference of ONNX: both factors are scaled by the root, and every step is stored."""
    root = store(np.float32(q.shape[-1] ** -0.25))
    scores = store(store(q * root) @ np.swapaxes(store(k * root), -1, -2))
    e = store(np.exp(store(scores - scores.max(-1, keepdims=True))))
    return store(store(e / store(e.sum(-1, keepdims=True, dtype=np.float32))) @ v)


def softmax(x, store):
    """JAX's softmax: differences, exponentials, their sum and quotients are stored."""
    e = store(np.exp(store(x - x.max(-1, keepdims=True))))
    return store(e / store(e.sum(-1, keepdims=True, dtype=np.float32)))


def add_rms_norm(x, residual, gamma, store, epsilon=1e-6):
    """Eager functions of PyTorch, one after the other."""
    s = store(x + residual)
    mean = (s * s).mean(-1, keepdims=True, dtype=np.float32)
    return store(store(s / np.sqrt(mean + np.float32(epsilon))) * gamma), s
