# SPDX-License-Identifier: Apache-2.0
# Operands that are no dense arrays, and out= that shares memory with an operand. Needs torch, numpy, onnxruntime and ml_dtypes.
import ctypes

import ml_dtypes
import numpy
import onnxruntime
import torch

torch.manual_seed(0)


def apart(x):
    """Every second element of a larger tensor."""
    view = torch.zeros([2 * n + 1 for n in x.shape], dtype=x.dtype)[tuple(slice(1, None, 2) for _ in x.shape)]
    return view.copy_(x)


def tell(name, right, call):
    try:
        found = call()
    except RuntimeError as why:
        print(f"{name}: refused, {str(why)[:60]}...")
        return
    print(f"{name}: {(found != right).sum().item()} of {right.numel()} elements differ, by up to {(found - right).abs().max():.2g}")


a, b, bias = torch.rand(16, 16), torch.rand(16, 16), torch.rand(16, 16)
one = torch.full((1, 1), 3.0)
tell("torch.mm(a, b, out=a), 1 x 1", one @ one, lambda: torch.mm(c := one.clone(), one, out=c))
tell("torch.mm(a, b, out=b)", a @ b, lambda: torch.mm(a, c := b.clone(), out=c))
tell("torch.addmm(bias, a, b, out=a)", torch.addmm(bias, a, b), lambda: torch.addmm(bias, c := a.clone(), b, out=c))
tell("torch.exp(a, out=a)", a.exp(), lambda: torch.exp(c := a.clone(), out=c))

memory = torch.zeros(a.numel() + 1)
first, second = memory[:-1].view(a.shape), memory[1:].view(a.shape)
for name, call in (("torch.softmax(x, 1)", lambda x, out: torch.softmax(x, 1, out=out)),
                   ("torch.log_softmax(x, 1)", lambda x, out: torch.log_softmax(x, 1, out=out)),
                   ("torch.mm(x, b)", lambda x, out: torch.mm(x, b, out=out)),
                   ("torch.cumsum(x, 1)", lambda x, out: torch.cumsum(x, 1, out=out)),
                   ("torch.exp(x)", lambda x, out: torch.exp(x, out=out))):
    first.copy_(a)
    tell(f"{name}, out= begins at the second element of x", call(a, torch.empty_like(a)), lambda: call(first, second))

x = torch.randn(3001)
for name, out in (("every second element", apart(torch.zeros(3001))), ("dense", torch.zeros(3001))):
    torch._C._nn.gelu(x, out=out)
    print(f"gelu float32 into out=, {name}: error up to {(out - torch.nn.functional.gelu(x)).abs().max():.2g}")

a8, b8 = torch.randint(110, 128, (17, 2048), dtype=torch.int8), torch.randint(110, 128, (2048, 16), dtype=torch.int8)
right = a8.long() @ b8.long()
for name, p, q in (("dense", a8, b8), ("a has every second element", apart(a8), b8), ("b has", a8, apart(b8))):
    wrong = torch._int_mm(p, q).long() - right
    print(f"torch._int_mm, {name}: {(wrong != 0).sum().item()} of {wrong.numel()} are wrong, sums are near 2^{right.max().item().bit_length()}")

x, dy = torch.randn(7, 33), torch.randn(7, 33)
_, mean, rstd = torch.native_layer_norm(x, (33,), None, None, 1e-5)
backward = torch.ops.aten.native_layer_norm_backward
for name, kept in (("dense", lambda t: t), ("every second element", apart)):
    dx = backward(dy, x, (33,), kept(mean), kept(rstd), None, None, [True, False, False])[0]
    error = (dx - backward(dy, x, (33,), mean, rstd, None, None, [True, False, False])[0]).abs().max()
    print(f"native_layer_norm_backward, mean and rstd {name}: dx differs by up to {error:.2g}")

bits = numpy.arange(64, dtype=numpy.float32).reshape(8, 8).astype(ml_dtypes.bfloat16).view(numpy.uint16)
for name, array in (("transposed", bits.T), ("every second column", bits[:, ::2]), ("backwards", bits[::-1])):
    value = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array, 16)
    found = numpy.frombuffer(ctypes.string_at(value.data_ptr(), array.size * 2), numpy.uint16).reshape(array.shape)
    print(f"ortvalue_from_numpy_with_onnx_type of bf16, {name}: {(found != array).sum()} of {array.size} elements are others")
