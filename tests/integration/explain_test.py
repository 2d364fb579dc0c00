#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""assay explain and the derivation of a tolerance: explain_test.py ASSAY PLUGIN, the misbehaving one."""
import json
import math
import random
import struct
import sys
import unittest

from dumped_tensors import Base, PLUGIN, normals, product, to_bf16, write_npy

M, N, K = 16, 16, 32
CASE = f"matmul/f32/m={M},n={N},k={K}/fill=normal/seed=0"


def f32(values):
    return [struct.unpack("<f", struct.pack("<f", value))[0] for value in values]


class Explained(Base):
    def setUp(self):
        super().setUp()
        source = random.Random(1)
        self.a, self.b = normals(source, M * K), normals(source, K * N)
        self.y = f32(product(self.a, self.b, M, N, K))
        self.write("a", (M, K), self.a)
        self.write("b", (K, N), self.b)
        self.write("y", (M, N), self.y)

    def write(self, name, shape, values):
        write_npy(self.dir / f"{name}.npy", "f4", shape, values)

    def explain(self, *args, code=1, verb="explain"):
        done = self.assay(verb, *args, *([] if verb == "diff" else ["--progress", "none"]))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def tensors(self, *outputs, attrs=(), code=1, verb="explain"):
        outputs = [word for output in outputs or ("y=y.npy",) for word in ("--output", output)]
        return self.explain("--op", "matmul", "--input", "a=a.npy", "--input", "b=b.npy", *outputs, *attrs, code=code,
                            verb=verb)


class Tensors(Explained):
    def test_a_right_result_has_nothing_to_explain(self):
        done = self.tensors(code=0)
        self.assertIn("pass (", done.stdout)
        for word in ("cause:", "unexplained", "map of"):
            self.assertNotIn(word, done.stdout)

    def test_a_cause_comes_with_its_evidence(self):
        square, b = K, normals(random.Random(2), K * K)
        turned = [b[j * K + t] for t in range(K) for j in range(K)]  # as if b lay transposed
        self.write("b", (K, K), b)
        self.write("y", (M, square), f32(product(self.a, turned, M, square, K)))
        found = json.loads(self.tensors(attrs=["--json"]).stdout)["results"][0]
        self.assertTrue(found["explained"])
        cause = found["causes"][0]
        self.assertEqual(cause["attribute"], "transb=1")
        values = M * square
        self.assertEqual(cause["by_cause"], {"values": values, "wrong": 0, "equal_bits": values,
                                             "rms_err": cause["by_cause"]["rms_err"]})
        self.assertGreater(cause["as_meant"]["wrong"], values // 2)
        self.assertGreater(cause["as_meant"]["rms_err"], 1e6 * cause["by_cause"]["rms_err"])
        text = self.tensors().stdout
        self.assertIn("cause: the right result of --attr transb=1\n", text)
        self.assertIn("passes with: --attr transb=1\n", text)
        self.assertRegex(text, rf"bits of the golden value +\d+ +{values}\n")

    def test_where_it_is_wrong_is_drawn(self):
        for j in range(N):
            self.y[3 * N + j] += 1
        self.y[7 * N + 2] = math.nan
        self.write("y", (M, N), self.y)
        text = self.tensors().stdout
        rows = text.split("map of y:\n")[1].splitlines()[:M]
        self.assertEqual(rows[3], "  " + "#" * N)
        self.assertEqual(rows[7], "  ..!" + "." * (N - 3))
        self.assertEqual(rows[8], "  " + "." * N)
        self.assertRegex(text, "unexplained: .* was found by the work of 10 s")
        self.assertFalse(json.loads(self.tensors(attrs=["--json"]).stdout)["results"][0]["explained"])

    def test_a_search_that_was_not_made_is_not_claimed(self):
        for wrong, why in ((self.y[:-1] + [self.y[-1] + 0.001], "its wrong values are too few"), ([3] * (M * N), "all its values are one number")):
            self.write("y", (M, N), wrong)
            text = self.tensors().stdout
            self.assertIn(f"unexplained: other causes than a weaker arithmetic were not looked for: {why}", text)
            self.assertIn(why, json.loads(self.tensors(attrs=["--json"]).stdout)["results"][0]["not_searched"])

    def test_a_weaker_arithmetic_explains_and_a_wider_bound_does_not(self):
        narrow = [to_bf16(x) for x in self.a], [to_bf16(x) for x in self.b]
        self.write("y", (M, N), f32(product(*narrow, M, N, K)))
        done = self.tensors()
        self.assertIn("behaves like: bf16 operands", done.stdout)
        self.assertNotIn("unexplained", done.stdout)
        self.y[5] += 0.001
        self.write("y", (M, N), self.y)
        found = json.loads(self.tensors(attrs=["--json"]).stdout)["results"][0]
        self.assertFalse(found["explained"])
        self.assertEqual(found["holds_by"]["contract"], "in=tf32rn; acc=f32; math=4")
        self.assertGreater(found["holds_by"]["power"], 0.5)

    def test_sources_are_told_apart(self):
        self.assertIn("FOLDER of a failure, a run or a manifest, --case ID, or --op", self.explain(code=2).stderr)
        self.assertIn("give one", self.explain("there", "--case", CASE, code=2).stderr)
        self.assertIn("is no failure folder", self.explain("there", code=2).stderr)
        self.assertIn("--backend excludes --op", self.tensors(attrs=["--backend", "cpu"], code=2).stderr)
        self.assertIn("--contract excludes --case", self.explain("--case", CASE, "--contract", "f32acc", code=2).stderr)
        self.assertIn("no such input", self.explain("--case", CASE, "--backend", "cpu", "--input", "z=a.npy", code=2).stderr)


class TwoOutputs(Explained):
    def test_the_right_one_comes_first_and_what_differs_is_named(self):
        other = list(self.y)
        other[3 * N + 5] += 0.25
        self.write("b_y", (M, N), other)
        done = self.tensors("first=b_y.npy", "second=y.npy")
        ranking = done.stdout.split("ranking: ")[1]
        self.assertLess(ranking.index("\n  second "), ranking.index("\n  first "))
        self.assertIn("second and first differ:\n  y: 1 of 256 elements, [3,5]\n    furthest apart at [3,5]:", ranking)
        self.assertIn("second is nearer to the golden value in 1 of 1 that differ", ranking)
        found = json.loads(self.tensors("first=b_y.npy", "second=y.npy", attrs=["--json"]).stdout)["ranking"]
        self.assertEqual([(r["name"], r["fails"], r["wrong"]) for r in found["order"]], [("second", False, 0), ("first", True, 1)])
        self.assertEqual(found["order"][1]["at"], "y[3,5]")
        self.assertGreater(found["order"][1]["tolerances"], 1)
        self.assertLess(found["order"][0]["tolerances"], 1)

    def test_each_may_be_nearer_in_some_places(self):
        for name, places in (("p", {9: 0.25}), ("q", {200: 0.5, 201: 0.5})):
            self.write(name, (M, N), [value + places.get(i, 0) for i, value in enumerate(self.y)])
        text = self.tensors("p=p.npy", "q=q.npy").stdout
        self.assertIn("p is nearer to the golden value in 2 of 3 that differ", text)

    def test_equal_bits_are_one_set(self):
        for name in ("p", "q"):
            self.write(name, (M, N), self.y)
        found = json.loads(self.tensors("p=p.npy", "q=q.npy", code=0, attrs=["--json"]).stdout)["ranking"]
        self.assertEqual(found["equal_bits"], [["p", "q"]])
        self.assertEqual(found["differences"], [])


class Derived(Explained):
    def numbers(self, text):
        lines = text.split("tolerance of ")[1].splitlines()[1:]
        return {words[0]: float(words[2]) for words in map(str.split, lines) if len(words) > 3 and words[1] == "="}

    def test_the_numbers_add_up_to_the_tolerance_of_the_verdict(self):
        self.y[3 * N + 5] += 0.01
        self.write("y", (M, N), self.y)
        record = json.loads(self.tensors(attrs=["--json"], verb="check").stdout)
        text = self.tensors(attrs=["--derive", "[3,5]"], verb="check").stdout
        n = self.numbers(text)
        self.assertEqual((n["K"], n["h"]), (K, K))
        self.assertAlmostEqual(n["u"] * 2 ** 24, 1, 10)
        gamma = 2 * K * n["u"] / (1 - 2 * K * n["u"])
        self.assertAlmostEqual(n["gamma"] / gamma, 1, 10)
        terms = [abs(self.a[3 * K + t] * self.b[t * N + 5]) for t in range(K)]
        self.assertGreaterEqual(n["S"], math.fsum(terms))
        self.assertLess(n["S"], 1.0001 * math.fsum(terms))
        self.assertAlmostEqual(n["A"] / (n["c"] * n["S"] + n.get("underflow", 0) + n["E_gold"]), 1, 10)
        self.assertAlmostEqual(n["rounding"] / 2.0 ** (math.frexp(abs(self.y[3 * N + 5]))[1] - 25), 1, 10)
        self.assertAlmostEqual(n["tolerance"] / (n["A"] + n["rounding"]), 1, 10)
        self.assertAlmostEqual((record["max_abs_err"] - n["rounding"]) / n["A"] / record["bound_margin"], 1, 9)

    def test_of_a_formula_and_of_rounded_operands(self):
        done = self.tensors(attrs=["--derive", "0,0", "--contract", "in=bf16;acc=f32"], code=0)
        n = self.numbers(done.stdout)
        u = 2 ** -8
        self.assertAlmostEqual(n["in"], 2 * u + u * u, 10)
        self.assertAlmostEqual(n["c"] / ((n["in"] + n["gamma"]) * (1 + u) ** 2), 1, 9)
        x = normals(random.Random(3), 4 * 8)
        self.write("x", (4, 8), x)
        self.write("gamma", (8,), [1.0] * 8)
        y = [v / math.sqrt(math.fsum(w * w for w in x[i // 8 * 8:i // 8 * 8 + 8]) / 8 + 1e-6) for i, v in enumerate(x)]
        self.write("y", (4, 8), f32(y))
        done = self.explain("--op", "rms_norm", "--input", "x=x.npy", "--input", "gamma=gamma.npy", "--output", "y=y.npy",
                            "--derive", "[1,2]", code=0)
        n = self.numbers(done.stdout)
        self.assertGreater(n["A"], 0)
        self.assertAlmostEqual(n["tolerance"] / (n["A"] + n["rounding"]), 1, 10)

    def test_a_place_that_is_none_is_refused(self):
        for place, said in (("[3,99]", "along axis 1"), ("[3", "has no ]"), ("3", "has 2 axes"), ("z[0,0]", "no output z")):
            self.assertIn(said, self.tensors(attrs=["--derive", place], verb="check", code=2).stderr)


class FromRuns(Explained):
    def run_case(self, *implementations, more=()):
        self.assay("run", "--out", "out", "--progress", "none", "--case", CASE, "--plugin", PLUGIN, "--backend",
                   "misbehaving", "--impl", ",".join(implementations), "--no-perf", *more)
        records = [json.loads(line) for line in (self.dir / "out/results.jsonl").read_text().splitlines()]
        return self.dir / "out" / next(r["failure_dir"] for r in records if r["failure_dir"]), records

    def test_a_failure_folder_is_judged_as_the_run_judged_it(self):
        folder, records = self.run_case("drop_last_k", "nan_result")
        by_name = {f"misbehaving {r['implementation']}": r for r in records}
        lines = [json.loads(line) for line in self.explain(str(folder), "--json").stdout.splitlines()]
        self.assertEqual(lines[0]["case_id"], CASE)
        own = {r["name"]: r for r in lines[0]["results"]}
        for name, result in own.items():
            record = by_name[" ".join(name.split()[:2])]  # "run1" may follow
            for key in ("contract", "bound_margin", "verdict", "output_hash", "case_id"):
                self.assertEqual(result["record"][key], record[key], (name, key))
            self.assertTrue(result["said"].startswith("mismatch: "))
        self.assertEqual({" ".join(name.split()[:2]) for name in own}, set(by_name))
        self.assertIn("ranking", lines[0])
        text = self.explain(str(folder)).stdout
        self.assertRegex(text, r"== misbehaving nan_result.*: mismatch")
        self.assertIn("map of y:", text)

    def test_diff_tells_which_implementations_agree_and_which_is_odd(self):
        self.assay("run", "--out", "out", "--progress", "none", "--case", CASE, "--plugin", PLUGIN, "--backend",
                   "misbehaving,cpu", "--impl", "drop_last_k,naive,blocked,splitk", "--no-perf", "--evidence", "1")
        found = json.loads(self.explain("out", "--json", code=0, verb="diff").stdout)
        (case,) = found["differing"]
        odd = "misbehaving drop_last_k on imaginary"
        self.assertEqual(case["odd_one_out"], odd)
        self.assertEqual(case["results"][[r["verdict"] for r in case["results"]].index("mismatch")]["name"],
                         odd)
        worst = [d for d in case["elements"]["differences"] if odd in d["between"]]
        self.assertGreater(worst[0]["tolerances"], 1)
        self.assertGreater(worst[0]["ulp"], 1)
        self.assertEqual(found["summary"]["odd_one_out"], {odd: 1})
        self.assertEqual(json.loads(self.explain("out/results.jsonl", "--json", code=0, verb="diff").stdout), found)
        text = self.explain("out", "--between", "cpu,misbehaving", code=0, verb="diff").stdout
        self.assertIn(f"odd one out in 1 of 1 cases: {odd}", text)
        # Without kept outputs the records still tell the rest, and the option that keeps them is named.
        for file in (self.dir / "out/outputs").iterdir():
            file.unlink()
        text = self.explain("out", code=0, verb="diff").stdout
        self.assertIn(f"odd one out: {odd}", text)
        self.assertIn("--evidence 1", text)
        self.assertIn("cpu, misbehaving", self.explain("out", "--between", "gpu", code=2, verb="diff").stderr)
        records = self.dir / "out/results.jsonl"  # of somebody else, with names that a terminal would obey
        records.write_text(records.read_text().replace('"backend":"misbehaving"', '"backend":"mis\\u001bbehaving"'))
        text = self.explain(records, code=0, verb="diff").stdout
        self.assertIn("odd one out: mis\\x1bbehaving drop_last_k", text)
        self.assertNotIn("\x1b", text)

    def test_kept_outputs_of_a_run_are_explained_as_it_judged_them(self):
        _, records = self.run_case("drop_last_k", "nan_result", more=("--evidence", "1"))
        by_name = {f"misbehaving {r['implementation']} on imaginary": r for r in records}
        (line,) = [json.loads(line) for line in self.explain("out", "--json").stdout.splitlines()]
        own = {r["name"]: r for r in line["results"]}
        self.assertEqual(set(own), set(by_name))
        for name, result in own.items():
            for key in ("contract", "bound_margin", "verdict", "output_hash", "case_id"):
                self.assertEqual(result["record"][key], by_name[name][key], (name, key))
        (cause, *_) = own["misbehaving drop_last_k on imaginary"]["causes"]
        self.assertIn("sum(a * b) without its last term", cause["what"])
        self.assertIn("== misbehaving drop_last_k", self.explain("out", "--filter", "matmul*").stdout)
        self.assertIn("give another --filter", self.explain("out", "--filter", "conv*", code=2).stderr)
        for file in (self.dir / "out/outputs").iterdir():
            file.unlink()
        self.assertIn("run with --evidence 1", self.explain("out", code=2).stderr)

    def test_outputs_that_came_back_to_a_manifest_are_explained(self):
        self.assay("inputs", "--case", CASE, "--out", "cases")
        self.assertIn("no outputs", self.explain("cases", code=2).stderr)
        (case,) = json.loads((self.dir / "cases/manifest.json").read_text())["cases"]
        a, b = (self.read_npy(self.dir / "cases" / operand["file"]) for operand in case["inputs"])
        (self.dir / "cases" / case["outputs"][0]["file"]).parent.mkdir(exist_ok=True)
        rows = [a[m * K:m * K + K - 1] + [0] for m in range(M)]  # the last term is lost
        write_npy(self.dir / "cases" / case["outputs"][0]["file"], "f4", (M, N),
                  f32(product([x for row in rows for x in row], b, M, N, K)))
        (line,) = [json.loads(line) for line in self.explain("cases", "--json").stdout.splitlines()]
        self.assertEqual(line["case_id"], CASE)
        self.assertIn("sum(a * b) without its last term", line["results"][0]["causes"][0]["what"])

    @staticmethod
    def read_npy(path):
        data = path.read_bytes()
        begin = 10 + struct.unpack("<H", data[8:10])[0]
        return list(struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:]))

    def write_folder(self, case, inputs, outputs):
        """A failure folder by hand: tensors by name, each a type, a shape and its bytes."""
        folder = self.dir / "folder"
        folder.mkdir(exist_ok=True)
        said = {"case_id": case, "backend": "b", "implementation": "i", "verdict": "mismatch", "reason": "r"}
        for name, tensors in (("inputs", inputs), ("got-b-i", outputs)):
            header, data = {"__metadata__": said}, b""
            for tensor, (dtype, shape, raw) in tensors.items():
                header[tensor] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
                data += raw
            text = json.dumps(header).encode()
            (folder / f"{name}.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
        return str(folder)

    def test_a_folder_that_is_not_as_a_run_left_it_is_refused(self):
        spectrum, few = ("F32", [2, 16, 2], bytes(256)), ("F32", [2], bytes(8))
        for x, y in ((few, spectrum), (spectrum, few), (("F64", [2, 16, 2], bytes(512)), spectrum)):
            folder = self.write_folder("fft/c64/kind=c2c,n=16,batch=2/fill=normal/seed=0", {"x": x}, {"y": y})
            self.assertRegex(self.explain(folder, code=2).stderr, "[xy] is f.*, and the case has f32 of 2x16x2; give the folder")
        table, far = ("F32", [5, 2], bytes(40)), ("I64", [3], struct.pack("<3q", 0, 5, 1))
        folder = self.write_folder("gather/f32-i64-f32/v=5,n=3,d=2/fill=normal/seed=0", {"table": table, "indices": far},
                                   {"y": ("F32", [3, 2], bytes(24))})
        self.assertIn("indices[1] is 5", self.explain(folder, code=2).stderr)

    def test_a_case_is_executed_by_each_implementation(self):
        options = ["--case", CASE, "--plugin", PLUGIN, "--backend", "misbehaving,cpu"]
        found = json.loads(self.explain(*options, "--impl", "ok,drop_last_k,naive,segfault", "--json").stdout)
        results = {r["name"]: r for r in found["results"]}
        self.assertEqual(set(results), {"misbehaving ok", "misbehaving drop_last_k", "misbehaving segfault", "cpu naive"})
        self.assertTrue(results["misbehaving segfault"]["said"].startswith("crash"))
        self.assertNotIn("record", results["misbehaving segfault"])
        order = found["ranking"]["order"]
        self.assertEqual(order[-1]["name"], "misbehaving drop_last_k")
        self.assertEqual([r["fails"] for r in order], [False, False, True])
        self.assertEqual(found["ranking"]["odd_one_out"], "misbehaving drop_last_k")
        text = self.explain(*options, "--impl", "ok,drop_last_k").stdout
        # One lost term of one element, which right elements beside it tell from other mistakes.
        self.assertIn("cause: the right result of the formula with sum(a * b) without its last term where it is wrong\n", text)
        self.assertNotIn("would pass by", text)

    def test_results_of_several_contracts_are_ranked_by_their_distance(self):
        found = json.loads(self.explain("--case", "softmax/bf16/shape=8x64/fill=normal/seed=0", "--backend", "cpu,opencl",
                                        "--json", code=0).stdout)["ranking"]["order"]
        self.assertGreater(len(found), 1)
        self.assertEqual([r["rms_err"] for r in found], sorted(r["rms_err"] for r in found))

    def test_a_case_is_executed_on_other_data(self):
        self.write("a", (M, K), [0.0] * (M * K))
        found = json.loads(self.explain("--case", CASE, "--backend", "cpu", "--impl", "naive", "--input", "a=a.npy", "--json",
                                        code=0).stdout)
        record = found["results"][0]["record"]
        self.assertEqual((record["max_abs_err"], record["nmse"]), (0, None))  # the right result is all zeros

    def test_a_right_case_passes(self):
        done = self.explain("--case", CASE, "--backend", "cpu", "--impl", "naive", code=0)
        self.assertIn("== cpu naive: pass", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
