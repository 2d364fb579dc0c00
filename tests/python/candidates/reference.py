# SPDX-License-Identifier: Apache-2.0
"""Reference kernels that candidates are compared with: plain, right, and not fast."""
import numpy as np

import assay


@assay.kernel("softmax", contract="f32acc", dtypes=["f32"])
def reference(x, *, axis, log):
    shifted = x.astype(np.float64) - x.max(axis, keepdims=True)
    y = shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))
    return (y if log else np.exp(y)).astype(x.dtype)
