# SPDX-License-Identifier: Apache-2.0
"""The file of kernels of `assay run --framework torch-structured`."""
from assay.frameworks import column

column("torch", structured=True)
