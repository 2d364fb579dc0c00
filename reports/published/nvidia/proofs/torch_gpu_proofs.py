# SPDX-License-Identifier: Apache-2.0
# Needs torch on a GPU of NVIDIA. Each line is a finding: what came out beside what f64 on the same operands gives.
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

torch.manual_seed(0)
print("torch", torch.__version__, torch.cuda.get_device_name())


def compare(name, y, exact, dtype):
    """The largest error beside half the distance of two numbers of the type, at elements of ordinary size."""
    y, exact = y.double().cpu(), exact.double().cpu()
    ordinary = exact.abs() > 1e-3
    error = ((y - exact).abs() / exact.abs())[ordinary].max().item()
    print(f"{name} {dtype}: relative error up to {error:.5f}; rounding has {torch.finfo(dtype).eps / 2:.5f}")


x = torch.randn(64, 256, device="cuda")
for dtype in (torch.bfloat16, torch.float16):
    given = x.to(dtype)
    wide = given.double()

    compare("cumsum of positive numbers", torch.cumsum(given.abs(), 1), torch.cumsum(wide.abs(), 1), dtype)
    ones = torch.ones(512, device="cuda", dtype=dtype)
    where = torch.zeros(512, dtype=torch.long, device="cuda")
    total = torch.index_add(torch.zeros(1, device="cuda", dtype=dtype), 0, where, ones * 1.0078125)
    print(f"index_add {dtype} of 512 times {float(ones[0] * 1.0078125)} is {float(total[0])}, exact: 516.0")

    rows = given.reshape(2, 32, 256)
    y = F.group_norm(rows, 4)
    right = F.group_norm(wide.reshape(2, 32, 256), 4)
    ulps = ((y.double() - right).abs() / (right.abs().log2().floor().exp2() * torch.finfo(dtype).eps))[right.abs() > 0.1]
    print(f"group_norm {dtype}: up to {ulps.max().item():.3f} ulp; one rounding has 0.500")
    y = F.layer_norm(given, (256,))
    right = F.layer_norm(wide, (256,))
    ulps = ((y.double() - right).abs() / (right.abs().log2().floor().exp2() * torch.finfo(dtype).eps))[right.abs() > 0.1]
    print(f"layer_norm {dtype}: up to {ulps.max().item():.3f} ulp")

    p = torch.softmax(given, 1)
    dy = torch.randn(64, 256, device="cuda").to(dtype)
    y = torch._softmax_backward_data(dy, p, 1, dtype)
    right = p.double() * (dy.double() - (p.double() * dy.double()).sum(1, keepdim=True))
    compare("gradient of softmax", y, right, dtype)
    compare("p dy - p sum(p dy), with p dy rounded first,",
            (p * dy).double() - p.double() * (p * dy).double().sum(1, keepdim=True), right, dtype)

    gate, up = given[:, :128], given[:, 128:]
    compare("silu(gate) * up", F.silu(gate) * up, F.silu(gate.double()) * up.double(), dtype)

x = torch.randn(8, 64, 28, 28, device="cuda")
w = torch.randn(64, 64, 3, 3, device="cuda")
right = F.conv2d(x.double(), w.double())
for tf32 in (True, False):
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=tf32):
        error = (F.conv2d(x, w).double() - right).abs().max() / right.abs().max()
    print(f"conv2d float32, torch.backends.cudnn.allow_tf32={tf32}: error up to {error.item():.2e} of the largest result")
print("torch.backends.cudnn.allow_tf32 is", torch.backends.cudnn.allow_tf32, "by default; torch.backends.cuda.matmul.allow_tf32",
      torch.backends.cuda.matmul.allow_tf32)

def count(name, y, exact):
    wrong = int((y.double() != exact.to(y.dtype).double()).sum())
    print(f"{name}: {wrong} of {exact.numel()} are not the exact result, rounded once" + (f"; the first is {y.flatten()[0].item()}, "
          f"exact {exact.flatten()[0].item()}" if wrong else ""))


def integers(*shape):
    return torch.randint(-2, 3, shape, device="cuda")


for dtype in (torch.bfloat16, torch.float16):
    a, b = integers(4, 4096).to(dtype), integers(4096, 1024).to(dtype)
    exact = a.double() @ b.double()
    for ways, left, right in (("as they are", a, b), ("a transposed", a.mT.contiguous().mT, b),
                              ("b transposed", a, b.mT.contiguous().mT), ("both transposed", a.mT.contiguous().mT, b.mT.contiguous().mT)):
        for call in (1, 2):
            count(f"matmul {dtype} of small integers, m=4, n=1024, k=4096, {ways}, call {call}", torch.matmul(left, right), exact)

c, a, b = (torch.randn(shape, device="cuda").bfloat16() for shape in ((1, 32), (1, 32), (32, 32)))
y, product = torch.addmm(c, a, b, alpha=-2), a.double() @ b.double()
count("addmm bfloat16 m=1, alpha=-2", y, c.double() - 2 * product)
count("c + bfloat16(-2 a b) of the same", y, c.double() + (-2 * product).bfloat16().double())

for dtype in (torch.bfloat16, torch.float16):
    x, w, bias = integers(1, 80, 64).to(dtype) * 5, integers(64, 80, 3).to(dtype) * 5, integers(64).to(dtype) * 0.25
    exact = F.conv1d(x.double(), w.double())
    count(f"conv1d {dtype} without bias", F.conv1d(x, w), exact)
    y = F.conv1d(x, w, bias)
    count(f"conv1d {dtype} with bias", y, exact + bias.double()[:, None])
    count("the result rounded, then the bias added, of the same", y, exact.to(dtype).double() + bias.double()[:, None])
    x, w = integers(1, 2048, 7, 7).to(dtype), integers(512, 2048, 1, 1).to(dtype)
    count(f"conv2d {dtype} of 2048 channels", F.conv2d(x, w), F.conv2d(x.double(), w.double()))

for name, x, w, pad in (("7x7 kernel of a row", integers(1, 31, 1, 16), integers(1, 31, 7, 7) * 30, 3),
                        ("channels last, kernel of 5", integers(1, 127, 10, 1).to(memory_format=torch.channels_last) * 70,
                         integers(3, 127, 5, 1).to(memory_format=torch.channels_last) * 70, 0)):
    x, w = x.abs().float(), w.abs().float()
    exact = F.conv2d(x.double(), w.double(), padding=pad)
    for cudnn in (True, False):
        with torch.backends.cudnn.flags(enabled=cudnn, allow_tf32=True):
            count(f"conv2d float32 of integers below 2048, sums below 2^24, {name}, cuDNN={cudnn}", F.conv2d(x, w, padding=pad), exact)

q, k, v = (torch.randn(1, 2, 64, 64, device="cuda") for _ in range(3))
nothing = torch.ones(64, 64, dtype=torch.bool, device="cuda")
nothing[13] = False
infinite = v.clone()
infinite[0, 0, 5, 7] = float("inf")
for backend in (SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION):
    with sdpa_kernel(backend):
        y = F.scaled_dot_product_attention(q.half(), k.half(), v.half(), nothing)[0, 0, 13]
        print(f"{backend.name} float16, a row that sees no key: up to {y.abs().max().item()}; the mean of v is up to "
              f"{v[0, 0].mean(0).abs().max().item():.4f}")
        if backend != SDPBackend.CUDNN_ATTENTION:
            y = F.scaled_dot_product_attention(q, k, infinite)[0, 0, :, 7]
            print(f"{backend.name} float32, v has one +inf: {int(y.isinf().sum())} of 64 are inf, {int(y.isnan().sum())} NaN")
            y, right = F.scaled_dot_product_attention(q * 0, k, v * 0 + 4.99874e-39), 4.99874e-39
            print(f"{backend.name} float32, all of v 4.99874e-39: {y[0, 0, 0, 0].item():.6g}")
one = torch.randn(1, 1, 1, 9, device="cuda")[..., 1:]
try:
    print("one query of 8 elements at 4 bytes:", F.scaled_dot_product_attention(one, one, one).shape)
except RuntimeError as error:
    print("one query of 8 elements that begins at 4 bytes:", error)

x = torch.ones(2, 100, device="cuda")
for more in (0, 1, 60):
    x[0, 3:4 + more] = float("-inf")
    print(f"native_layer_norm: mean of a row with {more + 1} times -inf is",
          torch.native_layer_norm(x, (100,), None, None, 1e-5)[1][0].item(), " torch.mean:", x[0].mean().item())
dy = torch.zeros(1, 100, device="cuda")
dy[0, 0] = 7e36
dx = torch.ops.aten.native_layer_norm_backward(dy, torch.linspace(-1, 1, 100, device="cuda")[None], (100,),
                                               torch.zeros(1, 1, device="cuda"), torch.ones(1, 1, device="cuda"),
                                               torch.ones(100, device="cuda"), None, [True, False, False])[0]
print("native_layer_norm_backward float32, 100 elements, dy[0] = 7e36: dx[0] is", dx[0, 0].item(), " exact: 6.86e+36")
