# SPDX-License-Identifier: Apache-2.0
# Needs numpy and openvino. Each line is a finding: what came out beside what is right.
import math

import numpy as np
import openvino as ov
from openvino import opset15 as opset

core = ov.Core()
AXIS = opset.constant(np.array([1], np.int64))


def node(make, x, element=None, **settings):
    """The results of a node of one operand on the CPU, in f32 unless said otherwise."""
    element = element or ov.Type(x.dtype)
    parameter = opset.parameter(list(x.shape), element)
    result = make(parameter)
    results = list(result) if isinstance(result, list) else [result]
    model = core.compile_model(ov.Model(results, [parameter]), "CPU", settings or {"INFERENCE_PRECISION_HINT": "f32"})
    request = model.create_infer_request()
    request.set_input_tensor(ov.Tensor(x, list(x.shape), element))
    outputs = [np.empty(tuple(port.shape), np.uint16 if port.element_type == ov.Type.bf16 else port.element_type.to_dtype())
               for port in model.outputs]
    for i, (output, port) in enumerate(zip(outputs, model.outputs)):
        request.set_output_tensor(i, ov.Tensor(output, list(output.shape), port.element_type))
    request.infer()
    return outputs[0] if len(outputs) == 1 else outputs


def row_with_nan(place):
    x = np.zeros((1, 100), np.float32)
    x[0, place] = np.nan
    return x


def top(x):
    return opset.topk(x, opset.constant(np.int64(3)), 1, "max", "value", "i64", True).outputs()


for name, make in (("ReduceMax", lambda x: opset.reduce_max(x, AXIS)), ("ReduceMin", lambda x: opset.reduce_min(x, AXIS))):
    lost = sum(not np.isnan(node(make, row_with_nan(place))[0]) for place in range(100))
    print(f"{name} float32 of a row of 100 with one NaN: no NaN for {lost} of its 100 places")
lost = sum(not np.isnan(node(top, row_with_nan(place))[0]).any() for place in range(100))
print(f"TopK float32, the 3 largest of such a row: no NaN for {lost} of its 100 places")
y = node(lambda x: opset.topk(x, opset.constant(np.int64(4)), 1, "min", "value", "i64", True).outputs(),
         np.array([[3, np.nan, 1, 2]], np.float32))[0]
print("TopK float32, all of [3, NaN, 1, 2], the smallest first:", y[0])

x = np.array([[0, np.inf, 0, 0]], np.float32)
print("Softmax float32 of", x[0], "is", node(lambda p: opset.softmax(p, 1), x)[0], "by its formula: NaN, as Inf - Inf is")

x = np.array([[1e-3, 1e-6, 1e-9]], np.float32)
print("Erf float32 of", x[0], "is", node(opset.erf, x)[0], "exact:", np.array([math.erf(v) for v in x[0]]))
x = np.array([[-88, -90, -100]], np.float32)
print("Exp float32 of", x[0], "is", node(opset.exp, x)[0], "exact:", np.exp(x.astype(np.float64))[0])
x = np.array([[np.inf, np.nan, 1]], np.float32)
print("Exp float32 of", x[0], "is", node(opset.exp, x)[0], "by its formula: [inf nan 2.718...]")
print("Gelu(erf) float32 of", x[0], "is", node(lambda p: opset.gelu(p, "erf"), x)[0], "by its formula: [inf nan 0.841...]")
x = np.full((1, 512), 0x3f80, np.uint16)  # ones of bf16
y = node(lambda p: opset.cum_sum(p, opset.constant(np.int64(1))), x, ov.Type.bf16)
print("CumSum bf16 of 512 ones: the last is", (y[0, -1:].astype(np.uint32) << 16).view(np.float32)[0], "exact: 512")

rng = np.random.default_rng(0)
a = rng.standard_normal((64, 64), np.float32)
exact = a.astype(np.float64) @ a.astype(np.float64).T
for name, settings in (("without a hint", {"PERFORMANCE_HINT": "LATENCY"}),
                       ("with the hint f32", {"INFERENCE_PRECISION_HINT": "f32"})):
    y = node(lambda p: opset.matmul(p, p, False, True), a, **settings)
    print(f"MatMul float32 {name}: error up to {np.abs(y - exact).max():.2g}")

x = np.array([[np.nan, 1, -2, 3]], np.float32)
print("Relu float32 of", x[0], "is", node(opset.relu, x)[0])
print("Maximum float32 of", x[0], "and -1.5 is", node(lambda p: opset.maximum(p, opset.constant(np.float32(-1.5))), x)[0])
print("Clamp float32 to [-1, 1] of", x[0], "is", node(lambda p: opset.clamp(p, -1.0, 1.0), x)[0])
print("Greater float32 of", x[0], "and -1.5 is", node(lambda p: opset.greater(p, opset.constant(np.float32(-1.5))), x)[0])
x = np.array([[-10, -30]], np.float32)
tails = np.log1p(np.exp(x.astype(np.float64)))
print("SoftPlus float32 of", x[0], "is", node(opset.softplus, x)[0], "exact:", tails[0])
print("Mish float32 of", x[0], "is", node(opset.mish, x)[0], "exact:", (x * np.tanh(tails))[0])
x = np.array([[1e-39, 1]], np.float32)
print("IsFinite float32 of", x[0], "is", node(opset.is_finite, x)[0])
x = np.array([[2**31 - 1, 2**24 + 1]], np.int32)
print("Relu int32 of", x[0], "is", node(opset.relu, x)[0])
for n, place in ((127, 1), (127, 126), (128, 127)):
    x = np.zeros((n, 2), np.float32)
    x[place, 0] = 1
    y = node(lambda p: opset.dft(p, opset.constant(np.array([0], np.int64))), x)
    error = np.abs(y[:, 0] + 1j * y[:, 1] - np.exp(-2j * np.pi * (np.arange(n) * place % n) / n)).max()
    print(f"DFT float32 of {n} numbers that are 0 but for a 1 at {place}: error up to {error:.2g}")
x = (rng.standard_normal((64, 128), np.float32) * 8).view(np.uint32) >> 16 << 16
y = node(lambda p: opset.log_softmax(p, 1), (x >> 16).astype(np.uint16), ov.Type.bf16)
x, y = x.view(np.float32).astype(np.float64), (y.astype(np.uint32) << 16).view(np.float32)
exact = x - np.log(np.exp(x).sum(1, keepdims=True))
print(f"LogSoftmax bf16: error up to {(np.abs(y - exact) / 2 ** (np.floor(np.log2(-exact)) - 7)).max():.2f} ulp")


def bf16(x):
    return (np.asarray(x, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def far_outputs(channels, taps, pixel):
    """The convolution of ones in bf16 with one pixel changed: its outputs whose window lacks that."""
    x = np.ones((1, channels, 12, 12), np.float32)
    x[0, 0, 6, 6] = pixel
    weights, pad = opset.constant(bf16(np.full((8, channels, taps, taps), 0.5)), ov.Type.bf16), [(3 - taps) // 2] * 2
    y = node(lambda p: opset.convolution(p, weights, [1, 1], pad, pad, [1, 1]), bf16(x), ov.Type.bf16)
    rows = np.abs(np.arange(y.shape[2]) + (taps - 1) // 2 - pad[0] - 6) > (taps - 1) // 2
    return (y[..., rows[:, None] | rows[None]].astype(np.uint32) << 16).view(np.float32)


for taps in (3, 1):
    lost = [c for c in range(1, 25) if np.isnan(far_outputs(c, taps, np.inf)).any()]
    moved = [c for c in lost if (far_outputs(c, taps, 2.0**100) != far_outputs(c, taps, 1)).any()]
    print(f"Convolution bf16 {taps}x{taps}: NaN beside an Inf that is in no window, of channels", *lost, "; of 2^100 there", *(moved or ["nothing"]))
a, b = np.array([[-np.inf, 1]], np.float32), np.array([[-1e-45], [1]], np.float32)
y = node(lambda p: opset.multiply(opset.matmul(p, opset.constant(b), False, False), opset.constant(np.float32(0.5))), a)
print("0.5 MatMul float32 of", a[0], "and constants", b[:, 0], "is", y[0, 0], "exact: inf")
image, grid = np.ones((1, 1, 4, 4), np.float32), np.array([[[[-0.25, -0.25], [-0.2, -0.2], [0, 0]]]], np.float32)
image[0, 0, 1, 1] = np.inf
y = node(lambda p: opset.grid_sample(p, opset.constant(grid), {"mode": "bilinear"}), image)
print("GridSample float32 of ones with an Inf at [1, 1]: at the element itself and 0.1 and 0.5 beside it", y.reshape(-1), "exact: inf inf inf")
