# SPDX-License-Identifier: Apache-2.0
"""assay fingerprint of norms and losses whose orders are written down: fingerprint_norms_test.py ASSAY [CLASS]."""
import json
import sys
import unittest

from fingerprint_test import IN_LANES
from full import FULL
from kernels_test import Program


def text_of_halves(first, n):
    if n == 2:
        return f"{first} + {first + 1}"
    return f"{text_of_halves(first, n // 2)} + ({text_of_halves(first + n // 2, n // 2)})"


# The orders in which KERNELS adds 32 squares or exponentials.
TREES = {"one_by_one": "0:1:31", "lanes": "0:4:28 + (2:4:30) + (1:4:29 + (3:4:31))",
         "blocks": "0:1:7 + (8:1:15) + (16:1:23) + (24:1:31)", "halves": text_of_halves(0, 32)}
KERNELS = IN_LANES + """
    def subtract(name, total):
        def rows(x, eps):
            c = x - (total(x) / np.float32(x.shape[-1]))[..., None]
            return c / np.sqrt((c * c).mean(-1, keepdims=True) + np.float32(eps))
        assay.kernel("layer_norm", contract="f32acc;math=4;det=yes", dtypes=["f32"], name=name)(
            lambda x, gamma, beta, *, eps, **rest: rows(x, eps) * gamma + beta)

    subtract("mean_in_lanes", lambda x: in_lanes(x, 4))
    subtract("mean_in_order", lambda x: in_lanes(x, 1))
    subtract("mean_in_f64", lambda x: x.astype(float).sum(-1).astype(np.float32))

    def in_blocks(x, block):
        return in_lanes(in_lanes(x.reshape(x.shape[:-1] + (-1, block)), 1), 1)

    def in_halves(x):
        if x.shape[-1] == 1:
            return x[..., 0]
        half = x.shape[-1] // 2
        return in_halves(x[..., :half]) + in_halves(x[..., half:])

    ORDERS = {"one_by_one": lambda x: in_lanes(x, 1), "lanes": lambda x: in_lanes(x, 4), "blocks": lambda x: in_blocks(x, 8), "halves": in_halves,
              "f64": lambda x: x.astype(float).sum(-1).astype(np.float32)}

    def two_passes(x, total, eps):
        n, c = np.float32(x.shape[-1]), x - (in_lanes(x, 1) / np.float32(x.shape[-1]))[..., None]
        return c * (1 / np.sqrt(total(c * c) / n + np.float32(eps)))[..., None]

    def one_pass(x, total, eps):
        n = np.float32(x.shape[-1])
        mean = in_lanes(x, 1) / n
        variance = np.maximum(total(x * x) / n - mean * mean, np.float32(0))
        return (x - mean[..., None]) / np.sqrt(variance + np.float32(eps))[..., None]

    def welford(x, total, eps):
        mean, squares = np.zeros(x.shape[:-1], np.float32), np.zeros(x.shape[:-1], np.float32)
        for i in range(x.shape[-1]):
            delta = x[..., i] - mean
            mean = mean + delta / np.float32(i + 1)
            squares = squares + delta * (x[..., i] - mean)
        return (x - mean[..., None]) * (1 / np.sqrt(squares / np.float32(x.shape[-1]) + np.float32(eps)))[..., None]

    def norm(name, rows, total):
        assay.kernel("layer_norm", contract="f32acc;math=4;det=yes", dtypes=["f32"], name=name)(
            lambda x, gamma, beta, *, eps, **rest: rows(x, total, eps) * gamma + beta)
        assay.kernel("group_norm", contract="f32acc;math=4;det=yes", dtypes=["f32"], name=name)(
            lambda x, gamma, beta, *, eps: (rows(x.reshape(x.shape[:2] + (-1,)), total, eps).reshape(x.shape) * gamma[None, :, :, None]
                                            + beta[None, :, :, None]))
        assay.kernel("batch_norm_training", contract="f32acc;math=4;det=yes", dtypes=["f32"], name=name)(
            lambda x, gamma, beta, mean, var, *, eps, **more: (rows(x.swapaxes(0, 1).reshape(x.shape[1], -1), total, eps).reshape(
                x.shape[1], x.shape[0], -1).swapaxes(0, 1) * gamma[:, None] + beta[:, None], mean, var))

    for name, total in ORDERS.items():
        norm(name, two_passes, total)
        assay.kernel("rms_norm", contract="f32acc;math=4;det=yes", dtypes=["f32"], name=name)(
            lambda x, gamma, *, eps, total=total: x / np.sqrt(total(x * x) / np.float32(x.shape[-1]) + np.float32(eps))[:, None] * gamma)
        assay.kernel("reduce", contract="f32acc;math=4;det=yes", dtypes=["f32"], name=name)(
            lambda x, *, kind, axes, total=total: np.sqrt(total(x * x)) if kind == "l2" else
            x.max(-1) + np.log(total(np.exp(x - x.max(-1, keepdims=True)))))
        assay.kernel("cross_entropy", contract="f32acc;math=4;det=yes", dtypes=["f32-i64-f32"], name=name)(
            lambda x, labels, *, total=total, **rest: x.max(-1) + np.log(total(np.exp(x - x.max(-1, keepdims=True)))) -
            np.take_along_axis(x, labels[:, None], 1)[:, 0])
    norm("one_pass", one_pass, ORDERS["lanes"])
    norm("welford", welford, None)

    @assay.kernel("layer_norm", contract="f32acc;math=4;det=yes", dtypes=["f32"])
    def by_data(x, gamma, beta, *, eps, **rest):
        c = x - (in_lanes(x, 1) / np.float32(x.shape[-1]))[..., None]
        return c / np.sqrt(in_lanes(np.sort(c * c), 1) / np.float32(x.shape[-1]) + np.float32(eps))[..., None] * gamma + beta
"""


class Norms(Program):
    def take(self, *words, case):
        done = self.assay("fingerprint", "--kernels", str(self.write(KERNELS)), "--python", sys.executable, "--backend", "mine",
                          "--case", case, *words)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])
        return done

    def passports(self, *words, case):
        return {p["implementation"]: p for p in json.loads(self.take("--json", *words, case=case).stdout)["passports"]}

    def test_a_mean_that_is_subtracted_has_its_tree(self):
        names = "mean_in_lanes,mean_in_order,mean_in_f64"
        found = self.passports("--impl", names, case="layer_norm/f32/rows=30,n=32/fill=normal/seed=0")
        self.assertEqual(found["mean_in_lanes"]["tree"], "0:4:28 + (2:4:30) + (1:4:29 + (3:4:31))")
        self.assertEqual(found["mean_in_order"]["tree"], "0:1:31")
        self.assertIn("the accumulator loses nothing", found["mean_in_f64"]["no_order"])

    def check_orders(self, cases, tree, *words):
        """By case, what one run finds of all orders."""
        cases = [case + "/fill=normal/seed=0" for case in cases]
        more = [word for case in cases[1:] for word in ("--case", case)]
        passports = json.loads(self.take("--json", "--impl", ",".join(TREES) + ",f64", *more, *words, case=cases[0]).stdout)["passports"]
        found = {case: {p["implementation"]: p for p in passports if p["case"] == case} for case in cases}
        for case, of in found.items():
            self.assertEqual({name: of[name][tree] for name in TREES}, TREES, case)
            self.assertIn("the accumulator loses nothing", of["f64"]["no_squares" if tree == "squares_tree" else "no_order"])
        return found

    def test_a_variance_has_its_tree_and_rows_of_a_norm_are_predicted(self):
        cases = ("layer_norm/f32/rows=30,n=32", "group_norm/f32/b=2,g=4,c=4,n=8", "batch_norm_training/f32/n=4,c=8,s=8")
        found = self.check_orders(cases[:3 if FULL else 1], "squares_tree", "--svg", "drawings")
        for of in found.values():
            for name in TREES:
                self.assertEqual(of[name]["predicted"], {"agree": 256, "sums": 256}, name)
                self.assertEqual(of[name]["formula"], "two passes, mean of (x - mean)^2: squares rounded before they are added; "
                                 "divided by n; times 1 / root")
            self.assertEqual(of["f64"]["predicted"], {"agree": 256, "sums": 256})
        self.assertEqual(len([path for path in (self.dir / "drawings").iterdir() if "variance" in path.name]), len(TREES) * len(found))
        case, of = next(iter(found.items()))
        for name in ("lanes", "halves"):
            (self.dir / f"{name}.json").write_text(json.dumps({"passports": [of[name] | {"implementation": "one"}]}))
        other = self.assay("fingerprint", "--diff", "lanes.json", "halves.json")
        self.assertEqual(other.returncode, 1)
        self.assertIn(f'{case} one: squares "4 sums, each with steps of 4" -> "pairwise, by halves"\n', other.stdout)
        self.assertIn("variance        4 sums, each with steps of 4 (", self.take("--impl", "lanes", case=case).stdout)

    def test_a_variance_of_one_pass_or_of_welford_is_named(self):
        found = self.passports("--impl", "one_pass,welford,by_data", case="layer_norm/f32/rows=30,n=32/fill=normal/seed=0")
        self.assertEqual((found["one_pass"]["squares_tree"], found["one_pass"]["predicted"]["agree"]), (TREES["lanes"], 256))
        self.assertRegex(found["one_pass"]["formula"], r"^one pass, mean of x\^2 less mean\^2: squares rounded .* divided by the root$")
        for order in ("no_order", "no_squares"):
            self.assertEqual(found["welford"][order], "it is no one tree, but Welford's updates")
        self.assertIn("Welford's updates, one after the other: ", found["welford"]["formula"])
        self.assertEqual(found["by_data"]["tree"], "0:1:31")
        self.assertIn("the order depends on the data", found["by_data"]["no_squares"])
        self.assertLess(found["by_data"].get("predicted", {"agree": 0})["agree"], 256)

    def test_sums_of_squares_and_of_exponentials_have_their_trees(self):
        predicted = ("rms_norm/f32/rows=30,n=32", "reduce/f32/shape=30x32,axes=1,kind=l2")
        others = ("reduce/f32/shape=30x32,axes=1,kind=logsumexp", "cross_entropy/f32-i64-f32/rows=30,n=32,reduction=none")
        found = self.check_orders(predicted + others, "tree")
        for case in predicted:
            for name in TREES:
                self.assertEqual(found[case + "/fill=normal/seed=0"][name]["predicted"], {"agree": 256, "sums": 256}, f"{case} {name}")

    def test_each_schedule_of_a_norm_has_a_passport(self):
        done = self.assay("fingerprint", "--backend", "cpu", "--case", "layer_norm/f32/rows=8,n=48/fill=normal/seed=0", "--case",
                          "batch_norm_training/f32/n=2,c=8,s=16/fill=normal/seed=0", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = {(p["case"].split("/")[0], p["implementation"]): p for p in json.loads(done.stdout)["passports"]}
        self.assertEqual(found["layer_norm", "two-pass"]["tree"], "0:1:47")
        self.assertEqual(found["batch_norm_training", "two-pass"]["tree"], "0:1:31")  # of both images
        self.assertEqual(found["layer_norm", "welford"]["no_order"], "it is no one tree, but Welford's updates")
        self.assertEqual({p["squares_tree"] for (_, name), p in found.items() if name in ("two-pass", "one-pass")}, {"0:1:47", "0:1:31"})

    def test_rows_of_two_elements_name_no_way_by_chance(self):
        done = self.assay("fingerprint", "--backend", "cpu", "--case", "layer_norm/f32/rows=1,n=2/fill=normal/seed=0", "--json")
        found = {p["implementation"]: p for p in json.loads(done.stdout)["passports"]}
        self.assertEqual(found["two-pass"]["no_order"], "a sum of two terms has one order")
        self.assertNotIn("formula", found["two-pass"])
        self.assertEqual(found["welford"]["predicted"], {"agree": 256, "sums": 256})

    def test_a_norm_of_16_bits_says_why_it_has_no_order(self):
        done = self.assay("fingerprint", "--backend", "cpu", "--impl", "two-pass", "--case", "layer_norm/f16/rows=8,n=64/fill=normal/seed=0")
        self.assertEqual(done.returncode, 0)
        self.assertIn("order           unknown: its results show no order of its means; those of f32 and f64 do", done.stdout)


if __name__ == "__main__":
    unittest.main()
