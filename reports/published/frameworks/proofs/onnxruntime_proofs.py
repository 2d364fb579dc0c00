# SPDX-License-Identifier: Apache-2.0
# Needs numpy, onnx and onnxruntime. Each line is a finding: what came out beside what is right.
import numpy as np
import onnxruntime
from onnx import helper

TYPES = {"float32": 1, "float64": 11, "float16": 10, "int64": 7, "bool": 9}


def node(op, *inputs, **attrs):
    """The result of one node on the CPU, of the type of the first input."""
    names = ["" if v is None else f"x{i}" for i, v in enumerate(inputs)]  # None: left out
    given = {n: v for n, v in zip(names, inputs) if v is not None}
    infos = [helper.make_tensor_value_info(n, TYPES[v.dtype.name], v.shape) for n, v in given.items()]
    result = helper.make_tensor_value_info("y", TYPES[inputs[0].dtype.name], None)
    graph = helper.make_graph([helper.make_node(op, names, ["y"], **attrs)], "g", infos, [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, given)[0]


def row_with_nan(place, dtype):
    x = np.zeros((1, 100), dtype)
    x[0, place] = np.nan
    return x


axes = np.array([1], np.int64)
for op in ("ReduceMax", "ReduceMin"):
    for dtype in (np.float32, np.float64):
        lost = [p for p in range(100) if not np.isnan(node(op, row_with_nan(p, dtype), axes, keepdims=0)[0])]
        print(f"{op} {dtype.__name__} of a row of 100 with one NaN: no NaN for {len(lost)} of its 100 places")
y = node("LogSoftmax", row_with_nan(1, np.float64)[:, :4], axis=-1)
print("LogSoftmax float64 of [0, NaN, 0, 0]:", y[0], "exact: NaN everywhere; float32:",
      node("LogSoftmax", row_with_nan(1, np.float32)[:, :4], axis=-1)[0])

x = np.arange(1, 2**23, 4099, dtype=np.uint32).view(np.float32)  # subnormal: there tanh(x) rounds to x
y = node("Tanh", x)
print("Tanh float32 of subnormal numbers:", (y != x).sum(), "of", x.size, "are wrong, by up to",
      int(abs(y.view(np.uint32).astype(int) - x.view(np.uint32)).max()), "ulp")

rng = np.random.default_rng(0)
x = (100 + 0.01 * rng.standard_normal((1, 2, 64))).astype(np.float32)
one, zero = np.ones(2, np.float32), np.zeros(2, np.float32)
y = node("GroupNormalization", x, one, zero, num_groups=1, epsilon=1e-5)
z = x.astype(np.float64)
exact = (z - z.mean()) / np.sqrt(z.var() + 1e-5)
print("GroupNormalization float32 of 100 + 0.01 N(0, 1):", y[0, 0, :3], "exact:", exact[0, 0, :3].round(4))

for dtype in (np.float32, np.float16):
    q, k, v = (np.ones((1, 1, 2, 8), dtype) for _ in range(3))
    v[0, 0, 1] = np.nan
    y = node("Attention", q, k, v, np.array([[True, False], [True, False]]))
    print(f"Attention {dtype.__name__}, the mask hides a key whose values are NaN:", y[0, 0, 0, 0], "without that key: 1.0")

rng = np.random.default_rng(0)
q, k, v = (rng.standard_normal((1, 1, 64, 64)).astype(np.float16) for _ in range(3))
wide = [x[0, 0].astype(np.float64) for x in (q, k, v)]
p = np.exp(wide[0] @ wide[1].T / 8)
exact = p / p.sum(1, keepdims=True) @ wide[2]
for name, y in (("f16", node("Attention", q, k, v)), ("f16, softmax_precision=1 (f32)", node("Attention", q, k, v, softmax_precision=1)),
                ("f32, rounded to f16", node("Attention", *(x.astype(np.float32) for x in (q, k, v))).astype(np.float16))):
    error = np.abs(y[0, 0].astype(np.float64) - exact) / np.spacing(np.abs(exact).astype(np.float16)).astype(np.float64)
    print(f"Attention {name}: median error {np.median(error):.2f} ulp, largest {error.max():.0f} ulp")

for op, right, zero in (("Cos", np.cos, np.pi / 2), ("Sin", np.sin, np.pi)):
    x = zero + np.linspace(-1e-3, 1e-3, 2000)
    error = abs(node(op, x) - right(x)) / np.spacing(abs(right(x)))
    print(f"{op} float64 of {zero}: {node(op, np.array([zero]))[0]:.5g} exact: {right(zero):.5g}; of 2000 numbers within "
          f"0.001 {(error > 4).sum()} are wrong by more than 4 ulp, half of them by {np.median(error):.0f} and more")

x = np.array([-5, -10, -18, -19], np.float32)
print("Sigmoid float32 of", x, "is", node("Sigmoid", x), "exact:", 1 / (1 + np.exp(-x.astype(np.float64))))

x = np.array([[2**60 + 1, 2**60 + 3]])
print("ReduceSum int64 of 2^60 + 1 and 2^60 + 3 is", node("ReduceSum", x, axes, keepdims=0)[0], "exact:", x.sum())
x = np.array([[3**20, 3**18]])
print("ReduceProd int64 of 3^20 and 3^18 is", node("ReduceProd", x, axes, keepdims=0)[0], "exact:", x.prod())

for given, wanted, mode, place, exact in ((7, 19, "ceil", 9, 3), (10, 6, "floor", 4, 7)):
    x = np.arange(given, dtype=np.float32).reshape(1, 1, 1, given)
    y = node("Resize", x, None, None, np.array([1, 1, 1, wanted]), mode="nearest", nearest_mode=mode)
    print(f"Resize float32 of {given} elements to {wanted}, nearest_mode={mode}: element {place} is element {y[0, 0, 0, place]:.0f}, "
          f"and its coordinate is {(2 * place + 1) * given}/{2 * wanted} - 1/2 = {exact}")
