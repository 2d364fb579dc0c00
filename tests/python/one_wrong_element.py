# SPDX-License-Identifier: Apache-2.0
"""Functions judged by what NumPy computes with them, and by that with another first element."""
import numpy as np

import assay


def verdicts(test, functions):
    """The result passes; yields the verdict on the wrong one of each (function, arrays)."""
    for number, (function, arrays) in enumerate(functions):
        with test.subTest(number):
            right = np.asarray(function(*arrays))
            test.assertTrue(assay.check(function, arrays, right).passed, number)
            wrong = right.copy()
            if wrong.dtype == bool:
                wrong.flat[0] ^= True
            elif wrong.dtype.kind in "iu":
                wrong.flat[0] += 1
            else:
                wrong.flat[0] = 1 if np.isnan(wrong.flat[0]) else wrong.flat[0] + 0.01 * (1 + abs(wrong.flat[0]))
            yield number, assay.check(function, arrays, wrong)
