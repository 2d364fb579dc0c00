# SPDX-License-Identifier: Apache-2.0
"""assay fingerprint of kernels whose arithmetic is written down: fingerprint_test.py ASSAY [CLASS]."""
import json
import signal
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree

from full import FULL
from kernels_test import Program

MATMUL = "matmul/f32/m=8,n=8,k=32/fill=normal/seed=0"
UNIT = "matmul/f16-f16-f32/m=8,n=8,k=32/fill=normal/seed=0"
REDUCE = "reduce/f32/shape=8x64,axes=1/fill=normal/seed=0"
# Terms along the last axis are added in so many lanes, whose sums are added in halves.
IN_LANES = """
    def in_lanes(products, lanes, dtype=np.float32):
        sums = np.zeros(products.shape[:-1] + (lanes,), dtype)
        for first in range(0, products.shape[-1], lanes):
            sums = (sums + products[..., first:first + lanes].astype(dtype)).astype(dtype)
        while sums.shape[-1] > 1:
            half = sums.shape[-1] // 2
            sums = (sums[..., :half] + sums[..., half:]).astype(dtype)
        return sums[..., 0].astype(np.float32)
"""
# Each adds in an order of its own; the last four break the contract that they declare.
UNITS = ((2, 23), (16, 22), *((4, 11), (4, 23), (8, 16), (8, 23), (16, 13)) * FULL)
KERNELS = IN_LANES + f"    UNITS = {UNITS}\n" + """
    def products(a, b):
        return a[:, None, :] * b.T[None, :, :]

    def register(name, of, contract="f32acc;det=yes"):
        assay.kernel("matmul", contract=contract, dtypes=["f32"], name=name)(of)

    register("lanes", lambda a, b: in_lanes(products(a, b), 4))
    register("wide", lambda a, b: np.matmul(a.astype(float), b.astype(float)).astype(np.float32))
    register("narrow", lambda a, b: in_lanes(products(a, b), 1, np.float16))
    register("tf32", lambda a, b: in_lanes(products(cut(a), cut(b)), 1))
    register("flushes", lambda a, b: in_lanes(products(flush(a), flush(b)), 1))
    register("changes", lambda a, b: in_lanes(products(a, b), 2 ** np.random.randint(1, 5)))
    register("tf32b", lambda a, b: in_lanes(products(a, cut(b)), 1))
    register("tf32rn", lambda a, b: in_lanes(products(cut(nearest(a)), cut(nearest(b))), 1))

    register("narrow_as_said", lambda a, b: in_lanes(products(a, b), 1, np.float16), "acc=f16;det=yes")
    register("odd_rows_backwards", lambda a, b: np.where(np.arange(a.shape[0])[:, None] % 2 == 0, in_lanes(products(a, b), 1),
                                                         in_lanes(products(a, b)[..., ::-1], 1)), "f32acc;batchinv=yes")
    register("twice", lambda a, b: 2 * in_lanes(products(a, b), 1))

    def cut(x):
        return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)

    def nearest(x):
        bits = x.view(np.uint32)
        return (bits + (np.uint32(0xFFF) + (bits >> np.uint32(13) & np.uint32(1)))).view(np.float32)

    def flush(x):
        return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.float32(0), x)

    # Simulated matrix units: some products and the sum so far are cut at a last bit below the largest one, and their sum at f32's last.
    def cut_at(x, exponent):
        return np.trunc(np.ldexp(x, -exponent)) * np.exp2(exponent.astype(float))

    def unit(name, block, bits):
        def of(a, b):
            sums = np.zeros((a.shape[0], b.shape[1]))
            for first in range(0, a.shape[1], block):
                parts = products(a[:, first:first + block].astype(float), b[first:first + block].astype(float))
                parts = np.concatenate([sums[..., None], parts], -1)
                most = np.frexp(np.abs(parts).max(-1, keepdims=True))[1] - 1
                sums = cut_at(parts, most - bits).sum(-1)
                sums = cut_at(sums, np.frexp(sums)[1] - 24)
            return sums.astype(np.float32)
        assay.kernel("matmul", contract=f"acc=tc<{bits},{block}>", dtypes=["f16-f16-f32"], name=name)(of)

    unit("unit", 8, 13)
    for block, bits in UNITS:
        unit(f"unit_{block}_{bits}", block, bits)

    # An accumulator of 30 bits, of which results in f16 do not show all.
    @assay.kernel("matmul", contract="acc=f32", dtypes=["f16"])
    def thirty(a, b):
        sums = np.zeros((a.shape[0], b.shape[1]))
        for product in np.moveaxis(products(a.astype(float), b.astype(float)), -1, 0):
            sums = cut_at(sums + product, np.frexp(sums + product)[1] - 30)
        return sums.astype(np.float16)

    assay.kernel("tanh", contract="f64", dtypes=["f64"], name="longer")(
        lambda x: np.tanh(x.astype(np.longdouble)).astype(float))
    assay.kernel("exp", contract="f64", dtypes=["f64"], name="longer")(
        lambda x: np.exp(x.astype(np.longdouble)).astype(float))

    assay.kernel("tanh", contract="f32acc;math=4", dtypes=["f32", "f16"], name="right")(
        lambda x: np.tanh(x.astype(float)).astype(x.dtype))

    @assay.kernel("tanh", contract="f32acc;math=4", dtypes=["f32", "f16"])
    def wrong(x):
        y = np.tanh(x.astype(float)).astype(x.dtype)
        y[x == x.dtype.type(1.5)] = np.nextafter(y[x == x.dtype.type(1.5)], x.dtype.type(0)) - np.finfo(x.dtype).epsneg * 3
        y[np.isinf(x)] = np.nan
        y[x == 0] = -0.0
        return y

    def pattern(bits):
        return np.array([bits], np.uint32).view(np.float32)[0]

    # Two results in the wrong order; that of the first number of a part is seen beside the last one of the part before.
    @assay.kernel("abs", contract="f32acc", dtypes=["f32"])
    def dips(x):
        y = np.abs(x)
        y[x == pattern(600 * 2 ** 21)] = pattern(600 * 2 ** 21 - 3)
        y[x == -pattern(600 * 2 ** 21 + 7)] = pattern(600 * 2 ** 21 + 9)
        return y

    register("by_batch", lambda a, b: in_lanes(products(a, b), 1 if a.shape[0] < 4 else 4))
    register("promises", lambda a, b: in_lanes(products(a, b), 1 if a.shape[0] < 4 else 4), "f32acc;batchinv=yes")
    register("columns", lambda a, b: in_lanes(products(a, b), 1 if b.shape[1] < 4 else 4), "f32acc;batchinv=yes")

    @assay.kernel("softmax", contract="f32acc;math=4;det=yes;batchinv=yes", dtypes=["f32"], name="few_alone")
    def few_alone(x, *, axis, log):
        e = np.exp(x - x.max(-1, keepdims=True))
        sums = e.sum(-1, keepdims=True)
        return e / (np.nextafter(sums, np.float32(np.inf)) if len(x) < 3 else sums)

    @assay.kernel("softmax", contract="f32acc;math=4;det=yes", dtypes=["f32"])
    def last_alone(x, *, axis, log):
        e = np.exp(x - x.max(-1, keepdims=True))
        sums = e.sum(-1, keepdims=True)
        sums[-1] = np.nextafter(sums[-1], np.float32(np.inf))
        return e / sums

    def divide_by(name, total):
        def of(x, *, axis, log):
            e = np.exp(x - x.max(-1, keepdims=True))
            return (e / total(e)[..., None]).astype(np.float32)
        assay.kernel("softmax", contract="f32acc;math=4;det=yes", dtypes=["f32"], name=name)(of)

    divide_by("sums_in_lanes", lambda e: in_lanes(e, 4))
    divide_by("sums_in_order", lambda e: in_lanes(e, 1))
    divide_by("sums_in_f64", lambda e: e.astype(float).sum(-1))
    divide_by("sums_otherwise", lambda e: in_lanes(e, 2 ** np.random.randint(0, 4)))

    @assay.kernel("associative_scan", contract="f32acc;det=yes", dtypes=["f32"])
    def step_by_step(a, b):
        h, state = np.empty_like(b), np.zeros(len(b), np.float32)
        for t in range(b.shape[1]):
            h[:, t] = state = a[:, t] * state + b[:, t]
        return h

    @assay.kernel("attention", contract="f32acc;math=4;det=yes", dtypes=["f32"])
    def decodes(q, k, v, *, causal, **rest):
        l, s = q.shape[2], k.shape[2]
        hidden = np.arange(s) > np.arange(l)[:, None] + s - l
        scores = np.where(hidden, -np.inf, np.einsum("bhld,bhsd->bhls", q.astype(float), k) / np.sqrt(q.shape[3]))
        e = np.exp(scores - scores.max(-1, keepdims=True))
        y = np.einsum("bhls,bhsd->bhld", e / e.sum(-1, keepdims=True), v).astype(np.float32)
        return np.nextafter(y, np.float32(9)) if l == 1 else y

    @assay.kernel("reduce", contract="f32acc;det=yes", dtypes=["f32"])
    def numpys(x, *, kind, axes):
        return np.sum(x, axis=1)

    def largest(name, one, start, nan="any"):
        def of(x, *, kind, axes):
            y = np.full(x.shape[0], start, np.float32)
            for column in range(x.shape[1]):
                y = one(y, x[:, column])
            return y
        assay.kernel("reduce", contract="f32acc;nan=" + nan, dtypes=["f32"], name=name)(of)

    largest("spreads", np.maximum, -np.inf)
    largest("leaves_out", np.fmax, -np.inf)
    largest("if_larger", lambda y, x: np.where(x > y, x, y), -np.inf)
    largest("if_not_less", lambda y, x: np.where(y > x, y, x), -np.inf)
    for nan in ("propagate", "ignore"):
        largest("spreads_" + nan, np.maximum, -np.inf, nan)
        largest("leaves_out_" + nan, np.fmax, -np.inf, nan)
"""


class Fingerprint(Program):
    def take(self, *words, case=MATMUL, code=0):
        done = self.assay("fingerprint", "--kernels", str(self.write(KERNELS)), "--python", sys.executable, "--backend", "mine",
                          "--case", case, *words)
        self.assertEqual(done.returncode, code, done.stdout[-2000:] + done.stderr[-2000:])
        return done

    def passports(self, *words, **how):
        return {p["implementation"]: p for p in json.loads(self.take("--json", *words, **how).stdout)["passports"]}

    kept = {}

    def matmul(self):
        """One run measures the products for all tests."""
        if not self.kept:
            self.kept.update(self.passports("--impl", "lanes,wide,narrow,tf32,tf32b,tf32rn,flushes,changes,narrow_as_said,"
                                            "odd_rows_backwards,by_batch,promises,columns", code=1))
        return self.kept

    def test_a_written_arithmetic_is_what_is_measured(self):
        passports = self.matmul()
        lanes = passports["lanes"]
        self.assertEqual(lanes["tree"], "0:4:28 + (2:4:30) + (1:4:29 + (3:4:31))")
        self.assertEqual(lanes["order"], "4 sums, each with steps of 4")
        self.assertEqual((lanes["sum_bits"], lanes["rounding"], lanes["operand_bits"], lanes["contraction"]),
                         (24, "to nearest even", 24, False))
        self.assertEqual(lanes["predicted"], {"agree": 1024, "sums": 1024})
        self.assertEqual(lanes["contradictions"], [])
        self.assertTrue(lanes["repeats"])
        self.assertFalse(lanes["place_matters"])
        self.assertEqual(passports["wide"]["contradictions"], [])
        self.assertEqual((passports["narrow"]["sum_bits"], passports["narrow"]["rounding"]), (11, "to nearest even"))
        self.assertEqual([passports[name]["operand_bits"] for name in ("tf32", "tf32b")], [11, 11])
        rounding = {name: (p["predicted"], p.get("operand_rounding")) for name, p in passports.items() if name.startswith("tf32")}
        told = {"agree": 1024, "sums": 1024}
        self.assertEqual(rounding, {"tf32": (told, "of both operands, toward zero"), "tf32b": (told, "of the second operand alone, toward zero"),
                                    "tf32rn": (told, "of both operands, to nearest even")})
        self.assertEqual(passports["flushes"]["subnormal_operands"], "flushed")
        self.assertFalse(passports["changes"]["repeats"])
        self.assertIn("no one order explains the probes", passports["changes"]["no_order"])
        for name, text in (("narrow", "sums keep 11 bits"), ("tf32", "operands keep 11 of 24 bits"),
                           ("flushes", "subnormal operands are flushed"), ("changes", "the contract says det=yes")):
            self.assertIn(text, "; ".join(passports[name]["contradictions"]), name)

    def test_the_sum_of_a_softmax_has_its_tree(self):
        """Its terms are positive: a 1 absorbs each of two small ones, but not their sum."""
        names = ["sums_in_lanes", "sums_in_order", "sums_in_f64", "sums_otherwise"]
        found = self.passports("--impl", ",".join(names), case="softmax/f32/shape=16x32/fill=normal/seed=0", code=1)
        self.assertEqual(found["sums_in_lanes"]["tree"], "0:4:28 + (2:4:30) + (1:4:29 + (3:4:31))")
        self.assertEqual(found["sums_in_order"]["tree"], "0:1:31")
        self.assertEqual(found["sums_in_lanes"]["tree_hash"], self.matmul()["lanes"]["tree_hash"])
        self.assertIn("the accumulator loses nothing", found["sums_in_f64"]["no_order"])
        self.assertIn("no one order explains the probes", found["sums_otherwise"]["no_order"])
        self.assertEqual({name for name in names if found[name]["contradictions"]}, {"sums_otherwise"})
        self.assertEqual(found["sums_in_order"]["order"], "one after the other")

    def test_a_scan_has_its_tree(self):
        found = self.passports("--impl", "step_by_step", case="associative_scan/f32/rows=8,n=32/fill=normal/seed=0")
        self.assertEqual(found["step_by_step"]["tree"], "0:1:31")
        self.assertEqual(found["step_by_step"]["predicted"], {"agree": 1024, "sums": 1024})

    def test_the_usual_softmax_shows_its_tree(self):
        done = self.assay("fingerprint", "--backend", "cpu", "--op", "softmax", "--dtype", "f32", "--impl", "direct", "--json")
        self.assertEqual([p["tree"] for p in json.loads(done.stdout)["passports"]], ["0:1:255"], done.stderr)

    def test_a_narrow_accumulator_that_is_declared_is_no_contradiction(self):
        passport = self.matmul()["narrow_as_said"]
        self.assertEqual((passport["sum_bits"], passport["contradictions"]), (11, []))

    def test_rows_of_another_order_are_seen_in_a_single_column_too(self):
        column = self.passports("--impl", "odd_rows_backwards", case="matmul/f32/m=8,n=1,k=32/fill=normal/seed=0", code=1)
        for passport in (self.matmul()["odd_rows_backwards"], column["odd_rows_backwards"]):
            self.assertTrue(passport["place_matters"])
            self.assertIn("the contract says batchinv=yes", passport["contradictions"][0])

    def test_bits_that_depend_on_how_many_rows_there_are(self):
        rows, columns = self.matmul()["by_batch"]["slices"]
        self.assertEqual((rows["attribute"], rows["extent"], rows["equal"], rows["other"]), ("m", 8, [4, 7], [1, 2, 3]))
        self.assertEqual((columns["attribute"], columns["equal"], columns["other"]), ("n", [1, 2, 3, 4, 7], []))
        for name in ("lanes", "wide"):
            self.assertEqual([axis["other"] for axis in self.matmul()[name]["slices"]], [[], []], name)

    def test_rows_that_break_their_promise_contradict_it(self):
        found = {name: self.matmul()[name]["contradictions"] for name in ("promises", "columns")}
        self.assertEqual(found, {"promises": ["of m=8, 1 2 3 alone have other bits; the contract says batchinv=yes"], "columns": []})
        done = self.take("--impl", "few_alone", case="softmax/f32/shape=20x32/fill=normal/seed=0", code=1)
        self.assertIn("CONTRADICTION   of shape=20, 1 2 alone have other bits; the contract says batchinv=yes\n", done.stdout)
        self.assertNotIn("operands  ", done.stdout)  # exponentials hide theirs

    def test_nan_and_zeros_in_a_maximum_and_what_contradicts_a_contract(self):
        names = [f"{how}_{nan}" for how in ("spreads", "leaves_out") for nan in ("propagate", "ignore")]
        case = "reduce/f32/shape=4x9,axes=1,kind={}/fill=normal/seed=0"
        done = self.take("--json", "--impl", ",".join([*names, "spreads", "leaves_out", "if_larger", "if_not_less"]),
                         "--case", case.format("min"), case=case.format("max"), code=1)
        for kind in ("max", "min"):
            passports = {p["implementation"]: p for p in json.loads(done.stdout)["passports"] if f"kind={kind}" in p["case"]}
            self.assertEqual({name for name, p in passports.items() if p["contradictions"]}, {names[1], names[2]})
            self.assertEqual(passports[names[2]]["contradictions"], ["of a NaN in a row: it is left out; the contract says nan=propagate"])
            if kind == "max":
                found = {name: tuple(p["extremes"][key] for key in ("nan", "zeros", "only_nan")) for name, p in passports.items()}
                self.assertEqual(found["spreads"][::2], ("the result is NaN", "NaN"))
                self.assertEqual(found["leaves_out"][::2], ("it is left out", "-inf"))
                self.assertEqual(found["if_larger"], ("it is left out", "the first one", "-inf"))
                self.assertEqual(found["if_not_less"], ("the result is NaN if it comes last, and not if first", "the last one", "NaN"))

    def test_an_operator_without_a_known_sum_has_its_slices_compared(self):
        passport = self.passports("--impl", "last_alone", case="softmax/f32/shape=20x600/fill=normal/seed=0")["last_alone"]
        self.assertIn("rows of 2 to 512 elements of f32 or f64 do", passport["no_order"])
        self.assertIn("its results show no order", passport["no_order"])
        self.assertEqual(passport["slices"], [{"attribute": "shape", "extent": 20, "only_last": False, "equal": [], "other": [1, 2, 3, 7, 10, 17, 19],
                                               "not_taken": []}])
        self.assertTrue(passport["repeats"])

    def test_a_decoding_step_that_has_other_bits_than_its_prefill(self):
        done = self.take("--impl", "decodes", case="attention/f32/b=1,h=1,l=20,d=8,causal=1/fill=normal/seed=0")
        self.assertIn("of l=20, the last: 2 3 7 10 17 19 with the same bits, 1 with others", done.stdout)

    def test_a_wrong_sum_has_no_fingerprint(self):
        done = self.take("--impl", "twice", code=3)
        self.assertIn("no sum of these terms: 1 of them 1 and the others 0 came back as 2; assay run --case", done.stderr)

    def test_attention_whose_weights_make_results_subnormal_is_no_contradiction(self):
        done = self.assay("fingerprint", "--backend", "cpu", "--impl", "materialised", "--json",
                          "--case", "attention/f32/b=1,h=1,l=8,s=16,d=8/fill=normal/seed=0")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual({p["subnormal_operands"] for p in json.loads(done.stdout)["passports"] if "order" in p}, {"not tried"})

    def test_a_simulated_matrix_unit_is_recovered_and_predicted(self):
        found = self.passports(case=UNIT)
        passport = found.pop("unit")
        self.assertTrue(passport["tree"].startswith("{{{{0, 1, 2, 3, 4, 5, 6, 7}, 8, 9, "), passport["tree"])
        self.assertIn("up to 9 numbers at once", passport["order"])
        self.assertEqual((passport["sum_bits"], passport["rounding"]), (14, "toward zero"))
        self.assertEqual(passport["predicted"], {"agree": 1024, "sums": 1024})
        self.assertEqual(passport["contradictions"], [])
        for name, passport in found.items():
            block, bits = map(int, name.split("_")[1:])
            first = "0 + 1" if block == 2 else "{" + ", ".join(map(str, range(block))) + "}"
            tree = "{" * (32 // block - 1) + f"{first}, {block}, "
            self.assertTrue(passport["tree"].startswith(tree), name + passport["tree"])
            self.assertEqual((passport["sum_bits"], passport["rounding"], passport["predicted"]),
                             (bits + 1, "toward zero", {"agree": 1024, "sums": 1024}), name)

    def test_bits_that_the_output_does_not_show_are_not_stated(self):
        passport = self.passports(case="matmul/f16/m=8,n=8,k=32/fill=normal/seed=0")["thirty"]
        self.assertEqual((passport["order"], passport["sum_bits"], passport["rounding"]),
                         ("one after the other", 25, "not shown by these types"))
        self.assertEqual(passport["contradictions"], [])

    def test_a_function_of_f64_is_held_against_more_digits_than_its_own(self):
        for function in ("tanh", "exp") if FULL else ():  # a unit test measures some numbers of exp
            passport = self.passports(case=f"{function}/f64/n=4194304/fill=normal/seed=0")["longer"]
            self.assertTrue(0.49 < passport["max_ulp"] < 0.51, passport)

    def test_each_number_of_a_16_bit_type_is_given_to_a_function(self):
        for case in ("tanh/f16/n=65536/fill=normal/seed=0", "tanh/f32/n=4194304/fill=normal/seed=0")[:2 if FULL else 1]:
            passports = self.passports(case=case)
            right, wrong = passports["right"], passports["wrong"]
            self.assertLessEqual(right["max_ulp"], 0.5)
            self.assertGreater(right["correctly_rounded"], 0.999999)
            self.assertEqual((right["wrong_specials"], right["wrong_order"], right["symmetry"], right["asymmetric"]), (0, 0, "odd", 0))
            self.assertEqual((wrong["worst_input"], wrong["wrong_specials"], wrong["symmetry"], wrong["asymmetric"]), (1.5, 2, "odd", 1))
            self.assertTrue(3 < wrong["max_ulp"] < 5, wrong)
            self.assertEqual(wrong["wrong_order"] > 0, "f16" in case)  # those of f32 lie further apart than the fault
        done = self.take(case="tanh/f16/n=65536/fill=normal/seed=0")
        self.assertRegex(done.stdout, r"accuracy +0\.\d+ ulp at most, at x = .*; all of 65536 results are correctly rounded")
        self.assertRegex(done.stdout, r"inf and NaN +2 are wrong, first at x = inf")

    def test_all_numbers_of_a_16_bit_type_and_zeros_of_the_other_sign(self):
        case = "tanh/f16/n=5/fill=normal/seed=0"  # whatever n it has
        passports = self.passports("--exhaustive", case=case)
        right, wrong = passports["right"], passports["wrong"]
        self.assertEqual((right["inputs"], right["not_correctly_rounded"], right["wrong_zero"]), (65536, 0, 0))
        self.assertEqual([wrong[key] for key in ("inputs", "not_correctly_rounded", "wrong_zero", "wrong_nan", "wrong_inf")], [65536, 1, 1, 2, 0])

    def test_zeros_have_the_sign_of_the_numbers_beside_them(self):
        ops = ("sin", "tan", "relu", "silu", "hardswish", "gelu")
        done = self.assay("fingerprint", "--exhaustive", "--backend", "cpu", "--impl", "direct", "--op", ",".join(ops), "--dtype", "f16", "--json")
        found = {p["case"].partition("/")[0]: p["wrong_zero"] for p in json.loads(done.stdout)["passports"]}
        self.assertEqual(found, dict.fromkeys(ops, 0))

    def test_all_numbers_of_f32_in_parts(self):
        def part(shard, *words):
            return self.passports("--exhaustive", "--shard", shard, *words, case="abs/f32/n=1/fill=normal/seed=0")["dips"]

        def found(passport):
            return [passport[key] for key in ("inputs", "not_correctly_rounded", "wrong_zero", "wrong_order", "asymmetric", "parts")]
        inputs = 2 ** 22
        self.assertEqual(found(part("599/1024", "--out", "parts")), [inputs, 0, 0, 0, 0, "1/1024"])
        self.assertEqual(found(part("600/1024", "--out", "parts")), [2 * inputs, 2, 0, 2, 2, "2/1024"])
        kept, = (self.dir / "parts").glob("*.600of1024.json")
        text = kept.read_text()
        kept.write_text(text.replace('"max_ulp": "2"', '"max_ulp": "77"'))
        self.assertEqual(part("600/1024", "--out", "parts")["max_ulp"], 77)  # it is read, and not measured again
        for broken, words in (("{}", "remove it"), (text.replace('"inputs"', '"input"'), "inputs is missing or no number"),
                              (text.replace("f32acc", "f64"), "give another folder")):
            kept.write_text(broken)
            done = self.take("--exhaustive", "--shard", "600/1024", "--out", "parts", case="abs/f32/n=1/fill=normal/seed=0", code=2)
            self.assertIn(words, done.stderr)

    def test_an_interrupt_says_how_many_parts_are_kept(self):
        words = ["fingerprint", "--exhaustive", "--backend", "cpu", "--impl", "direct", "--op", "abs", "--dtype", "f32", "--out", "kept"]
        running = subprocess.Popen([self.program, *words], cwd=self.dir, stderr=subprocess.PIPE, text=True)
        for _ in range(5000):
            if any((self.dir / "kept").glob("*.json")):
                break
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        said = running.communicate(timeout=100)[1]
        self.assertEqual(running.returncode, 130, said)
        self.assertRegex(said, r"interrupted after \d+ of 1024 parts; the same command goes on from kept")

    def test_what_has_no_exhaustive_measurement(self):
        for case, text in (("exp/f64/n=5/fill=normal/seed=0", "f64 has 2^64 numbers"), ("add/f32/n=5/fill=normal/seed=0", "maps no single elements")):
            self.assertIn(text, self.take("--exhaustive", case=case, code=2).stderr)
        for words in (("--op", "add"), ("--op", "exp", "--dtype", "f64")):
            done = self.assay("fingerprint", "--exhaustive", "--backend", "cpu", *words)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--exhaustive measures functions of one operand", done.stderr)
        done = self.assay("fingerprint", "--exhaustive", "--backend", "cpu", "--op", "exp", "--dtype", "f16", "--svg", "orders")
        self.assertEqual((done.returncode, "excludes --svg" in done.stderr), (2, True), done.stderr)

    def test_numpys_sum_is_predicted_to_the_bit(self):
        passport = self.passports("--impl", "numpys", case=REDUCE)["numpys"]
        self.assertEqual(passport["predicted"], {"agree": 1024, "sums": 1024})

    def test_each_sum_of_the_reference_backend_is_predicted(self):
        small = ("--case", "conv/f32/n=1,c=3,o=2,i=5x5,k=3x3/fill=normal/seed=0", "--case", REDUCE)
        done = self.assay("fingerprint", "--backend", "cpu", *(("--op", "conv,reduce", "--dtype", "f32,f64") if FULL else small), "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        passports = [p for p in json.loads(done.stdout)["passports"] if "extremes" not in p]
        self.assertGreater(len(passports), 7 if FULL else 3)
        for passport in passports:
            self.assertEqual(passport["predicted"], {"agree": 1024, "sums": 1024}, passport)

    def test_it_is_printed_drawn_and_compared(self):
        text = self.take("--impl", "lanes,narrow,by_batch", "--svg", "drawings", "--progress", "lines", code=1).stdout
        self.assertIn("parts           of m=8: 4 7 with the same bits, 1 2 3 with others", text)
        self.assertRegex(text, r"order +4 sums, each with steps of 4 \([0-9a-f]{16}\)\n")
        self.assertRegex(text, r"operands +keep 24 bits\n")
        self.assertRegex(text, r"operands +keep 11 bits or more, which sums hide\n")
        self.assertRegex(text, r"predicted +1024 of 1024 random sums to the bit")
        self.assertRegex(text, r"CONTRADICTION +sums keep 11 bits, rounded to nearest even; the contract says f32acc;det=yes")
        drawings = sorted((self.dir / "drawings").iterdir())
        self.assertEqual(len(drawings), 3)
        for drawing in drawings:
            xml.etree.ElementTree.parse(drawing)
        for name in ("lanes", "narrow"):
            passport = self.matmul()[name] | {"implementation": "one"}
            (self.dir / f"{name}.json").write_text(json.dumps({"passports": [passport]}))
        same = self.assay("fingerprint", "--diff", "lanes.json", "lanes.json")
        self.assertEqual((same.returncode, same.stdout), (0, "no difference\n"))
        other = self.assay("fingerprint", "--diff", "lanes.json", "narrow.json")
        self.assertEqual(other.returncode, 1)
        self.assertIn(f"{MATMUL} one: sum_bits 24 -> 11\n", other.stdout)
        for name, bits in (("lanes", 24), ("narrow", 23)):  # of two devices, whose second ones differ
            same = [{"case": MATMUL, "implementation": "one", "sum_bits": of} for of in (24, bits)]
            (self.dir / f"{name}.json").write_text(json.dumps({"passports": same}))
        other = self.assay("fingerprint", "--diff", "lanes.json", "narrow.json")
        self.assertEqual(other.stdout, f"{MATMUL} one (2): sum_bits 24 -> 23\n")

    def test_bad_input_is_refused_with_what_to_do(self):
        for words, text in ((("--case", "matmul/f32/m=4,n=4,k=4,beta=1/fill=normal/seed=0"), "beta=0"), (("--case", "nonsense"), "nonsense"),
                            (("--case", "softmax/f16/shape=65536/fill=normal/seed=0"), "rows of 2 to 512 elements of f32 or f64 do"),
                            (("--case", "cumprod/f32/rows=1,n=64/fill=normal/seed=0"), "orders are found of matmul, conv, reduce"),
                            (("--case", "matmul/i8-i8-i32/m=4,n=4,k=16/fill=normal/seed=0"), "are taken of floats"),
                            (("--case", "matmul/f32/m=4,n=4,k=1/fill=normal/seed=0"), "have 1 terms; the order of 2 to 16384"),
                            (("--case", "matmul/bf16/m=4,n=4,k=257/fill=normal/seed=0"), "2 to 256 can be found with results of bf16"),
                            (("--case", "matmul/f32/m=4,n=4,k=16385/fill=normal/seed=0"), "2 to 16384"), (("--op", "fft"), "--case names another"),
                            (("--op", "matmull"), "--op matmull: unknown operator"),
                            (("--case", "exp/f32/n=0/fill=normal/seed=0"), "--case exp/f32/n=0/fill=normal/seed=0: "),
                            (("--case", "nonsense"), "--case nonsense: case id"),
                            (("--diff", "a.json", "b.json"), "a.json")):
            done = self.assay("fingerprint", "--backend", "cpu", *words)
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertIn(text, done.stderr)
        (self.dir / "broken.json").write_text("{")
        (self.dir / "other.json").write_text("{}")
        for name in ("broken.json", "other.json"):
            done = self.assay("fingerprint", "--diff", name, name)
            self.assertEqual(done.returncode, 2)
            self.assertIn("give files that assay fingerprint --json printed", done.stderr)
        for words in (("--case", MATMUL), ("--exhaustive", "--op", "abs", "--dtype", "bf16")):
            done = self.assay("fingerprint", "--backend", "cpu", *words, "--impl", "none")
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertRegex(done.stderr, "--impl none: no backend has it for these cases, but .*(direct|naive).*; name one of these, or leave")
        (self.dir / "afile").write_text("")
        for folder in ("afile", "afile/parts"):
            done = self.assay("fingerprint", "--exhaustive", "--backend", "cpu", "--op", "abs", "--dtype", "f32", "--out", folder)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"--out {folder}: it cannot be a folder: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
