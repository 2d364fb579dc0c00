# SPDX-License-Identifier: Apache-2.0
"""Operands as arrays of a framework, and results back: views of the host's memory where the framework can look there. A
framework is imported when a kernel asks for it."""
from __future__ import annotations

import re
import time
import warnings
from typing import Any, Callable, NamedTuple, Optional, Sequence

from ._devices import jax_device, torch_device
from ._types import ALL, BY_DLPACK

# NumPy's type of the storage where it needs ml_dtypes for a type.
_STORED = {one.framework: f"int{one.bits}" for one in ALL if not one.is_numpys}
_WIDE = ("float64", "complex128", "int64")


def type_name(code: int, bits: int) -> str:
    known = BY_DLPACK.get((code, bits))
    return known.name if known else f"type-{code}-{bits}"


class Unsupported(Exception):
    """A case is not offered. The worker may say so when it is asked what it offers: a function that raises this when it is
    first called has `compiles` and `may_refuse`, so that query() calls it."""


class Unavailable(Exception):
    """A library or device of a column is missing. The other columns of a run continue."""


class WrongResult(Exception):
    """A kernel returned something that is no result."""


# A buffer of the device's memory and the bytes in it where an operand's first element lies; in the host's memory no buffer,
# 0, and its address.
Place = tuple[int, int]


class Operand(NamedTuple):
    name: str
    code: int
    bits: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in elements

    @property
    def type(self) -> str:
        return BY_DLPACK[self.code, self.bits].framework


class Memory:
    """The memory of an operand as arrays of NumPy; a new one each time, as a kernel may reshape what it gets."""

    def __init__(self, operand: Operand, dtype: Any) -> None:
        import numpy
        self._numpy, self._dtype, self._shape = numpy, dtype, operand.shape
        size = dtype.itemsize
        self._strides = tuple(stride * size for stride in operand.strides)
        reach = [(extent - 1) * stride for extent, stride in zip(operand.shape, self._strides)]
        self._first = sum(step for step in reach if step < 0)
        self._bytes = 0 if 0 in operand.shape else sum(step for step in reach if step > 0) - self._first + size
        self._buffers: dict[tuple[int, bool], Any] = {}

    def zeros(self) -> Any:
        """An array of the same layout, whose memory is its own."""
        if self._bytes == 0:
            return self._numpy.empty(self._shape, self._dtype)
        memory = self._numpy.zeros(self._bytes + 64, "uint8")
        begin = (self._first - memory.ctypes.data) % 64  # aligned as the harness's operands are
        return self._numpy.ndarray(self._shape, self._dtype, memory[begin:], -self._first, self._strides)

    def at(self, place: Place, writable: bool) -> Any:
        pointer = place[1]
        if self._bytes == 0:
            return self._numpy.empty(self._shape, self._dtype)
        buffer = self._buffers.get((pointer, writable))
        if buffer is None:
            import ctypes
            if len(self._buffers) > 256:  # of operands that have gone
                self._buffers.clear()
            buffer = memoryview((ctypes.c_char * self._bytes).from_address(pointer + self._first)).cast("B")
            buffer = buffer if writable else buffer.toreadonly()
            self._buffers[pointer, writable] = buffer
        return self._numpy.ndarray(self._shape, self._dtype, buffer, -self._first, self._strides)


class Numpy:
    """Arrays are views, inputs read-only ones."""

    # Whether operands lie in memory that allocate() gives: then there are upload() and download() too.
    has_memory = False
    # Microseconds that making arrays of the operands, and storing a result, may take beside a kernel, where that is more than
    # is usual; 0: it is not.
    launch_us = 0

    def __init__(self, device: str) -> None:
        import numpy
        self.numpy = numpy

    def memory(self, operand: Operand) -> Any:
        """Where such an operand lies: with at(place, writable), and zeros(), one of the same layout."""
        return Memory(operand, self.dtype(operand))

    def select(self) -> None:
        """Makes it the current device, before each execution."""

    def described(self) -> tuple[int, str]:
        """Bytes of the device's memory and its properties, "model=...;capability=9.0"; none of the host, which says its own."""
        return 0, ""

    def dtype(self, operand: Operand) -> Any:
        if operand.type in _STORED:
            try:
                import ml_dtypes
            except ImportError:
                raise Unsupported(f"operand {operand.name} is {type_name(operand.code, operand.bits)}, for which NumPy "
                                  "needs ml_dtypes: install that in the interpreter's environment") from None
            return self.numpy.dtype(getattr(ml_dtypes, operand.type))
        return self.numpy.dtype(operand.type)

    def shares(self, view: Any) -> bool:
        """Whether given() makes an array of this memory, not of a copy."""
        return True

    def given(self, view: Any, operand: Operand) -> Any:
        return view

    def output(self, view: Any, operand: Operand) -> Any:
        return view

    def finish_output(self, array: Any, view: Any) -> None:
        pass

    def complete(self, result: Any) -> None:
        pass

    def lost(self) -> bool:
        """Whether this process cannot use the device any more, asked after an exception."""
        return False

    def store(self, result: Any, view: Any, operand: Operand) -> None:
        if type(result) is not self.numpy.ndarray and not (operand.shape == () and isinstance(result, self.numpy.generic)):
            raise WrongResult(f"{operand.name}: it returned {_kind(result)}, not a numpy.ndarray")
        _check(operand, str(result.dtype), view.dtype.name, result.shape)
        view[...] = result

    def timed(self, call: Callable[[], Any]) -> tuple[Any, float, bool]:
        begin = time.perf_counter()
        result = call()
        self.complete(result)
        return result, time.perf_counter() - begin, False


class Torch(Numpy):
    """Tensors on the host are views of the harness's memory."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        import torch
        self.torch, self.device = torch, torch_device(torch, device)

    def dtype(self, operand: Operand) -> Any:
        if not hasattr(self.torch, operand.type):
            raise Unsupported(f"this PyTorch has no type {operand.type}, of operand {operand.name}")
        return self.numpy.dtype(_STORED.get(operand.type, operand.type))

    def shares(self, view: Any) -> bool:
        return all(stride >= 0 for stride in view.strides)

    def given(self, view: Any, operand: Operand) -> Any:
        if not self.shares(view):
            view = self.numpy.ascontiguousarray(view)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the memory is not writable: who writes there is found out
            tensor = self.torch.from_numpy(view)
        return tensor.view(getattr(self.torch, operand.type)) if operand.type in _STORED else tensor

    def output(self, view: Any, operand: Operand) -> Any:
        return self.given(view, operand)

    def _bits(self, tensor: Any) -> Any:
        tensor = tensor.detach().resolve_conj().resolve_neg()
        stored = _STORED.get(str(tensor.dtype).partition(".")[2])
        return (tensor.view(getattr(self.torch, stored)) if stored else tensor).numpy()

    def check(self, result: Any, operand: Operand) -> None:
        if type(result) not in (self.torch.Tensor, self.torch.nn.Parameter):
            raise WrongResult(f"{operand.name}: it returned {_kind(result)}, not a torch.Tensor")
        there, wanted = ((device.type, device.index or 0) for device in (result.device, self.device))
        if there != wanted:
            raise WrongResult(f"{operand.name}: it returned a tensor on {result.device}, where one on {self.device} is expected")
        _check(operand, str(result.dtype).partition(".")[2], operand.type, tuple(result.shape))

    def store(self, result: Any, view: Any, operand: Operand) -> None:
        self.check(result, operand)
        view[...] = self._bits(result)


class Jax(Numpy):
    """Arrays are views on the host where rows are dense and begin at a multiple of 64 bytes, as XLA wants them, else copies;
    what is computed later is waited for."""
    ALIGNMENT = 64

    def __init__(self, device: str) -> None:
        super().__init__(device)
        import jax
        self.jax, self.device = jax, jax_device(jax, device)
        # Some 250 us were seen on a busy machine; devices get copies.
        self.launch_us = 500 if self.device.platform == "cpu" else 1000

    def described(self) -> tuple[int, str]:
        if self.device.platform == "cpu":
            return 0, ""
        memory = (self.device.memory_stats() or {}).get("bytes_limit", 0)
        return memory, properties(self.device.device_kind, getattr(self.device, "compute_capability", ""))

    def dtype(self, operand: Operand) -> Any:
        if operand.type in _WIDE and not self.jax.config.jax_enable_x64:
            raise Unsupported(f"operand {operand.name} is {type_name(operand.code, operand.bits)}, which JAX has after "
                              "jax.config.update(\"jax_enable_x64\", True)")
        return super().dtype(operand)

    def shares(self, view: Any) -> bool:
        return self.device.platform == "cpu" and view.flags.c_contiguous and view.ctypes.data % self.ALIGNMENT == 0

    def given(self, view: Any, operand: Operand) -> Any:
        # DLPack would take neither NumPy's read-only arrays nor the types of ml_dtypes. The harness changes this memory
        # between executions alone, for each of which the array is a new one.
        shared = self.shares(view)
        view = view if shared else self.numpy.array(view)
        return self.jax.block_until_ready(self.jax.device_put(view, self.device, may_alias=shared))

    def output(self, view: Any, operand: Operand) -> Any:
        raise WrongResult("JAX writes to no array: return the result instead of taking out=")

    def complete(self, result: Any) -> None:
        self.jax.block_until_ready(result)

    def lost(self) -> bool:
        if self.device.platform == "cpu":
            return False
        try:
            self.complete(self.jax.device_put(self.numpy.zeros(1), self.device))
        except Exception as error:
            return "RESOURCE_EXHAUSTED" not in str(error)  # a full one is there
        return False

    def store(self, result: Any, view: Any, operand: Operand) -> None:
        if not isinstance(result, self.jax.Array):
            raise WrongResult(f"{operand.name}: it returned {_kind(result)}, not a jax.Array")
        if self.device not in result.devices():
            there = ", ".join(map(str, result.devices()))
            raise WrongResult(f"{operand.name}: it returned an array on {there}, where one on {self.device} is expected")
        _check(operand, str(result.dtype), view.dtype.name, tuple(result.shape))
        view[...] = self.numpy.asarray(result)


def properties(model: str, compute_capability: str) -> str:
    model = re.sub(r"[;=\s]+", " ", model)
    found = (("model", model), ("capability", compute_capability))
    return ";".join(f"{key}={value}" for key, value in found if value)


def _kind(value: Any) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _check(operand: Operand, dtype: str, wanted: str, shape: Sequence[int]) -> None:
    if dtype == wanted and tuple(shape) == operand.shape:
        return
    raise WrongResult(f"{operand.name}: it returned {dtype} of shape {tuple(shape)}, where {wanted} of shape "
                      f"{operand.shape} is expected")


_made: dict[tuple[str, str], Numpy] = {}


def framework(name: str, device: str) -> Numpy:
    """Raises ImportError where it is absent."""
    made: Optional[Numpy] = _made.get((name, device))
    if made is None:
        kinds = {"numpy": Numpy, "torch": Torch, "jax": Jax}
        if name == "torch" and device != "cpu":
            from ._torch_device import TorchDevice
            kinds["torch"] = TorchDevice
        made = _made[name, device] = kinds[name](device)
    return made
