# SPDX-License-Identifier: Apache-2.0
"""One step of many is watched: PyTorch's dispatcher calls nobody in the others, so that they cost what they cost unwatched."""
from __future__ import annotations

import threading
from typing import Any, Callable


class Steps:
    """Counts steps. One begins when an outermost module is called again, so that a model and its loss are one step with all behind them.
    `resume` and `pause` turn the watch on and off: neither within the backward pass nor, as `may_toggle` says, where others follow the
    dispatcher, too."""

    def __init__(self, every: int, resume: Callable[[Any], None], pause: Callable[[], None], may_toggle: Callable[[], bool]) -> None:
        self._every, self._resume, self._pause, self._may_toggle = every, resume, pause, may_toggle
        self._roots: dict[int, Any] = {}  # modules that were called from outside of modules
        self._hooks: list[Any] = []  # on these alone, while the watch is off
        self._called: set[int] = set()  # modules, in this step
        self._count, self._thread = 0, 0

    def start(self) -> None:
        self._thread = threading.get_ident()

    def begin(self, module: Any) -> bool:
        """Takes note of a step, with the watch on. Returns whether it goes on."""
        if self._every == 1:
            return True
        import torch
        self._roots[id(module)] = module
        if torch._C._current_autograd_node() is not None:
            return True  # a part of the model that is executed again for its gradient
        if not self._begins(module) or (self._count - 1) % self._every == 0 or not self._may_toggle():
            return True
        self._pause()
        self._hooks = [each.register_forward_pre_hook(self._while_off) for each in self._roots.values()]
        return False

    def _begins(self, module: Any) -> bool:
        """Whether a step begins with this call."""
        is_new = not self._count or id(module) in self._called
        if is_new:
            self._count, self._called = self._count + 1, set()
        self._called.add(id(module))
        return is_new

    def _while_off(self, module: Any, _: Any) -> None:
        import torch
        if threading.get_ident() != self._thread or torch._C._current_autograd_node() is not None:
            return
        if self._begins(module) and (self._count - 1) % self._every == 0 and self._may_toggle():
            self.end()
            self._resume(module)

    def end(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
