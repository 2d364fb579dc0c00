# SPDX-License-Identifier: Apache-2.0
"""The verb `assay inventory`: of the overloads of ATen those that ``assay.watch`` judges, and the others by reason."""
from __future__ import annotations

import collections
import json
import re
import sys
from typing import Any, Iterable, Mapping, NamedTuple

from ._calls import is_known, is_view, why_unjudgeable

JUDGED, COMPOSED, MISSING, WITHOUT = "judged", "composed", "missing", "without"


class Overload(NamedTuple):
    name: str  # "add.Tensor"
    status: str  # JUDGED, COMPOSED, MISSING, or WITHOUT a numeric result that could be demanded
    group: str

    @property
    def function(self) -> str:
        base = self.name.partition(".")[0]
        return base if base.endswith("__") else base.rstrip("_")


# Groups of functions that no rule covers: name, reason, and what their names contain. The first that fits counts.
_GROUPS = [(name, reason, re.compile(pattern)) for name, reason, pattern in (
    ("tests", "functions for PyTorch's own tests", r"^_test_|^_foobar"),
    ("sparse", "their operands or results are sparse or jagged, which the module's tensors are not",
     r"sparse|spmm|coo|csr|csc|bsr|bsc|coalesce|nested|jagged|cslt|spdiags|sspaddmm|hspmm|_nnz|indices_copy|values_copy|^smm$|_spsolve|padded_tensor|_to_dense|^to_dense|_dim[IV]$"),
    ("quantised", "their operands are quantised, or their rounding depends on a packed weight",
     r"quant|qparams|int_repr|q_scale|q_zero|qscheme|q_per|fbgemm|int4pack|int8pack|_int_mm|_wrapped_|obs_fq|4bit"),
    ("makers", "they make tensors of numbers alone", r"_window$|^range$|^logspace$|^from_file$|fftfreq|^_philox"),
    ("one library", "they call one library or device, whose functions the dispatcher names by another rule",
     r"cudnn|miopen|mkldnn|mps|nnpack|_triton|xnnpack|_cuda|_mixed_dtypes|thnn_fused"),
    ("decompositions", "a factorisation is not unique, and its error depends on the condition of the matrix",
     r"linalg|cholesky|^_?lu_|svd|(?<!w)eig|^qr|geqrf|orgqr|ormqr|inverse|triangular_solve|slogdet|^_?l?o?g?det$|logdet|matrix_(exp|power|rank)|pinverse|lstsq|chain_matmul|lu_with_info|_linear_combination"),
    ("transforms", "Fourier transforms: operator fft judges them with assay run, not by the watch", r"fft|stft"),
    ("gradients", "gradients without a rule", r"backward|_jvp$|_grad$|gradients"),
    ("recurrent", "a whole recurrent or transformer layer is one call", r"lstm|gru|rnn|_transformer|multi_head|_scaled_dot|flash|efficient_attention"),
    ("optimisers", "fused steps of optimisers", r"^_fused_(ada|sgd)|_amp_"),
    ("special functions", "functions that assay has no operator for",
     r"special_|bessel|gamma|erfinv|polygamma|^i0|sinc|logit|zeta|ndtr|entr|xlog|airy|lgamma|^angle|copysign|nextafter|^ldexp|frexp|hypot|^fmod|^frac|float_power|logaddexp|atan2|arctan2"),
    ("losses", "losses without a rule", r"loss|cdist|pdist|distance|similarity|_euclidean"),
    ("windows", "pooling, interpolation, sampling and unfolding without a rule",
     r"pool|upsample|grid_sampl|col2im|im2col|unfold|affine_grid|slow_conv|conv_|_convolution|convolution"),
    ("bits", "shifts and operations on bits", r"shift|__(and|or|xor|i\w+)__|bitwise|gcd|lcm|hash|signbit"),
    ("sums and orders", "sums, selections, scans and counts without a rule",
     r"cum|scan|sort|unique|bincount|hist|mode|quantile|nanme|nonzero|search|bucketize|segment|argwhere|reduce|norm|_weight_norm|trace|var|std|aminmax|allclose|equal|isclose|isin"),
    ("products", "products without a rule", r"mm|matmul|outer|dot|kron|trilinear|bilinear|addbmm|^ger$|cross|einsum|linear"),
    ("moves", "they move or copy elements, and no rule says where to",
     r"copy|put|scatter|select|gather|pad|repeat|stack|cat|diag|resize|squeeze|view|embedding|renorm|index|masked|pack|unbind|split|narrow|roll|permute|flatten|^t$|transpose|as_strided|detach|^set$|clone|^_pin_memory"),
)]
_NO_RULE = ("others", "no rule yet")
_TELLS = "they tell of a tensor, and compute nothing of its elements"


def _is_tensors(kind: Any) -> bool:
    return "Tensor" in str(kind)


def classify(name: str, function: Any, is_composed: bool) -> Overload:
    """Classifies one overload, by its name without the namespace."""
    schema, base = function._schema, name.partition(".")[0]
    if not any(_is_tensors(each.type) for each in schema.returns) and not any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments):
        return Overload(name, WITHOUT, _TELLS if any(_is_tensors(a.type) for a in schema.arguments) else "they have no tensors")
    if is_view(function):
        return Overload(name, WITHOUT, "views: their results are memory of their operands")
    if reason := why_unjudgeable(function):
        return Overload(name, WITHOUT, {"new tensors": "new tensors: they have no operands to be judged from"}.get(reason, f"{reason}: no result can be demanded"))
    if is_known(base):
        return Overload(name, JUDGED, "")
    if is_composed:
        return Overload(name, COMPOSED, "")
    return Overload(name, MISSING, next((group for group, _, pattern in _GROUPS if pattern.search(base)), _NO_RULE[0]))


def torch_overloads() -> list[Overload]:
    """Each overload of ATen in the installed PyTorch. Raises ImportError without PyTorch."""
    import torch
    found = []
    for full in sorted(torch._C._dispatch_get_all_op_names()):
        space, _, name = full.partition("::")
        base, _, overload = name.partition(".")
        function = getattr(getattr(torch.ops.aten, base, None), overload or "default", None) if space == "aten" else None
        if function is not None:
            found.append(classify(name, function, torch._C._dispatch_has_kernel_for_dispatch_key(full, "CompositeImplicitAutograd")))
    return found


def _by_function(overloads: Iterable[Overload]) -> dict[str, list[str]]:
    functions: dict[str, list[str]] = collections.defaultdict(list)
    for each in overloads:
        functions[each.function].append(each.name)
    return dict(functions)


def _document(version: str, overloads: list[Overload]) -> dict[str, Any]:
    count = collections.Counter(each.status for each in overloads)
    reasons = {name: reason for name, reason, _ in _GROUPS} | dict([_NO_RULE])
    groups: dict[str, list[Overload]] = collections.defaultdict(list)
    for each in overloads:
        if each.status == MISSING:
            groups[each.group].append(each)
    ordered = sorted(groups, key=lambda group: -len(groups[group]))
    return {"schema_version": 1, "library": f"PyTorch {version}", "overloads": len(overloads), "numeric": len(overloads) - count[WITHOUT],
            **{status: count[status] for status in (JUDGED, COMPOSED, MISSING)},
            "without": dict(collections.Counter(each.group for each in overloads if each.status == WITHOUT).most_common()),
            "groups": [{"group": group, "reason": reasons[group], "overloads": len(groups[group]), "functions": _by_function(groups[group])} for group in ordered],
            "functions": {status: _by_function(each for each in overloads if each.status == status) for status in (JUDGED, COMPOSED)}}


def _share(part: int, document: Mapping[str, Any]) -> str:
    return f"{part:5} ({100 * part / document['numeric']:.1f} %)"


def _text(document: Mapping[str, Any], with_names: bool) -> str:
    lines = [f"{document['library']}: {document['overloads']} overloads of ATen, {document['numeric']} of them with a numeric result",
             f"  judged    {_share(document[JUDGED], document)}  by a rule of assay.watch, from their own operands",
             f"  composed  {_share(document[COMPOSED], document)}  calls of other overloads, which are judged one by one where they have a rule",
             f"  missing   {_share(document[MISSING], document)}"]
    for group in document["groups"]:
        lines.append(f"    {group['overloads']:5}  {group['group']}: {group['reason']}")
        if with_names:
            lines.append("           " + " ".join(group["functions"]))
    lines.append("without a numeric result:")
    lines += [f"    {number:5}  {reason}" for reason, number in document["without"].items()]
    return "\n".join(lines if with_names else [*lines, "--missing names the functions of each group, --json each overload"])


def main(settings: Mapping[str, Any]) -> int:
    """Prints the inventory. Returns the exit code."""
    try:
        import torch
    except ImportError as error:
        print(f"assay: {sys.executable} has no PyTorch to take an inventory of ({error}): {sys.executable} -m pip install torch, or name another "
              "interpreter with --python PATH", file=sys.stderr)
        return 3
    document = _document(torch.__version__, torch_overloads())
    print(json.dumps(document, indent=1) if settings["json"] else _text(document, settings["missing"]))
    return 0
