#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Definitions written with axes by their names, and what the library says of wrong ones: formulas_test.py [CLASS]."""
import unittest

import numpy as np

import assay
from assay import _define
from assay.importers._formulas import Formula, sum_of, windows


def made(name, build):
    """Registers a definition of f32, whose parts `build` states, and returns the operator's name."""
    f = Formula(name, "a test's own", ["f32"])
    build(f)
    _define.register(f.data())
    return name


class Formulas(unittest.TestCase):
    def refuse(self, message, name, build):
        with self.assertRaisesRegex(assay.UsageError, message):
            made(name, build)

    def test_windows_take_strides_and_paddings_from_the_case(self):
        def build(f):
            f.integer("stride", 1, positive=True)
            f.integer("pad", 0)
            f.output("y", windows(f.input("x", "i"), "i", ["-pad"], {"o": "stride", "k": "1"}), "o k")
        op, x = made("of_windows", build), np.arange(1, 8, dtype=np.float32)
        for stride, pad in ((1, 0), (2, 1), (3, 2)):
            places = np.arange(3)[:, None] * stride + np.arange(2) - pad
            y = np.where((places >= 0) & (places < 7), x[np.clip(places, 0, 6)], 0).astype(np.float32)
            self.assertTrue(assay.check(op, [x], y, stride=stride, pad=pad).passed)
            self.assertFalse(assay.check(op, [x], np.roll(y, 1, 0), stride=stride, pad=pad).passed)
        with self.assertRaisesRegex(assay.UsageError, "stride must be positive"):
            assay.check(op, [x], np.zeros((3, 2), np.float32), stride=0)

    def test_what_is_wrong_is_said(self):
        def windows_of(strides, divisor=""):
            return lambda f: f.output("y", f.node("windows", [f.input("x", "i")], "i o k", start=["0"], strides=strides, divisor=divisor), "o k")
        self.refuse("windows has 2 new axes and 1 strides; give one for each", "wrong1", windows_of(["1"]))
        self.refuse("divisor is 0; give one from 1 on", "wrong2", windows_of(["1", "1"], "0"))
        self.refuse("strides has 'frob'; give integers up to", "wrong3", windows_of(["frob", "1"]))

        def with_strides(f):
            f.output("y", f.node("exp", [f.input("x", "i")], strides=["1"]), "i")
        self.refuse("exp has no strides; windows has", "wrong4", with_strides)

        def later_saturates(f):
            x = f.input("x", "n")
            f.output("y", x, "n")
            f.output("z", sum_of(x, "n"), "1", saturates=True)
        self.refuse("output z: the first output alone may saturate", "wrong5", later_saturates)


if __name__ == "__main__":
    unittest.main(verbosity=2)
