# SPDX-License-Identifier: Apache-2.0
"""The file of kernels of `assay run --framework tinygrad`."""
from assay.frameworks import column

column("tinygrad")
