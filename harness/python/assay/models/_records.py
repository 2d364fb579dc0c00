# SPDX-License-Identifier: Apache-2.0
"""Results of a watch in the order of its calls. Of a proven one four numbers are kept until nodes are asked for: an object of each would have
Python's garbage collector walk over all objects of the program again and again."""
from __future__ import annotations

from typing import Any, NamedTuple

from ._nodes import Node
from ._sites import Site


class Proven(NamedTuple):
    """A proven result, but for the call and its place."""
    op: str
    shape: tuple[int, ...]
    dtype: str
    is_exact: bool
    elements: int


class Records:
    def __init__(self) -> None:
        self._found: list[Any] = []  # nodes, and tuples of those that `number` and `place` have given numbers to
        self._made = 0  # so many are nodes
        self._numbers: dict[Any, int] = {}
        self._kinds: list[Any] = []

    def number(self, kind: Any) -> int:
        """That of a Proven, or of a site."""
        if (known := self._numbers.get(kind)) is None:
            known = self._numbers[kind] = len(self._kinds)
            self._kinds.append(kind)
        return known

    def kind(self, number: int) -> Any:
        return self._kinds[number]

    def add(self, found: Any) -> None:
        """A node; or a proven result: index, number of the site, number of what is proven, and whether it is finite where its operands are."""
        self._found.append(found)

    def nodes(self) -> list[Node]:
        for place in range(self._made, len(self._found)):
            if type(found := self._found[place]) is tuple:
                self._found[place] = self._node(*found)
        self._made = len(self._found)
        return self._found

    def _node(self, index: int, site: int, kind: int, is_finite: bool) -> Node:
        where: Site = self._kinds[site]
        op, shape, dtype, is_exact, elements = self._kinds[kind]
        return Node(index, op, where, shape, dtype, "pass", "bit_exact" if is_exact else "within_class", "", 0.0 if is_exact else None, None, None,
                    is_finite, elements, elements)
