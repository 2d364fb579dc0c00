# SPDX-License-Identifier: Apache-2.0
"""Functions of --operators as kernels of frameworks' columns: defined_columns_test.py ASSAY CLASS [PYTHON]. OfNumPy: with this
interpreter's NumPy. OfFrameworks: PYTHON has the frameworks."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

from full import FULL

ASSAY = sys.argv.pop(1)
PYTHON = sys.argv.pop(2) if len(sys.argv) > 2 else sys.executable
ALARMS = ("mismatch", "error", "crash", "timeout", "unavailable", "suspect")


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)

    def assay(self, *words):
        variables = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "ASSAY_LIBRARY")}
        variables |= {"ASSAY_GOLDEN_STORE": str(self.dir / "store"), "ASSAY_PYTHON": PYTHON}
        return subprocess.run([ASSAY, *words], cwd=self.dir, env=variables, capture_output=True, text=True, timeout=3000)

    def records(self, frameworks, *words):
        done = self.assay("run", "--framework", frameworks, "--backend", frameworks, "--out", "out", "--progress", "none",
                          "--no-perf", *words)
        path = self.dir / "out/results.jsonl"
        self.assertTrue(path.exists(), done.stderr)
        return [json.loads(line) for line in path.read_text().splitlines()]

    def write(self, text):
        (self.dir / "ops.py").write_text("import assay\n" + textwrap.dedent(text))
        return ("--operators", "ops.py")


CHOSEN = """
    @assay.operator("by_places", types=["f32-i64-f32", "f32-i32-f32", "bf16-i64-bf16"])
    def by_places(x: "rows n", ids: "m"):
        xp = assay.namespace(x)
        taken = xp.take(x, ids, axis=1) + xp.take_along_axis(x, ids[None], axis=-1)
        return {"y": taken, "added": xp.scatter_add(x, ids, taken, axis=1), "first": xp.take(x, [1, 0], axis=0) + xp.take(x, 1, axis=0),
                "hot": xp.where(xp.one_hot(ids % 3, 3), 1.0, 0.5), "parts": xp.astype(ids // 3 + xp.arange(ids.shape[0]), "int32")}

    @assay.operator("by_order", types=["f32", "f64", "bf16"])
    def by_order(x: "rows n"):
        xp = assay.namespace(x)
        values, places = xp.topk(x, 3)
        fewest, _ = xp.topk(x, 2, axis=0, largest=False)
        return {"y": xp.sort(x, axis=0) + xp.sort(x, descending=True), "order": xp.astype(xp.argsort(x), "int32"), "values": values,
                "places": xp.astype(places, "int32"), "fewest": fewest, "back": xp.astype(xp.argsort(x, axis=0, descending=True), "int32"),
                "most": xp.astype(xp.argmax(x, axis=1), "int32"), "least": xp.astype(xp.argmin(x, axis=0, keepdims=True), "int32")}

    @assay.operator("padded", types=["f32"])
    def padded(x: "4 6"):
        xp = assay.namespace(x)
        return {"y": xp.pad(x, ((1, 0), (2, 3))), "z": xp.pad(x, ((0, 0), (0, 1)), 0.5) * xp.arange(1, 8), "w": xp.floor(x * 3) + xp.round(x * 5)}
    """
CHOSEN_CASES = ["by_places/f32-i64-f32/rows=3,n=7,m=5", "by_places/f32-i32-f32/rows=2,n=9,m=5", "by_places/bf16-i64-bf16/rows=3,n=9,m=4",
                "by_order/f32/rows=5,n=9", "by_order/f64/rows=5,n=9", "by_order/bf16/rows=5,n=9", "padded/f32/-"]


class OfNumPy(Program):
    def test_a_thousand_definitions(self):
        words = self.write("""
            def doubled(x: "n"):
                return x + x

            for number in range(1000):
                assay.operator(f"doubled_by_another_name_{number}", types=["f32"])(doubled)
            """)
        [record] = self.records("numpy", *words, "--case", "doubled_by_another_name_999/f32/n=9/fill=normal/seed=0")
        self.assertEqual(record["verdict"], "pass", record["reason"])

    def test_what_is_chosen(self):
        words = [word for case in CHOSEN_CASES for word in ("--case", f"{case}/fill=normal/seed=0")]
        records = self.records("numpy", *self.write(CHOSEN), *words)
        self.assertEqual({r["case_id"]: r["verdict"] for r in records},
                         {f"{case}/fill=normal/seed=0": "unsupported" if "bf16" in case else "pass" for case in CHOSEN_CASES},
                         [r["reason"] for r in records])

    def test_right_functions_pass_and_wrong_ones_are_found(self):
        """A function that computes something else with NumPy's arrays than it is traced as."""
        operators = self.write("""
            @assay.operator("halves")
            def halves(x: "rows 2*n", *, slope: float = 1.5):
                xp = assay.namespace(x)
                first, second = xp.split(x, 2, axis=-1)
                return {"y": xp.silu(slope * first) * second, "total": xp.sum(first, axis=-1)}

            @assay.operator("off")
            def off(x: "rows n"):
                return x * x + (1e-3 if type(x).__module__ == "numpy" else 0.0)
            """)
        records = self.records("numpy", *operators, "--case", "halves/f32/rows=3,n=33,slope=2/fill=normal/seed=0",
                               "--case", "off/f32/rows=3,n=33/fill=normal/seed=0", "--case", "off/bf16/rows=3,n=33/fill=normal/seed=0")
        self.assertEqual([(r["backend"], r["op"], r["verdict"]) for r in records],
                         [("numpy", "halves", "pass"), ("numpy", "off", "mismatch"), ("numpy", "off", "unsupported")])
        self.assertEqual((records[0]["implementation"], records[0]["contract"]), ("eager", "acc=f32; math=256"))

    def test_results_are_stored_in_the_types_of_the_case(self):
        """Whatever NumPy promotes numbers and conditions to."""
        operators = self.write("""
            @assay.operator("chosen", types=["f32"])
            def chosen(x: "rows n"):
                xp = assay.namespace(x)
                return {"y": x * xp.where(x > 0, 1.0, 0.1), "count": xp.sum(x > 0, axis=-1), "sign": x > 0}

            @assay.operator("positive", types=["f32-i8"])
            def positive(x: "rows n"):
                return x > 0
            """)
        records = self.records("numpy", *operators, "--case", "chosen/f32/rows=3,n=33/fill=normal/seed=0",
                               "--case", "positive/f32-i8/rows=3,n=33/fill=normal/seed=0")
        self.assertEqual([(r["op"], r["verdict"]) for r in records], [("chosen", "pass"), ("positive", "pass")], records)

    def test_without_definitions_it_has_functions_of_single_elements(self):
        cases = ("tan/f32/n=33", "less/f64-f64-bool/n=33", "add/i8/n=9,per=row,rows=5", "mul/f32/n=9,per=column,rows=5",
                 "where/bool-f32-f32-f32/n=33", "clip/f64/n=33,low=-0.5")
        records = self.records("numpy", *(word for case in cases for word in ("--case", f"{case}/fill=normal/seed=0")))
        self.assertEqual([(r["op"], r["verdict"]) for r in records], [(case.split("/")[0], "pass") for case in cases], records)

    def test_random_compositions(self):
        words = ("explore", "--compose", "4", "--seed", "7", "--python", PYTHON)
        done = self.assay(*words, "--dtype", "f32,f64", "--out", "found")
        self.assertEqual((done.returncode, done.stdout.splitlines()), (0, ["numpy f32: 4 pass", "numpy f64: 4 pass"]), done.stderr)
        found = json.loads((self.dir / "found/compositions.json").read_text())
        self.assertEqual([(one["form"], one["dtype"], one["first_seed"]) for one in found], [("numpy", "f32", 7), ("numpy", "f64", 7)])
        for more, why in ((("--op", "matmul"), "--op says nothing of --compose"), (("--python", "/nowhere/python3"), "cannot be run"),
                          (("--framework", "numpi"), "there are numpy, jax")):
            refused = self.assay(*words[:5 if more[0] == "--python" else None], *more)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(why, refused.stderr)

    def test_the_shipped_compositions(self):
        listed = self.assay("list", "cases", "--operators", "compositions", "--suite", "compositions")
        names = {line.partition("/")[0] for line in listed.stdout.splitlines() if "/" in line}
        self.assertGreaterEqual(len(names), 60, listed.stderr)
        self.assertIn("no suite 'compositions'", self.assay("list", "cases", "--suite", "compositions").stderr)
        daily = re.findall(r'operator\("(\w+)"', (pathlib.Path(__file__).parents[2] / "ops/compositions/daily.py").read_text(encoding="utf-8"))
        ops = sorted({line.partition("/")[0] for line in listed.stdout.splitlines() if "/f32/" in line and "n=67" in line} - set(daily))
        ops = sorted(ops[::1 if FULL else 6] + daily)
        records = self.records("numpy", "--operators", "compositions", "--suite", "compositions", "--relations", "none", "--op", ",".join(ops),
                               *[] if FULL else ["--dtype", "f32", "--filter", ":".join(["*=67*", *(name + "/*" for name in daily)]) + ":-*fill=special*"])
        self.assertEqual(sorted({r["op"] for r in records}), ops)
        self.assertEqual([(r["case_id"], r["reason"]) for r in records if r["verdict"] in ALARMS], [])
        self.assertEqual([(r["case_id"], r["reason"]) for r in records if r["op"] in daily and r["verdict"] not in ("pass", "unsupported")], [])
        self.assertLessEqual(set(daily), {r["op"] for r in records if r["verdict"] == "pass"})


class OfFrameworks(Program):
    def test_compositions_on_each(self):
        names = "torch,jax,onnxruntime,openvino,numpy"
        ops = "bias_gelu,residual_layer_norm,gated_linear,rope_of_halves,traced_softplus"
        records = self.records(names, "--operators", "compositions", "--suite", "compositions", "--op", ops, "--dtype", "f32,bf16",
                               "--relations", "none", "--filter", "*n=67/*")
        # ONNX Runtime's Sigmoid is 0 below -18.
        alarms = [(r["case_id"], r["implementation"], r["reason"]) for r in records if r["verdict"] in ALARMS and
                  (r["backend"], r["op"]) != ("onnxruntime", "gated_linear")]
        self.assertEqual(alarms, [])
        for name, implementations in (("torch", {"eager", "compile"}), ("jax", {"eager", "jit"}), ("onnxruntime", {"cpu", "cpu-unoptimised"}),
                                      ("openvino", {"cpu"}), ("numpy", {"eager"})):
            own = [r for r in records if r["backend"] == name and r["verdict"] == "pass"]
            self.assertEqual({r["implementation"] for r in own}, implementations, name)
            self.assertGreaterEqual(len({r["op"] for r in own}), 3, name)
        refused = [r["reason"] for r in records if r["backend"] == "openvino" and r["op"] == "traced_softplus"]
        self.assertIn("OpenVINO has no node for log1p", refused[0])

    EXPORTS = {"onnxruntime", "openvino"}

    def judged(self, text, frameworks, cases):
        """Verdicts by operator and framework."""
        words = [word for case in cases for word in ("--case", f"{case}/fill=normal/seed=0")]
        found = {}
        for record in self.records(frameworks, *self.write(text), "--relations", "none", *words):
            found.setdefault((record["op"], record["backend"]), []).append((record["verdict"], record["reason"]))
        self.assertEqual(len(found), len({case.partition("/")[0] for case in cases}) * len(frameworks.split(",")))
        return found

    def test_conditions_on_each(self):
        text = """
            @assay.operator("equals", types=["f32", "f64", "f16"])
            def equals(x: "rows n", y: "rows n"):
                xp = assay.namespace(x)
                most = xp.maximum(x, y)
                return x + (most == x) - xp.where(most != x, 0.3, 0.0) + xp.where(xp.not_equal(most, y), x, xp.abs(y))

            @assay.operator("logic", types=["f32"])
            def logic(x: "rows n"):
                xp = assay.namespace(x)
                inside = (x > 0) & (x < 1) | ~(x <= 2) ^ xp.logical_not(x > -1)
                either = xp.where(x > 1, x > 0, x < 0)
                return xp.where(inside, xp.clip(x, min=0.1), xp.clip(x, max=-0.5)) + xp.sum(either, axis=-1, keepdims=True)

            @assay.operator("less_nan", types=["f32"])
            def less_nan(x: "rows n", y: "rows n"):
                xp = assay.namespace(x)
                return xp.fmax(x, y) - xp.fmin(y, 0.5)

            @assay.operator("checks", types=["f32"])
            def checks(x: "rows n"):
                xp = assay.namespace(x)
                log = xp.log(x)
                found = xp.any(xp.isnan(log), axis=-1, keepdims=True) | xp.all(xp.isfinite(x), axis=-1, keepdims=True)
                return xp.where(found, xp.where(xp.isnan(log), 0.5, log), xp.where(xp.isinf(x), 1.0, x)) * xp.mean(x > 0, axis=0)

            @assay.operator("masked", types=["f32-i8-f32"], roles={"m": "condition"})
            def masked(x: "rows n", m: "rows n"):
                xp = assay.namespace(x)
                return xp.where(m, x, 0.5) + 0.25 * m + xp.logical_and(m, x > 0)

            @assay.operator("mask_first", types=["i8-f32-f32", "i8-bf16-bf16"], roles={"m": "condition"})
            def mask_first(m: "rows n", x: "rows n"):
                return assay.namespace(x).where(m, x, 0.5) * x - 0.25 * x

            @assay.operator("positive", types=["f32-i8"])
            def positive(x: "rows n"):
                return x > 0

            @assay.operator("stored", types=["f32"])
            def stored(x: "rows n"):
                return assay.namespace(x).astype(x * 1.5, "float32") + assay.namespace(x).astype(x > 0, "float32")
            """
        cases = ["equals/f32/rows=3,n=9", "equals/f64/rows=3,n=9", "equals/f16/rows=3,n=9", "logic/f32/rows=3,n=9", "checks/f32/rows=3,n=9",
                 "less_nan/f32/rows=3,n=9", "masked/f32-i8-f32/rows=3,n=9", "mask_first/i8-f32-f32/rows=3,n=9",
                 "mask_first/i8-bf16-bf16/rows=3,n=9", "positive/f32-i8/rows=3,n=9", "stored/f32/rows=3,n=9"]
        found = self.judged(text, "torch,jax,onnxruntime,openvino,numpy", cases)
        for (op, framework), results in found.items():
            self.assertIn("pass", {verdict for verdict, _ in results}, (op, framework, results))
            self.assertLessEqual({verdict for verdict, _ in results}, {"pass", "unsupported", "inconclusive"}, (op, framework, results))

    def test_functions_by_the_names_of_the_standard(self):
        text = """
            @assay.operator("places", types=["f32"])
            def places(x: "4 6"):
                xp = assay.namespace(x)
                turned = xp.roll(xp.flip(x, axis=-1), 2, axis=1) + xp.roll(xp.flip(x), -1, axis=0)
                both = xp.stack([turned, x], axis=-1)
                return {"y": xp.reshape(xp.concat([turned, x], axis=1), (6, 8)), "z": xp.permute_dims(both, axes=(2, 0, 1))[0],
                        "w": xp.expand_dims(xp.reshape(both, (2, -1)), axis=1) + x.reshape(24)[:1]}

            @assay.operator("triangles", types=["f32", "f64"])
            def triangles(x: "n n", limit: "n"):
                xp = assay.namespace(x)
                kept = xp.tril(x, k=-1) + xp.triu(x, k=1) * 2.0
                return xp.clip(kept, -0.5, 0.5) + xp.clip(x, min=-xp.abs(limit), max=1.0) + xp.where(x > 0, 0.1, 0.7)

            @assay.operator("rows", types=["f32", "bf16"])
            def rows(x: "rows n"):
                xp = assay.namespace(x)
                some = xp.any(x > 1, axis=-1, keepdims=True)
                return {"y": xp.softmax(x, axis=(0, 1)) + xp.log_softmax(x, axis=(0, 1)) + xp.where(some, x, 0.0),
                        "all": xp.all(x < 2, axis=0), "std": xp.std(x, axis=-1) + xp.mean(x, axis=-1)}
            """
        found = self.judged(text, "torch,jax,numpy,onnxruntime,openvino",
                            ["places/f32/-", "triangles/f32/n=5", "triangles/f64/n=5", "rows/f32/rows=3,n=9", "rows/bf16/rows=3,n=9"])
        for (op, framework), results in found.items():
            verdicts = {verdict for verdict, _ in results}
            self.assertEqual(verdicts - {"inconclusive"} - ({"unsupported"} if framework == "numpy" else set()),
                             {"unsupported"} if framework in self.EXPORTS else {"pass"}, (op, framework, results))

    def test_what_is_chosen_on_each(self):
        cases = [case for case in CHOSEN_CASES if "i32" not in case and "f64" not in case]  # compilers take most of the time
        for (op, framework), results in self.judged(CHOSEN, "torch,jax,onnxruntime,openvino", cases).items():
            verdicts = {verdict for verdict, _ in results}
            self.assertEqual(verdicts, {"unsupported"} if framework in self.EXPORTS else {"pass"}, (op, framework, results))

    def test_what_a_graph_cannot_express_is_unsupported_with_its_name(self):
        text = """
            @assay.operator("shaped", types=["f32"])
            def shaped(x: "4 6"):
                return x.reshape(6, 4) * 2.0

            @assay.operator("sliced", types=["f32"])
            def sliced(x: "4 6"):
                return x[:, 1:4] * 2.0

            @assay.operator("indexed", types=["f32"])
            def indexed(x: "4 6"):
                return x[0] * 2.0

            @assay.operator("wide", types=["f32-i32-f32"])
            def wide(x: "rows n", y: "rows n"):
                return x * y

            @assay.operator("joined", types=["f32"])
            def joined(x: "4 6"):
                return assay.namespace(x).concat([x, x * 2.0], axis=0)
            """
        words = {"shaped": "no reshape of arrays", "sliced": "no slices", "indexed": "no slices", "wide": "an operand of int32",
                 "joined": "no function concat"}
        cases = [f"{op}/{'f32-i32-f32/rows=3,n=9' if op == 'wide' else 'f32/-'}" for op in words]
        for (op, framework), results in self.judged(text, "onnxruntime,openvino", cases).items():
            for verdict, reason in results:
                self.assertEqual(verdict, "unsupported", (op, framework, reason))
                self.assertIn(words[op], reason, framework)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=2)
