# SPDX-License-Identifier: Apache-2.0
# Needs torch and nothing else. Each line is a finding: what came out beside what is right.
import math

import torch

torch.manual_seed(0)


def ulps(result, exact):
    """The largest error, in distances between neighbours of the result's type; correct rounding has 0.5 at most."""
    nearest = exact.to(result.dtype).abs()
    gap = torch.nextafter(nearest, torch.tensor(float("inf"), dtype=result.dtype)).double() - nearest.double()
    return f"{((result.double() - exact).abs() / gap).max().item():.2f} ulp"


for dtype, step in ((torch.bfloat16, 2**-7), (torch.float16, 2**-10)):
    x = torch.full((257,), 1 + step, dtype=dtype)
    print(f"prod {dtype}:", torch.prod(x).item(), "exact:", round(torch.prod(x.double()).item(), 5),
          "with dtype=float32:", torch.prod(x, dtype=torch.float32).to(dtype).item())

for dtype in (torch.bfloat16, torch.float16):
    x = torch.randn(64, 100).to(dtype)
    for name, f in (("logsumexp(x, 1)", lambda t: torch.logsumexp(t, 1)), ("log_softmax(x, 1)", lambda t: torch.log_softmax(t, 1)),
                    ("log_softmax(x, 0)", lambda t: torch.log_softmax(t, 0)), ("softmax(x, 0)", lambda t: torch.softmax(t, 0)),
                    ("softmax(x, 1)", lambda t: torch.softmax(t, 1))):
        print(f"{name} {dtype}:", ulps(f(x), f(x.double())))

x = torch.full((1, 16, 4, 4), 2.0**-130).to(torch.bfloat16)  # subnormal, as below 2^-126
w = torch.full((16, 16, 1, 1), 2.0**120).to(torch.bfloat16)
for enabled in (True, False):
    with torch.backends.mkldnn.flags(enabled=enabled):
        y = torch.nn.functional.conv2d(x, w)[0, 0, 0, 0].item()
    print(f"conv2d bfloat16 of subnormal numbers, mkldnn {enabled}:", y, "exact:", 16 * 2.0**-10)

x = torch.full((2049,), 0.55859375, dtype=torch.bfloat16)
y = torch.rsqrt(x)
print("rsqrt bfloat16 of 2049 equal numbers:", sorted({v.item() for v in y}), "exact:", round(0.55859375**-0.5, 5),
      "the last:", y[-1].item())

for dtype, small in ((torch.bfloat16, 2.0**-100), (torch.bfloat16, 2.0**-20), (torch.float16, 2.0**-20), (torch.float32, 2.0**-20)):
    x = torch.full((64,), small, dtype=dtype)
    print(f"erf {dtype} of {small:.3g}:", torch.erf(x)[0].item(), "exact:", f"{math.erf(small):.5g}")

gate, up = (torch.randn(64, 100).to(torch.bfloat16) for _ in range(2))
print("F.silu(gate) * up torch.bfloat16:", ulps(torch.nn.functional.silu(gate) * up,
                                               torch.nn.functional.silu(gate.double()) * up.double()))

# A row whose rstd is infinite: (x - mean) rstd is infinite, x rstd - mean rstd is no number.
dy, x = torch.ones(2, 4), torch.tensor([[1.0, 2, 3, 4], [5, 6, 7, 9]])
mean, rstd = x.mean(1, keepdim=True), torch.tensor([[float("inf")], [1.0]])
gamma = torch.ones(4)
_, dgamma, _ = torch.ops.aten.native_layer_norm_backward(dy, x, (4,), mean, rstd, gamma, gamma, [True, True, True])
print("native_layer_norm_backward float32, rstd of a row is inf: dgamma", dgamma.tolist(), "exact:",
      (dy.double() * (x.double() - mean.double()) * rstd.double()).sum(0).tolist())


def dx(dy, x, mean, rstd, weight):
    return torch.ops.aten.native_layer_norm_backward(dy, x, (x.shape[1],), mean, rstd, weight, torch.zeros_like(weight),
                                                     [True, True, True])[0]

gelu = torch.nn.functional.gelu
for dtype in (torch.float32, torch.bfloat16, torch.float64):
    x = torch.full((16,), torch.inf, dtype=dtype)
    print(f"F.gelu {dtype} of 16 times +inf: {gelu(x)[0].item()} of one: {gelu(x[:1])[0].item()} exact: inf")

x = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
torch.nn.functional.hardsigmoid(x).backward()
print("gradient of F.hardsigmoid float64:", x.grad.item(), "exact:", 1 / 6)
torch.manual_seed(0)
a, v, c = (torch.randn(*shape).bfloat16() for shape in ((5, 300), (300,), (5,)))
y, exact = torch.addmv(c, a, v, beta=0.2, alpha=0.6), 0.2 * c.double() + 0.6 * (a.double() @ v.double())
print(f"addmv bfloat16, alpha 0.6: {y[4].item()} exact: {exact[4].item():.5g}")

torch.manual_seed(0)
x, dy, weight = torch.randn(64, 32).bfloat16(), torch.randn(64, 32).bfloat16(), torch.ones(32)
_, mean, rstd = torch.native_layer_norm(x, (32,), weight, torch.zeros(32), 1e-5)
_, _, dbeta = torch.ops.aten.native_layer_norm_backward(dy, x, (32,), mean, rstd, weight, torch.zeros(32), [True, True, True])
exact = dy.double().sum(0)
k = (dbeta - exact).abs().argmax()
print(f"native_layer_norm_backward bfloat16, weight float32: dbeta {dbeta.dtype} {dbeta[k].item()} exact: {exact[k].item():.6g}")

y = torch.nn.functional.lp_pool2d(torch.ones(1, 1, 3, 3), 1, 2, 2, ceil_mode=True)
print("F.lp_pool2d of 3 x 3 ones, norm 1, windows of 2 x 2, ceil_mode:", y.flatten().tolist(), "exact: [4.0, 2.0, 2.0, 1.0]")

# From here on: what torch.compile needs a C++ compiler for.
x, dy = torch.zeros(1, 100), torch.zeros(1, 100)
x[0, 0], dy[0, 10] = 1, 7e36
given = dy, x, torch.zeros(1, 1), torch.ones(1, 1), torch.ones(100)
print(f"native_layer_norm_backward float32, dy 7e36 in a row of 100: dx {dx(*given)[0, 10]:.6g}, within torch.compile:",
      torch.compile(dx)(*given)[0, 10].item(), f"exact: {7e36 * 0.99:.6g}")
x = torch.tensor([1e-3, 1e-6, 1e-9]).repeat(64)
y, exact = torch.compile(torch.erf)(x), torch.erf(x.double())
for i in range(3):
    print(f"erf float32 within torch.compile of {x[i]:.3g}: {y[i]:.5g} exact: {exact[i]:.5g}")
x, i = torch.zeros(1, 8, dtype=torch.float16), torch.zeros(4096, dtype=torch.int64)
y = torch.compile(lambda x, i, y: torch.index_add(x, 0, i, y))(x, i, torch.ones(4096, 8, dtype=torch.float16))
print("index_add float16 within torch.compile of 4096 ones is", y[0, 0].item(), "exact: 4096")

row = torch.zeros(1, 100)
row[0, 3] = -float("inf")
_, row_mean, _ = torch.native_layer_norm(row, (100,), torch.ones(100), torch.zeros(100), 1e-5)
print("native_layer_norm float32 of a row with -inf: mean", row_mean.item(), "torch.mean:", row.mean().item())
