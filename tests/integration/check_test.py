#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Answers of `assay check` about tensors of any program: check_test.py ASSAY PLUGIN."""
import json
import math
import random as randoms
import re
import struct
import sys
import unittest

from dumped_tensors import Matmul, Y, bf16, normals, product, to_bf16, write_npy


class Check(Matmul):
    def test_a_right_result_passes_and_the_text_says_so(self):
        done = self.matmul()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue(done.stdout.startswith("pass (bit_exact)  matmul f32 m=2,n=2,k=3"), done.stdout)
        for word in ("acc=f32; math=4", "bound", "exceptional", "statistic"):
            self.assertIn(word, done.stdout)

    def test_a_wrong_element_is_a_mismatch_that_is_located(self):
        write_npy(self.dir / "y.npy", "f4", (2, 2), Y[:3] + [36.001])
        done = self.matmul()
        self.assertEqual(done.returncode, 1)
        self.assertIn("mismatch", done.stdout)
        self.assertIn("1 of 4 elements, [1,1]", done.stdout)
        self.assertRegex(done.stdout, r"\[1,1\] +36\.0009995 +36 ")
        write_npy(self.dir / "y.npy", "f4", (2, 2), Y[:3] + [math.nan])
        done = self.matmul()
        self.assertEqual(done.returncode, 1)
        self.assertIn("exceptional channel: 1 wrong among non-finite values, first element [1,1] got nan, golden 36; ",
                      done.stdout)

    def test_a_weaker_contract_gives_more_room(self):
        write_npy(self.dir / "y.npy", "f4", (2, 2), Y[:3] + [36.01])
        self.assertEqual(self.matmul().returncode, 1)
        self.assertEqual(self.matmul("--contract", "bf16acc").returncode, 0)
        self.refused("acc", "--contract", "acc=f99")

    def test_a_contract_that_is_weaker_than_required_is_below_it(self):
        self.assertEqual(self.matmul("--require", "f32acc").returncode, 0)
        self.assertIn("(the default; ", self.matmul("--require", "f32acc").stdout)
        done = self.matmul("--contract", "bf16acc", "--require", "f32acc")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.startswith("below_contract (within_lower_class)"), done.stdout)
        self.assertIn("--contract declares acc=bf16 and the case requires acc=f32", done.stdout)
        record = json.loads(self.matmul("--contract", "bf16acc", "--require", "f32acc", "--json").stdout)
        self.assertEqual(record["required_contract"], "f32acc")
        again = self.shell(record["reproduce"])
        self.assertEqual((again.returncode, again.stdout), (1, done.stdout))
        self.refused("--require: ", "--require", "acc=f99")

    def test_of_a_large_output_a_sample_is_judged(self):
        m, n, k = 48, 40, 3
        random = randoms.Random(0)
        a, b = normals(random, m * k), normals(random, k * n)
        y = product(a, b, m, n, k)
        write_npy(self.dir / "a.npy", "f4", (m, k), a)
        write_npy(self.dir / "b.npy", "f4", (k, n), b)
        write_npy(self.dir / "y.npy", "f4", (m, n), y)
        done = self.matmul("--sample", "100", "--sample-seed", "5")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout.splitlines()[0], r"^pass .*, 1920 elements; judged 100 of 1,920 elements, drawn by seed 5$")
        for i in range(m * n):
            y[i] += 1
        write_npy(self.dir / "y.npy", "f4", (m, n), y)
        record = json.loads(self.matmul("--sample", "100", "--json").stdout)
        self.assertEqual((record["verdict"], record["sample_judged"], record["sample_elements"]), ("mismatch", 100, 1920))
        self.assertIn(f" --sample 100 --sample-seed {record['sample_seed']}", record["reproduce"])
        self.assertIn(record["where"], self.shell(record["reproduce"]).stdout)
        self.refused("--write-golden excludes --sample", "--sample", "100", "--write-golden", str(self.dir / "g.npy"))
        self.refused("--sample-seed requires --sample", "--sample-seed", "3")
        for option in ("--sample", "--sample-seed"):
            for number in ("0", "-1", "1.5", "18446744073709551615", "x"):
                self.refused("give an integer from 1 to", *(() if option == "--sample" else ("--sample", "9")), option, number)

    def test_exact_data_may_not_round(self):
        write_npy(self.dir / "y.npy", "f4", (2, 2), [Y[0], math.nextafter(16.5, 17) + 2e-6, Y[2], Y[3]])
        self.assertEqual(self.matmul("--contract", "bf16acc").returncode, 0)
        done = self.matmul("--contract", "bf16acc", "--exact-ulp", "0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("exact channel", done.stdout)
        for ulp in ("nan", "inf", "-1", "one"):  # NaN is no tolerance: no comparison with it is ever true
            self.refused(f"'{ulp}' is not a finite number of ulp", f"--exact-ulp={ulp}")

    def test_data_that_are_not_exact_are_refused_as_such(self):
        random = randoms.Random(12)
        m, n, k = 8, 8, 64
        a, b = normals(random, m * k), normals(random, k * n)
        for name, shape, data in (("a", (m, k), a), ("b", (k, n), b), ("y", (m, n), product(a, b, m, n, k))):
            write_npy(self.dir / f"{name}.npy", "f4", shape, data)
        self.assertEqual(self.matmul().returncode, 0)
        for ulp in ("0", "3"):
            self.refused("--exact-ulp needs data on which every order of operations is exact, but operand a has ",
                         "--exact-ulp", ulp)
        a = [float(random.randint(-4000, 4000)) for _ in range(m * k)]
        b = [float(random.randint(-4000, 4000)) / 4 for _ in range(k * n)]
        for name, shape, data in (("a", (m, k), a), ("b", (k, n), b), ("y", (m, n), product(a, b, m, n, k))):
            write_npy(self.dir / f"{name}.npy", "f4", shape, data)
        self.refused("terms of output [0,0] add up to ", "--exact-ulp", "0")
        self.assertEqual(self.matmul("--exact-ulp", "0", "--contract", "acc=f64").returncode, 0)

    def test_one_level_of_the_operands_own_precision_is_exact_data(self):
        level = struct.unpack("<f", struct.pack("<f", -math.log(2)))[0]
        write_npy(self.dir / "x.npy", "f4", (1, 4), [level, level, -math.inf, -math.inf])
        write_npy(self.dir / "y.npy", "f4", (1,), [level + math.log(2)])
        done = self.assay("check", "--op", "reduce", "--attr", "axes=1", "--attr", "kind=logsumexp", "--input",
                          "x=x.npy", "--output", "y.npy", "--contract", "acc=f16", "--exact-ulp", "0")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_selection_is_exact_on_any_data(self):
        x = struct.unpack("<64f", struct.pack("<64f", *normals(randoms.Random(13), 64)))
        write_npy(self.dir / "x.npy", "f4", (1, 64), x)
        for kind, value in (("max", max(x)), ("min", min(x))):
            for off, code in ((0, 0), (2 ** -20, 1)):
                write_npy(self.dir / "y.npy", "f4", (1,), [value + off])
                done = self.assay("check", "--op", "reduce", "--attr", "axes=1", "--attr", f"kind={kind}", "--input",
                                  "x=x.npy", "--output", "y.npy", "--contract", "acc=f16", "--exact-ulp", "0")
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)

    def test_ties_in_another_order_name_the_attribute_that_takes_them(self):
        hint = "; it is the right result of --attr tie=any"
        write_npy(self.dir / "x.npy", "f4", (2, 4), [3, 1, 3, 2, 5, 5, 1, 0])
        write_npy(self.dir / "values.npy", "f4", (2, 2), [3, 3, 5, 5])
        for places, hinted in (([2, 0, 1, 0], True), ([2, 1, 1, 0], False)):
            write_npy(self.dir / "indices.npy", "i8", (2, 2), places)
            line = ["check", "--op", "top_k", "--attr", "k=2", "--input", "x=x.npy", "--output", "values=values.npy", "--output",
                    "indices=indices.npy"]
            done = self.assay(*line)
            self.assertEqual((done.returncode, hint in done.stdout), (1, hinted), done.stdout)
            done = self.assay(*line, "--attr", "tie=any")
            self.assertEqual((done.returncode, "right result" in done.stdout), (0 if hinted else 1, False), done.stdout)
        for op, attrs, places in (("sort", (), None), ("reduce", ("kind=argmax", "axes=1"), [2, 1])):
            outputs = ["values=values.npy", "indices=indices.npy"] if places is None else ["y.npy"]
            write_npy(self.dir / "values.npy", "f4", (2, 4), [1, 2, 3, 3, 0, 1, 5, 5])
            write_npy(self.dir / "indices.npy", "i8", (2, 4), [1, 3, 2, 0, 3, 2, 0, 1])
            write_npy(self.dir / "y.npy", "i8", (2,), places or [0, 0])
            words = [word for attr in attrs for word in ("--attr", attr)] + [word for o in outputs for word in ("--output", o)]
            done = self.assay("check", "--op", op, "--input", "x=x.npy", *words)
            self.assertEqual((done.returncode, hint in done.stdout), (1, True), done.stdout + done.stderr)

    def test_the_last_integer_that_the_accumulator_holds_is_exact(self):
        for k, code in ((2048, 0), (2049, 2)):
            for name, shape in (("a", (1, k)), ("b", (k, 1))):
                write_npy(self.dir / f"{name}.npy", "f4", shape, [1.0] * k)
            write_npy(self.dir / "y.npy", "f4", (1, 1), [float(k)])
            done = self.matmul("--exact-ulp", "0", "--contract", "acc=f16")
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn("terms of output [0,0] add up to 2049 on the way", done.stderr)
        self.assertIn("acc=f16; math=4 holds integers up to 2^11 exactly", done.stderr)

    def test_operands_that_the_contract_rounds_are_not_exact_data(self):
        for last, contract, held in ((255.0, "in=bf16;acc=f32", None), (257.0, "in=bf16;acc=f32", 8),
                                     (256.0, "in=bf16;acc=f32", None), (257.0, "acc=f32", None),
                                     (2047.0, "tf32", None), (2049.0, "tf32", 11), (1.0, "in=fp8;acc=f32", 0)):
            write_npy(self.dir / "a.npy", "f4", (1, 2), [1.0, last])
            write_npy(self.dir / "b.npy", "f4", (2, 1), [1.0, 1.0])
            write_npy(self.dir / "y.npy", "f4", (1, 1), [1.0 + last])
            if held is None:
                done = self.matmul("--exact-ulp", "0", "--contract", contract)
                self.assertEqual(done.returncode, 0, contract + done.stdout + done.stderr)
            else:
                self.refused(f"operand a has {last:g} at [0,1], which the contract rounds" if held else
                             "scales operand a to fp8", "--exact-ulp", "0", "--contract", contract)

    def test_the_limit_that_was_exceeded_is_named(self):
        write_npy(self.dir / "a.npy", "f4", (1, 2), [1.0, 2.0 ** 30])
        write_npy(self.dir / "b.npy", "f4", (2, 1), [1.0, 1.0])
        write_npy(self.dir / "y.npy", "f4", (1, 1), [2.0 ** 30])
        self.refused("f32 holds integers up to 2^24 exactly", "--exact-ulp", "0", "--contract", "acc=f16")

    def test_a_result_below_its_contract_says_why(self):
        random = randoms.Random(8)
        m, n, k = 16, 16, 64
        a = normals(random, m * k)
        b = normals(random, k * n)
        y = product(list(map(to_bf16, a)), list(map(to_bf16, b)), m, n, k)
        for name, shape, data in (("a", (m, k), a), ("b", (k, n), b), ("y", (m, n), y)):
            write_npy(self.dir / f"{name}.npy", "f4", shape, data)
        done = self.matmul()
        self.assertEqual(done.returncode, 1)
        self.assertIn("below_contract (within_lower_class)", done.stdout)
        self.assertIn("contract: acc=f32; math=4 (the default; --contract states another)", done.stdout)
        figures = re.search(r"behaves like: bf16 operands \(in=bf16\): judged by that class, the bound's "
                            r"margin is (\S+) and the statistic (\S+); judged by the contract, (\S+) and (\S+)\n",
                            done.stdout)
        self.assertTrue(figures, done.stdout)
        by_class, by_contract = [float(x) for x in figures.groups()[:2]], [float(x) for x in figures.groups()[2:]]
        self.assertLessEqual(max(by_class), 1)
        self.assertGreater(min(by_contract), 1)
        contract = re.search(r"--contract '(.*)' judges by that class", done.stdout).group(1)
        self.assertEqual(self.matmul("--contract", contract).returncode, 0)

    def test_narrow_sums_are_named_by_their_order(self):
        random = randoms.Random(9)
        m, n, k = 8, 8, 40
        a = list(map(to_bf16, normals(random, m * k)))
        b = list(map(to_bf16, normals(random, k * n)))
        y = [0.0] * (m * n)
        for t in range(k):
            y = [to_bf16(y[i * n + j] + a[i * k + t] * b[t * n + j]) for i in range(m) for j in range(n)]
        for name, shape, data in (("a", (m, k), a), ("b", (k, n), b), ("y", (m, n), y)):
            write_npy(self.dir / f"{name}.npy", "f4", shape, data)
        done = self.matmul()
        self.assertEqual(done.returncode, 1)
        self.assertIn("below_contract (within_lower_class)", done.stdout)
        self.assertRegex(done.stdout, r"behaves like: bf16 sums, one term after another \(acc=bf16\): judged by that class, "
                         r"the bound's margin is \S+ and the statistic -; judged by the contract, ")
        self.assertIn("\n              sums that are formed like that give these results\n", done.stdout)
        write_npy(self.dir / "y.npy", "f4", (m, n), [y[0] + 4] + y[1:])
        done = self.matmul()
        self.assertIn("mismatch", done.stdout.splitlines()[0])
        self.assertNotIn("behaves like", done.stdout)

    def test_a_softmax_of_minus_infinity_alone_is_nan_unless_the_contract_says_otherwise(self):
        write_npy(self.dir / "x.npy", "f4", (2, 2), [0.0, 0.0, -math.inf, -math.inf])
        for value, contract, code in ((math.nan, (), 0), (0.0, (), 1), (math.nan, ("--contract", "f32"), 1),
                                      (0.0, ("--contract", "f32;masked=zero"), 0),
                                      (math.nan, ("--contract", "f32;masked=nan"), 0)):
            write_npy(self.dir / "s.npy", "f4", (2, 2), [0.5, 0.5, value, value])
            done = self.assay("check", "--op", "softmax", "--input", "x=x.npy", "--output", "s.npy", *contract)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)

    def test_what_would_accept_zeros_is_inconclusive(self):
        random = randoms.Random(9)
        m, n, k = 8, 8, 256
        a = normals(random, m * k)
        b = normals(random, k * n)
        right = product(a, b, m, n, k)
        write_npy(self.dir / "a.npy", "f4", (m, k), a)
        write_npy(self.dir / "b.npy", "f4", (k, n), b)
        for values in (right, [0.0] * len(right), [-y for y in right]):
            write_npy(self.dir / "y.npy", "f4", (m, n), values)
            done = self.matmul("--contract", "bf16acc")
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertTrue(done.stdout.startswith("inconclusive"), done.stdout)
            self.assertIn("would accept an output of zeros as well", done.stdout)
            self.assertEqual(self.matmul("--contract", "bf16acc", "--strict").returncode, 1)
            self.assertEqual(self.matmul("--strict").returncode, 0 if values is right else 1)

    def test_a_long_mean_that_any_constant_would_pass_is_inconclusive(self):
        rows, n = 4, 100000
        write_npy(self.dir / "x.npy", "f4", (rows, n), [5 + 0.001 * row + (i % 7 - 3) for row in range(rows) for i in range(n)])
        write_npy(self.dir / "y.npy", "f4", (rows,), [5.02 + 0.001 * row for row in range(rows)])
        done = self.assay("check", "--op", "reduce", "--attr", "axes=1", "--attr", "kind=mean", "--input", "x=x.npy",
                          "--output", "y=y.npy", "--strict")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertTrue(done.stdout.startswith("inconclusive"), done.stdout)
        self.assertIn("a constant output at the mean", done.stdout)

    def test_zeros_that_are_the_result_are_trusted(self):
        write_npy(self.dir / "x.npy", "f4", (4, 8), [0.0] * 32)
        write_npy(self.dir / "y.npy", "f4", (4,), [0.0] * 4)
        done = self.assay("check", "--op", "reduce", "--attr", "axes=1", "--input", "x=x.npy", "--output", "y=y.npy")
        self.assertTrue(done.stdout.startswith("pass (bit_exact)"), done.stdout)

    def test_sums_of_one_sign_overflow_to_one_side(self):
        for sign in (1, -1):
            write_npy(self.dir / "x.npy", "f4", (2, 64), [sign * 1e37] * 128)
            for value, code in ((sign * math.inf, 0), (-sign * math.inf, 1), (math.nan, 1), (0.0, 1), (sign * 1e38, 1)):
                write_npy(self.dir / "y.npy", "f4", (2,), [value] * 2)
                done = self.assay("check", "--op", "reduce", "--attr", "axes=1", "--input", "x=x.npy",
                                  "--output", "y.npy")
                self.assertEqual(done.returncode, code, f"{value}: {done.stdout}{done.stderr}")

    def test_a_running_mean_may_overflow_to_either_side(self):
        write_npy(self.dir / "x.npy", "f4", (2, 2), [3e38, -3e38, -3e38, 3e38])
        mean = ("check", "--op", "reduce", "--attr", "axes=1", "--attr", "kind=mean", "--input", "x=x.npy",
                "--output", "y.npy")
        for value, code in ((-math.inf, 0), (math.inf, 0), (0.0, 0), (3e38, 1)):
            write_npy(self.dir / "y.npy", "f4", (2,), [value, -value])
            done = self.assay(*mean)
            self.assertEqual(done.returncode, code, f"{value}: {done.stdout}{done.stderr}")

    def test_where_anything_overflows_the_reason_says_so(self):
        write_npy(self.dir / "x.npy", "f4", (2, 64), [3e38 * (-1) ** i for i in range(128)])
        write_npy(self.dir / "y.npy", "f4", (2,), [math.nan] * 2)
        sums = ("check", "--op", "reduce", "--attr", "axes=1", "--input", "x=x.npy", "--output", "y.npy")
        done = self.assay(*sums, "--strict")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertTrue(done.stdout.startswith("inconclusive"), done.stdout)
        self.assertIn("2 of 2 results may overflow, at the end or in some legal order of their terms", done.stdout)
        self.assertIn("scale the operands down before the dump, or, if the implementation really accumulates in f64", done.stdout)
        self.assertNotIn("cancellation", done.stdout)
        self.assertEqual(self.assay(*sums, "--contract", "acc=f64").returncode, 1)  # NaN is wrong there

    def test_attention_that_any_weights_would_explain_says_what_to_do(self):
        for name in "qkv":
            write_npy(self.dir / f"{name}.npy", "f4", (1, 1, 4, 8), [3e30] * 32)
        write_npy(self.dir / "o.npy", "f4", (1, 1, 4, 8), [math.nan] * 32)
        done = self.assay("check", "--op", "attention", *(word for name in "qkv"
                                                          for word in ("--input", f"{name}={name}.npy")),
                          "--output", "o=o.npy")
        self.assertTrue(done.stdout.startswith("inconclusive"), done.stdout + done.stderr)
        self.assertIn("would accept an output of zeros as well, so that acceptance says nothing", done.stdout)
        self.assertIn("judge by a tighter contract", done.stdout)

    def test_squares_overflow_to_plus_infinity_alone(self):
        write_npy(self.dir / "x.npy", "f4", (2, 64), [1e30 * (-1) ** i for i in range(128)])
        for value, code in ((math.inf, 0), (8e30, 0), (-math.inf, 1), (math.nan, 1), (0.0, 1)):
            write_npy(self.dir / "y.npy", "f4", (2,), [value] * 2)
            done = self.assay("check", "--op", "reduce", "--attr", "axes=1", "--attr", "kind=l2", "--input", "x=x.npy",
                              "--output", "y=y.npy")
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)

    def test_omitted_terms_that_nobody_would_notice_are_a_note(self):
        x = [1.0 + i / 4096 for i in range(4096)]
        write_npy(self.dir / "x.npy", "f4", (1, 4096), x)
        write_npy(self.dir / "s.npy", "u2", (1,), bf16([math.fsum(x)]))
        done = self.assay("check", "--op", "reduce", "--attr", "axes=1", "--input", "x=x.npy", "--output", "s.npy",
                          "--dtype", "x=bf16", "--dtype", "y=bf16", "--strict")
        self.assertEqual(done.returncode, 2, done.stdout)  # not every x is a bf16
        x = [struct.unpack("<f", struct.pack("<I", bits << 16))[0] for bits in bf16(x)]
        write_npy(self.dir / "x.npy", "f4", (1, 4096), x)
        write_npy(self.dir / "s.npy", "u2", (1,), bf16([math.fsum(x)]))
        done = self.assay("check", "--op", "reduce", "--attr", "axes=1", "--input", "x=x.npy", "--output", "s.npy",
                          "--dtype", "x=bf16", "--dtype", "y=bf16", "--strict")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("note: with these data the bound would notice", done.stdout)

    def test_integers_leave_no_arithmetic_to_blame(self):
        random = randoms.Random(10)
        m, n, k = 8, 8, 64
        a = [float(random.randint(-8, 8)) for _ in range(m * k)]
        b = [float(random.randint(-8, 8)) for _ in range(k * n)]
        y = product(a, b, m, n, k)
        y[11] += math.ldexp(1.0, math.frexp(y[11])[1] - 24)
        for name, shape, data in (("a", (m, k), a), ("b", (k, n), b), ("y", (m, n), y)):
            write_npy(self.dir / f"{name}.npy", "f4", shape, data)
        done = self.matmul("--exact-ulp", "0")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.startswith("mismatch"), done.stdout)

    def test_an_fft_is_judged_as_one(self):
        n = 64
        random = randoms.Random(11)
        x = [random.gauss(0, 1) for _ in range(2 * n)]
        x = list(struct.unpack(f"<{2 * n}f", struct.pack(f"<{2 * n}f", *x)))
        points = [complex(x[2 * i], x[2 * i + 1]) for i in range(n)]
        y = []
        for f in range(n):
            turns = [math.tau * f * i / n for i in range(n)]
            value = sum(p * complex(math.cos(t), -math.sin(t)) for p, t in zip(points, turns))
            y += [value.real * (1 + 2**-22), value.imag]  # rounded correctly they would use nothing of any bound
        for name, values in (("x", x), ("y", y)):
            header = f"{{'descr': '<c8', 'fortran_order': False, 'shape': ({n},), }}".encode()
            header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
            (self.dir / f"{name}.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
                                                  + struct.pack(f"<{2 * n}f", *values))
        fft = ("check", "--op", "fft", "--attr", "batch=1", "--input", "x=x.npy", "--output", "y.npy", "--json")
        tight = json.loads(self.assay(*fft).stdout)
        direct = json.loads(self.assay(*fft, "--contract", "f32acc;alg=direct").stdout)
        self.assertIn("alg=fft", tight["contract"])
        self.assertEqual((tight["verdict"], direct["verdict"]), ("pass", "pass"))
        self.assertGreater(tight["bound_margin"], direct["bound_margin"])

    def test_the_statistic_warns_and_fails_what_is_far_off_on_random_data(self):
        random = randoms.Random(5)
        x = [[random.gauss(0, 1) for _ in range(256)] for _ in range(4)]
        x = [struct.unpack("<256f", struct.pack("<256f", *row)) for row in x]
        write_npy(self.dir / "x.npy", "f4", (4, 256), sum(x, ()))
        right = [math.fsum(row) for row in x]
        args = ("check", "--op", "reduce", "--attr", "axes=1", "--input", "x=x.npy", "--output", "s.npy")
        for off, begins, codes in ((3e-4, "mismatch  reduce", (1, 1)), (1e-4, "pass (suspect)", (0, 1)),
                                   (0, "pass (bit_exact)", (0, 0))):
            write_npy(self.dir / "s.npy", "f4", (4,), [right[0] + off] + right[1:])
            done = self.assay(*args)
            self.assertTrue(done.stdout.startswith(begins), done.stdout)
            self.assertEqual((done.returncode, self.assay(*args, "--strict").returncode), codes, done.stdout)
            self.assertEqual("warning: the bound holds, but " in done.stdout, "suspect" in begins, done.stdout)
            self.assertEqual("reason: statistic channel: 1 beyond 8 " in done.stdout, "mismatch" in begins, done.stdout)

    def test_what_the_text_says_is_in_the_record(self):
        random = randoms.Random(8)
        m, n, k = 16, 16, 64
        a = normals(random, m * k)
        b = normals(random, k * n)
        right = product(a, b, m, n, k)
        narrow = product(list(map(to_bf16, a)), list(map(to_bf16, b)), m, n, k)
        results = {"pass": right, "below_contract": narrow, "mismatch": right[:37] + [right[37] + 1] + right[38:],
                   "suspect": [y + (3e-5 if i % n == 5 else 0) for i, y in enumerate(right)]}
        write_npy(self.dir / "a.npy", "f4", (m, k), a)
        write_npy(self.dir / "b.npy", "f4", (k, n), b)
        for name, y in results.items():
            with self.subTest(name):
                write_npy(self.dir / "y.npy", "f4", (m, n), y)
                text = self.matmul().stdout
                record = json.loads(self.matmul("--json").stdout)
                found = (record["verdict"], record["class"])
                self.assertIn(name, found)
                self.assertTrue(text.startswith("{} ({})".format(*found) if found[1] != "none" else found[0]), text)
                self.assert_text_is_in(record, text)
                self.assertEqual(bool(record["lower_class"]), name == "below_contract")
                self.assertEqual(record["violations"] > 0, name in ("mismatch", "below_contract"))
                self.assertEqual(record["stat_margin"], max(record[f"stat_{part}_margin"]
                                                            for part in ("element", "cluster", "group")))
                if name == "suspect":
                    self.assertEqual(record["stat_group"], "column 5")
                    self.assertGreater(record["stat_group_margin"], 1)
                    self.assertEqual(record["reason"], "suspect: " + record["stat_reason"])

    # Every figure and word of the text, line by line.
    def assert_text_is_in(self, record, text):
        shown = lambda x, digits: f"{x:.{digits}g}"
        lines = {line.split(":")[0]: line for line in text.splitlines()}
        self.assertIn(record["contract"], lines["contract"])
        self.assertEqual(lines.get("reason", "reason: ")[8:], record["reason"])
        if "where" in lines:
            self.assertEqual(lines["where"][7:], record["where"])
        if "behaves like" in lines:
            for key in ("lower_class", "lower_class_name"):
                self.assertIn(record[key], lines["behaves like"])
            for key in ("lower_class_bound_margin", "lower_class_stat_margin", "bound_margin", "stat_margin"):
                self.assertIn(" " + ("-" if record[key] is None else shown(record[key], 3)), lines["behaves like"])
            self.assertIn(f"--contract '{record['lower_class_contract']}'", text)
        for channel in ("bound", "exceptional"):
            self.assertRegex(text, rf"\n  {channel} +{re.escape(shown(record[channel + '_margin'], 4))} ")
        self.assertRegex(text, rf"\n  statistic +{re.escape(shown(record['stat_margin'], 4))} ")
        for key in ("max_abs_err", "max_rel_err", "max_ulp_err", "rms_err", "nmse"):
            self.assertIn(shown(record[key], 3), lines["errors"])
        rows = text.split("worst elements:\n")[1].splitlines()[1:] if "worst elements" in text else []
        rows = [row.split() for row in rows if row.startswith("  ")]
        worst = [word.split(":") for word in record["worst_elements"].split(";") if word]
        errors = [word.split(":") for word in record["worst_errors"].split(";") if word]
        self.assertEqual([row[0] for row in rows], [place for place, _ in errors])
        self.assertEqual([row[1:4] for row in rows], [[w[1], w[2], e] for w, (_, e) in zip(worst, errors)])
        self.assertEqual([row[4] for row in rows], [w[3] for w in worst])
        if "note" in lines:
            self.assertIn(f"{100 * record['mutation_power']:.1f} %", lines["note"])
            self.assertTrue(lines["note"].endswith("it misses " + record["mutation_power_missed"]), lines["note"])
        self.assertEqual("note" in lines, record["mutation_power"] < 0.99)

    def test_json_is_one_record(self):
        write_npy(self.dir / "y.npy", "f4", (2, 2), Y[:3] + [math.inf])
        done = self.matmul("--json")
        self.assertEqual(done.returncode, 1)
        record = json.loads(done.stdout)
        self.assertEqual(len(done.stdout.splitlines()), 1)
        self.assertEqual((record["verdict"], record["op"], record["backend"]), ("mismatch", "matmul", "user"))
        self.assertEqual(record["nonfinite_mismatch"], 1)
        self.assertEqual(record["fill"], "user")
        again = self.shell(record["reproduce"] + " --json")
        self.assertEqual(again.returncode, 1, again.stderr)
        self.assertEqual(json.loads(again.stdout)["output_hash"], record["output_hash"])

    def test_the_line_can_be_pasted_where_the_program_has_a_space_in_its_path(self):
        for place in ("a folder/it's/assay", "assay"):
            with self.subTest(place):
                record = json.loads(self.matmul("--json", program=self.copy_program(place)).stdout)
                again = self.shell(record["reproduce"] + " --json")
                self.assertEqual(again.returncode, 0, again.stderr)
                self.assertEqual(json.loads(again.stdout)["output_hash"], record["output_hash"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
