# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions on structured operands, and its ufuncs and their reductions with out=."""
from __future__ import annotations

import functools
import math

import numpy

from .._namespace import NUMPY
from ._structures import POISON, Arrays, Outputs, of_operands, on_operands, with_out


def _poisoned(shape, like):
    octets = numpy.full(math.prod(shape) * like.dtype.itemsize, 1 if like.dtype == bool else POISON, "uint8")
    return octets.view(like.dtype).reshape(tuple(shape))


def _reversed(x):
    """Negative strides along all axes."""
    backwards = (*(slice(None, None, -1),) * x.ndim, ...)  # with the ellipsis an array of no axes stays an array
    return x[backwards].copy()[backwards]


ARRAYS = Arrays(_poisoned, lambda x: numpy.array(x, order="C")[..., None].view("uint8"),
                lambda x: numpy.array(x, order="F"), numpy.broadcast_to)
OPERANDS = {**of_operands(ARRAYS), "reversed": on_operands(ARRAYS, _reversed)}


class _Calling(numpy.ndarray):
    """Its ufuncs are called by `outputs`, which Python's operators and most of NumPy's functions lead to."""
    assay_namespace = NUMPY
    outputs = None

    def __array_finalize__(self, other):
        self.outputs = self.outputs or getattr(other, "outputs", None)

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **named):
        if out:
            named["out"] = tuple(map(_plain, out))
        made = self.outputs.call([getattr(ufunc, method)], [*map(_plain, inputs)], {key: _plain(x) for key, x in named.items()})
        return tuple(_called(one, self.outputs) for one in made) if isinstance(made, tuple) else _called(made, self.outputs)


def _plain(x):
    return x.view(numpy.ndarray) if isinstance(x, _Calling) else x


def _called(x, outputs):
    if not isinstance(x, numpy.ndarray):
        return x
    view = x.view(_Calling)
    view.outputs = outputs
    return view


def _entered(outputs, function, operands, attrs):
    results = function(*(_called(x, outputs) for x in operands), **attrs)
    return tuple(map(_plain, results)) if isinstance(results, tuple) else _plain(results)


def structures():
    kinds = {kind: with_out(functools.partial(Outputs, ARRAYS, kind), _entered) for kind in ("out", "in-place", "overlap")}
    return {**OPERANDS, **kinds}
