# SPDX-License-Identifier: Apache-2.0
"""PyTorch's way to see each call below autograd (torch.utils._python_dispatch), and the regions that it has compiled."""
from __future__ import annotations

import sys
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

try:
    from torch._C._dynamo.eval_frame import _FrameAction, _FrameExecStrategy, set_code_exec_strategy
    _LEFT_ALONE: Any = _FrameExecStrategy(_FrameAction.SKIP, _FrameAction.SKIP)
except ImportError:  # an older one
    _LEFT_ALONE = None


class Mode(TorchDispatchMode):
    supports_higher_order_operators = True  # PyTorch refuses to execute them below a mode that does not

    def __init__(self, watch: Any) -> None:
        super().__init__()
        self._watch = watch

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True  # else PyTorch does not execute what it has compiled, whose bits may be other ones

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Whether PyTorch is to turn its compiler off around each call, which takes longer than many a call itself."""
        return _LEFT_ALONE is None

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self._watch.execute(function, args, kwargs or {})


if _LEFT_ALONE is not None:  # what it calls neither is compiled
    set_code_exec_strategy(Mode.__torch_dispatch__.__code__, _LEFT_ALONE)


class CompiledRegions:
    """Hands calls of what Inductor has compiled to the watch, between `start` and `stop`: no dispatcher sees those."""

    def __init__(self, watch: Any) -> None:
        self._watch, self._graph, self._call = watch, None, None

    def start(self) -> None:
        if "torch._inductor" not in sys.modules:  # as by torch.compile
            return
        try:
            from torch._inductor.output_code import CompiledFxGraph
        except ImportError:  # an older one
            return
        watch, call = self._watch, CompiledFxGraph.__call__

        def watched(graph: Any, *args: Any, **kwargs: Any) -> Any:
            return watch.execute_region(graph, args[0] if args else [], lambda: call(graph, *args, **kwargs))

        self._graph, self._call = CompiledFxGraph, call
        CompiledFxGraph.__call__ = watched

    def stop(self) -> None:
        if self._graph is not None:
            self._graph.__call__ = self._call
            self._graph = None
