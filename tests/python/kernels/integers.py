# SPDX-License-Identifier: Apache-2.0
"""Kernels of NumPy for integers: those that are right, and those that are wrong in a way that real ones were."""
import numpy as np

import assay

TYPES = ["i8", "u8", "i16", "i32", "i64", "bool"]
WIDER = ["i8-i32", "i8-i64", "u8-i32", "u8-i64", "i16-i32", "i16-i64", "i32-i64", "bool-i32", "bool-i64"]
FUNCTIONS = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}


def reduction(name, of_sum=None, initial=None):
    """of_sum: the type in which sums are made, by that of the output. initial: where maxima and minima begin."""
    @assay.kernel("reduce", contract="acc=i32", dtypes=TYPES + WIDER, name=name)
    def reduce(x, *, axes, kind, keepdims, tie, nan, out):
        if kind in ("argmax", "argmin"):
            out[...] = getattr(np, kind)(x, axis=axes[0], keepdims=keepdims)
            return
        more = {}
        if kind in ("sum", "prod"):
            more = {"dtype": of_sum or out.dtype}
        elif initial is not None:
            more = {"initial": initial}
        with np.errstate(all="ignore"):
            out[...] = FUNCTIONS[kind](x, axis=tuple(axes), keepdims=keepdims, **more).astype(out.dtype)
    return reduce


reduction("right")
reduction("from-zero", initial=0)
reduction("through-f64", of_sum=np.float64)
reduction("through-f32", of_sum=np.float32)


def running(name, of_sum=None):
    @assay.kernel("cumsum", contract="acc=i32", dtypes=TYPES[:-1] + WIDER, name=name)
    def cumsum(x, *, out):
        with np.errstate(all="ignore"):
            out[...] = np.cumsum(x, axis=-1, dtype=of_sum or out.dtype).astype(out.dtype)
    return cumsum


running("right")
running("through-f64", np.float64)
running("through-i32", np.int32)


def ordered(name, lossy):
    @assay.kernel("sort", contract="acc=i32", dtypes=TYPES, name=name)
    def sort(x, *, descending, tie):
        keys = x.astype(np.float64) if lossy else x
        if descending:  # of equal ones the first stands first
            order = x.shape[-1] - 1 - np.argsort(keys[..., ::-1], axis=-1, kind="stable")[..., ::-1]
        else:
            order = np.argsort(keys, axis=-1, kind="stable")
        with np.errstate(all="ignore"):
            return np.take_along_axis(keys, order, axis=-1).astype(x.dtype), order
    return sort


ordered("right", lossy=False)
ordered("through-f64", lossy=True)
