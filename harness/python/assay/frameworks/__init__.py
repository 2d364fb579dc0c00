# SPDX-License-Identifier: Apache-2.0
"""Functions of frameworks under the names, operands and attributes of the suites: inputs by position in the operator's
order, None for one that is left out, attributes by keyword; several outputs as a tuple.

``torch_ops``, ``torch_more_ops``, ``torch_attention``, ``onnxruntime_ops``, ``jax_ops``, ``openvino_ops``, ``tinygrad_ops``:
each imports its framework.
"""
from __future__ import annotations

import importlib
import importlib.util
from typing import NamedTuple

from .._errors import UsageError


class Framework(NamedTuple):
    """needs: modules that it imports. install: what pip is to be told."""
    needs: tuple[str, ...]
    install: str


FRAMEWORKS = {
    "torch": Framework(("torch",), "torch"),
    "onnxruntime": Framework(("onnxruntime", "onnx", "ml_dtypes"), "onnxruntime onnx ml-dtypes"),
    "jax": Framework(("jax",), "jax"),
    "openvino": Framework(("openvino", "ml_dtypes"), "openvino ml-dtypes"),
    "tinygrad": Framework(("tinygrad",), "tinygrad"),
}


def demand(name: str) -> Framework:
    """The framework of that name. Raises UsageError for an unknown one and for one that this interpreter does not have."""
    framework = FRAMEWORKS.get(name)
    if framework is None:
        raise UsageError(f"no framework is called '{name}'; there are {', '.join(FRAMEWORKS)}")
    missing = [module for module in framework.needs if importlib.util.find_spec(module) is None]
    if missing:
        raise UsageError(f"framework {name}: this interpreter has no {' and no '.join(missing)}; install with: "
                         f"pip install {framework.install}")
    return framework


def kernels(name: str) -> None:
    """Registers the functions of a framework as kernels, as if each had its @assay.kernel: for a file of kernels, and for
    ``assay run --framework NAME``."""
    demand(name)
    importlib.import_module(f"{__name__}.{name}_columns").register_all()
