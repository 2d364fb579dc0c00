# SPDX-License-Identifier: Apache-2.0
"""The file of kernels of `assay run --framework numpy-structured`."""
from assay.frameworks import column

column("numpy", structured=True)
