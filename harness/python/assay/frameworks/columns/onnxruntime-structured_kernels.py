# SPDX-License-Identifier: Apache-2.0
"""The file of kernels of `assay run --framework onnxruntime-structured`."""
from assay.frameworks import column

column("onnxruntime", structured=True)
