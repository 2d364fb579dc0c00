#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`assay import` of each format, and what is then run or judged: import_test.py ASSAY CPU_PLUGIN. The files are small ones
of the test's own, in the forms that the other projects write."""
import importlib.util
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "python"))
from damage import TEXTS, damage
from own_folder import OwnFolder

ASSAY = sys.argv[1]
BENCHDNN = """# shapes
--dt=f32,s4 --stag=ab,ba
3x5:5x7_n"a_layer"
--attr-post-ops=dw:k3s1p1
2x2:2x2
"""
GGML = """Backend 1/1: CPU
  MUL_MAT(type_a=f16,type_b=f32,m=16,n=1,k=32,bs=[1,1],nr=[1,1],per=[0,1,2,3],k_v=0,o=1): \x1b[1;32mOK\x1b[0m
  SUM_ROWS(type=f32,ne=[10,5,4,3],permute=0,slice=0): \x1b[1;32mOK\x1b[0m
  TRI(type=f32,ne=[10,10,4,3],tri_type=0): \x1b[1;32mOK\x1b[0m
"""
IREE = """util.func @matmul_accumulate_DYNxDYNxf32_times_DYNxDYNxf32_into_DYNxDYNxf32_6_13_3_acc_0() attributes {
  iree.reflection = {description = "Matmul shape (MxKxN): 6x13x3"}
} {
  %acc_dim0 = arith.constant 6 : i64
  %transpose_rhs = arith.constant 1 : i32
}
"""


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(shape, values):
    return b"".join(field(1, extent) for extent in shape) + field(2, 1) + field(9, struct.pack(f"<{len(values)}f", *values))


def one_node(op, inputs, outputs):
    node = b"".join(field(1, name) for name in inputs) + b"".join(field(2, name) for name in outputs) + field(4, op)
    graph = field(1, node) + b"".join(field(11, field(1, name)) for name in inputs)
    graph += b"".join(field(12, field(1, name)) for name in outputs)
    return field(1, 10) + field(7, graph) + field(8, field(2, 20))


class Importing(OwnFolder):
    def setUp(self):
        super().setUp()
        self.env["ASSAY_PYTHON"] = sys.executable

    def assay(self, *args, text=""):
        return subprocess.run([ASSAY, *map(str, args)], cwd=self.dir, env=self.env, capture_output=True, text=True, timeout=240,
                              input=text)

    def imported(self, code, *args, text=""):
        done = self.assay("import", *args, text=text)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def run_suite(self, suite):
        done = self.assay("run", "--suite", suite, "--backend", "cpu", "--no-perf", "--progress", "none", "--out", "out")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return [json.loads(line) for line in (self.dir / "out/results.jsonl").read_text().splitlines()]

    def write(self, name, content):
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name


class Import(Importing):
    def test_benchdnn(self):
        self.write("matmul/shapes_own", BENCHDNN)
        done = self.imported(0, "benchdnn", "matmul/shapes_own", "-o", "b.suite", "--verbose")
        self.assertIn("2 mapped, which are 2 different cases; 6 not mapped", done.stdout)
        self.assertIn("matmul/shapes_own:3: --matmul --dt=s4 3x5:5x7_n\"a_layer\": no type s4 here", done.stdout)
        self.assertIn("       4  no type s4 here\n       2  no post-op dw here", done.stdout)
        records = self.run_suite("./b.suite")
        self.assertEqual({r["case_id"] for r in records}, {"matmul/f32/m=3,n=7,k=5/fill=normal/seed=0",
                                                           "matmul/f32/m=3,n=7,k=5,transa=1/fill=normal/seed=0"})
        self.assertEqual({(r["verdict"], r["tags"]) for r in records}, {("pass", "a_layer")})
        again = self.imported(0, "benchdnn", "matmul/shapes_own", "-o", "b.suite")  # may be replaced
        self.assertEqual(again.stdout, "".join(line for line in done.stdout.splitlines(True) if "shapes_own:" not in line))

    def test_ggml(self):
        self.write("ggml.txt", GGML)
        done = self.imported(0, "ggml", "ggml.txt", "-o", "g.suite", "--near-types")
        self.assertIn("2 mapped, which are 2 different cases; 1 not mapped\n       1  of the mapped ones have other types", done.stdout)
        self.assertIn("1  no operator TRI here", done.stdout)
        self.assertEqual({r["verdict"] for r in self.run_suite("./g.suite")}, {"pass"})
        self.assertIn("2 mapped", self.imported(0, "ggml", "ggml.txt", "-o", "h.suite").stdout)

    def test_a_definition_is_written_once_for_all_that_share_it(self):
        lines = [f"RMS_NORM(type=f32,ne=[{n},5,1,1],v=0,eps=0.01,inplace=0)" for n in (8, 16, 8, 8)]
        self.write("ggml.txt", "\n".join(lines))
        done = self.imported(0, "ggml", "ggml.txt", "-o", "g.suite")
        self.assertIn("4 mapped, which are 2 different cases; 0 not mapped\ng.suite: assay run --operators g.json --suite g.suite\n", done.stdout)
        self.assertEqual([one["op"] for one in json.loads((self.dir / "g.json").read_text())["operators"]], ["ggml_rms_norm"])
        listed = self.assay("list", "cases", "--suite", "./g.suite", "--operators", "g.json")
        self.assertEqual(listed.stdout.split(), [f"ggml_rms_norm/f32/rows=5,n={n},eps=0.01/fill=normal/seed=0" for n in (8, 16)], listed.stderr)

    def test_iree(self):
        self.write("calls.mlir", IREE)
        self.imported(0, "iree", "calls.mlir", "-o", "i.suite")
        self.assertEqual({(r["case_id"], r["verdict"]) for r in self.run_suite("./i.suite")},
                         {("matmul/f32/m=6,n=3,k=13,transb=1,beta=1/fill=normal/seed=0", "pass")})

    def test_a_pipe_is_read(self):
        self.imported(0, "ggml", "/dev/stdin", "-o", "g.suite", text=GGML)
        self.assertIn("reduce dtypes=f32 shape=3x4x5x10 axes=3 keepdims=1\n", (self.dir / "g.suite").read_text())

    def test_operands_too_large_for_an_integer_are_no_case(self):
        self.write("matmul/shapes", "2147483648x2147483648x2:2147483648x2x2\n")
        done = self.imported(4, "benchdnn", "matmul/shapes", "-o", "n.suite")
        self.assertIn("1  matmul: a of shape 2147483648x2147483648x2 has more elements than can be counted\n", done.stdout)

    def test_text_formats_need_nothing_but_an_interpreter(self):
        """Without site-packages, and with modules in the folder that are none of the reader's."""
        bare = pathlib.Path(self.write("bare-python", f"#!/bin/sh\nprintf greeting\nexec {sys.executable} -S \"$@\"\n"))
        (self.dir / bare).chmod(0o755)
        for name in ("json.py", "assay/__init__.py", "onnx/__init__.py"):
            self.write(name, "raise SystemExit('not this one')\n")
        self.write("matmul/shapes", "3x5:5x7\n")
        self.write("ggml.txt", GGML)
        self.write("calls.mlir", IREE)
        for args in (["benchdnn", "matmul/shapes"], ["ggml", "ggml.txt"], ["iree", "calls.mlir"]):
            self.imported(0, *args, "-o", "n.suite", "--python", f"./{bare}")
        done = self.imported(2, "onnx", ".", "-o", "n.suite", "--python", f"./{bare}")
        self.assertIn("lacks the package onnx, which reads these files; install it (pip install onnx, or apt-get install "
                      "python3-onnx), or name another interpreter with --python PATH\n", done.stderr)

    def test_suites_of_damaged_files_can_be_read(self):
        for name, text in TEXTS.items():
            damaged = [damage(text, seed).decode(errors="ignore") for seed in range(100)]
            files = [self.write(f"{name}/{i}", "".join(c for c in one if c.isprintable() or c == "\n")) for i, one in enumerate(damaged)]
            done = self.imported(0, name, *files, "-o", f"{name}.suite")
            cases = int(done.stdout.split(" different cases")[0].split()[-1])
            known = ["--operators", f"{name}.json"] if (self.dir / f"{name}.json").exists() else []
            listed = self.assay("list", "cases", "--suite", f"./{name}.suite", *known)
            self.assertEqual((listed.returncode, len(listed.stdout.splitlines())), (0, cases), listed.stderr)

    def test_the_package_of_a_wheel_reads(self):
        """Modules beside the package are of another interpreter."""
        package = self.dir / "site-packages/assay"
        shutil.copytree(pathlib.Path(__file__).parents[2] / "harness/python/assay", package)
        (package / "_prefix/bin").mkdir(parents=True)
        program = shutil.copy(ASSAY, package / "_prefix/bin")
        self.write("site-packages/json/__init__.py", "raise SystemExit('not this one')\n")
        self.write("ggml.txt", GGML)
        done = subprocess.run([program, "import", "ggml", "ggml.txt", "-o", "g.suite"], cwd=self.dir, env=self.env,
                              capture_output=True, text=True, timeout=240)
        self.assertIn("2 mapped", done.stdout, done.stderr)

    def test_an_interpreter_that_is_none_is_said(self):
        self.write("ggml.txt", GGML)
        done = self.imported(2, "ggml", "ggml.txt", "-o", "n.suite", "--python", "/nowhere/python3")
        self.assertIn("/nowhere/python3 cannot be run: No such file or directory; name one of CPython 3.10 or later with "
                      "--python PATH\n", done.stderr)
        done = self.imported(3, "ggml", "ggml.txt", "-o", "n.suite", "--python", "/bin/false")
        self.assertIn("/bin/false ended before it had read all files", done.stderr)
        self.assertFalse((self.dir / "n.suite").exists())

    def test_bad_input(self):
        self.write("relu.txt", "TRI(type=f32,ne=[1,1,1,1]): OK\n")
        self.write("mine.suite", "softmax dtypes=f32 shape=4x33\n")
        self.write("matmul/shapes", "3x5:5x7\n")
        for code, text, args in ((4, "nothing in these files could be mapped", ["ggml", "relu.txt", "-o", "n.suite"]),
                                 (2, "cannot read absent.txt: No such file or directory; check the path", ["ggml", "absent.txt", "-o", "n.suite"]),
                                 (2, "give a name that ends in .suite", ["ggml", "relu.txt", "-o", "n"]),
                                 (2, "--driver mat: benchdnn has no driver", ["benchdnn", "matmul/shapes", "-o", "n.suite", "--driver", "mat"]),
                                 (2, "a suite has no outputs", ["onnx", "matmul", "-o", "n.suite", "--theirs-as-outputs"]),
                                 (2, "mine.suite", ["benchdnn", "matmul/shapes", "-o", "mine.suite"]),
                                 (2, "--out is missing", ["ggml", "relu.txt"]),
                                 (2, "tosa", ["tosa", "relu.txt", "-o", "n.suite"])):
            with self.subTest(args):
                self.assertIn(text, self.imported(code, *args).stderr)
        self.assertFalse((self.dir / "n.suite").exists())
        self.assertEqual((self.dir / "mine.suite").read_text(), "softmax dtypes=f32 shape=4x33\n")


@unittest.skipUnless(importlib.util.find_spec("onnx"), "the package onnx is missing")
class ImportOnnx(Importing):
    def write_onnx(self, wrong=0.0):
        self.write("node/test_matmul/model.onnx", one_node(b"MatMul", [b"a", b"b"], [b"y"]))
        self.write("node/test_matmul/test_data_set_0/input_0.pb", tensor([2, 3], [1, 2, 3, 4, 5, 6]))
        self.write("node/test_matmul/test_data_set_0/input_1.pb", tensor([3, 2], [1, 0, 0, 1, 1, 1]))
        self.write("node/test_matmul/test_data_set_0/output_0.pb", tensor([2, 2], [4, 5, 10, 11 + wrong]))
        self.write("node/test_relu/model.onnx", one_node(b"Relu", [b"x"], [b"y"]))

    def test_onnx_as_a_suite(self):
        self.write_onnx()
        done = self.imported(0, "onnx", "node", "-o", "o.suite", "--verbose")
        self.assertIn("test_relu: no test_data_set_0 with its tensors\n", done.stdout)
        self.assertFalse((self.dir / "o.json").exists(), "definitions of which there are none")
        records = self.run_suite("./o.suite")
        self.assertEqual({(r["verdict"], r["tags"]) for r in records}, {("pass", "test_matmul")})

    def judged(self, code, *args):
        done = self.assay("check", "--manifest", "cases", "--out", "judged", *args)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return [json.loads(line) for line in (self.dir / "judged/results.jsonl").read_text().splitlines()]

    def test_onnx_with_its_data(self):
        self.write_onnx()
        self.imported(0, "onnx", "node", "-o", "cases")
        case = json.loads((self.dir / "cases/manifest.json").read_text())["cases"][0]
        self.assertEqual((case["id"], case["tags"]), ("matmul/f32/m=2,n=2,k=3/fill=user/seed=0", ["test_matmul"]))
        self.assertFalse((self.dir / "cases" / case["outputs"][0]["file"]).exists())  # nothing to judge yet
        folder = self.dir / "cases" / case["folder"]
        (folder / "out/y.npy").write_bytes((folder / "theirs/y.npy").read_bytes())
        record = self.judged(0)[0]
        self.assertEqual((record["case_id"], record["verdict"], record["tags"]), (case["id"], "pass", "test_matmul"))

    def test_expected_outputs_that_are_wrong_are_found(self):
        self.write_onnx(wrong=0.01)
        self.imported(0, "onnx", "node", "-o", "cases", "--theirs-as-outputs")
        record = self.judged(1)[0]
        self.assertEqual((record["verdict"], record["worst_index"]), ("mismatch", 3))

    def test_other_graphs_become_definitions(self):
        self.write_onnx()
        for name, data in (("input_0", [-1, 2, -3]), ("output_0", [0, 2, 0])):
            self.write(f"node/test_relu/test_data_set_0/{name}.pb", tensor([3], data))
        done = self.imported(0, "onnx", "node", "-o", "o.suite")
        self.assertIn("o.suite: assay run --operators o.json --suite o.suite\n", done.stdout)
        defined, = json.loads((self.dir / "o.json").read_text())["operators"]
        self.assertIn(f"tag test_relu\n{defined['op']} dtypes=f32\n", (self.dir / "o.suite").read_text())
        listed = self.assay("list", "ops", "--operators", "o.json")
        self.assertIn(defined["op"], listed.stdout)
        self.imported(0, "onnx", "node", "-o", "cases", "--theirs-as-outputs")
        self.assertEqual([r["verdict"] for r in self.judged(0, "--operators", "cases/definitions.json")], ["pass", "pass"])
        self.write("node/test_relu/test_data_set_0/output_0.pb", tensor([3], [0, 2, -3]))
        self.imported(0, "onnx", "node", "-o", "wrong", "--theirs-as-outputs")
        (self.dir / "cases").rename(self.dir / "right")
        (self.dir / "judged").rename(self.dir / "judged-before")
        (self.dir / "wrong").rename(self.dir / "cases")
        verdicts = {r["op"]: r["verdict"] for r in self.judged(1, "--operators", "cases/definitions.json")}
        self.assertEqual(verdicts, {"matmul": "pass", defined["op"]: "mismatch"})
        self.write("mine.json", "{}")
        self.assertIn("mine.json", self.imported(2, "onnx", "node", "-o", "mine.suite").stderr)

    def test_inputs_that_changed_are_said(self):
        self.write_onnx()
        self.imported(0, "onnx", "node", "-o", "cases", "--theirs-as-outputs")
        case = json.loads((self.dir / "cases/manifest.json").read_text())["cases"][0]
        a, y = self.dir / "cases" / case["inputs"][0]["file"], self.dir / "cases" / case["outputs"][0]["file"]
        a.write_bytes(a.read_bytes()[:-4] + struct.pack("<f", 7))
        self.assertIn("its inputs are not those that were imported", self.judged(3)[0]["reason"])
        a.unlink()
        (self.dir / "judged").rename(self.dir / "judged-before")
        self.assertIn("an input of the case: import it anew", self.judged(3)[0]["reason"])
        self.assertTrue(y.exists())

    def test_bad_folders(self):
        self.write_onnx()
        self.write("matmul/shapes", "3x5:5x7\n")
        for text, args in (("is not empty", ["onnx", "node", "-o", "matmul"]),
                           ("there is no model.onnx in it", ["onnx", "matmul", "-o", "n.suite"])):
            self.assertIn(text, self.imported(2, *args).stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
