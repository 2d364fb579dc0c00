# SPDX-License-Identifier: Apache-2.0
"""One step of many is watched: PyTorch's dispatcher calls nobody in the others, so that they cost what they cost unwatched."""
from __future__ import annotations

import threading
from typing import Any, Callable


class Steps:
    """Counts calls of outermost modules, with which steps begin. `resume` and `pause` turn the watch on and off: neither within the
    backward pass nor, as `may_toggle` says, where others follow the dispatcher, too."""

    def __init__(self, every: int, resume: Callable[[Any], None], pause: Callable[[], None], may_toggle: Callable[[], bool]) -> None:
        self._every, self._resume, self._pause, self._may_toggle = every, resume, pause, may_toggle
        self._roots: dict[int, Any] = {}  # modules that were called from outside of modules
        self._hooks: list[Any] = []  # on these alone, while the watch is off
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
        self._count += 1
        if (self._count - 1) % self._every == 0 or not self._may_toggle():
            return True
        self._pause()
        self._hooks = [each.register_forward_pre_hook(self._while_off) for each in self._roots.values()]
        return False

    def _while_off(self, module: Any, _: Any) -> None:
        import torch
        if threading.get_ident() != self._thread or torch._C._current_autograd_node() is not None:
            return
        self._count += 1
        if (self._count - 1) % self._every == 0 and self._may_toggle():
            self.end()
            self._resume(module)

    def end(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
