# SPDX-License-Identifier: Apache-2.0
# Needs numpy, tinygrad, and clang for its CPU device. Each line is a finding: what came out beside what is right.
import math

import numpy as np
from tinygrad import Tensor


def tensor(x):
    return Tensor(np.ascontiguousarray(x), device="CPU")


def largest_relative_error(y, exact):
    y, exact = y.astype(np.float64), np.array(exact)
    return np.max(np.abs(y - exact) / np.abs(exact))


def row_with_nan(place):
    x = np.zeros((1, 100), np.float32)
    x[0, place] = np.nan
    return x


for name in ("max", "min"):
    lost = sum(not np.isnan(getattr(tensor(row_with_nan(place)), name)(1).numpy()[0]) for place in range(100))
    print(f"{name} float32 of a row of 100 with one NaN: no NaN for {lost} of its 100 places")

for dtype in (np.float64, np.float32):
    x = np.array([1e-3, 1e-6, 1e-9], dtype)
    print(f"erf {x.dtype} of", x, "is", tensor(x).erf().numpy(), "exact:", np.array([math.erf(v) for v in x]))
x = np.linspace(0.1, 2, 1000)
print(f"gelu('none') float64 of [0.1, 2]: relative error up to "
      f"{largest_relative_error(tensor(x).gelu('none').numpy(), [v * (1 + math.erf(v / math.sqrt(2))) / 2 for v in x]):.1e}")
for dtype in (np.float64, np.float32):
    x = np.array([1e-3, 1e-6, 1e-9, 1e-20], dtype)
    print(f"tanh {x.dtype} of", x, "is", tensor(x).tanh().numpy(), "exact:", np.tanh(x.astype(np.float64)))
rng = np.random.default_rng(0)
x = np.abs(rng.standard_normal(2000)).astype(np.float16)
wide = x.astype(np.float64)
x, wide = x[abs(wide - 1) > 0.1], wide[abs(wide - 1) > 0.1]
for name, exact in (("log", np.log(wide)), ("tanh", np.tanh(wide)), ("exp", np.exp(wide))):
    print(f"{name} float16: relative error up to {largest_relative_error(getattr(tensor(x), name)().numpy(), exact):.5f}; "
          f"rounding has 0.00049")
x = np.array([1, np.nan, 3, 2], np.float32)
print("topk of", x, "is", Tensor(x).topk(4)[0].numpy(), "of numpy, the largest first:", np.sort(x)[::-1])
