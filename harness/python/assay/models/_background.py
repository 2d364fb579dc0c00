# SPDX-License-Identifier: Apache-2.0
"""Judging beside the model: threads that judge copies of operands while the model goes on."""
from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Callable, Iterator, Optional

from ._rules import is_tensor

_LEAST_ELEMENTS = 1 << 13  # fewer are judged before another thread has begun
_MOST_BYTES = 1 << 27      # of copies that wait or are judged, and of one more call


class Job:
    """A call whose judgement is there, or comes from a thread."""
    __slots__ = ("future", "found", "size")

    def __init__(self, future: Optional[Future[Any]] = None, found: Any = None, size: int = 0) -> None:
        self.future, self.found, self.size = future, found, size

    def is_there(self) -> bool:
        return self.future is None or self.future.done()

    def take(self) -> Any:
        return self.found if self.future is None else self.future.result()


def count_threads(stated: Optional[int]) -> int:
    return min(4, os.cpu_count() or 1) if stated is None else stated


def tensors_in(value: Any) -> Iterator[Any]:
    if is_tensor(value):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors_in(each)


def copied(value: Any) -> Any:
    """The value with memory of its own, which the model does not go on to change."""
    if isinstance(value, (list, tuple)):
        return [copied(each) for each in value]
    return value.detach().clone() if is_tensor(value) else value


def on_host(value: Any) -> Any:
    """The value with memory of its own on the host: another thread reads it there whatever streams of a device still do."""
    if isinstance(value, (list, tuple)):
        return [on_host(each) for each in value]
    return value.detach().to("cpu", copy=True) if is_tensor(value) else value


class Background:
    """Hands results out in the order in which their calls were put in."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, "assay.watch") if threads > 0 else None
        self._jobs: deque[Any] = deque()  # jobs, and of each call that waits for others like it the plan that it shares with them
        self._size = 0

    def takes(self, tensors: list[Any]) -> bool:
        """Whether another thread should judge the call with these tensors."""
        return self._pool is not None and sum(each.numel() for each in tensors) >= _LEAST_ELEMENTS and \
            sum(each.numel() * each.dtype.itemsize for each in tensors) <= _MOST_BYTES

    def put(self, step: Callable[[], Any], size: int) -> None:
        assert self._pool is not None
        self._jobs.append(Job(self._pool.submit(step), None, size))
        self._size += size

    def put_result(self, found: Any) -> None:
        self._jobs.append(Job(None, found))

    def put_later(self, plan: Any) -> None:
        """A call whose result the plan has later."""
        self._jobs.append(plan)

    def is_empty(self) -> bool:
        return not self._jobs

    def is_full(self) -> bool:
        return self._size > _MOST_BYTES

    def results(self, all_of_them: bool) -> Iterator[Any]:
        """Finished ones; where memory is short or all are wanted, it waits for threads."""
        while self._jobs:
            job = self._jobs[0]
            is_there = job.is_there()
            if not (is_there or type(job) is Job and (all_of_them or self.is_full())):
                break
            self._jobs.popleft()
            self._size -= job.size
            yield job.take()

    def stop(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
