# SPDX-License-Identifier: Apache-2.0
"""Attention masks as arrays, for frameworks whose flags cannot express them."""
from __future__ import annotations

from typing import Any, Optional

import numpy


def visible(l: int, s: int, causal: bool, align: str, window: int) -> Optional[Any]:
    """bool [l,s], true where query i sees key j; None: everywhere. With align "br" the last query sees the last key, with
    "tl" the first one the first; a query sees no key that is `window` or more away."""
    if not causal and not window:
        return None
    distance = numpy.arange(l)[:, None] + (s - l if align == "br" else 0) - numpy.arange(s)[None, :]
    seen = numpy.ones((l, s), bool)
    if causal:
        seen &= distance >= 0
    if window:
        seen &= abs(distance) < window
    return seen
