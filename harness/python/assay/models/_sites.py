# SPDX-License-Identifier: Apache-2.0
"""Where in a model a call stands: its module's path and the line that made it. Of the backward pass, those of the forward one."""
from __future__ import annotations

import os
import sys
import threading
from typing import Any, NamedTuple

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Site(NamedTuple):
    module: str  # "layers.3.mlp (Linear)", or "" outside of modules
    line: str    # "model.py:41", the innermost frame outside of PyTorch and assay
    backward: bool = False


def _line(torch_folder: str) -> str:
    frame: Any = sys._getframe(2)
    while frame is not None:
        path = frame.f_code.co_filename
        if not path.startswith((torch_folder, _OWN, "<")) and "importlib" not in path:
            return f"{path}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


_MOST_FORWARD = 1 << 18  # sites of forward calls that are remembered for the backward pass


class Sites:
    """Follows the modules that run; hooks are there between `start` and `stop`."""

    def __init__(self) -> None:
        self._running: list[Any] = []
        self._names: dict[int, str] = {}
        self._hooks: list[Any] = []
        self._forward: dict[int, Site] = {}  # by the numbers that autograd gives its nodes
        self._newest = -1  # of these numbers
        self._thread = 0

    def start(self) -> None:
        import torch
        from torch.nn.modules import module
        self._torch = os.path.dirname(torch.__file__) + os.sep
        self._newest, self._thread = torch.autograd._get_sequence_nr() - 1, threading.get_ident()
        self._hooks = [module.register_module_forward_pre_hook(self._enter),
                       module.register_module_forward_hook(self._leave, always_call=True)]

    def stop(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._running.clear()
        self._forward.clear()

    def _enter(self, module: Any, _: Any) -> None:
        if threading.get_ident() != self._thread:  # hooks run in all threads, the watch in one
            return
        if not self._running:  # the model itself, or a part of it that is called by itself
            self._names = {id(each): name for name, each in module.named_modules()}
        self._running.append(module)

    def _leave(self, module: Any, *_: Any) -> None:
        if threading.get_ident() == self._thread and any(each is module for each in self._running):  # more than once where an exception passed an inner one by
            while self._running.pop() is not module:
                pass

    def here(self) -> Site:
        """That of the call which is being dispatched."""
        import torch
        node = torch._C._current_autograd_node()
        if node is not None:
            forward = self._forward.get(node._sequence_nr(), Site("", ""))
            return Site(forward.module, forward.line or _line(self._torch), True)
        module = ""
        if self._running:
            innermost = self._running[-1]
            name = self._names.get(id(innermost), "")
            module = f"{name} ({type(innermost).__name__})" if name else type(innermost).__name__
        site = Site(module, _line(self._torch))
        newest = torch.autograd._get_sequence_nr() - 1
        if newest != self._newest:  # else this call has no node: nothing of it needs a gradient
            self._newest = newest
            self._forward[newest] = site
            if len(self._forward) > _MOST_FORWARD:
                del self._forward[next(iter(self._forward))]
        return site
