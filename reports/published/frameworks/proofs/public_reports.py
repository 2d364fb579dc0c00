# SPDX-License-Identifier: Apache-2.0
# Needs numpy, torch, onnxruntime, onnx, openvino and jax. Public reports that hold with the installed versions: what comes out
# beside what is right.
import jax
import numpy as np
import onnxruntime
import openvino
import torch
from onnx import TensorProto, helper, numpy_helper

jax.config.update("jax_enable_x64", True)
INF, NAN = float("inf"), float("nan")
TYPES = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "int64": TensorProto.INT64, "int32": TensorProto.INT32}


def model(op, operands, constants=(), **attributes):
    """A graph of one node."""
    names = [f"x{i}" for i in range(len(operands))]
    stored = [numpy_helper.from_array(value, f"c{i}") for i, value in enumerate(constants)]
    of = TYPES[operands[0].dtype.name]
    graph = helper.make_graph(
        [helper.make_node(op, [*names, *(one.name for one in stored)], ["y"], **attributes)], "graph",
        [helper.make_tensor_value_info(name, of, x.shape) for name, x in zip(names, operands)],
        [helper.make_tensor_value_info("y", of, None)], stored)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return made.SerializeToString(), dict(zip(names, operands))


def of_openvino(op, operands, *more, **attributes):
    text, feed = model(op, operands, *more, **attributes)
    core = openvino.Core()
    return core.compile_model(core.read_model(text, b""), "CPU")(feed)[0]


def of_onnxruntime(op, operands, *more, **attributes):
    text, feed = model(op, operands, *more, **attributes)
    return onnxruntime.InferenceSession(text, providers=["CPUExecutionProvider"]).run(None, feed)[0]


def f32(*values):
    return np.array(values, np.float32)


print("openvino 35685: Exp of NaN:", of_openvino("Exp", [f32(NAN, 1)]))
print("openvino 35929: ReduceLogSumExp of 0.5, NaN, 3.5:", of_openvino("ReduceLogSumExp", [f32(0.5, NAN, 3.5)[None]], [np.array([1])], keepdims=0))
print("openvino 37968: Abs of f64 -inf, 1e300:", of_openvino("Abs", [np.array([-INF, 1e300])]))
print("openvino 33564: Div of f64 1 by 0:", of_openvino("Div", [np.ones(1), np.zeros(1)]))
print("openvino 35837: CumSum of i64 2^33, 2^34, 5:", of_openvino("CumSum", [np.array([2**33, 2**34, 5])], [np.array(0)]))
print("onnxruntime 22557: Sigmoid of -17.31, -18:", of_onnxruntime("Sigmoid", [f32(-17.31, -18)]), "exact: 3.036e-08 1.523e-08")
positive = torch.arange(1, 19)
for dtype, x in ((torch.uint8, positive), (torch.int8, positive), (torch.int8, -positive)):
    for function in (torch.min, torch.max):
        torch._dynamo.reset()
        right, compiled = function(x.to(dtype)).item(), torch.compile(function)(x.to(dtype)).item()
        if right != compiled:
            print(f"pytorch 191499: compiled {function.__name__} of 18 numbers {dtype} from {x[0].item()}: {compiled}, right: {right}")
x = np.linspace(-0.6, 0.6, 2049)
error = np.abs(np.asarray(jax.numpy.log1p(x)) - np.log1p(x.astype(np.longdouble))) / np.spacing(np.abs(np.log1p(x)) + 1e-300)
print(f"jax 39707: log1p of f64 is off by up to {float(error.max()):.0f} units in the last place")
x = f32(3.4028235e38)
print("jax 37919: sqrt(abs(x x)) of the largest f32, eager:", jax.numpy.sqrt(abs(x * x)), "jit:", jax.jit(lambda x: jax.numpy.sqrt(abs(x * x)))(x))
x = f32(89)
print("jax 38099: log(exp(89)), eager:", jax.numpy.log(jax.numpy.exp(x)), "jit:", jax.jit(lambda x: jax.numpy.log(jax.numpy.exp(x)))(x))
a, b, x = f32(1e20), f32(-1e20), f32(1e10)
print("xla 41579: a x + b x of 1e20, -1e20, 1e10, jit:", jax.jit(lambda a, b, x: a * x + b * x)(a, b, x), "right: 0")

torch.manual_seed(0)
c = torch.rand(50, 50)
right = c @ c
print("pytorch 85852: mm(c, c, out=c) is off by up to", f"{(torch.mm(c, c, out=c) - right).abs().max():.2g}")
ones = torch.ones(5, 5)
print("pytorch 48900: addmm(0, ones, identity, out=ones):", torch.addmm(torch.zeros(5, 5), ones, torch.eye(5), out=ones)[0, 0].item(), "right: 1")
large = np.array([2**45, -2**50, 7])
print("openvino 35890: of i64 2^45, -2^50, 7: Abs", of_openvino("Abs", [large]), "Neg", of_openvino("Neg", [large]))
dividends, divisors = np.array([2**40 + 7, 123456789012345]), np.array([3, 7])
print("openvino 37766: Div of i64:", of_openvino("Div", [dividends, divisors]), "right:", dividends // divisors)
print("openvino 35829: Mod of i64 1234567890 and 13:", of_openvino("Mod", [np.array([1234567890]), np.array([13])]), "right:", 1234567890 % 13)
print("openvino 35838: Pow of i64 13 and 8:", of_openvino("Pow", [np.array([13]), np.array([8])]), "right:", 13**8)
print("openvino 35839: Min of NaN, 7 and 10, NaN:", of_openvino("Min", [f32(NAN, 7), f32(10, NAN)]), "of ONNX Runtime:",
      of_onnxruntime("Min", [f32(NAN, 7), f32(10, NAN)]))
print("openvino 35649: Relu of NaN, -1:", of_openvino("Relu", [f32(NAN, -1)]))
sums = np.full((1, 3), 2**30, np.int32)
print("onnxruntime 28743: ReduceSum of i32 2^30, three times:", of_onnxruntime("ReduceSum", [sums], [np.array([1])], keepdims=0), "modulo 2^32:",
      sums.sum(dtype=np.int32))
x = f32(*np.random.default_rng(0).standard_normal(64)) * np.float32(1e12)
scaled = jax.jit(lambda x: jax.nn.softmax(x * np.float32(0.1)))
print("jax 37234: softmax(0.1 x) of 64 numbers near 1e12, NaN among them, eager:", int(np.isnan(jax.nn.softmax(x * np.float32(0.1))).sum()),
      "jit:", int(np.isnan(scaled(x)).sum()))
print("jax 29058: logaddexp2 of bf16 -1.40625 and 0:", jax.numpy.logaddexp2(*(jax.numpy.bfloat16(v) for v in (-1.40625, 0))), "exact: 0.46183")
print("pytorch 141802: logcumsumexp of bf16 2.4375, -0.334, -0.3711:",
      torch.tensor([2.4375, -0.3340, -0.3711], dtype=torch.bfloat16).logcumsumexp(-1).tolist(), "exact: 2.4375, 2.4982, 2.5534")
