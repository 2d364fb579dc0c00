# SPDX-License-Identifier: Apache-2.0
"""The blocks of harness/python/KERNELS.md: kernel_guide_test.py [CLASS]. Each passes, and none passes with a wrong result."""
import importlib.util
import pathlib
import unittest
import unittest.mock

import numpy as np

import assay

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "harness/python/KERNELS.md"


def blocks():
    """The first one, and the others by their headings."""
    text = GUIDE.read_text(encoding="utf-8")
    first = text.split("```python\n", 2)[1].split("```")[0]
    return first, {part.split("\n", 1)[0]: part.split("```python\n")[1].split("```")[0] for part in text.split("\n## ")[1:]}


def with_one_wrong(outputs):
    """The largest element of the first output, which is moved by half its size, or by one where it is an integer."""
    name, value = next(iter(outputs.items())) if isinstance(outputs, dict) else (None, outputs)
    wrong = np.array(value)
    at = np.unravel_index(np.abs(wrong.astype(np.float64)).argmax(), wrong.shape)
    wrong[at] = wrong[at] - np.sign(wrong[at]) if wrong.dtype.kind in "iu" else wrong[at] / 2
    return {**outputs, name: wrong} if name else wrong


class Guide(unittest.TestCase):
    def test_every_block_passes_and_sees_one_wrong_element(self):
        first, others = blocks()
        self.assertEqual(len(others), 15)
        judged, close = [], assay.assert_close

        def both(op, inputs, outputs, **words):
            close(op, inputs, outputs, explain="no", **words)
            self.assertEqual(assay.check(op, inputs, with_one_wrong(outputs), explain="no", **words).verdict, "mismatch", op)
            judged.append(op)
        for heading, block in others.items():
            if "ml_dtypes" in block and importlib.util.find_spec("ml_dtypes") is None:
                continue
            names = {}
            with self.subTest(heading), unittest.mock.patch.object(assay, "assert_close", both):
                exec(compile(first + block, heading, "exec"), names)
        self.assertEqual(len(set(judged)), len(judged))
        self.assertGreaterEqual(len(judged), 14)


if __name__ == "__main__":
    unittest.main()
