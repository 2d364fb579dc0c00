# SPDX-License-Identifier: Apache-2.0
"""Kernels that are not to be trusted, each in its own way; kernels_test.py has the verdicts."""
import ctypes
import os
import signal
import sys
import time

import numpy as np

import assay

kept = []
kept_inputs = []


def faulty(function):
    return assay.kernel("exp", contract="f32acc", dtypes=["f32"])(function)


def right(x):
    return np.exp(x.astype(np.float64)).astype(x.dtype)


@faulty
def raises(x):
    raise ValueError("the kernel is not done")


@faulty
def exits(x):
    sys.exit(3)


@faulty
def leaves(x):
    os._exit(3)


@faulty
def kills(x):
    os.kill(os.getpid(), signal.SIGKILL)


@faulty
def segfaults(x):
    ctypes.string_at(0)


@faulty
def hangs(x):
    time.sleep(1000)


@faulty
def forks(x):
    os.fork()
    return right(x)


@faulty
def writes_to_its_input(x):
    x[...] = 0
    return right(x)


@faulty
def makes_its_input_writable(x):
    y = right(x)
    x.flags.writeable = True
    x[...] = 0
    return y


@faulty
def writes_behind_its_input(x):
    y = right(x)
    ctypes.memset(x.ctypes.data, 0, x.nbytes)
    return y


@faulty
def in_another_type(x):
    return np.exp(x.astype(np.float64))


@faulty
def in_another_shape(x):
    return right(x)[:-1]


@faulty
def list_of_numbers(x):
    return right(x).tolist()


@faulty
def nothing(x):
    right(x)


@faulty
def several(x):
    return right(x), right(x)


class Lazy:
    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return right(self.x)


@faulty
def lazy(x):
    return Lazy(x)


class Subclass(np.ndarray):
    pass


@faulty
def subclass(x):
    return right(x).view(Subclass)


@faulty
def its_input(x):
    return x


@faulty
def view_of_its_input(x):
    return x[::-1]


@faulty
def stale(x):
    kept.append(right(x))
    return kept[0]


@faulty
def keeps_its_first_input(x):
    kept_inputs.append(x)
    return right(kept_inputs[0])


@faulty
def unwritten(x, *, out):
    right(x)


@faulty
def beyond(x, *, out):
    out[...] = right(x)
    ctypes.memset(out.ctypes.data + out.nbytes, 7, 4)


@faulty
def rounds_otherwise(x):
    y = right(x)
    ctypes.CDLL("libm.so.6").fesetround(0x800)
    return y


@faulty
def reshapes_its_view(x):
    y = right(x)
    x.shape = (1, *x.shape)
    return y


@faulty
def prints(x):
    print("on stdout")
    os.write(1, b"on its descriptor\n")
    print("on stderr", file=sys.stderr)
    return right(x)
