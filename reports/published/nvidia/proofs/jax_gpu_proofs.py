# SPDX-License-Identifier: Apache-2.0
# Needs numpy and jax on a GPU of NVIDIA. Each line is a finding: what came out beside what f64 on the same operands gives.
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax
import jax.numpy as jnp
import numpy as np

print("jax", jax.__version__, jax.devices()[0].device_kind)
random = np.random.default_rng(0)


def wide(array):
    return np.asarray(array).astype(np.float64)


for dtype in (jnp.bfloat16, jnp.float16):
    for m in (1, 2):
        a, b = (jnp.asarray(random.standard_normal(shape), dtype) for shape in ((m, 64), (64, 256)))
        y = jnp.matmul(a, b)
        products = jnp.asarray(wide(a).T[:, :, None] * wide(b)[:, None, :], dtype)  # rounded to the type
        for how, exact in (("the sum of products", wide(a) @ wide(b)), ("the sum of rounded products", wide(products).sum(0))):
            once = wide(jnp.asarray(exact, dtype))
            print(f"jnp.matmul {dtype.__name__} m={m} k=64: {int((wide(y) != once).sum())} of {y.size} differ from {how}, rounded once")

for m, n, k, batch in ((6, 64, 5, 2), (6, 64, 5, 1), (6, 64, 8, 2), (16, 64, 16, 2), (3, 8, 5, 4)):
    a, b = (jnp.asarray(random.integers(-9, 9, shape), jnp.int8) for shape in ((batch, m, k), (batch, k, n)))
    y = jnp.matmul(a, b, preferred_element_type=jnp.int32)
    exact = wide(a) @ wide(b)
    print(f"jnp.matmul int8 to int32, batch={batch} m={m} n={n} k={k}: {int((wide(y) != exact).sum())} of {y.size} are wrong; "
          f"{int((wide(y) == 2 * exact).sum())} are twice the sum")

x, w = jnp.full((1, 16, 12, 12), 60, jnp.float16), jnp.full((8, 16, 3, 3), 60, jnp.float16)
for sign in (1, -1):
    y = wide(jax.lax.conv_general_dilated(x * sign, w, (1, 1), "VALID"))
    print(f"conv float16 whose results are all {sign * 518400}: {int((y == sign * np.inf).sum())} of {y.size} are infinite, "
          f"{int((y == 0).sum())} are 0, {int(np.isnan(y).sum())} NaN; the first is {y.flat[0]}")
x, w = (jnp.asarray(random.lognormal(0, 2, shape) * random.choice((-1, 1), shape), jnp.float16) for shape in ((1, 16, 12, 12), (8, 16, 3, 3)))
y = wide(jax.lax.conv_general_dilated(x * 8, w * 8, (1, 1), "SAME"))
right = wide(jax.lax.conv_general_dilated(x.astype(jnp.float32) * 8, w.astype(jnp.float32) * 8, (1, 1), "SAME", precision="highest"))
beyond = abs(right) > 65600
print(f"conv float16 of lognormal numbers: of {int(beyond.sum())} results beyond 65504 {int(np.isinf(y[beyond]).sum())} are infinite, "
      f"{int((y[beyond] == 0).sum())} are 0, {int(np.isnan(y[beyond]).sum())} NaN")

a, b = (jnp.asarray(random.standard_normal(shape), jnp.float32) for shape in ((256, 4096), (4096, 256)))
exact = np.asarray(a).astype(np.float64) @ np.asarray(b).astype(np.float64)
for precision in (None, jax.lax.Precision.HIGHEST):
    y = np.asarray(jnp.matmul(a, b, precision=precision)).astype(np.float64)
    print(f"jnp.matmul float32 precision={precision}: error up to {abs(y - exact).max() / abs(exact).max():.2e} of the largest result")
q, k, v = (jnp.asarray(random.standard_normal((1, 256, 8, 128)), jnp.float32) for _ in range(3))
with jax.default_matmul_precision("highest"):
    right = jax.nn.dot_product_attention(q, k, v)
y = jax.nn.dot_product_attention(q, k, v)
print(f"jax.nn.dot_product_attention float32: by default {float(abs(y - right).max() / abs(right).max()):.2e} of the largest "
      'result away from the one within jax.default_matmul_precision("highest")')

x = random.standard_normal((64, 100)).astype(np.float32)
for dtype in (jnp.bfloat16, jnp.float16):
    given = jnp.asarray(x, dtype)
    z = wide(given)
    e = np.exp(z - z.max(-1, keepdims=True))
    for name, y, exact in (("jax.nn.softmax", jax.nn.softmax(given), e / e.sum(-1, keepdims=True)),
                           ("jax.nn.silu", jax.nn.silu(given), z / (1 + np.exp(-z))),
                           ("jnp.cumsum of positive numbers", jnp.cumsum(abs(given), axis=1), np.cumsum(abs(z), 1))):
        ordinary = abs(exact) > 1e-3
        error = (abs(np.asarray(y).astype(np.float64) - exact) / abs(exact))[ordinary].max()
        print(f"{name} {dtype.__name__}: relative error up to {error:.5f}; rounding has {float(jnp.finfo(dtype).eps) / 2:.5f}")
    print(f"x.at[i].add(y) {dtype.__name__} of 512 ones:", jnp.zeros((1,), dtype).at[jnp.zeros(512, int)].add(jnp.ones(512, dtype))[0])
