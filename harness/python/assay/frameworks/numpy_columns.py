# SPDX-License-Identifier: Apache-2.0
"""Functions of --operators with NumPy's arrays, in the column `numpy`, which has nothing beside them."""
from __future__ import annotations

import contextlib

from .._frameworks import Unavailable
from ._columns import register
from ._defined import defined

with contextlib.suppress(ImportError):
    import ml_dtypes  # noqa: F401  # for x.astype("bfloat16")


def register_all():
    """f32 and f64: NumPy adds numbers of 16 bits in these, which no suite admits."""
    columns = defined(("f64", "f32"))
    if not columns:
        raise Unavailable("framework numpy: it has the functions of --operators alone; give a file of them, or of your own kernels "
                          "with --kernels")
    register(columns, "numpy", "eager")
