# SPDX-License-Identifier: Apache-2.0
"""assay: judges what an operator computed against golden values and bounds that theory gives.

    import assay
    assay.assert_close("matmul", [a, b], y)                       # AssertionError that says where, and what explains it
    verdict = assay.check("softmax", x, y, axis=-1)               # the same as an object; true: it passed
    for case in assay.cases("smoke", op="softmax"): ...           # the inputs that assay itself tests with
    assay.assert_close(lambda x, b: x * x + b, [x, b], y)         # any formula, traced
    with assay.watch() as w: model(x)                             # each operator that PyTorch executes
    @assay.kernel("softmax", contract="f32acc")                   # a callable as a backend: assay run --kernels FILE.py

Arrays are those of NumPy, PyTorch, JAX, CuPy and whatever else speaks the buffer protocol, DLPack or
__array_interface__. The guide is harness/python/README.md.
"""
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._cases import Case as Case, Cases as Cases, cases as cases
    from ._check import assert_close as assert_close, check as check
    from ._define import Definition as Definition, operator as operator
    from ._errors import (Error as Error, InconclusiveWarning as InconclusiveWarning, Mismatch as Mismatch,
                          SuspectWarning as SuspectWarning, UsageError as UsageError)
    from ._kernels import KernelCase as KernelCase, kernel as kernel
    from ._marks import mark as mark
    from ._namespace import namespace as namespace
    from ._operators import operators as operators
    from ._samples import Draws as Draws, check_samples as check_samples
    from .models.jax_model import watch_jax as watch_jax
    from .models.onnx_model import watch_onnx as watch_onnx
    from .models.watch import Node as Node, Watch as Watch, watch as watch
    from ._verdict import (Arithmetic as Arithmetic, Sample as Sample, Stricter as Stricter, Verdict as Verdict,
                           WorstElement as WorstElement)

# Where each name is: importing assay is to cost nothing where no test needs it.
_HOMES = {"Arithmetic": "_verdict", "Case": "_cases", "Cases": "_cases", "Definition": "_define", "Error": "_errors",
          "InconclusiveWarning": "_errors", "KernelCase": "_kernels", "Mismatch": "_errors", "Sample": "_verdict", "Stricter": "_verdict",
          "SuspectWarning": "_errors", "UsageError": "_errors",
          "Verdict": "_verdict", "WorstElement": "_verdict", "assert_close": "_check", "cases": "_cases",
          "check": "_check", "check_samples": "_samples", "Draws": "_samples", "kernel": "_kernels", "mark": "_marks", "namespace": "_namespace",
          "operator": "_define", "operators": "_operators", "Node": "models.watch", "Watch": "models.watch", "watch": "models.watch", "watch_onnx": "models.onnx_model",
          "watch_jax": "models.jax_model"}

__all__ = sorted(_HOMES)


def __getattr__(name: str):
    from importlib import import_module
    if name == "__version__":
        return import_module("._library", __name__).version()
    if name not in _HOMES:
        raise AttributeError(f"module 'assay' has no attribute '{name}'")
    value = getattr(import_module("." + _HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *__all__, "__version__"])
