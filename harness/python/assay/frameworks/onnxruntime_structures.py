# SPDX-License-Identifier: Apache-2.0
"""Nodes of ONNX Runtime on structured arrays of NumPy."""
from .numpy_structures import OPERANDS


def structures():
    return OPERANDS
