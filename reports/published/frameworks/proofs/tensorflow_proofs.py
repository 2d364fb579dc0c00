# SPDX-License-Identifier: Apache-2.0
# Needs numpy and tensorflow. Each line is a finding: what came out beside what is right.
import math
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402


def row_with_nan(place):
    x = np.zeros((1, 100), np.float32)
    x[0, place] = np.nan
    return x


def count_lost(function):
    return sum(not np.isnan(function(row_with_nan(place)).numpy()).all() for place in range(100))


def xla(function):
    return tf.function(function, jit_compile=True)


for name, function in (("softmax float32", tf.nn.softmax), ("softmax float64", lambda x: tf.nn.softmax(tf.cast(x, tf.float64))),
                       ("softmax float32 by XLA", xla(tf.nn.softmax)), ("reduce_max float32", lambda x: tf.reduce_max(x, 1)),
                       ("reduce_max float32 by XLA", xla(lambda x: tf.reduce_max(x, 1))),
                       ("reduce_min float32 by XLA", xla(lambda x: tf.reduce_min(x, 1)))):
    print(f"{name} of a row of 100 with one NaN: no NaN for {count_lost(function)} of its 100 places")
x = np.linspace(-2, 2, 1001)
for approximate, exact in ((False, [v * (1 + math.erf(v / math.sqrt(2))) / 2 for v in x]),
                           (True, [v * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))) / 2 for v in x])):
    error = np.abs(tf.nn.gelu(x, approximate=approximate).numpy() - exact).max()
    print(f"gelu float64, approximate={approximate}: error up to {error:.1e} in [-2, 2]")
rng = np.random.default_rng(0)
x = rng.standard_normal((64, 128)).astype(tf.bfloat16.as_numpy_dtype)
e = np.exp(x.astype(np.float64) - x.astype(np.float64).max(1, keepdims=True))
exact = e / e.sum(1, keepdims=True)
for name, function in (("softmax", tf.nn.softmax), ("softmax by XLA", xla(tf.nn.softmax))):
    error = np.abs(function(x).numpy().astype(np.float64) - exact) / exact
    print(f"{name} bfloat16: relative error up to {error.max():.4f}; rounding has 0.0039")
ones = np.full((1, 1000), 1, tf.bfloat16.as_numpy_dtype)
print("cumsum bfloat16 of 1000 ones ends with", float(tf.cumsum(ones, axis=1).numpy()[0, -1]))
added = tf.tensor_scatter_nd_add(np.zeros(1, ones.dtype), np.zeros((1000, 1), np.int64), ones[0])
print("tensor_scatter_nd_add bfloat16 of 1000 ones to a zero is", float(added.numpy()[0]))
x = np.array([[1, np.nan, 3, 2]], np.float32)
print("top_k of 1, nan, 3, 2:", tf.math.top_k(x, 4).values.numpy()[0], "sort:", tf.sort(x).numpy()[0], "numpy:", np.sort(x)[0])
