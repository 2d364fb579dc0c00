# SPDX-License-Identifier: Apache-2.0
"""Which of JAX's functions are in the column `jax`, for which types, and what is declared of them."""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp

from . import jax_more_ops, jax_ops, jax_signals
from ._columns import FLOATS, FLUSHES, INTEGERS, WIDER_SUMS, Column, joined, only, register, tensor_cores
from ._defined import defined
from ._elementwise import elementwise
from ._movement import movement

COMPLEX = ("c64", "c128", "f32-c64", "c64-f32", "f64-c128", "c128-f64")
INDICES = tuple(f"{dtype}-i64" for dtype in FLOATS)
VALUES = ("sum", "mean", "prod", "max", "min", "l2", "logsumexp")


def _flushes(dtypes, attrs):
    """XLA's code for the CPU takes subnormal numbers for zeros: measured (jax_proofs.py), not documented."""
    return "ftz=all"


def _reduces(dtypes, attrs):
    return joined(_flushes(dtypes, attrs), "nan=ignore" if attrs["nan"] == "ignore" else "")


def _attention(dtypes, attrs):
    """Probabilities are rounded to the type of the keys before they meet the values: jax/_src/nn/functions.py of 0.10.2
    has probs = softmax(...).astype(key.dtype)."""
    return joined(_flushes(dtypes, attrs), f"mid={dtypes[0]}" if dtypes[0] in ("bf16", "f16") else "")


def _values(case):
    if case.attrs["kind"] not in VALUES:
        return "one with values is meant"
    return case.attrs["kind"] in ("max", "min") or only(nan="propagate")(case)


def _attends(case):
    """jax.nn.dot_product_attention has one extent of heads for keys and values, and no say on rows that see no key."""
    if case.shapes["q"][-1] != case.shapes["v"][-1]:
        return "values have another extent than keys"
    sees_all = case.attrs["align"] == "tl" or case.shapes["k"][2] >= case.shapes["q"][2]
    return sees_all and "mask" not in case.shapes or "a row may see no key"


def _forward(case):
    return (case.attrs["kind"], case.attrs["dir"]) not in (("r2c", "inv"), ("c2r", "fwd")) or "of this sign there is none"


ELEMENTS = {"exp": jnp.exp, "log": jnp.log, "tanh": jnp.tanh, "erf": jax.scipy.special.erf, "rsqrt": jax.lax.rsqrt,
            "sin": jnp.sin, "cos": jnp.cos}

NAMED = {name: getattr(jnp, name) for name in (
    "abs add ceil cosh equal exp2 expm1 floor floor_divide greater greater_equal isfinite isinf isnan less less_equal log10 log1p log2 "
    "logical_and logical_not logical_or logical_xor maximum minimum not_equal reciprocal round sign sinh sqrt square tan trunc where cbrt "
    "clip").split()}
NAMED |= {"acos": jnp.arccos, "acosh": jnp.arccosh, "asin": jnp.arcsin, "asinh": jnp.arcsinh, "atan": jnp.arctan,
          "atanh": jnp.arctanh, "div": jnp.divide, "erfc": jax.scipy.special.erfc, "mul": jnp.multiply, "neg": jnp.negative,
          "pow": jnp.power,
          "relu": jax.nn.relu, "sigmoid": jax.nn.sigmoid, "sub": jnp.subtract, "hardsigmoid": jax.nn.hard_sigmoid,
          "hardswish": jax.nn.hard_silu, "logsigmoid": jax.nn.log_sigmoid, "softsign": jax.nn.soft_sign}
NAMED |= {name: getattr(jax.nn, name) for name in "celu elu leaky_relu mish relu6 selu silu softplus".split()}

COLUMNS = [
    *elementwise(NAMED, extra=_flushes),
    *movement(jnp, product="ftz=all"),
    Column("matmul", jax_ops.matmul, extra=_flushes),
    Column("matmul", jax_ops.matmul_f32, ("bf16-bf16-f32", "f16-f16-f32"), "preferred-f32", _flushes),
    Column("matmul", jax_ops.matmul_i32, ("i8-i8-i32",), "preferred-i32"),
    Column("conv", jax_ops.conv, extra=_flushes),
    Column("conv", jax_ops.conv_f32, ("bf16-bf16-f32", "f16-f16-f32"), "preferred-f32", _flushes),
    Column("conv", jax_ops.conv_i32, ("i8-i8-i32",), "preferred-i32"),
    Column("softmax", jax_ops.softmax, extra=lambda dtypes, attrs: joined("masked=nan", _flushes(dtypes, attrs))),
    Column("reduce", jax_ops.reduce, extra=_reduces, supports=_values),
    Column("reduce", jax_ops.reduce, INDICES, "indices", _flushes,
           supports=only(kind=("argmax", "argmin"), nan="propagate")),
    Column("reduce", jax_ops.reduce_typed, ("bf16-f32", "f16-f32"), "dtype-f32", _flushes,
           supports=only(kind=("sum", "mean", "prod"))),
    Column("reduce", jax_ops.reduce_typed, ("i8-i32",), "dtype-i32", supports=only(kind=("sum", "prod"))),
    Column("reduce", jax_ops.reduce_typed, (*INTEGERS, "bool", *WIDER_SUMS), "integers",
           supports=only(kind=("sum", "prod", "max", "min"))),
    Column("reduce", jax_ops.reduce, tuple(f"{dtype}-i64" for dtype in INTEGERS), "indices-of-integers",
           supports=only(kind=("argmax", "argmin"))),
    Column("fft", jax_ops.fft, COMPLEX, extra=_flushes, supports=_forward),
    Column("attention", jax_ops.attention, extra=_attention, supports=_attends),
    Column("gelu", jax_ops.gelu, extra=_flushes),
    Column("silu_and_mul", jax_ops.silu_and_mul, extra=_flushes),
    Column("gelu_and_mul", jax_ops.gelu_and_mul, extra=_flushes),
    *(Column(op, jax_ops.element(function), extra=_flushes) for op, function in ELEMENTS.items()),
    Column("cumsum", jax_ops.cumsum, extra=_flushes),
    Column("cumsum", jax_ops.cumsum_typed, (*INTEGERS, *WIDER_SUMS), "integers"),
    Column("top_k", jax_ops.top_k, (*FLOATS, *INTEGERS), extra=_flushes, supports=only(smallest=False)),
    Column("sort", jax_ops.sort, (*FLOATS, *INTEGERS, "bool"), extra=_flushes),
    Column("gather", jax_ops.gather),
    Column("one_hot", jax_ops.one_hot, tuple(f"i64-{dtype}" for dtype in FLOATS)),
    Column("grouped_gemm", jax_ops.grouped_gemm, ("f32-f32-i32-f32", "bf16-bf16-i32-bf16", "f16-f16-i32-f16"), extra=_flushes),
    Column("scatter_add", jax_ops.scatter_add, extra=_flushes),
    *jax_more_ops.columns(_flushes),
    *jax_signals.columns(_flushes),
]


def _on(platform, column):
    """The column as that platform has it: the code for GPUs keeps subnormal numbers (measured on an H100), and their units
    add products of 16 bits."""
    if platform != "gpu":
        return column
    capability = getattr(jax.devices(platform)[0], "compute_capability", "")
    is_product = column.op in ("matmul", "conv", "attention")

    def extra(dtypes, attrs):
        cpu = column.extra(dtypes, attrs) if callable(column.extra) else column.extra
        units = tensor_cores(capability, dtypes[0]) if is_product and dtypes[0] in ("bf16", "f16") else ""
        return joined(*(field for field in cpu.split(";") if field != "ftz=all"), units)
    return column._replace(extra=extra)


def _jitted(column):
    """The function compiled as a whole, once for the attributes of a case."""
    compiled = {}

    @functools.wraps(column.function)
    def call(*operands, **attrs):
        key = tuple(attrs.items())
        if key not in compiled:
            compiled[key] = jax.jit(functools.partial(column.function, **attrs))
        return compiled[key](*operands)

    call.compiles = True
    return column._replace(function=call, name="jit" + ("-" + column.name if column.name else ""))


def register_all():
    """On every platform that this JAX has, each function as it is called and within jax.jit; f64 and i64 need its 64 bits,
    which are set for the whole interpreter."""
    jax.config.update("jax_enable_x64", True)
    platforms = sorted({device.platform for device in jax.devices()} | {"cpu"}, key=lambda name: (name != "cpu", name))
    for platform in platforms:
        own = [_on(platform, column) for column in COLUMNS + defined(extra=FLUSHES["jax"])]
        register(own + [_jitted(column) for column in own], "jax", "eager", platform)
