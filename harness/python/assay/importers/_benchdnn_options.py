# SPDX-License-Identifier: Apache-2.0
"""Which options of benchdnn's drivers count, and what their values mean."""
from __future__ import annotations

import re
from typing import Callable, NamedTuple, Optional

from . import _benchdnn_maps as maps
from . import _dnn_cases as cases
from ._cases import Case, Unmapped

Choice = dict[str, str]  # one value of each option that counts


# Types that assay's operators take; others become definitions.
_SAME = ("f32", "bf16", "f16", "f64")
_NAMED_TYPES = {"matmul": {"bf16-bf16-f32", "f16-f16-f32", "i8-i8-i32"}, "conv": {"bf16-bf16-f32", "f16-f16-f32", "i8-i8-i32"},
                "layer_norm": {"bf16-f32-f32-bf16", "f16-f32-f32-f16"}, "group_norm": {"bf16-f32-f32-bf16", "f16-f32-f32-f16"}}


def _is_named(case: Case) -> bool:
    """Whether assay's operator takes the types; integers without a bias."""
    types = "-".join(case.dtypes)
    if len(set(case.dtypes)) == 1:
        return case.dtypes[0] in _SAME
    if case.op == "reduce":
        return case.attrs["kind"] == "sum" and types in ("bf16-f32", "f16-f32", "i8-i32")
    return types in _NAMED_TYPES.get(case.op, ()) and not (types == "i8-i8-i32" and case.attrs.get("bias"))


class Driver(NamedTuple):
    name: str
    options: Choice  # that count, with the meanings of their defaults
    map_case: Optional[Callable[[Choice, str], Case]]  # to assay's operator
    define: Optional[Callable[[Choice, str], Case]]  # where it has none; None of both: no counterpart here

    def map_choice(self, choice: Choice, problem: str) -> Case:
        for option in _REFUSED:
            if choice[option]:
                raise Unmapped(f"{option}: no such scaling or rounding here")
        if self.map_case and not any(choice[option] for option in _DEFINED):
            try:
                case = self.map_case(choice, problem)
                if _is_named(case):
                    return case
            except Unmapped:
                pass
        assert self.define is not None
        return self.define(choice, problem)


def _is_transposed(tag: str) -> bool:
    """"ba", "acb": the last two axes change places in memory."""
    return bool(re.fullmatch("[a-z]{2,}", tag)) and tag[-2:] == chr(96 + len(tag)) + chr(95 + len(tag))


def meaning_of(option: str, value: str) -> str:
    """The value as far as it counts: values that are one to the driver's map give one text."""
    if option == "dir":
        return value.upper()
    if option == "alg":
        return value.lower()
    if option in ("stag", "wtag"):
        return "transposed" if _is_transposed(value) else ""
    if option in _REFUSED or option == "encoding":
        return "..." if value else ""
    if option == "eps":
        return "" if value in ("0", "0.0") else value
    return value


_REFUSED = ("attr-dropout", "attr-oscale", "attr-others")
_DEFINED = ("attr-post-ops", "attr-scales", "attr-zero-points")  # that definitions have
_WEIGHTS = {"dir": "FWD_B", "dt": "f32", "cfg": "", "bia-dt": "undef", "mb": "0"}
_NORM = {"dir": "FWD_D", "dt": "f32", "ss-dt": "f32", "flags": ""}
_HERE = (
    ("matmul", {"dt": "f32", "stag": "", "wtag": "", "bia-dt": "undef", "bia-mask": "2", "encoding": ""}, maps.map_matmul, cases.matmul),
    ("conv", _WEIGHTS, maps.map_conv, cases.conv),
    ("ip", _WEIGHTS, maps.map_inner_product, cases.inner_product),
    ("deconv", _WEIGHTS, None, cases.deconv),
    ("softmax", {"dir": "FWD_D", "sdt": "f32", "ddt": "f32", "alg": "softmax", "axis": "1", "mb": "0"}, maps.map_softmax, cases.softmax),
    ("reduction", {"sdt": "f32", "ddt": "f32", "alg": "sum", "p": "1", "eps": ""}, maps.map_reduction, cases.reduction),
    ("lnorm", _NORM, maps.map_layer_norm, cases.layer_norm),
    ("gnorm", _NORM | {"mb": "0"}, maps.map_group_norm, cases.group_norm),
    ("eltwise", {"dir": "FWD_D", "dt": "f32", "alg": "relu", "alpha": "0", "beta": "0", "mb": "0"}, maps.map_eltwise, cases.eltwise),
    ("pool", {"dir": "FWD_D", "dt": "f32", "alg": "max", "mb": "0"}, None, cases.pool),
    ("binary", {"sdt": "f32", "ddt": "f32", "alg": "add"}, None, cases.binary),
    ("prelu", {"dir": "FWD_D", "sdt": "f32"}, None, cases.prelu))
_ELSEWHERE = "bnorm brgemm concat graph lrn reorder resampling rnn self shuffle sum zeropad".split()
# Attributes stand behind the other options, post-ops first: so they are listed for a case.
_ATTRIBUTES_AS_LISTED = ("attr-post-ops", "attr-scales", "attr-oscale", "attr-zero-points", "attr-dropout", "attr-others")
DRIVERS = {name: Driver(name, options | dict.fromkeys(_ATTRIBUTES_AS_LISTED, ""), map_case, define)
           for name, options, map_case, define in _HERE} | {name: Driver(name, {}, None, None) for name in _ELSEWHERE}

# Options that change nothing that is computed, as far as is known here.
IGNORED = frozenset(
    "allow-enum-tags-only attr-fpmath attr-acc-mode attr-scratchpad attr-deterministic tag stag wtag dtag stat-tag strides "
    "inplace skip-impl impl runtime-dims-masks alg alpha beta mode cold-cache perf-template fix-times-per-prb max-ms-per-prb "
    "engine ctx-init ctx-exe memory-kind mem-check fast-ref v v0 v1 v2 v5 canonical start".split())
