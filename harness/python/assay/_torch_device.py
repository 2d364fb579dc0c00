# SPDX-License-Identifier: Apache-2.0
"""Devices of PyTorch that have memory of their own: operands lie there, in buffers that the harness fills, guards and reads
as it does those of any backend. Durations are of the device's events."""
from __future__ import annotations

import ctypes
import time
from typing import Any, Callable

from ._devices import capability
from ._frameworks import Operand, Place, Torch, Unsupported, properties


class TensorMemory:
    """An operand's part of a buffer as a tensor; a new one each time, as a kernel may reshape what it gets."""

    def __init__(self, torch: Any, device: Any, buffers: dict[int, Any], operand: Operand) -> None:
        self._torch, self._device, self._buffers, self._operand = torch, device, buffers, operand
        self._dtype = getattr(torch, operand.type)
        reach = sum((extent - 1) * stride for extent, stride in zip(operand.shape, operand.strides))
        self._bytes = 0 if 0 in operand.shape else (reach + 1) * operand.bits // 8

    def _tensor(self, buffer: Any, begin: int) -> Any:
        if self._bytes == 0:
            return self._torch.empty(self._operand.shape, dtype=self._dtype, device=self._device)
        elements = buffer[begin:begin + self._bytes].view(self._dtype)
        return elements.as_strided(self._operand.shape, self._operand.strides, elements.storage_offset())

    def at(self, place: Place, writable: bool) -> Any:
        return self._tensor(self._buffers[place[0]] if self._bytes else None, place[1])

    def zeros(self) -> Any:
        return self._tensor(self._torch.zeros(self._bytes, dtype=self._torch.uint8, device=self._device), 0)


class TorchDevice(Torch):
    has_memory = True
    launch_us = 500  # events, waits, and the copy of a result: some ten calls of the driver beside the kernel's own

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.events = getattr(self.torch, self.device.type, None)
        self._buffers: dict[int, Any] = {}

    def select(self) -> None:
        """Events, and what a kernel leaves out, are of the current one."""
        if hasattr(self.events, "set_device"):
            self.events.set_device(self.device.index or 0)

    def described(self) -> tuple[int, str]:
        if not hasattr(self.events, "get_device_properties"):
            return 0, ""
        found = self.events.get_device_properties(self.device)
        return getattr(found, "total_memory", 0), properties(getattr(found, "name", ""), capability(self.torch, self.device))

    def dtype(self, operand: Operand) -> Any:
        if any(stride < 0 for stride in operand.strides):
            raise Unsupported(f"operand {operand.name} runs backwards, which no tensor of PyTorch does")
        return super().dtype(operand)

    def memory(self, operand: Operand) -> TensorMemory:
        self.dtype(operand)
        return TensorMemory(self.torch, self.device, self._buffers, operand)

    def allocate(self, size: int) -> int:
        """The number of a new buffer. Raises MemoryError."""
        try:
            buffer = self.torch.empty(max(size, 1), dtype=self.torch.uint8, device=self.device)
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
            raise MemoryError(str(error)) from None
        number = max(self._buffers, default=0) + 1
        self._buffers[number] = buffer
        return number

    def free(self, number: int) -> None:
        self._buffers.pop(number, None)

    def upload(self, number: int, offset: int, pointer: int, size: int) -> None:
        self._buffers[number][offset:offset + size].copy_(self._bytes_of(pointer, size))
        self.complete(None)

    def download(self, number: int, offset: int, pointer: int, size: int) -> None:
        self._bytes_of(pointer, size).copy_(self._buffers[number][offset:offset + size])
        self.complete(None)

    def _bytes_of(self, pointer: int, size: int) -> Any:
        return self.torch.frombuffer((ctypes.c_char * size).from_address(pointer), dtype=self.torch.uint8)

    def shares(self, view: Any) -> bool:
        return True

    def given(self, view: Any, operand: Operand) -> Any:
        return view

    def complete(self, result: Any) -> None:
        """Waits for all streams of the device."""
        if self.device.type == "mps":  # there is but one
            self.events.synchronize()
        elif hasattr(self.events, "synchronize"):
            self.events.synchronize(self.device)

    def lost(self) -> bool:
        try:
            self.complete(None)
        except Exception:  # each call raises what a kernel did to the process, such as an illegal address
            return True
        return False

    def store(self, result: Any, view: Any, operand: Operand) -> None:
        self.check(result, operand)
        view.copy_(result.detach())
        self.complete(None)

    def finish_output(self, array: Any, view: Any) -> None:
        self.complete(None)

    def timed(self, call: Callable[[], Any]) -> tuple[Any, float, bool]:
        if not hasattr(self.events, "Event"):
            return super().timed(call)
        begin, end = (self.events.Event(enable_timing=True) for _ in range(2))
        self.complete(None)
        begin.record()
        result = call()
        end.record()
        end.synchronize()
        # Other streams, which the kernel may have left at work, count until they end: less what such a wait takes anyway.
        rest = self._wait_s() - self._wait_s()
        return result, begin.elapsed_time(end) * 1e-3 + max(rest, 0), True

    def _wait_s(self) -> float:
        begin = time.perf_counter()
        self.complete(None)
        return time.perf_counter() - begin
