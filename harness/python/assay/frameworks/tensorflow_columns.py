# SPDX-License-Identifier: Apache-2.0
"""Which functions of TensorFlow are in the column `tensorflow`, for which types, and what is declared of them."""
from __future__ import annotations

import functools

from . import tensorflow_ops as ops
from . import tensorflow_signals
from ._columns import FLUSHES, Column, joined, only, register, transforms
from ._elementwise import elementwise
from ._movement import movement
from ._shapes import dims
from .tensorflow_ops import tf

_NORM = "norm"  # of tf.math.reduce_euclidean_norm
ELEMENTS = {"exp": tf.exp, "log": tf.math.log, "tanh": tf.tanh, "erf": tf.math.erf, "rsqrt": tf.math.rsqrt, "sin": tf.sin,
            "cos": tf.cos}
NAMED = {name: getattr(tf.math, name) for name in (
    "abs acos acosh add asin asinh atan atanh ceil cosh equal erfc expm1 floor greater greater_equal less less_equal log1p logical_and "
    "logical_not logical_or logical_xor not_equal reciprocal sigmoid sign sinh sqrt square tan").split()}
NAMED |= {"clip": tf.clip_by_value, "div": tf.math.divide, "isfinite": tf.math.is_finite, "isinf": tf.math.is_inf,
          "isnan": tf.math.is_nan, "mul": tf.math.multiply, "neg": tf.math.negative, "pow": tf.pow,
          "relu": tf.nn.relu, "round": tf.math.round,
          "sub": tf.math.subtract, "where": tf.where, "logsigmoid": tf.math.log_sigmoid}
# TensorFlow has no extremes of bool.
NAMED |= {"maximum": lambda x, y: (tf.math.logical_or if x.dtype == tf.bool else tf.math.maximum)(x, y),
          "minimum": lambda x, y: (tf.math.logical_and if x.dtype == tf.bool else tf.math.minimum)(x, y)}
NAMED |= {name: getattr(tf.nn, name) for name in "elu leaky_relu relu6 selu silu softplus softsign".split()}


def _adds(case):
    """Scaling a product, or adding to it, is a step of its own: one more rounding in 16 bits."""
    more = {"c", "bias"} & set(case.shapes) or case.attrs["alpha"] != 1
    if more and case.dtypes[0] in ("bf16", "f16"):
        return "products of 16 bits are rounded before anything is added"
    return only(epilogue="fused")(case)


def _convolves(case):
    steps, dilations = (case.attrs[key] for key in ("stride", "dilation"))
    if "bias" in case.shapes and case.dtypes[0] in ("bf16", "f16"):
        return "the bias is a step of its own, behind a rounding to 16 bits"
    together = max(dims(steps, 1)) > 1 and max(dims(dilations, 1)) > 1
    return not together or "tf.nn.convolution has strides or dilations, not both"


def _one_axis(case):
    if case.attrs["kind"] not in ("argmax", "argmin"):
        return "one with indices is meant"
    return len(case.attrs["axes"]) == 1 and only(nan="propagate")(case) or "tf.argmax takes one axis"


def _transforms(case):
    if len(dims(case.attrs["n"], 1)) > 1:
        return "transforms along one axis are meant"
    return transforms(ops.TRANSFORMS)(case)


def _elementwise():
    """Types that a function lacks are refused when it is called first."""
    made = elementwise(NAMED)
    for column in made:
        column.function.compiles = column.function.may_refuse = True
    return made


COLUMNS = [
    *_elementwise(),
    Column("matmul", ops.matmul, supports=_adds),
    Column("conv", ops.conv, supports=_convolves),
    # A row of only -inf gives NaN, as 0 / 0.
    Column("softmax", ops.softmax, extra="masked=nan"),
    Column("reduce", ops.reduce, supports=only(kind=tuple(kind for kind in ops.REDUCTIONS if kind != "l2"), nan="propagate")),
    Column("reduce", ops.reduce, name=_NORM, supports=only(kind="l2")),
    Column("reduce", ops.reduce, ("f32-i64", "f64-i64", "bf16-i64", "f16-i64"), "indices", supports=_one_axis),
    Column("fft", ops.fft, ("c64", "c128", "f32-c64", "f64-c128", "c64-f32", "c128-f64"), supports=_transforms),
    Column("gelu", ops.gelu),
    *(Column(op, ops.element(function)) for op, function in ELEMENTS.items()),
    Column("cumsum", ops.cumsum),
    Column("top_k", ops.top_k, supports=only(smallest=False)),
    Column("sort", ops.sort),
    *movement(ops.MOVES, integers=()),
    Column("gather", ops.gather),
    Column("scatter_add", ops.scatter_add),
    *tensorflow_signals.COLUMNS,
]


def _of_arrays(column, xla):
    """The column as a function of arrays of NumPy: `eager`, or compiled by XLA as a whole, once for the attributes of a case."""
    compiled = {}

    @functools.wraps(column.function)
    def call(*operands, **attrs):
        tensors = [None if one is None else tf.convert_to_tensor(one) for one in operands]
        function = functools.partial(column.function, **attrs)
        if xla:
            function = compiled.setdefault(tuple(attrs.items()), tf.function(function, jit_compile=True))
        result = function(*tensors)
        return tuple(one.numpy() for one in result) if isinstance(result, tuple) else result.numpy()
    call.compiles = True

    def extra(dtypes, attrs):
        return joined(column.extra(dtypes, attrs) if callable(column.extra) else column.extra, FLUSHES["tensorflow"])
    name = ("xla-" if xla else "eager-") + column.name
    return column._replace(function=call, name=name.removesuffix("-"), extra=extra)


def register_all():
    """On the CPU, the one device of it that has been tried."""
    tf.config.set_visible_devices([], "GPU")
    # XLA compiles neither that norm nor sparse products.
    compiled = [column for column in COLUMNS if column.name != _NORM and column.op != "sparse_mm"]
    register([*(_of_arrays(column, False) for column in COLUMNS), *(_of_arrays(column, True) for column in compiled)], "numpy", "cpu")
