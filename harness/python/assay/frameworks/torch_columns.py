# SPDX-License-Identifier: Apache-2.0
"""Which of PyTorch's functions are in the column `torch`, for which types, and what is declared of them."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from .._devices import capability, torch_devices
from . import torch_attention, torch_compiled, torch_everyday, torch_more_ops, torch_ops, torch_signals
from .._namespace import namespace
from ._columns import FLOATS, FLUSHES, INTEGERS, WIDER_SUMS, Column, joined, only, register, tensor_cores
from ._defined import defined
from ._elementwise import elementwise
from ._movement import movement

COMPLEX = ("c64", "c128", "f32-c64", "c64-f32", "f64-c128", "c128-f64")
INDICES = tuple(f"{dtype}-i64" for dtype in FLOATS)

# That torch.amax keeps NaN is measured; its documentation is silent. Of equal elements torch.argmax takes the first, says
# its documentation (docs.pytorch.org, torch.argmax, note).
_propagates = only(nan="propagate")


def _adds(case):
    """Neither torch.addmm and its like nor linear round before they add, but they have one addend: a second one is added to
    what is rounded to the result's type, which is one more step in f32 and f64, and the whole result in 16 bits."""
    if {"c", "bias"} <= set(case.shapes) and case.dtypes[-1] not in ("f32", "f64"):
        return "PyTorch's products have one addend, and round to 16 bits before a second one is added"
    return only(epilogue="fused")(case)


def _flushes(dtypes, attrs):
    """oneDNN's products of bf16 take subnormal numbers for zeros: measured (torch_proofs.py), not documented."""
    return "ftz=all" if dtypes[0] == "bf16" else ""


def _rounds_logarithms(dtypes, attrs):
    """log_softmax is rounded to the type of the logits before its elements are taken: two functions, one behind the other
    (torch.nn.CrossEntropyLoss, "equivalent to applying LogSoftmax on an input, followed by NLLLoss")."""
    return f"mid={dtypes[0]}" if dtypes[0] in ("bf16", "f16") else ""


def _multiplies_integers(case):
    return len(case.shapes["a"]) == 2 or "torch._int_mm takes matrices"


def _multiplies_integers_on_gpu(case):
    """Its own checks say so (aten/src/ATen/native/cuda/Blas.cpp)."""
    m, k, n = (int(case.attrs[key]) for key in "mkn")
    fits = m > 16 and k % 8 == 0 and n % 8 == 0
    return _multiplies_integers(case) if fits else "torch._int_mm takes m above 16, and k and n that are multiples of 8"


def _units(device):
    """Declares tensor-core arithmetic for products of 16-bit operands, by the device's capability."""
    found = capability(torch, device)
    return lambda dtypes, attrs: tensor_cores(found, dtypes[0]) if dtypes[0] in ("bf16", "f16") else ""


def _tf32(device):
    """torch.backends.cudnn.allow_tf32 is set by default: f32 convolutions round their operands to TF32, unlike products
    (docs.pytorch.org, "Numerical accuracy"). That they round to nearest is what the backend cuda measured of its libraries."""
    found = capability(torch, device)
    units = _units(device)
    is_tf32 = found and float(found) >= 8
    return lambda dtypes, attrs: (joined("in=tf32rn", tensor_cores(found, "f32")) if is_tf32 and dtypes[0] == "f32" else
                                  units(dtypes, attrs))


def _attention_on_gpu(device, name):
    """sdpa takes cuDNN's kernel where that has one, of which the backend cuda measured that it flushes."""
    units = _units(device)
    flushes = "ftz=all" if name in ("sdpa", "sdpa-cudnn") else ""
    return lambda dtypes, attrs: joined(_probabilities(dtypes, attrs), units(dtypes, attrs),
                                        flushes if dtypes[0] in ("bf16", "f16") else "")


def _on(device, column):
    """The column as that type of device has it."""
    if device != "cuda":
        return column
    if column.op == "matmul" and not column.name:
        return column._replace(extra=_units(device))
    if column.op == "conv":
        return column._replace(extra="" if column.name == "ieee" else _tf32(device))
    if column.op == "attention":
        return column._replace(extra=_attention_on_gpu(device, column.name))
    if column.name == "int-mm":
        return column._replace(supports=_multiplies_integers_on_gpu)
    if column.op == "layer_norm":  # "expected scalar type BFloat16 but found Float", of weights in f32
        return column._replace(dtypes=[types for types in column.dtypes if "-" not in types])
    return column


def _is_value(case):
    return _propagates(case) if case.attrs["kind"] not in ("argmax", "argmin") else "one with values is meant"


def _is_index(case):
    return _propagates(case) if case.attrs["kind"] in ("argmax", "argmin") else "one with indices is meant"


ELEMENTS = {name: getattr(torch, name) for name in (
    "abs acos acosh add asin asinh atan atanh ceil cos cosh div erf erfc exp exp2 expm1 floor floor_divide isfinite isinf isnan log log10 "
    "log1p log2 logical_and logical_not logical_or logical_xor maximum minimum mul neg pow reciprocal relu round rsqrt sigmoid sign sin sinh "
    "sqrt square sub tan tanh trunc where").split()}
ELEMENTS |= {"equal": torch.eq, "not_equal": torch.ne, "less": torch.lt, "less_equal": torch.le, "greater": torch.gt,
             "greater_equal": torch.ge, "clip": torch.clamp, "logsigmoid": F.logsigmoid,
             # From the threshold on the result is x: by default from 20, where the rest is more than a last bit of f64.
             "softplus": lambda x: F.softplus(x, threshold=40.0)}
ELEMENTS |= {name: getattr(F, name) for name in
             "celu elu hardsigmoid hardswish leaky_relu mish relu6 selu silu softsign".split()}

COLUMNS = [
    *elementwise(ELEMENTS),
    *movement(torch_more_ops.MOVES),
    Column("pad", torch_more_ops.pad),
    Column("one_hot", torch_more_ops.one_hot, ("i64-i64",)),
    Column("matmul", torch_ops.matmul, extra=_flushes, supports=_adds),
    Column("matmul", torch_ops.int_matmul, ("i8-i8-i32",), "int-mm",
           supports=_multiplies_integers),
    Column("conv", torch_ops.conv, extra=_flushes),
    # A row of only -inf gives NaN, as 0 / 0.
    Column("softmax", torch_ops.softmax, extra="masked=nan"),
    Column("reduce", torch_ops.reduce, supports=_is_value),
    Column("reduce", torch_ops.reduce, INDICES, "indices", supports=_is_index),
    Column("reduce", torch_ops.reduce_typed, ("bf16-f32", "f16-f32"), "dtype-f32",
           supports=only(kind=("sum", "mean", "prod", "l2"))),
    Column("reduce", torch_ops.reduce_typed, ("i8-i32",), "dtype-i32", supports=only(kind=("sum", "prod"))),
    Column("reduce", torch_ops.reduce_typed, (*INTEGERS, "bool", *WIDER_SUMS), "integers",
           supports=only(kind=("sum", "prod", "max", "min"))),
    Column("reduce", torch_ops.reduce, tuple(f"{dtype}-i64" for dtype in INTEGERS), "indices-of-integers",
           supports=only(kind=("argmax", "argmin"))),
    Column("fft", torch_ops.fft, COMPLEX),
    Column("layer_norm", torch_more_ops.layer_norm, (*FLOATS, "bf16-f32-f32-bf16"), supports=only(stats=False)),
    Column("layer_norm", torch_more_ops.layer_norm, ("f64", "f32"), "native", supports=only(stats=True)),
    Column("rms_norm", torch_more_ops.rms_norm),
    Column("group_norm", torch_more_ops.group_norm),
    Column("gelu", torch_more_ops.gelu),
    Column("silu_and_mul", torch_more_ops.silu_and_mul),
    Column("gelu_and_mul", torch_more_ops.gelu_and_mul),
    Column("prelu", torch_more_ops.prelu, supports=only(per=("column", "tensor"))),
    Column("cumprod", torch_more_ops.cumprod),
    Column("cumsum", torch_more_ops.cumsum),
    Column("cumsum", torch_more_ops.cumsum_typed, ("bf16-f32", "f16-f32"), "dtype-f32"),
    Column("cumsum", torch_more_ops.cumsum_typed, (*INTEGERS, *WIDER_SUMS), "integers"),
    # The documentation of torch.topk says nothing of which of equal elements it takes.
    Column("top_k", torch_more_ops.top_k, (*FLOATS, *INTEGERS), supports=only(tie="any")),
    Column("sort", torch_more_ops.sort, (*FLOATS, *INTEGERS, "bool")),
    Column("argsort", torch_more_ops.argsort, (*(f"{dtype}-i64" for dtype in (*FLOATS, *INTEGERS, "bool") if dtype != "i64"), "i64")),
    Column("gather", torch_more_ops.gather),
    Column("scatter_add", torch_more_ops.scatter_add),
    Column("quantize", torch_more_ops.quantize, ("f32-f32-i8",)),
    Column("softmax_backward", torch_more_ops.softmax_backward),
    Column("log_softmax_backward", torch_more_ops.log_softmax_backward),
    Column("batch_norm", torch_more_ops.batch_norm, (*FLOATS, "bf16-f32-f32-f32-f32-bf16")),
    Column("batch_norm_training", torch_more_ops.batch_norm_training, (*FLOATS, "bf16-f32-f32-f32-f32-bf16"),
           supports=only(population=False)),
    Column("instance_norm", torch_more_ops.instance_norm),
    Column("cross_entropy", torch_more_ops.cross_entropy, tuple(f"{dtype}-i64-{dtype}" for dtype in FLOATS), extra=_rounds_logarithms),
    Column("cross_entropy_backward", torch_more_ops.cross_entropy_backward, tuple(f"{dtype}-i64-{dtype}-{dtype}" for dtype in FLOATS),
           extra=_rounds_logarithms),
    Column("kl_div", torch_more_ops.kl_div),
    Column("mse", torch_more_ops.mse, supports=only(reduction=("mean", "sum", "none"))),
    Column("avg_pool", torch_more_ops.avg_pool),
    Column("max_pool", torch_more_ops.max_pool),
    Column("adaptive_avg_pool", torch_more_ops.adaptive_avg_pool),
    Column("layer_norm_backward", torch_more_ops.layer_norm_backward),
    *torch_everyday.COLUMNS,
    *torch_signals.COLUMNS,
]


# Inductor (2.15) calls the eager functions for these operators; it cannot trace some steps of quantize. Those of
# torch_everyday.py and torch_signals.py were not tried.
_NOT_COMPILED = ("matmul", "conv", "cumprod", "cumsum", "fft", "floor_divide", "top_k", "sort", "argsort", "quantize",
                 "cross_entropy_backward",
                 *(column.op for column in torch_everyday.COLUMNS + torch_signals.COLUMNS))


def _within_compile(column, missing):
    def supports(case):
        return missing or (column.supports is None or column.supports(case))
    name = "compile" + ("-" + column.name if column.name else "")
    return column._replace(function=torch_compiled.compiled(column.function), name=name, supports=supports)


def _compiled(device):
    """Columns of compiled functions. Inductor's arithmetic is not documented; it keeps operands of 16 bits in f32
    between the steps that it fuses (torch/_inductor/config.py, emulate_precision_casts), so the contracts of eager hold
    all the more."""
    missing = torch_compiled.missing(device)
    return [_within_compile(column, missing) for column in COLUMNS if column.op not in _NOT_COMPILED]


def _one_extent(case):
    return case.shapes["q"][-1] == case.shapes["v"][-1] or "values have another extent than keys"


def _probabilities(dtypes, attrs):
    """Probabilities are rounded to the type of the operands before they meet the values: measured, not documented."""
    return f"mid={dtypes[0]}" if dtypes[0] in ("bf16", "f16") else ""


def columns(device):
    """On that type of device: attention by each backend that there is, and by the one that PyTorch takes."""
    chosen = [Column("attention", torch_attention.attention, name="sdpa", extra=_probabilities, shown=("mask_per_head",))]
    for name in torch_attention.BACKENDS:
        if device in torch_attention.DEVICES[name]:
            chosen.append(Column("attention", torch_attention.with_backend(name), name=name, extra=_probabilities,
                                 shown=("mask_per_head",), supports=None if name == "sdpa-math" else _one_extent))
    if device == "cuda":
        chosen.append(Column("conv", torch_ops.conv_ieee, ("f32",), "ieee"))
    return [_on(device, column) for column in COLUMNS + _compiled(device) + chosen] + _defined(device)


def _defined(device):
    namespace(torch.zeros(1))  # imports what Dynamo then finds
    eager = defined(extra=FLUSHES["torch"] if device == "cpu" else "")
    return eager + [_within_compile(column, torch_compiled.missing(device)) for column in eager]


def register_all():
    """On the host, and on each type of device that this PyTorch reaches."""
    register(columns("cpu"), "torch", "eager")
    for device in torch_devices(torch)[1:]:
        if ":" not in device:
            register(columns(device), "torch", "eager", device)
