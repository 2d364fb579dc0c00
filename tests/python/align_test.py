# SPDX-License-Identifier: Apache-2.0
"""assay align of kernels whose order of additions depends on a condition: align_test.py ASSAY [CLASS]."""
import importlib.util
import json
import sys
import unittest

from kernels_test import Program

MATMUL = "matmul/f32/m=24,n=20,k=96/fill=normal/seed=0"
EXACT = "matmul/f32/m=24,n=20,k=96/fill=ramp/seed=0"
# Each but the first two changes its order in one condition; `when` says in which rows and columns.
KERNELS = """
    def forwards(a, b):
        sums = np.zeros((a.shape[0], b.shape[1]), np.float32)
        for k in range(a.shape[1]):
            sums += a[:, k:k + 1] * b[k:k + 1]
        return sums

    def otherwise(a, b):
        return forwards(a[:, ::-1], b[::-1])

    def halves(a, b):
        half = a.shape[1] // 2
        return forwards(a[:, :half], b[:half]) + forwards(a[:, half:], b[half:])

    def changing(name, when, other=otherwise):
        def of(a, b):
            rows, columns = np.ogrid[:a.shape[0], :b.shape[1]]
            return np.where(when(a, b, rows, columns), other(a, b), forwards(a, b))
        assay.kernel("matmul", contract="f32acc", dtypes=["f32"], name=name)(of)

    calls = [0]
    def every_third(a, b, rows, columns):
        calls[0] += 1
        return calls[0] % 3 == 0

    assay.kernel("matmul", contract="f32acc;det=yes;batchinv=yes", dtypes=["f32"], name="steady")(forwards)
    assay.kernel("matmul", contract="f32acc;det=yes;batchinv=yes", dtypes=["f32"], name="twin")(
        lambda a, b: forwards(a.copy(), b.copy()))
    changing("one-row", lambda a, b, rows, columns: len(a) == 1)
    changing("few-rows", lambda a, b, rows, columns: len(a) < 4, halves)
    changing("odd-rows", lambda a, b, rows, columns: len(a) % 2 == 1)
    changing("last-row", lambda a, b, rows, columns: rows == len(a) - 1)
    changing("late-rows", lambda a, b, rows, columns: rows >= 16, halves)
    changing("one-column", lambda a, b, rows, columns: b.shape[1] == 1)
    changing("late-columns", lambda a, b, rows, columns: columns >= 16)
    changing("whole-tiles", lambda a, b, rows, columns: len(a) % 8 == 0, halves)
    changing("sparse", lambda a, b, rows, columns: (a == 0).mean() > 0.5)
    changing("sparse-columns", lambda a, b, rows, columns: (b == 0).mean() > 0.5)
    changing("changes", every_third)
    changing("many-rows", lambda a, b, rows, columns: len(a) > 23)
    changing("wrong", lambda a, b, rows, columns: len(a) == 1, lambda a, b: 2 * forwards(a, b))
    changing("doubled", lambda a, b, rows, columns: True, lambda a, b: 2 * forwards(a, b))
"""
# Sums of pairs; another order in sums of 24 terms alone, such as those of a fourth of 96; and one with a bias.
PAIRS = """
    def pairs(a, b):
        half = a.shape[1] // 2
        return forwards(a, b) if half <= 6 else pairs(a[:, :half], b[:half]) + pairs(a[:, half:], b[half:])

    assay.kernel("matmul", contract="f32acc", dtypes=["f32"], name="pairs")(pairs)
    changing("short", lambda a, b, rows, columns: a.shape[1] == 24)
    assay.kernel("matmul", contract="f32acc", dtypes=["f32"], name="biased")(
        lambda a, b, c=None, bias=None: forwards(a, b) + bias)
"""
ONE_SHAPE = """
    assay.kernel("matmul", contract="f32acc", dtypes=["f32"], name="one-shape",
                 supports=lambda case: case.shapes["a"] == (24, 96) and case.shapes["b"] == (96, 20))(forwards)
"""
# Its process ends when it is asked for a single row.
ENDS = """
    import os
    assay.kernel("matmul", contract="f32acc", dtypes=["f32"], name="ends",
                 supports=lambda case: case.shapes["a"][0] != 1 or os._exit(3))(forwards)
"""
# Attention with keys on pages or packed sequences. The second of each adds its terms in an order that its place in memory decides.
ATTENTIONS = """
    def attended(q, k, v, seen, first):
        order = np.roll(np.arange(len(k)), -first)
        k, v, seen, group = k[order], v[order], seen[order], q.shape[0] // k.shape[1]
        made = np.zeros((q.shape[0], v.shape[2]), np.float32)
        for h in range(q.shape[0] if seen.any() else 0):
            scores = (k[:, h // group] * q[h]).sum(-1) / np.float32(np.sqrt(q.shape[1]))
            w = np.where(seen, np.exp(scores - scores[seen].max()), 0).astype(np.float32)
            total = np.float32(0)
            for j in range(len(k)):
                made[h] += w[j] * v[j, h // group]
                total += w[j]
            made[h] /= total
        return made

    def paged(first):
        def of(q, keys, values, table, lengths):
            made = []
            for i in range(len(q)):
                k, v = (x[table[i]].reshape(-1, *x.shape[2:]) for x in (keys, values))
                made.append(attended(q[i], k, v, np.arange(len(k)) < lengths[i], first(table[i])))
            return np.stack(made)
        return of

    def ragged(first):
        def of(q, k, v, q_ends, k_ends, *, causal):
            made, q_begin, k_begin = [], 0, 0
            for q_end, k_end in zip(q_ends, k_ends):
                for i in range(q_begin, q_end):
                    seen = np.arange(k_begin, k_end) - k_end < i - q_end + 1
                    made.append(attended(q[i], k[k_begin:k_end], v[k_begin:k_end], seen, first(k_begin)))
                q_begin, k_begin = q_end, k_end
            return np.stack(made)
        return of

    TYPES = ["f32-f32-f32-i32-i32-f32"]
    assay.kernel("paged_decode", contract="f32acc", dtypes=TYPES, name="paged")(paged(lambda table: 0))
    assay.kernel("paged_decode", contract="f32acc", dtypes=TYPES, name="by-page")(paged(lambda table: 4 if table[0] > table[1] else 0))
    assay.kernel("ragged_attention", contract="f32acc", dtypes=TYPES, name="packed")(ragged(lambda begin: 0))
    assay.kernel("ragged_attention", contract="f32acc", dtypes=TYPES, name="by-place")(ragged(lambda begin: begin % 3))
"""
PAGED = "paged_decode/f32-f32-f32-i32-i32-f32/b=3,h=2,hkv=1,d=8,pages=7,page=4,blocks=3/fill=normal/seed=0"
PACKED = "ragged_attention/f32-f32-f32-i32-i32-f32/t=11,s=29,h=2,hkv=1,d=8,sequences=4,causal=1/fill=normal/seed=0"
# Its second output is in one condition another number's bits: NaN.
OTHER_OUTPUT = """
    def normed(x, gamma, beta, *, stats, other=lambda mean: mean):
        mean, sums = np.zeros(len(x), np.float32), np.zeros(len(x), np.float32)
        for k in range(x.shape[1]):
            mean += x[:, k]
        mean = mean / np.float32(x.shape[1])
        for k in range(x.shape[1]):
            sums += (x[:, k] - mean) ** 2
        rstd = (1 / np.sqrt(sums / np.float32(x.shape[1]) + np.float32(1e-5))).astype(np.float32)
        return ((x - mean[:, None]) * rstd[:, None] * gamma + beta).astype(np.float32), other(mean), rstd

    def exact(x, gamma, beta, *, stats):
        y, mean, rstd = normed(x, gamma, beta, stats=stats)
        return y, x.astype(np.float64).mean(1).astype(np.float32), rstd

    def hidden(mean):
        return np.full_like(mean, np.nan) if len(mean) == 1 else mean

    NORMS = {"normed": normed, "mean-without-order": exact, "nan-mean": lambda x, gamma, beta, *, stats: normed(x, gamma, beta, stats=stats, other=hidden)}
    for called, function in NORMS.items():
        assay.kernel("layer_norm", contract="f32acc", dtypes=["f32"], name=called)(function)
"""
NORM = "layer_norm/f32/rows=9,n=64,stats=1/fill=normal/seed=0"
PLANTED = ("one-row", "few-rows", "odd-rows", "last-row", "late-rows", "one-column", "late-columns", "whole-tiles", "sparse",
           "sparse-columns", "changes", "many-rows")


class Alignment(Program):
    def align(self, *words, case=MATMUL, code=0, more=""):
        """`case` is an id, or several of one run."""
        cases = [word for one in ([case] if isinstance(case, str) else case) for word in ("--case", one)]
        is_mine = any(word.startswith("mine") for word in words)  # else no interpreter need start
        kernels = ("--kernels", str(self.write(KERNELS + more)), "--python", sys.executable) if is_mine else ()
        done = self.assay("align", *words, *kernels, *cases, "--progress", "none")
        self.assertEqual(done.returncode, code, done.stdout[-3000:] + done.stderr[-2000:])
        return done

    def found(self, *words, **how):
        found, = self.each_found(*words, **how)
        return found

    def each_found(self, *words, **how):
        """For each case the alignment, and names of the configurations with other bits."""
        alignments = json.loads(self.align(*words, "--json", **how).stdout)["alignments"]
        return [(a, [c["name"] for c in a["configurations"] if c["differing"] > 0]) for a in alignments]


class Aligned(Alignment):
    def test_one_order_everywhere_is_certified(self):
        done = self.align("mine/steady")
        self.assertIn("CERTIFIED: mine/steady gives the bits of the whole case in all of 4", done.stdout)
        self.assertIn("m: 7 of 24, from 0 8 17 ", done.stdout)

    def test_an_order_that_depends_on_the_number_of_rows_is_named(self):
        alignment, other = self.found("mine/few-rows", code=1)
        self.assertEqual({name.split(",")[0] for name in other}, {"m: 1 of 24", "m: 2 of 24", "m: 3 of 24"})
        self.assertLess(max(c.get("tolerances", 0) for c in alignment["configurations"]), 1)
        self.assertIn("the first with others is m: 1 of 24, from 0, at y[0,", alignment["sentence"])

    def test_what_is_wrong_is_many_tolerances_apart(self):
        alignment, _ = self.found("mine/wrong", code=1)
        self.assertGreater(max(c.get("tolerances", 0) for c in alignment["configurations"]), 1e4)

    def test_data_that_show_no_order_certify_nothing(self):
        done = self.align("mine/steady", case=EXACT, code=4)
        self.assertIn("NOT SHOWN: mine/steady", done.stdout)
        self.assertIn("terms in another order have the same bits in all elements", done.stdout)
        self.assertIn("NOT SHOWN", self.align("mine/one-row", case=EXACT, code=4).stdout)

    def test_wrong_results_certify_nothing(self):
        self.assertIn("its results are beyond their tolerances", self.align("mine/doubled", code=4).stdout)

    def test_a_layout_that_an_implementation_does_not_take_is_left_out(self):
        # oneDNN has other names for products of matrices that lie transposed, and refuses some of its own there.
        done = self.assay("align", "onednn", "--case", "matmul/f32/m=64,n=48,k=512/fill=normal/seed=0", "--progress", "none")
        if "has no implementation" in done.stderr or "no device" in done.stderr:
            self.skipTest("onednn is not usable here")
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"axes in another order +(equal|\d+ of \d+ differ|not compared: onednn/\S+ does not take it)")

    def test_two_kernels_are_compared_with_each_other(self):
        self.assertIn("CERTIFIED: mine/twin gives the bits of mine/steady in all of", self.align("mine/steady", "mine/twin").stdout)
        _, other = self.found("mine/steady", "mine/one-row", code=1)
        self.assertEqual({name.split(",")[0] for name in other}, {"m: 1 of 24"})

    def test_a_certificate_says_how_much_was_not_taken(self):
        alignment, _ = self.found("mine/one-shape", more=ONE_SHAPE)
        refused = [c["refused"] for c in alignment["configurations"] if "refused" in c]
        self.assertEqual(set(refused), {"mine/one-shape does not take it"})
        self.assertIn(f" {len(refused)} others were not taken", alignment["sentence"])
        self.assertTrue(alignment["certified"])
        self.assertNotIn("not taken", self.align("mine/steady").stdout)

    def test_a_failure_is_no_refusal(self):
        done = self.align("mine/ends", code=3, more=ENDS)
        self.assertNotIn("CERTIFIED", done.stdout)
        self.assertRegex(done.stderr, "mine/ends, m: 1 of 24, from 0: the worker exited with code 3")

    def test_what_is_not_there_is_said(self):
        self.assertIn("mine has no implementation fast of it, but steady, twin", self.align("mine/fast", code=4).stderr)
        done = self.align("mine/steady", case="exp/f32/n=9/fill=normal/seed=0", code=4)
        self.assertIn("nothing was compared: none of the cases is taken by what was named, as the lines above say", done.stderr)
        self.assertIn("--case matmul/f32/m=0x: ", self.align("mine/steady", case="matmul/f32/m=0x", code=2).stderr)

    def test_what_has_no_batch_and_what_depends_on_places(self):
        said = {"dropout/f32/n=65": "its results of y are beyond their tolerances: they depend on places, or are wrong, which assay run "
                                    "tells. It has no batch: no part of its operands is a case of its own",
                "associative_scan/f32/rows=5,n=65": "its results are beyond their tolerances: they depend on places",
                "sparse_mm/f32-u8-f32-f32/m=5,k=64,n=7": "orders that leave its results right have the same bits in all elements."}
        found = self.each_found("cpu", case=[case + "/fill=normal/seed=0" for case in said], code=4)
        self.assertEqual(len(found), len(said))
        for (alignment, _), (case, words) in zip(found, said.items()):
            self.assertIn(words, alignment["sentence"])
            self.assertEqual("no batch" in alignment["sentence"], "dropout" in case)


class Indirect(Alignment):
    """Operands that tables and ends point into, and outputs behind the first."""

    def test_pages(self):
        self.assertIn("pages: all 7 permuted ", self.align("mine/paged", case=PAGED, more=ATTENTIONS).stdout)
        alignment, other = self.found("mine/by-page", case=PAGED, more=ATTENTIONS, code=1)
        self.assertTrue(other and all(name.startswith("pages: ") for name in other), other)
        self.assertLess(max(c.get("tolerances", 0) for c in alignment["configurations"]), 1)

    def test_packed_sequences(self):
        said = self.align("mine/packed", case=PACKED, more=ATTENTIONS).stdout
        self.assertIn("sequences: all 4 backwards ", said)
        self.assertIn("CERTIFIED", said)
        _, other = self.found("mine/by-place", case=PACKED, more=ATTENTIONS, code=1)
        self.assertTrue(other and all(name.startswith("sequences: ") for name in other), other)

    def test_each_output_has_to_show_an_order(self):
        self.assertIn("CERTIFIED", self.align("mine/normed", case=NORM, more=OTHER_OUTPUT).stdout)
        said = self.align("mine/mean-without-order", case=NORM, more=OTHER_OUTPUT, code=4).stdout
        self.assertRegex(said, "NOT SHOWN: .*terms in another order have the same bits in all elements of mean")

    def test_numbers_that_json_has_not(self):
        alignment, other = self.found("mine/nan-mean", case=NORM, more=OTHER_OUTPUT, code=1)
        self.assertEqual({name.split(",")[0] for name in other}, {"rows: 1 of 9"})
        first = next(c for c in alignment["configurations"] if c["differing"] > 0)
        self.assertEqual((first["got"], first["got_nonfinite"], first["tolerances"], first["tolerances_nonfinite"]), (None, "nan", None, "inf"))
        self.assertNotIn("expected_nonfinite", first)


class Ranks(Alignment):
    """Sums that ranks share."""

    def test_an_order_that_ranks_change(self):
        """A running sum has other bits on two ranks; sums of pairs have those of a tree, and not those of ranks in their order."""
        _, other = self.found("mine/steady", "--ranks", "2", code=1)
        self.assertEqual(other, ["k: 2 ranks, in order"])
        alignment, other = self.found("mine/pairs", "--ranks", "2,4", more=PAIRS, code=1)
        self.assertEqual(other, ["k: 4 ranks, in order", "k: 4 ranks, ring"])
        self.assertLess(max(c.get("tolerances", 0) for c in alignment["configurations"]), 1)
        self.assertTrue(all(c["shows"] for c in alignment["configurations"] if c["name"] == "k: 4 ranks, tree"))
        self.assertIn("CERTIFIED", self.align("mine/pairs", "--ranks", "2", more=PAIRS).stdout)

    def test_parts_in_16_bits(self):
        """Each part is rounded to the output's type, by which their sum is farther off than a result of the case may be."""
        orders = [f"k: 8 ranks, {order}" for order in ("in order", "tree", "ring")]
        cases = [f"matmul/{dtype}/m=8,n=8,k=512/fill=normal/seed=0" for dtype in ("bf16", "f16")]
        found = self.each_found("cpu", "--ranks", "8", case=cases, code=1)
        self.assertEqual([other for _, other in found], [orders] * 2)
        self.assertGreater(max(c.get("tolerances", 0) for c in found[0][0]["configurations"]), 1)
        for alignment, _ in self.each_found("cpu", "--ranks", "8", case=[case.replace("k=512", "k=512,bias=1") for case in cases], code=4):
            self.assertEqual([c["name"] for c in alignment["configurations"] if "bias" in c.get("refused", "")], orders)

    def test_two_kernels_share_alike(self):
        self.assertIn("CERTIFIED", self.align("mine/steady", "mine/twin", "--ranks", "4").stdout)
        _, other = self.found("mine/steady", "mine/short", "--ranks", "4", more=PAIRS, code=1)
        self.assertEqual({name.rpartition(",")[0] for name in other}, {"k: 4 ranks"})

    def test_what_cannot_be_shared(self):
        alignment, other = self.found("mine/steady", "--ranks", "5")
        refused = {c["name"]: c["refused"] for c in alignment["configurations"] if "refused" in c}
        self.assertEqual((list(refused), other), (["5 ranks"], []))
        self.assertIn("no sum over a multiple of 5 terms", refused["5 ranks"])
        alignment, _ = self.found("mine/biased", "--ranks", "2", case=MATMUL.replace("k=96", "k=96,bias=1"), more=PAIRS)
        self.assertIn("as with a bias, which each part would add", {c["name"]: c.get("refused", "") for c in alignment["configurations"]}["k: 2 ranks, in order"])
        self.assertIn("--ranks", self.align("mine/steady", "--ranks", "1", code=2).stderr)


# Attention with the logarithm of the sum. `halved` merges two halves of more than 20 keys, `wide` has another order in slices alone, and
# `skewed` gives wrong logarithms.
LOGARITHMS = """
    def rounded(function, x):
        return function(x.astype(np.float64)).astype(np.float32)

    def running(q, k, v):
        group = q.shape[1] // k.shape[1]
        o, lse = np.zeros(q.shape[:3] + v.shape[3:], np.float32), np.zeros(q.shape[:3], np.float32)
        for b, h, l in np.ndindex(*lse.shape):
            scores = (k[b, h // group] * q[b, h, l]).sum(-1, dtype=np.float32) / np.float32(np.sqrt(q.shape[3]))
            weights, total = rounded(np.exp, scores - scores.max()), np.float32(0)
            for j in range(len(weights)):
                o[b, h, l] += weights[j] * v[b, h // group, j]
                total += weights[j]
            o[b, h, l] /= total
            lse[b, h, l] = scores.max() + rounded(np.log, total)
        return o, lse

    def merged(slices):
        greatest = np.maximum.reduce([lse for _, lse in slices])
        o, total = np.float32(0), np.float32(0)
        for of_slice, lse in slices:
            weight = rounded(np.exp, lse - greatest)
            o, total = o + weight[..., None] * of_slice, total + weight
        return o / total[..., None], greatest + rounded(np.log, total)

    def halved(q, k, v):
        half = k.shape[2] // 2
        return running(q, k, v) if half <= 10 else merged([running(q, k[:, :, :half], v[:, :, :half]), running(q, k[:, :, half:], v[:, :, half:])])

    def wide(q, k, v):
        return halved(q, k, v) if k.shape[2] == 40 else running(q, k[:, :, ::-1], v[:, :, ::-1])

    def skewed(q, k, v):
        o, lse = running(q, k, v)
        return o, lse * np.float32(0.5)

    for function in (running, halved, wide, skewed):
        name = function.__name__
        assay.kernel("attention_lse", contract="f32acc", dtypes=["f32"], name=name)(lambda q, k, v, *, causal, function=function: function(q, k, v))
        assay.kernel("attention", contract="f32acc", dtypes=["f32"], name=name)(lambda q, k, v, mask=None, *, scale, function=function: function(q, k, v)[0])
"""
LSE = "attention_lse/f32/b=1,h=2,hkv=1,l=2,s=40,d=8,dv=8/fill=normal/seed=0"
PLAIN = "attention/f32/b=1,h=2,hkv=1,l=2,s=40,d=8/fill=normal/seed=0"


class Splits(Alignment):
    """Keys and terms in slices that one kernel joins."""

    def slices(self, *words, **how):
        found, = self.each_slices(*words, **how)
        return found

    def each_slices(self, *words, **how):
        return [{c["name"]: c for c in a["configurations"] if " slices" in c["name"]} for a, _ in self.each_found(*words, **how)]

    def test_keys(self):
        for found in self.each_slices("mine/halved", "--splits", "2,4", case=[LSE, PLAIN], more=LOGARITHMS, code=1):
            self.assertEqual(list(found), ["s: 2 slices", "s: 2 slices, uneven", "s: 4 slices", "s: 4 slices, uneven"])
            self.assertEqual([c["differing"] > 0 for c in found.values()], [False, True, True, True])
            self.assertTrue(all(c["shows"] and c["within_bound"] for c in found.values()), found)
        for name in ("running", "wide"):
            for found in self.each_slices(f"mine/{name}", "--splits", "2", case=[LSE, PLAIN], more=LOGARITHMS, code=1):
                self.assertEqual([(c["differing"] > 0, c["within_bound"]) for c in found.values()], [(True, True)] * 2)

    def test_wrong_logarithms_merge_to_wrong_results(self):
        said = self.align("mine/skewed", "--splits", "2", case=PLAIN, more=LOGARITHMS, code=1).stdout
        self.assertRegex(said, r"s: 2 slices +\d+ of 32 differ, first o\[0,0,0,0\]: \S+ and \S+; at most \S+ tolerances, beyond the bound")

    def test_causal_keys(self):
        """The last slice alone is causal, where it has a key for each query."""
        found = self.slices("cpu/materialised", "--splits", "4", case=PLAIN.replace("l=2,s=40,d=8", "l=5,s=40,d=8,causal=1"), code=1)
        self.assertTrue(found["s: 4 slices"]["within_bound"])
        self.assertIn("causal=1 the last slice must hold as many keys as there are queries", found["s: 4 slices, uneven"]["refused"])

    def test_terms(self):
        """Sums of pairs have the bits of two even slices; slices that give f32 have those of a bf16 sum where ones of bf16 have not."""
        found = self.slices("mine/pairs", "--splits", "2", more=PAIRS, code=1)
        self.assertEqual([(name, c["differing"] > 0, c["shows"], c["within_bound"]) for name, c in found.items()],
                         [("k: 2 slices", False, True, True), ("k: 2 slices, uneven", True, True, True)])
        self.assertGreater(self.slices("mine/steady", "--splits", "2", code=1)["k: 2 slices"]["differing"], 0)
        found = self.slices("cpu", "--splits", "2", case="matmul/bf16/m=8,n=8,k=601/fill=normal/seed=0", code=1)
        self.assertEqual((len(found), found["k: 2 slices"]["within_bound"]), (4, True))
        self.assertGreater(found["k: 2 slices, each rounded to bf16"]["differing"], found["k: 2 slices"]["differing"])

    def test_what_has_no_slices(self):
        said = {PLAIN.replace("d=8", "d=8,window=3"): "has no mask, window, softcap", PLAIN.replace("f32", "f64"): "merged in f32",
                "softmax/f32/shape=4x50/fill=normal/seed=0": "neither 2 keys nor a sum"}
        for found, why in zip(self.each_slices("cpu", "--splits", "2", case=list(said)), said.values(), strict=True):
            self.assertIn(why, found["2 slices"]["refused"])
        refused = self.slices("cpu/flash-32", "--splits", "2", case=PLAIN)["s: 2 slices"]["refused"]
        self.assertEqual(refused, "cpu/flash-32 does not take attention_lse/f32/b=1,h=2,hkv=1,l=2,s=20,d=8,dv=8/fill=normal/seed=0")
        self.assertIn("--splits", self.align("mine/steady", "--splits", "1", code=2).stderr)


# Gradients of attention. The second adds in another order where it has a single key head, the third in the last sequence of the batch.
GRADIENTS = """
    def gradients(q, k, v, dout, order):
        group, scale = q.shape[1] // k.shape[1], np.float32(1 / np.sqrt(q.shape[3]))
        dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
        for b, h, l in np.ndindex(*q.shape[:3]):
            keys, values, seen = k[b, h // group], v[b, h // group], order(k, b)
            scores = (keys * q[b, h, l]).sum(-1) * scale
            p = np.exp(scores - scores.max())
            p /= p.sum()
            e = (values * dout[b, h, l]).sum(-1)
            g = p * (e - (p * e).sum()) * scale
            for j in seen:
                dq[b, h, l] += g[j] * keys[j]
        for b, h in np.ndindex(*k.shape[:2]):
            for i, l in [(i, l) for i in range(group) for l in range(q.shape[2])][::order(k, b)[1] - order(k, b)[0]]:
                one = h * group + i
                scores = (k[b, h] * q[b, one, l]).sum(-1) * scale
                p = np.exp(scores - scores.max())
                p /= p.sum()
                e = (v[b, h] * dout[b, one, l]).sum(-1)
                dk[b, h] += (p * (e - (p * e).sum()) * scale)[:, None] * q[b, one, l]
                dv[b, h] += p[:, None] * dout[b, one, l]
        return dq, dk, dv

    ORDERS = {"gradients": lambda k, b: range(k.shape[2]),
              "one-group": lambda k, b: range(k.shape[2])[::-1 if k.shape[1] == 1 else 1],
              "last-sequence": lambda k, b: range(k.shape[2])[::-1 if b == len(k) - 1 else 1]}
    for name, order in ORDERS.items():
        assay.kernel("attention_backward", contract="f32acc", dtypes=["f32"], name=name)(lambda q, k, v, dout, *, order=order: gradients(q, k, v, dout, order))
"""
BACKWARD = "attention_backward/f32/b=3,h=4,hkv=2,l=2,s=5,d=4,dv=3/fill=normal/seed=0"


class Groups(Alignment):
    """Key heads, each with the query heads that share it."""

    def test_gradients(self):
        said = self.align("mine/gradients", case=BACKWARD, more=GRADIENTS).stdout
        self.assertRegex(said, r"hkv: 1 of 2, from 0 1 +equal\n  hkv: all 2 backwards +equal\nCERTIFIED")
        alignment, other = self.found("mine/one-group", case=BACKWARD, more=GRADIENTS, code=1)
        self.assertEqual({name.split(",")[0] for name in other}, {"hkv: 1 of 2"})
        self.assertLess(max(c.get("tolerances", 0) for c in alignment["configurations"]), 1)
        _, other = self.found("mine/last-sequence", case=BACKWARD, more=GRADIENTS, code=1)
        self.assertEqual({name.split(":")[0] for name in other}, {"b"})

    def test_operands_that_have_heads(self):
        cases = ("sink_attention/f32/b=1,h=6,hkv=3,l=2,s=40,d=8,dv=8", "alibi_attention/f32/b=1,h=6,hkv=3,l=2,s=40,d=8,dv=8",
                 PAGED.replace("h=2,hkv=1", "h=6,hkv=3").replace("page=4", "page=6").removesuffix("/fill=normal/seed=0"),
                 PACKED.replace("h=2,hkv=1", "h=6,hkv=3").replace("sequences=4", "sequences=6").removesuffix("/fill=normal/seed=0"),
                 "attention/f32/b=1,h=6,hkv=3,l=2,s=40,d=8,mask=add,mask_per_head=1", "attention/f32/b=1,h=6,hkv=3,l=2,s=40,d=8,mask=add")
        found = self.each_found("cpu/materialised", case=[f"{case}/fill=normal/seed=0" for case in cases])
        self.assertEqual([a["certified"] for a, _ in found], [True] * len(cases))
        for (alignment, _), case in zip(found, cases):
            heads = {c["name"]: c["differing"] for c in alignment["configurations"] if c["name"].startswith("hkv") and "refused" not in c}
            names = ("hkv: 2 of 3, from 0", "hkv: 2 of 3, from 1", "hkv: all 3 backwards")
            self.assertEqual([heads.get(name) for name in names], [0, 0, 0], f"{case} {heads}")


class Graphs(Alignment):
    """A framework's compiled functions beside its eager ones, where this interpreter has it."""

    def compare(self, eager, graph, case, codes):
        framework = eager.partition("/")[0]
        if importlib.util.find_spec(framework) is None:
            self.skipTest(f"no {framework}")
        done = self.assay("align", eager, graph, "--framework", framework, "--python", sys.executable, "--case", case, "--json", "--progress", "none")
        self.assertIn(done.returncode, codes, done.stdout[-3000:] + done.stderr[-2000:])
        alignment, = json.loads(done.stdout)["alignments"]
        self.assertEqual(alignment["sides"], [eager, graph])
        self.assertGreater(len([c for c in alignment["configurations"] if "refused" not in c]), 10)
        self.assertLess(max(c.get("tolerances", 0) for c in alignment["configurations"]), 1, alignment["sentence"])
        return alignment

    def test_jax(self):
        self.assertTrue(self.compare("jax/eager", "jax/jit", "matmul/f32/m=64,n=48,k=512/fill=normal/seed=0", [0])["certified"])

    def test_torch(self):
        """A compiled softmax fuses its exponentials and its sum; whether the bits are others is torch's to say."""
        alignment = self.compare("torch/eager", "torch/compile", "softmax/f32/shape=4x5000/fill=normal/seed=0", [0, 1])
        self.assertTrue(all(c["shows"] for c in alignment["configurations"] if "refused" not in c), alignment)


class Planted(Alignment):
    def test_each_planted_order_is_found(self):
        for name in PLANTED:
            with self.subTest(name):
                self.assertIn(f"DIFFERS: mine/{name} gives the bits of the whole case in ", self.align(f"mine/{name}", code=1).stdout)


if __name__ == "__main__":
    unittest.main()
