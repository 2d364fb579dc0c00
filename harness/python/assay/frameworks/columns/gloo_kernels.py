# SPDX-License-Identifier: Apache-2.0
"""The file of kernels of `assay run --framework gloo`."""
from assay.frameworks import column

column("gloo")
