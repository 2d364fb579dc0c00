# SPDX-License-Identifier: Apache-2.0
"""Callbacks for the worker (backends/python/python_calls.h), and the handling of their exceptions."""
from __future__ import annotations

import ctypes
import os
import shlex
import sys
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from typing import Any, Callable, Optional

from . import _kernels
from ._description import Description, read
from ._devices import NoDevice
from ._execution import Execution
from ._frameworks import Numpy, Unavailable, Unsupported, WrongResult, framework
from ._reasons import explain, no_numpy

OK, UNSUPPORTED, UNAVAILABLE, ERROR, OUT_OF_MEMORY, DEVICE_LOST = range(6)
NO_ANSWER = -1
_MOST_KEPT = 16  # executions that query() made and prepare() has not taken


def _version_of(name: str) -> str:
    stated = getattr(sys.modules.get(name) or __import__(name), "__version__", None)
    if stated:
        return stated
    from importlib.metadata import version  # 20 ms, which few packages need
    return version(name)


_ANSWER = (POINTER(c_int32), c_void_p, c_uint64)  # status, text and its capacity


class Calls(Structure):
    _fields_ = [("struct_size", c_uint64),
                ("describe", CFUNCTYPE(None, *_ANSWER)),
                ("query", CFUNCTYPE(None, c_uint32, c_void_p, *_ANSWER)),
                ("prepare", CFUNCTYPE(None, c_uint32, c_void_p, c_char_p, POINTER(c_int64), *_ANSWER)),
                ("release", CFUNCTYPE(None, c_int64)),
                ("execute", CFUNCTYPE(None, c_int64, POINTER(c_uint64), POINTER(c_double), POINTER(c_int32), *_ANSWER)),
                ("interruption", CFUNCTYPE(None, *_ANSWER)),
                ("allocate", CFUNCTYPE(None, c_uint32, c_uint64, POINTER(c_uint64), *_ANSWER)),
                ("release_memory", CFUNCTYPE(None, c_uint32, c_uint64)),
                ("upload", CFUNCTYPE(None, c_uint32, c_uint64, c_uint64, c_void_p, c_uint64, *_ANSWER)),
                ("download", CFUNCTYPE(None, c_uint32, c_uint64, c_uint64, c_void_p, c_uint64, *_ANSWER)),
                ("kernels", CFUNCTYPE(None, c_uint32, *_ANSWER))]


def _tools_of(device: str) -> Numpy:
    """The framework that computes there; of the host the first of them."""
    of_it = next(k for k in _kernels.registered() if k.device == device)
    return framework(of_it.framework, device)


def _has_lost_device(find_tools: Callable[[], Numpy]) -> bool:
    """Asked after an exception. A device that cannot even be asked is of no use either."""
    try:
        return find_tools().lost()
    except Exception:
        return True


class Bridge:
    """Offers the kernels that `load` registers, once it was called by the first question."""

    def __init__(self, kernels: str, operators: Any, load: Callable[[], None]) -> None:
        self._file, self._operators, self._load = kernels, operators, load
        self._loaded = False
        self._executions: dict[int, Execution] = {}
        self._made: dict[tuple[str, str], Execution] = {}  # by query(), for prepare(): by the kernel's name and the question
        self._next = 1
        self._status: Any = None  # of the call that is made, and no longer: it is the caller's memory
        self._interruption = ""
        sys.unraisablehook = self._note_unraisable
        self.calls = Calls(ctypes.sizeof(Calls), *(kind(getattr(self, name)) for name, kind in Calls._fields_[1:]))

    def _note_unraisable(self, lost: Any) -> None:
        """Records an exception that escaped a callback, which then returns no answer to the worker: ctypes cannot pass
        exceptions on. Other threads (PyThreadState_SetAsyncExc) and signals raise them anywhere, also outside of every
        try."""
        if "ctypes callback" in str(lost.err_msg):
            if self._status is not None:
                self._status[0] = NO_ANSWER
                self._status = None
            self._interruption = explain(lost.exc_value, self._file) if lost.exc_value else lost.exc_type.__name__
        sys.__unraisablehook__(lost)

    def interruption(self, status: Any, text: int, capacity: int) -> None:
        def body() -> str:
            told, self._interruption = self._interruption, ""
            return told
        self._guarded(status, text, capacity, body)

    def _guarded(self, status_out: Any, text: int, capacity: int, body: Callable[[], str], what: str = "",
                 find_tools: Optional[Callable[[], Numpy]] = None) -> None:
        """Runs it; its answer, or why it failed, goes into the caller's memory. `find_tools`: of the device that it uses."""
        self._status = status_out
        status, answer = OK, ""
        try:
            answer = body()
        except Unsupported as reason:
            status, answer = UNSUPPORTED, str(reason)
        except Unavailable as reason:
            status, answer = UNAVAILABLE, str(reason)
        except WrongResult as reason:
            status, answer = ERROR, f"{what}{reason}"
        except MemoryError as error:
            status, answer = OUT_OF_MEMORY, what + explain(error, self._file)
        except BaseException as error:  # SystemExit and KeyboardInterrupt too: nothing passes through the worker
            status, answer = ERROR, what + explain(error, self._file)
            if find_tools is not None and _has_lost_device(find_tools):
                status = DEVICE_LOST
                answer += "; this process cannot use the device any more: the next case gets a new one"
        finally:
            self._flush()
        data = answer.encode(errors="replace").replace(b"\0", b"?")
        if status == OK and len(data) >= capacity:
            status, data = ERROR, b"the answer has more than %d bytes: too many kernels of this operator" % (capacity - 1)
        data = data[:capacity - 1] + b"\0"
        ctypes.memmove(text, data, len(data))
        status_out[0] = status
        self._status = None

    @staticmethod
    def _flush() -> None:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except Exception:  # closed, or replaced by something else
            pass

    def describe(self, status: Any, text: int, capacity: int) -> None:
        self._guarded(status, text, capacity, self._describe, f"{os.path.basename(self._file)}: ")

    def _describe(self) -> str:
        if not self._loaded:
            self._load()
            self._loaded = True
        kernels = _kernels.registered()
        if not kernels:
            raise WrongResult("it registers no kernel; put @assay.kernel(\"softmax\", contract=\"f32acc\") above a function")
        columns = sorted({k.backend for k in kernels if k.backend})
        if len(columns) > 1:
            raise WrongResult(f"its kernels are of several backends, {' and '.join(columns)}; a file is one column")
        self._check_frameworks()
        used = {k.framework for k in kernels} | {"numpy"} | ({"onnxruntime", "openvino", "tinygrad", "tensorflow"} & set(sys.modules))
        # The computing framework comes first: expectations compare their version bounds with the first number.
        versions = [f"{name} {_version_of(name)}" for name in sorted(used, key=lambda name: (name == "numpy", name))]
        version = ", ".join((*versions, f"CPython {'.'.join(map(str, sys.version_info[:3]))} {sys.executable}"))
        return "\n".join([columns[0] if columns else _kernels.column_of(self._file), version,
                          *map(self._device_line, self._devices())]) + "\n"

    @staticmethod
    def _check_frameworks() -> None:
        """A kernel that nothing can execute here ends the run at its start: its cases would only be missing from it."""
        for device in {k.device for k in _kernels.registered()} - {"cpu"}:
            of_it = sorted({k.framework for k in _kernels.registered() if k.device == device})
            if len(of_it) > 1:  # each would want the operands in its own memory
                raise WrongResult(f"device {device!r} has kernels of {' and '.join(of_it)}; put those of each framework into a "
                                  "file of its own")
        for kernel in _kernels.registered():
            try:
                framework(kernel.framework, kernel.device)
            except NoDevice as why:
                raise WrongResult(f"kernel {kernel.name}: {why}; name one of these, or register it only where there is one"
                                  ) from None
            except ModuleNotFoundError as missing:
                if missing.name == "numpy":
                    raise WrongResult(no_numpy()) from None
                raise WrongResult(f"kernel {kernel.name} is of framework={kernel.framework!r}, which {sys.executable} cannot "
                                  f"import: {missing}; {shlex.quote(sys.executable)} -m pip install {kernel.framework}, or "
                                  "name another interpreter with --python OTHER") from None

    @staticmethod
    def _devices() -> list[str]:
        return sorted({k.device for k in _kernels.registered()}, key=lambda device: (device != "cpu", device))

    @staticmethod
    def _device_line(device: str) -> str:
        """Its name, bytes of its memory and its properties, and whether operands lie there."""
        tools = _tools_of(device)
        memory, properties = tools.described()
        launch_us = max(framework(k.framework, k.device).launch_us for k in _kernels.registered() if k.device == device)
        if launch_us:
            properties += f"{';' if properties else ''}launch_us={launch_us}"
        return f"{device}\t{memory}\t{int(tools.has_memory)}\t{properties}"

    def kernels(self, device: int, status: Any, text: int, capacity: int) -> None:
        self._guarded(status, text, capacity, lambda: "".join(
            f"{k.op}\t{k.name}\n" for k in _kernels.registered() if k.device == self._devices()[device]))

    def _offered(self, device: int, asked: Description, tries: bool) -> tuple[list[_kernels.Kernel], str]:
        """The kernels that take the case, and why the others do not. `tries`: to make those ready that may still refuse."""
        case, known = asked.case, self._operators.get(asked.case.op, {"operands": [], "attrs": {}})
        there = [k for k in _kernels.registered() if k.op == case.op and k.device == self._devices()[device]]
        taken, reasons = [], []
        for kernel in there:
            why = kernel.why_not(case, known["operands"], known["attrs"]) or self._type_problem(kernel, asked)
            why = why or (self._refusal(kernel, device, asked) if tries else "")
            if why:
                reasons.append(f"{kernel.name}: {why}")
            else:
                taken.append(kernel)
        return taken, "; ".join(reasons) or f"{os.path.basename(self._file)} has no kernel of {case.op}"

    @staticmethod
    def _type_problem(kernel: _kernels.Kernel, asked: Description) -> str:
        try:
            for operand in (*asked.inputs, *asked.outputs):
                try:
                    framework(kernel.framework, kernel.device).dtype(operand)
                except KeyError:
                    return f"operand {operand.name} has a type that no array of Python has"
        except Unsupported as reason:
            return str(reason)
        return ""

    def _execution(self, kernel: _kernels.Kernel, asked: Description) -> Execution:
        return Execution(kernel, asked.case, self._operators[asked.case.op]["operands"], asked.inputs, asked.outputs)

    @staticmethod
    def _key(kernel: _kernels.Kernel, device: int, asked: Description) -> tuple[str, str]:
        return kernel.name, repr((device, asked))

    def _refusal(self, kernel: _kernels.Kernel, device: int, asked: Description) -> str:
        """Why it refuses the case when it compiles, "" where it does not. prepare() takes what was made here, and finds
        other exceptions again."""
        key = self._key(kernel, device, asked)
        if key in self._made or not getattr(kernel.function, "may_refuse", False):
            return ""
        try:
            self._made[key] = self._execution(kernel, asked)
        except Unsupported as reason:
            return str(reason)
        except Exception:
            return ""
        while len(self._made) > _MOST_KEPT:
            del self._made[next(iter(self._made))]
        return ""

    def query(self, device: int, op: int, status: Any, text: int, capacity: int) -> None:
        def body() -> str:
            asked = read(op, self._operators)
            taken, why = self._offered(device, asked, tries=True)
            if not taken:
                raise Unsupported(why)
            return "".join(f"{kernel.name}\t{kernel.contract_of(asked.case)}\n" for kernel in taken)
        self._guarded(status, text, capacity, body)

    def prepare(self, device: int, op: int, implementation: bytes, plan: Any, status: Any, text: int,
                capacity: int) -> None:
        def body() -> str:
            asked = read(op, self._operators)
            taken, why = self._offered(device, asked, tries=False)
            chosen = [kernel for kernel in taken if kernel.name == implementation.decode()]
            if not chosen:
                raise Unsupported(why)
            made = self._made.pop(self._key(chosen[0], device, asked), None)
            self._executions[self._next] = made or self._execution(chosen[0], asked)
            plan[0] = self._next
            self._next += 1
            return ""
        self._guarded(status, text, capacity, body, find_tools=lambda: self._tools(device))

    def release(self, plan: int) -> None:
        self._executions.pop(plan, None)

    def execute(self, plan: int, pointers: Any, seconds: Any, flags: Any, status: Any, text: int, capacity: int) -> None:
        execution = self._executions[plan]

        def body() -> str:
            numbers = pointers[:2 * execution.operands]
            seconds[0], flags[0] = execution.run(list(zip(numbers[::2], numbers[1::2])))
            return ""
        self._guarded(status, text, capacity, body, f"{execution.name}: ", lambda: execution.framework)

    def _tools(self, device: int) -> Numpy:
        return _tools_of(self._devices()[device])

    def _with_memory(self, device: int, status: Any, text: int, capacity: int, body: Callable[[Any], None]) -> None:
        def selected() -> str:
            tools = self._tools(device)
            tools.select()
            body(tools)
            return ""
        self._guarded(status, text, capacity, selected, find_tools=lambda: self._tools(device))

    def allocate(self, device: int, size: int, number: Any, status: Any, text: int, capacity: int) -> None:
        def body(tools: Any) -> None:
            number[0] = tools.allocate(size)
        self._with_memory(device, status, text, capacity, body)

    def release_memory(self, device: int, number: int) -> None:
        self._tools(device).free(number)  # type: ignore[attr-defined]

    def upload(self, device: int, number: int, offset: int, pointer: int, size: int, status: Any, text: int,
               capacity: int) -> None:
        self._with_memory(device, status, text, capacity, lambda tools: tools.upload(number, offset, pointer, size))

    def download(self, device: int, number: int, offset: int, pointer: int, size: int, status: Any, text: int,
                 capacity: int) -> None:
        self._with_memory(device, status, text, capacity, lambda tools: tools.download(number, offset, pointer, size))
