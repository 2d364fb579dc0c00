# SPDX-License-Identifier: Apache-2.0
"""The file of kernels of `assay run --framework jax-structured`."""
from assay.frameworks import column

column("jax", structured=True)
