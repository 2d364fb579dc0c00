# SPDX-License-Identifier: Apache-2.0
"""Collectives of torch.distributed over gloo, by processes of this host, in the column `gloo`."""
from __future__ import annotations

import atexit
import socket
from typing import Any, Sequence

from .._frameworks import Unavailable
from ._columns import Column, KernelCase, register
from ._gloo_ranks import Ranks

MOST_RANKS = 8
_running: dict[int, Ranks] = {}  # by number of ranks: those of the last case, as each is a process


def _ranks(count: int) -> Ranks:
    if count not in _running:
        end_all()
        _running[count] = Ranks(count)
    return _running[count]


def end_all() -> None:
    while _running:
        _running.popitem()[1].close()


def _call(collective: str, x: Any, columns: int) -> Any:
    ranks = _ranks(x.shape[0])
    try:
        return ranks.call(collective, x, (x.shape[0], columns))
    except BaseException:
        _running.pop(x.shape[0], None)
        raise


def all_reduce(x: Any, *, reduction: str = "sum", **_: Any) -> Any:
    return _call("all_reduce", x, x.shape[1])


def reduce_scatter(x: Any, *, reduction: str = "sum", **_: Any) -> Any:
    return _call("reduce_scatter", x, x.shape[1] // x.shape[0])


def all_gather(x: Any, **_: Any) -> Any:
    return _call("all_gather", x, x.shape[0] * x.shape[1])


def _takes(case: KernelCase) -> Any:
    if not 1 <= int(case.attrs["ranks"]) <= MOST_RANKS:
        return f"each rank is a process of this host: it takes 1 to {MOST_RANKS} of them, not {case.attrs['ranks']}"
    if int(case.attrs["n"]) == 0:
        return "it sends no tensors without elements"
    return case.attrs.get("reduction", "sum") == "sum" or "gloo has no mean; DistributedDataParallel divides by itself"


def _sums(dtypes: Sequence[str], attrs: Any) -> str:
    """Partial sums travel from rank to rank in the type of the data."""
    return f"acc={dtypes[0]}"


COLUMNS = [
    Column("all_reduce", all_reduce, ("f32", "f64", "f16", "bf16"), extra=_sums, supports=_takes),
    Column("reduce_scatter", reduce_scatter, ("f32", "f64", "f16", "bf16"), extra=_sums, supports=_takes),
    Column("all_gather", all_gather, ("f32", "f64", "f16", "bf16", "i8", "i32", "i64"), supports=_takes),
]


def register_all() -> None:
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
    except OSError as error:
        raise Unavailable(f"framework gloo: ranks talk over sockets of this host, which the sandbox refuses ({error.strerror}): add --no-sandbox") from None
    atexit.register(end_all)
    register(COLUMNS, "torch", "ranks")
