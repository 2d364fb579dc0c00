# SPDX-License-Identifier: Apache-2.0
"""Attributes of shapes, as nodes of frameworks want them."""
from __future__ import annotations

from typing import Any


def dims(value: Any, rank: int) -> tuple[int, ...]:
    """One number for each axis, where the suites have one for all."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return values * rank if len(values) == 1 else values
