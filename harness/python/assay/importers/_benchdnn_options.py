# SPDX-License-Identifier: Apache-2.0
"""Which options of benchdnn's drivers count, and what their values mean."""
from __future__ import annotations

import re
from typing import Callable, NamedTuple, Optional

from . import _benchdnn_maps as maps
from ._cases import Case, Unmapped

Choice = dict[str, str]  # one value of each option that counts


class Driver(NamedTuple):
    name: str
    options: Choice  # that count, with the meanings of their defaults
    map_case: Optional[Callable[[Choice, str], Case]]  # None: no counterpart here

    def map_choice(self, choice: Choice, problem: str) -> Case:
        for option in _ATTRIBUTES:
            if choice[option]:
                raise Unmapped("attr-post-ops: what follows the operator is not part of a case"
                               if option == "attr-post-ops" else f"{option}: no such scaling or rounding here")
        return self.map_case(choice, problem)


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
    if option.startswith("attr-") or option == "encoding":
        return "..." if value else ""
    if option == "eps":
        return "" if value in ("0", "0.0") else value
    return value


_ATTRIBUTES = ("attr-dropout", "attr-oscale", "attr-others", "attr-post-ops", "attr-scales", "attr-zero-points")
_WEIGHTS = {"dir": "FWD_B", "dt": "f32", "cfg": "", "bia-dt": "undef", "mb": "0"}
_NORM = {"dir": "FWD_D", "dt": "f32", "ss-dt": "f32", "flags": ""}
_HERE = (
    ("matmul", {"dt": "f32", "stag": "", "wtag": "", "bia-dt": "undef", "bia-mask": "2", "encoding": ""}, maps.map_matmul),
    ("conv", _WEIGHTS, maps.map_conv),
    ("ip", _WEIGHTS, maps.map_inner_product),
    ("softmax", {"dir": "FWD_D", "sdt": "f32", "ddt": "f32", "alg": "softmax", "axis": "1", "mb": "0"}, maps.map_softmax),
    ("reduction", {"sdt": "f32", "ddt": "f32", "alg": "sum", "p": "1", "eps": ""}, maps.map_reduction),
    ("lnorm", _NORM, maps.map_layer_norm),
    ("gnorm", _NORM | {"mb": "0"}, maps.map_group_norm),
    ("eltwise", {"dir": "FWD_D", "dt": "f32", "alg": "relu", "mb": "0"}, maps.map_eltwise))
_ELSEWHERE = ("binary bnorm brgemm concat deconv graph lrn pool prelu reorder resampling rnn self shuffle sum "
              "zeropad").split()
# Attributes stand behind the other options, post-ops first: so they are listed for a case.
_ATTRIBUTES_AS_LISTED = ("attr-post-ops", "attr-scales", "attr-oscale", "attr-zero-points", "attr-dropout", "attr-others")
DRIVERS = {name: Driver(name, options | dict.fromkeys(_ATTRIBUTES_AS_LISTED, ""), map_case)
           for name, options, map_case in _HERE} | {name: Driver(name, {}, None) for name in _ELSEWHERE}

# Options that change nothing that is computed, as far as is known here.
IGNORED = frozenset(
    "allow-enum-tags-only attr-fpmath attr-acc-mode attr-scratchpad attr-deterministic tag stag wtag dtag stat-tag strides "
    "inplace skip-impl impl runtime-dims-masks alg alpha beta mode cold-cache perf-template fix-times-per-prb max-ms-per-prb "
    "engine ctx-init ctx-exe memory-kind mem-check fast-ref v v0 v1 v2 v5 canonical start".split())
