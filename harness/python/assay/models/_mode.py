# SPDX-License-Identifier: Apache-2.0
"""PyTorch's way to see each call below autograd (torch.utils._python_dispatch)."""
from __future__ import annotations

from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode


class Mode(TorchDispatchMode):
    supports_higher_order_operators = True  # PyTorch refuses to execute them below a mode that does not

    def __init__(self, watch: Any) -> None:
        super().__init__()
        self._watch = watch

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self._watch.execute(function, args, kwargs or {})
