# SPDX-License-Identifier: Apache-2.0
"""Readers of other projects' test cases: benchdnn, ggml, iree and onnx. Each yields cases of assay, not yet checked by
their operators, or the reason why a case has no counterpart. `assay import` starts them (_reader.py)."""
