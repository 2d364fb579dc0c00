# SPDX-License-Identifier: Apache-2.0
"""Where in a model a call stands: its module's path and the line that made it. Of the backward pass, those of the forward one."""
from __future__ import annotations

import bisect
import os
import sys
import threading
from typing import Any, Callable, NamedTuple

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Site(NamedTuple):
    module: str  # "layers.3.mlp (Linear)", or "" outside of modules
    line: str    # "model.py:41", the innermost frame outside of PyTorch and assay
    backward: bool = False


def _line(torch_folder: str) -> str:
    frame: Any = sys._getframe(2)
    while frame is not None:
        path = frame.f_code.co_filename
        if (is_of_user := _USERS.get(path)) is None:
            is_of_user = _USERS[path] = not path.startswith((torch_folder, _OWN, "<")) and "importlib" not in path
        if is_of_user:
            return _text(frame)
        frame = frame.f_back
    return ""


def _text(frame: Any) -> str:
    place = id(frame.f_code), frame.f_lasti
    if (known := _LINES.get(place)) is None:
        if len(_LINES) > _MOST_FORWARD:
            _LINES.clear()
        known = _LINES[place] = f"{frame.f_code.co_filename}:{frame.f_lineno}", frame.f_code  # which keeps its id()
    return known[0]


_LINES: dict[tuple[int, int], tuple[str, Any]] = {}
_USERS: dict[str, bool] = {}  # whether files are neither of PyTorch nor of assay


_MOST_FORWARD = 1 << 18  # sites of forward calls that are remembered for the backward pass


class Sites:
    """Follows the modules that run; hooks are there between `start` and `stop`."""

    def __init__(self, begin: Callable[[Any], bool] = lambda module: True) -> None:
        self._begin = begin  # told of each outermost module that is called; False: nobody asks for sites any more
        self._running: list[Any] = []
        self._running_names: list[str] = []  # theirs, with their classes
        self._names: dict[int, str] = {}
        self._hooks: list[Any] = []
        self._forward: dict[int, Site] = {}  # by the numbers that autograd gives its nodes
        self._newest = -1  # of these numbers
        self._first: list[int] = []  # the number that autograd gives next when a module begins or ends ...
        self._inside: list[str] = []  # ... and the module that runs from there on
        self._thread = 0

    def start(self) -> None:
        import torch
        from torch.nn.modules import module
        self._torch = os.path.dirname(torch.__file__) + os.sep
        self._following, self._node = torch.autograd._get_sequence_nr, torch._C._current_autograd_node
        self._newest, self._thread = self._following() - 1, threading.get_ident()
        self._hooks = [module.register_module_forward_pre_hook(self._enter),
                       module.register_module_forward_hook(self._leave, always_call=True)]

    def stop(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._running.clear()
        self._running_names.clear()
        self._forward.clear()
        self._first.clear()
        self._inside.clear()

    def _enter(self, module: Any, _: Any) -> None:
        if threading.get_ident() != self._thread:  # hooks run in all threads, the watch in one
            return
        if self._running or self._begin(module):
            self.enter(module)

    def enter(self, module: Any) -> None:
        if not self._running:  # the model itself, or a part of it that is called by itself
            self._names = {id(each): name for name, each in module.named_modules()}
        self._running.append(module)
        name, kind = self._names.get(id(module), ""), type(module).__name__
        self._running_names.append(f"{name} ({kind})" if name else kind)
        self._mark()

    def _leave(self, module: Any, *_: Any) -> None:
        if threading.get_ident() == self._thread and any(each is module for each in self._running):  # more than once where an exception passed an inner one by
            while self._running.pop() is not module:
                self._running_names.pop()
            self._running_names.pop()
            self._mark()

    def _mark(self) -> None:
        """Remembers who runs, for the backward pass of calls whose sites nobody asked for."""
        following = self._following()
        if self._first and self._first[-1] >= following:
            self._inside[-1] = self._module()
        elif len(self._first) < _MOST_FORWARD:
            self._first.append(following)
            self._inside.append(self._module())

    def _module(self) -> str:
        return self._running_names[-1] if self._running_names else ""

    def _forward_of(self, number: int) -> Site:
        if (known := self._forward.get(number)) is not None:
            return known
        place = bisect.bisect_right(self._first, number) - 1
        return Site(self._inside[place] if place >= 0 else "", "")

    def here(self) -> Site:
        """That of the call which is being dispatched."""
        if (node := self._node()) is not None:
            forward = self._forward_of(node._sequence_nr())
            return Site(forward.module, forward.line or _line(self._torch), True)
        site = Site(self._module(), _line(self._torch))
        newest = self._following() - 1
        if newest != self._newest:  # else this call has no node: nothing of it needs a gradient
            self._remember(newest, site)
        return site

    def note(self) -> None:
        """Remembers a call that nobody judges, where it has a backward pass."""
        newest = self._following() - 1
        if newest != self._newest and self._node() is None:
            self._remember(newest, Site(self._module(), _line(self._torch)))

    def _remember(self, newest: int, site: Site) -> None:
        self._newest = newest
        self._forward[newest] = site
        if len(self._forward) > _MOST_FORWARD:
            del self._forward[next(iter(self._forward))]
