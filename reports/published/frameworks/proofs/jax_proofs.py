# SPDX-License-Identifier: Apache-2.0
# Needs numpy and jax, on the CPU. Each line is a finding: what came out beside what is right.
import math

import jax
import jax.numpy as jnp
import numpy as np

x = np.random.default_rng(0).standard_normal((64, 100)).astype(np.float32)
nans = x.copy()
nans[np.arange(64), np.arange(64)] = np.nan  # one in each row
for name, f in (("jnp.max", jnp.max), ("jnp.min", jnp.min)):
    for way, call in (("", f), ("jax.jit of ", jax.jit(f, static_argnames="axis"))):
        lost = int((~np.isnan(np.asarray(call(jnp.asarray(nans), axis=1)))).sum())
        print(f"{way}{name}(x, axis=1) float32, one NaN in each of 64 rows: {lost} rows without; numpy has 0")

small = np.float32(1e-39)  # subnormal
print("float32 1e-39: log", jnp.log(small), "exact:", round(math.log(float(small)), 4), " rsqrt", jax.lax.rsqrt(small),
      "exact:", f"{float(small) ** -0.5:.4g}", " sum of 16", jnp.sum(jnp.full(16, small)), "exact: 1.6e-38")

gelu = np.vectorize(lambda v: 0.5 * v * (1 + math.erf(v / math.sqrt(2))))


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


for dtype in (jnp.bfloat16, jnp.float16):
    for name, f, right in (("nn.softmax", jax.nn.softmax, softmax), ("nn.gelu", lambda t: jax.nn.gelu(t, approximate=False), gelu),
                           ("nn.silu", jax.nn.silu, lambda z: z / (1 + np.exp(-z)))):
        given = jnp.asarray(x, dtype)
        y, exact = np.asarray(f(given)).astype(np.float64), right(np.asarray(given).astype(np.float64))
        ordinary = abs(exact) > 1e-3
        error = (abs(y - exact) / abs(exact))[ordinary].max()
        print(f"jax.{name} {dtype.__name__}: relative error up to {error:.5f}; rounding has {float(jnp.finfo(dtype).eps) / 2:.5f}")

ones = jnp.full((1, 512), 1, jnp.bfloat16)
positive = jnp.asarray(abs(x), jnp.bfloat16)
y, exact = (np.asarray(jnp.cumsum(positive, axis=1)).astype(np.float64), np.cumsum(np.asarray(positive).astype(np.float64), 1))
print(f"jnp.cumsum bfloat16 of positive numbers: relative error up to {(abs(y - exact) / exact).max():.5f}; rounding has 0.00391")
print("x.at[i].add(y) bfloat16 of 512 ones is", jnp.zeros((1,), jnp.bfloat16).at[jnp.zeros(512, int)].add(ones[0])[0],
      " exact: 512")

rows = jnp.asarray(np.random.default_rng(0).standard_normal((32, 4096)), jnp.bfloat16)
y, exact = np.asarray(jnp.linalg.vector_norm(rows, axis=1)).astype(np.float64), np.linalg.norm(np.asarray(rows).astype(np.float64), axis=1)
print(f"jnp.linalg.vector_norm bfloat16: relative error up to {(abs(y - exact) / exact).max():.5f}; rounding has 0.00391")
y, exact = float(jax.nn.logsumexp(jnp.full(100, -4.625, jnp.bfloat16))), -4.625 + math.log(100)
print("jax.nn.logsumexp bfloat16 of 100 times -4.625:", y, f" exact: {exact:.5f}")

base = np.array([1e-45, 1e-40, 1e-39, 1e-38, 2e-38], np.float32)  # all but the last are subnormal
with np.printoptions(precision=4):
    print("jnp.power of float32", base, "and 0.5:", np.asarray(jnp.power(jnp.asarray(base), np.float32(0.5))), "exact:",
          base.astype(np.float64) ** 0.5)

rng = np.random.default_rng(0)
x = rng.standard_normal((64, 256)).astype(np.float32)
x[np.arange(64), rng.integers(0, 256, 64)] = np.nan


def summed(x):
    return jnp.sum(jnp.maximum(x, 0), axis=1)


print("sum of maximum(x, 0) float32, one NaN in each of 64 rows:", int((~jnp.isnan(summed(x))).sum()), "rows without; within jax.jit:",
      int((~jnp.isnan(jax.jit(summed)(x))).sum()))
