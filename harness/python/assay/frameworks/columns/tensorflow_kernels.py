# SPDX-License-Identifier: Apache-2.0
"""The file of kernels of `assay run --framework tensorflow`."""
from assay.frameworks import column

column("tensorflow")
