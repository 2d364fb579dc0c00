# SPDX-License-Identifier: Apache-2.0
"""Functions of frameworks under the names, operands and attributes of the suites: inputs by position in the operator's
order, None for one that is left out, attributes by keyword; several outputs as a tuple.

``torch_ops``, ``torch_more_ops``, ``torch_attention``, ``torch_signals``, ``onnxruntime_ops``, ``onnxruntime_sequences``, ``jax_ops``,
``jax_signals``, ``openvino_ops``, ``tinygrad_ops``, ``tensorflow_ops``, ``tensorflow_signals``: each imports its framework.
"""
from __future__ import annotations

import importlib
import importlib.util
import shlex
import sys
from typing import NamedTuple

from .._errors import UsageError
from .._frameworks import Unavailable


class MissingFramework(UsageError):
    """The interpreter does not have it."""


class Framework(NamedTuple):
    """needs: modules that it imports. install: what pip is to be told."""
    needs: tuple[str, ...]
    install: str


FRAMEWORKS = {
    "torch": Framework(("torch", "numpy"), "torch numpy"),
    "onnxruntime": Framework(("onnxruntime", "onnx", "ml_dtypes"), "onnxruntime onnx ml-dtypes"),
    "jax": Framework(("jax",), "jax"),
    "openvino": Framework(("openvino", "ml_dtypes"), "openvino ml-dtypes"),
    "tinygrad": Framework(("tinygrad", "numpy"), "tinygrad numpy"),
    "tensorflow": Framework(("tensorflow", "numpy"), "tensorflow-cpu numpy"),
    "numpy": Framework(("numpy",), "numpy"),
    "gloo": Framework(("torch", "numpy"), "torch numpy"),
}


def demand(name: str) -> Framework:
    """The framework of that name. Raises UsageError for an unknown one and for one that this interpreter does not have."""
    framework = FRAMEWORKS.get(name)
    if framework is None:
        raise UsageError(f"no framework is called '{name}'; there are {', '.join(FRAMEWORKS)}")
    missing = [module for module in framework.needs if importlib.util.find_spec(module) is None]
    if missing:
        raise MissingFramework(f"framework {name}: {sys.executable} has no {' and no '.join(missing)}; install with: "
                               f"{shlex.quote(sys.executable)} -m pip install {framework.install}, or name another "
                               "interpreter with --python OTHER")
    return framework


def kernels(name: str) -> None:
    """Registers the functions of a framework as kernels, as if each had its @assay.kernel: for a file of kernels, and for
    ``assay run --framework NAME``."""
    demand(name)
    importlib.import_module(f"{__name__}.{name}_columns").register_all()


def column(name: str, structured: bool = False) -> None:
    """Registers the kernels for ``--framework NAME``. If the framework is missing, only its column is unavailable."""
    try:
        for module in demand(name).needs:
            importlib.import_module(module)
    except MissingFramework as why:
        raise Unavailable(str(why)) from None
    except (ImportError, OSError) as why:  # of what it imports itself, and of libraries that do not load
        raise Unavailable(f"framework {name}: {sys.executable} cannot import it: {why}; install with: pip install "
                          f"{FRAMEWORKS[name].install}, or name another interpreter with --python") from None
    kernels(name)
    if structured:
        importlib.import_module(f"{__name__}._structures").register_structured(name)
