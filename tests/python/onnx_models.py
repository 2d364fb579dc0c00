# SPDX-License-Identifier: Apache-2.0
"""Small networks as models of ONNX, with random weights."""
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class _Builder:
    def __init__(self, seed):
        self.draw, self.nodes, self.weights = numpy.random.default_rng(seed), [], []

    def weight(self, *shape, scale=None):
        return self.constant(self.draw.standard_normal(shape) * (scale or shape[-1] ** -0.5))

    def constant(self, values, dtype="f"):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(numpy.asarray(values, dtype), name))
        return name

    def add(self, op, *inputs, outputs=1, **attributes):
        names = [f"{op.lower()}{len(self.nodes)}" + ("" if k == 0 else f"_{k}") for k in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, names[0], **attributes))
        return names[0] if outputs == 1 else names

    def model(self, inputs, output, shape):
        kinds = {name: TensorProto.INT64 if name == "ids" else TensorProto.FLOAT for name in inputs}
        graph = helper.make_graph(self.nodes, "network", [helper.make_tensor_value_info(name, kinds[name], extents) for name, extents in inputs.items()],
                                  [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)], self.weights)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(made)
        return made


def images(seed=0):
    """Convolutions with norms, a residual, pools, and a head."""
    b, x, c = _Builder(seed), "x", 3
    for o, stride in ((8, 1), (16, 2)):
        y = b.add("Conv", x, b.weight(o, c, 3, 3, scale=0.2), b.weight(o), pads=[1, 1, 1, 1], strides=[stride, stride])
        y = b.add("BatchNormalization", y, b.constant(b.draw.random(o) + 0.5), b.weight(o), b.weight(o), b.constant(b.draw.random(o) + 0.5))
        y = b.add("Relu", y)
        z = b.add("Conv", y, b.weight(o, o, 3, 3, scale=0.1), b.weight(o), pads=[1, 1, 1, 1])
        x, c = b.add("Relu", b.add("Add", z, y)), o
    x = b.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = b.add("Flatten", b.add("GlobalAveragePool", x))
    return b.model({"x": [2, 3, 16, 16]}, b.add("Gemm", x, b.weight(10, c), b.weight(10), transB=1), [2, 10])


def words(seed=0, d=32, heads=2):
    """A layer of a transformer, attention written out."""
    b = _Builder(seed)
    x = b.add("Gather", b.weight(50, d, scale=1), "ids")

    def norm(x): return b.add("LayerNormalization", x, b.constant(b.draw.random(d) + 0.5), b.weight(d), axis=-1)

    def split(x): return b.add("Transpose", b.add("Reshape", x, b.constant([2, 12, heads, d // heads], "i8")), perm=[0, 2, 1, 3])

    z = norm(x)
    q, k, v = (split(b.add("MatMul", z, b.weight(d, d))) for _ in range(3))
    scores = b.add("Mul", b.add("MatMul", q, b.add("Transpose", k, perm=[0, 1, 3, 2])), b.constant((d // heads) ** -0.5))
    y = b.add("MatMul", b.add("Softmax", scores, axis=-1), v)
    y = b.add("Reshape", b.add("Transpose", y, perm=[0, 2, 1, 3]), b.constant([2, 12, d], "i8"))
    x = b.add("Add", x, b.add("MatMul", y, b.weight(d, d)))
    z = b.add("Add", b.add("MatMul", norm(x), b.weight(d, 2 * d)), b.weight(2 * d))
    z = b.add("Mul", b.add("Mul", z, b.constant(0.5)), b.add("Add", b.add("Erf", b.add("Mul", z, b.constant(0.5 ** 0.5))), b.constant(1)))
    return b.model({"ids": [2, 12]}, b.add("Add", x, b.add("MatMul", z, b.weight(2 * d, d))), [2, 12, d])


def steps(seed=0):
    """A recurrent network and a head."""
    b, hidden = _Builder(seed), 8
    y, _, _ = b.add("LSTM", "x", b.weight(1, 4 * hidden, 6), b.weight(1, 4 * hidden, hidden), b.weight(1, 8 * hidden), outputs=3, hidden_size=hidden)
    y = b.add("Squeeze", y, b.constant([1], "i8"))
    return b.model({"x": [5, 3, 6]}, b.add("Tanh", b.add("MatMul", y, b.weight(hidden, 4))), [5, 3, 4])


MODELS = (images, words, steps)
