# SPDX-License-Identifier: Apache-2.0
"""Functions of PyTorch within torch.compile, whose backend Inductor writes C++ for the CPU, and Triton for GPUs. What it
compiles lies below TMPDIR, which goes with the worker: a library that a worker left half written would fail for ever."""
from __future__ import annotations

import functools
import os
import shutil
import sysconfig
from types import FunctionType

import torch
import torch._inductor.config

# In the worker itself: the processes that Inductor would start for it find no GPU on an H200 (PyTorch 2.11).
torch._inductor.config.compile_threads = 1


def missing(device):
    """Why torch.compile cannot compile for that type of device, "" where it can."""
    if device != "cpu":
        return ""
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        return f"torch.compile calls {compiler}, which is not on the PATH: install g++"
    if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
        return "torch.compile needs Python.h of this interpreter: install its headers (python3-dev)"
    return ""


def _layout(operand):
    return operand if operand is None else (operand.dtype, tuple(operand.shape), operand.stride())


def compiled(function):
    """The function compiled as a whole, each set of attributes, shapes and strides by itself: Dynamo keeps what it compiled
    with the code of a function, tries one after the other there, and leaves compiling be after the eighth."""
    made = {}

    def make(attrs):
        def whole(*operands):
            return function(*operands, **attrs)
        own = FunctionType(whole.__code__.replace(), whole.__globals__, function.__name__, None, whole.__closure__)
        return torch.compile(own, fullgraph=True, dynamic=False)

    @functools.wraps(function)
    def call(*operands, **attrs):
        key = (tuple(attrs.items()), *map(_layout, operands))
        if key not in made:
            made[key] = make(attrs)
        return made[key](*operands)

    call.compiles = True
    return call


def on_numpys(function, arrays):
    """The result for arrays of NumPy as one; PyTorch takes those of ml_dtypes by their bits."""
    bits = [torch.from_numpy(x.view("int16") if x.dtype.name == "bfloat16" else x) for x in arrays]
    result = function(*(x.view(torch.bfloat16) if x.dtype is torch.int16 else x for x in bits))
    if result.dtype is not torch.bfloat16:
        return result.numpy()
    import ml_dtypes
    return result.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
