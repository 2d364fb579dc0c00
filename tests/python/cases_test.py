# SPDX-License-Identifier: Apache-2.0
"""Cases of suites from Python: cases_test.py [CLASS]."""
import gc
import pathlib
import tempfile
import threading
import unittest

import numpy as np

import assay


def softmax(x, axis):
    e = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    return (e / e.sum(axis, keepdims=True)).astype(x.dtype)


class Cases(unittest.TestCase):
    def test_they_are_selected_as_on_the_command_line(self):
        every, some = assay.cases("smoke"), assay.cases("smoke", op=["softmax", "exp"], dtype="f32")
        self.assertEqual(some.ids, [i for i in every.ids if i.startswith(("softmax/f32/", "exp/f32/"))])
        self.assertEqual(assay.cases("smoke", filter="softmax/f32/*").ids, [i for i in some.ids if "softmax" in i])
        self.assertEqual(assay.cases(ids=some.ids[0]).ids, some.ids[:1])
        self.assertEqual([case.id for case in some[:2]], some.ids[:2])
        self.assertEqual(some[-1].id, some.ids[-1])
        with self.assertRaises(IndexError):
            some[len(some)]

    def test_what_does_not_exist_is_a_usage_error(self):
        for words, kwargs in (("no suite 'smoky'", {"suite": "smoky"}), ("sofmax", {"suite": "smoke", "op": "sofmax"}),
                              ("nothing", {"suite": "smoke", "filter": "nothing"}), ("op=", {"suite": "smoke", "op": [1]}),
                              ("dtype=5 is no text", {"suite": "smoke", "dtype": 5}), ("suite=5 is no text", {"suite": 5}),
                              ("ids=3 is no text", {"ids": [3]}),
                              ("--case|case", {"ids": ["softmax/f32/rows=4"]})):
            with self.subTest(words), self.assertRaisesRegex(assay.UsageError, words):
                assay.cases(**kwargs)

    def test_a_suite_may_be_a_path(self):
        with tempfile.TemporaryDirectory() as folder:
            suite = pathlib.Path(folder) / "mine.suite"
            suite.write_text("softmax dtypes=f32 shape=4x8 fill=normal\n")
            self.assertEqual(assay.cases(suite).ids, ["softmax/f32/shape=4x8/fill=normal/seed=0"])

    def test_outputs_are_judged_for_the_inputs(self):
        for case in assay.cases("smoke", op="softmax", dtype="f32"):
            with self.subTest(case.id):
                self.assertEqual(case.outputs["y"], ("f32", case.inputs["x"].shape))
                if case.attrs["log"] == "1" or not np.isfinite(case.inputs["x"]).all():
                    continue
                y = softmax(case.inputs["x"], int(case.attrs["axis"]))
                self.assertTrue(case.check(y), case.id)
                self.assertEqual(case.judge(y).to_dict()["case_id"], case.id)
                y.flat[0] *= 1.01
                self.assertFalse(case.judge(y))
                with self.assertRaises(assay.Mismatch):
                    case.check({"y": y})

    def test_threads_may_share_a_case(self):
        case = assay.cases("smoke", op="softmax", dtype="f32", filter="*log=0*:*17x33x5*")[0]
        right = softmax(case.inputs["x"], int(case.attrs["axis"]))
        found = []

        def judge(y, expected):
            found.extend(bool(case.judge(y)) == expected for _ in range(60))

        threads = [threading.Thread(target=judge, args=(right * (1 if good else 0), good)) for good in (True, False) * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [True] * 240)

    def test_inputs_are_copies(self):
        case = assay.cases(ids=["softmax/f32/shape=4x33/fill=normal/seed=0"])[0]
        x = case.inputs["x"]
        y = softmax(x, -1)
        x[:] = 0
        self.assertTrue(case.check(y))
        other = assay.cases(ids=[case.id])[0].inputs["x"]
        del case
        gc.collect()
        self.assertEqual(x.sum(), 0)
        self.assertTrue(other.any())

    def test_a_contract_below_the_suites_is_below_it(self):
        case = assay.cases(ids=["softmax/f32/shape=4x33/fill=normal/seed=0"])[0]
        y = softmax(case.inputs["x"], -1)
        self.assertEqual(case.judge(y, "bf16acc").verdict, "below_contract")
        with self.assertRaisesRegex(assay.UsageError, "contract: "):
            case.judge(y, "acc=f99")
        with self.assertRaisesRegex(assay.UsageError, "y has shape 33x4, expected 4x33"):
            case.judge(y.T)
        with self.assertRaisesRegex(assay.UsageError, "also needs the output 'y'"):
            case.judge([])

    def test_suspect_ones_warn_and_fail_strictly(self):
        case = assay.cases(ids=["matmul/f32/m=64,n=64,k=256/fill=ramp/seed=0"])[0]
        a, b = case.inputs["a"], case.inputs["b"]
        y = (a.astype(np.float64) @ b).astype(np.float32)
        case.check(y, strict=True)
        y[3, 5] += 1e-5 * (np.abs(a) @ np.abs(b))[3, 5]
        with self.assertWarnsRegex(assay.SuspectWarning, "^matmul: suspect: .*no random data"):
            case.check(y)
        with self.assertRaisesRegex(assay.Mismatch, "^suspect: "):
            case.check(y, strict=True)

    def test_bf16_comes_as_a_type_or_as_bits(self):
        case = assay.cases(ids=["exp/bf16/n=64/fill=normal/seed=0"])[0]
        x = case.inputs["x"]
        if x.dtype == np.uint16:
            self.assertEqual(case.note, "without the package ml_dtypes x has the bits of bf16 as uint16, and no values")
            wide = (x.astype(np.uint32) << 16).view(np.float32)
        else:
            self.assertEqual((case.note, x.dtype.name), ("", "bfloat16"))
            wide = x.astype(np.float32)
        bits = np.exp(wide.astype(np.float64)).astype(np.float32).view(np.uint32)
        nearest = (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(np.uint16)
        self.assertTrue(case.check(nearest))
        self.assertFalse(case.judge(nearest + np.uint16(64)))

    def test_advice_can_be_followed_where_a_case_states_the_types(self):
        def refused(id, y, advice):
            with self.subTest(id), self.assertRaises(assay.UsageError) as caught:
                assay.cases(ids=[id + "/fill=normal/seed=0"])[0].check(y)
            self.assertIn(advice, str(caught.exception))
            for option in ("say dtype", "say keepdims", "say what the bits hold"):
                self.assertNotIn(option, str(caught.exception))

        wide = np.ones(64, np.float32)
        refused("exp/bf16/n=64", wide, "y has dtype f32, expected bf16; convert it to bf16, as PyTorch, JAX and the package ml_dtypes "
                                       "have it, or give its bits as uint16")
        refused("exp/f16/n=64", wide, "y has dtype f32, expected f16; convert it to f16, as NumPy's astype does")
        refused("exp/f32/n=64", wide.astype(np.uint16), "y has dtype uint16, expected f32; convert it, as NumPy's astype does")
        refused("exp/bf16/n=64", wide.astype(np.uint8), "y has dtype uint8, expected bf16; convert it, as NumPy's astype does")
        refused("reduce/f32/shape=4x8,axes=1,kind=sum", np.ones((4, 1), np.float32), ": give it without the reduced axes")
        case = assay.cases(ids=["exp/f16/n=64/fill=normal/seed=0"])[0]
        y = np.exp(case.inputs["x"].astype(np.float64)).astype(np.float16)
        self.assertTrue(case.check(y.view(np.uint16)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
