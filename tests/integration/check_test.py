#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tensors of any program, judged by `assay check`, and the failure folders of a run: check_test.py ASSAY PLUGIN.

The .npy and .safetensors files are written by hand, so that no package is needed.
"""
import json
import math
import os
import pathlib
import random as randoms
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

ASSAY, PLUGIN = sys.argv[1:3]
A, B = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 0.5, -1.0, 2.0, 0.25, 4.0]  # 2x3 and 3x2
Y = [-0.25, 16.5, 0.5, 36.0]


def write_npy(path, descr, shape, values, order="<", fortran=False):
    kind = {"f4": "f", "f8": "d", "u2": "H", "i1": "b", "i4": "i", "i8": "q", "f2": "e"}[descr]
    sign = "|" if descr == "i1" else order
    text = f"{{'descr': '{sign}{descr}', 'fortran_order': {fortran}, 'shape': {tuple(shape)}, }}".encode()
    text += b" " * (-(10 + len(text) + 1) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text
                     + struct.pack(f"{order}{len(values)}{kind}", *values))


def read_npy(path):
    data = path.read_bytes()
    length = struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:10 + length])  # a dict literal that this test asked for
    body = data[10 + length:]
    count = {"f8": 8, "c16": 8}[header["descr"][1:]]
    return header["shape"], list(struct.unpack(f"<{len(body) // count}d", body))


def write_safetensors(path, tensors):
    header, body = {}, b""
    for name, (dtype, shape, raw) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def safetensors_header(path):
    data = path.read_bytes()
    return json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])


def bf16(values):
    return [struct.unpack("<I", struct.pack("<f", v))[0] >> 16 for v in values]


class Base(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.dir = pathlib.Path(self.folder.name)
        self.env = dict(os.environ, ASSAY_GOLDEN_STORE=str(self.dir / "store"), NO_COLOR="1")

    def tearDown(self):
        self.folder.cleanup()

    def assay(self, *args, program=ASSAY):
        return subprocess.run([str(program), *args], cwd=self.dir, env=self.env, capture_output=True, text=True, timeout=240)

    def copy_program(self, place):
        (self.dir / place).parent.mkdir(parents=True, exist_ok=True)
        return shutil.copy2(ASSAY, self.dir / place)

    def shell(self, line):
        return subprocess.run(line, shell=True, cwd=self.dir, env=self.env, capture_output=True, text=True, timeout=240)


class Check(Base):
    def setUp(self):
        super().setUp()
        write_npy(self.dir / "a.npy", "f4", (2, 3), A)
        write_npy(self.dir / "b.npy", "f4", (3, 2), B)
        write_npy(self.dir / "y.npy", "f4", (2, 2), Y)

    def matmul(self, *args, a="a.npy", b="b.npy", y="y=y.npy", program=ASSAY):
        return self.assay("check", "--op", "matmul", "--input", f"a={a}", "--input", f"b={b}", "--output", y, *args,
                          program=program)

    def refused(self, text, *args, **kwargs):
        done = self.matmul(*args, **kwargs)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stdout, "")

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

    def test_exact_data_may_not_round(self):
        write_npy(self.dir / "y.npy", "f4", (2, 2), [Y[0], math.nextafter(16.5, 17) + 2e-6, Y[2], Y[3]])
        self.assertEqual(self.matmul("--contract", "bf16acc").returncode, 0)
        done = self.matmul("--contract", "bf16acc", "--exact-ulp", "0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("exact channel", done.stdout)
        for ulp in ("nan", "inf", "-1", "one"):  # NaN is no tolerance: no comparison with it is ever true
            self.refused(f"'{ulp}' is not a finite number of ulp", f"--exact-ulp={ulp}")

    def test_a_shape_that_does_not_fit_names_the_expected_one(self):
        write_npy(self.dir / "b5.npy", "f4", (5, 2), B + [0] * 4)
        self.refused("b has shape 5x2, expected 3x2", b="b5.npy")
        self.refused("; b[batch,k,n]: transpose a tensor of another layout", b="b5.npy")
        write_npy(self.dir / "y4.npy", "f4", (4,), Y)
        self.refused("y has shape 4, expected 2x2", y="y4.npy")
        self.refused("a has shape 2x3, expected 7x3", "--attr", "m=7")
        write_npy(self.dir / "a1.npy", "f4", (6,), A)
        self.refused("a has shape 6, expected rows and columns", a="a1.npy")

    def test_operands_and_attributes_that_do_not_exist(self):
        self.refused("no input 'z'; it takes a[batch,m,k]", "--input", "z=a.npy")
        self.refused("'c'", "--input", "c=y.npy")  # beta is 0
        self.refused("gives 'a' twice", "--input", "a=a.npy")
        self.refused("no output 'z'", y="z=y.npy")
        self.refused("no attribute 'depth'", "--attr", "depth=2")
        self.refused("epilogue=melted", "--attr", "epilogue=melted")
        self.refused("KEY=VALUE", "--attr", "m")
        self.refused("there is no tensor 'q'", "--dtype", "q=bf16")
        self.refused("f33", "--dtype", "a=f33")
        self.refused("nowhere.npy", a="nowhere.npy")
        self.refused("neither a .npy nor a .safetensors", a="a.bin")
        self.refused("also needs --input c=FILE of f32 2x2", "--attr", "beta=1")
        done = self.assay("check", "--op", "matmul", "--input", "a=a.npy", "--output", "y.npy")
        self.assertIn("needs --input b=FILE", done.stderr)
        self.assertEqual(done.returncode, 2)
        done = self.assay("check", "--op", "matmull", "--input", "a=a.npy", "--output", "y.npy")
        self.assertRegex(done.stderr, "known: .*matmul")
        self.assertEqual(done.returncode, 2)
        done = self.assay("check", "--op", "reduce", "--input", "x=a.npy", "--output", "y.npy")
        self.assertIn("axes", done.stderr)
        self.assertEqual(done.returncode, 2)

    def test_attributes_follow_from_shapes(self):
        write_npy(self.dir / "at.npy", "f4", (3, 2), [1, 4, 2, 5, 3, 6])
        self.assertEqual(self.matmul("--attr", "transa=1", a="at.npy").returncode, 0)
        write_npy(self.dir / "bias.npy", "f4", (2,), [0, 0])
        self.assertEqual(self.matmul("--input", "bias=bias.npy").returncode, 0)
        write_npy(self.dir / "ab.npy", "f4", (2, 2, 3), A + A)
        write_npy(self.dir / "bb.npy", "f4", (2, 3, 2), B + B)
        write_npy(self.dir / "yb.npy", "f4", (2, 2, 2), Y + Y)
        done = self.matmul(a="ab.npy", b="bb.npy", y="yb.npy")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("batch=2", done.stdout)
        write_npy(self.dir / "s.npy", "f4", (2,), [6, 15])
        done = self.assay("check", "--op", "reduce", "--attr", "axes=-1", "--input", "x=a.npy", "--output", "s.npy")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        write_npy(self.dir / "i.npy", "i8", (2,), [2, 1])
        done = self.assay("check", "--op", "reduce", "--attr", "axes=1", "--attr", "kind=argmax", "--input", "x=a.npy",
                          "--output", "i.npy")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("1 of 2 elements, [1]", done.stdout)

    def test_shapes_that_frameworks_allow(self):
        write_npy(self.dir / "x.npy", "f4", (1, 1, 2), [2.0, 3.0])
        write_npy(self.dir / "w.npy", "f4", (1, 1, 1), [5.0])
        write_npy(self.dir / "y.npy", "f4", (1, 1, 4), [0.0, 10.0, 15.0, 0.0])
        conv = ("check", "--op", "conv", "--input", "x=x.npy", "--input", "w=w.npy", "--output", "y.npy")
        done = self.assay(*conv, "--attr", "pad=1")  # outputs that see padding alone
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        write_npy(self.dir / "y.npy", "f4", (1, 1, 4), [1.0, 10.0, 15.0, 0.0])
        self.assertEqual(self.assay(*conv, "--attr", "pad=1").returncode, 1)

        write_npy(self.dir / "q.npy", "f4", (1, 1, 2, 1), [0.0, 0.0])
        write_npy(self.dir / "o.npy", "f4", (1, 1, 2, 1), [0.0, 0.0])
        write_npy(self.dir / "v.npy", "f4", (1, 1, 2, 1), [1.0, 3.0])
        attention = ("check", "--op", "attention", "--input", "q=q.npy", "--input", "k=q.npy", "--input", "v=v.npy",
                     "--output", "o.npy", "--attr", "window=9223372036854775807")
        self.assertEqual(self.assay(*attention).returncode, 1)  # not queries that see nothing
        write_npy(self.dir / "o.npy", "f4", (1, 1, 2, 1), [2.0, 2.0])
        done = self.assay(*attention)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_masks_are_broadcast_as_frameworks_dump_them(self):
        random = randoms.Random(7)
        b, h, l, s, d = 2, 3, 4, 5, 2
        values = lambda *shape: [round(random.gauss(0, 1), 3) for _ in range(math.prod(shape))]
        for name, shape in (("q", (b, h, l, d)), ("k", (b, h, s, d)), ("v", (b, h, s, d)), ("o", (b, h, l, d))):
            write_npy(self.dir / f"{name}.npy", "f4", shape, values(*shape))
        inputs = [word for name in "qkv" for word in ("--input", f"{name}={name}.npy")]

        def judged(shape, mask):
            write_npy(self.dir / "mask.npy", "f4", shape, mask)
            done = self.assay("check", "--op", "attention", *inputs, "--input", "mask=mask.npy", "--output", "o.npy",
                              "--json", "--write-golden", "g.npy")
            self.assertEqual(done.returncode, 1, done.stderr)  # the results are noise
            record = json.loads(done.stdout)
            return (record["golden_hash"], record["bound_margin"], record["power"],
                    read_npy(self.dir / "g.npy"))

        golden = set()
        for shape in ((1, 1, l, s), (b, 1, l, s), (1, h, l, s), (b, 1, 1, s), (h, l, s), (l, s), (s,)):
            with self.subTest(shape):
                mask = values(*shape)
                full = (1,) * (4 - len(shape)) + shape
                at = lambda *index: sum(
                    (0 if extent == 1 else i) * math.prod(full[axis + 1:]) for axis, (i, extent) in enumerate(zip(index, full)))
                expanded = [mask[at(i, j, r, c)] for i in range(b) for j in range(h) for r in range(l) for c in range(s)]
                short, long = judged(shape, mask), judged((b, h, l, s), expanded)
                self.assertEqual(short, long)
                golden.add(short[0])
        self.assertEqual(len(golden), 7)
        write_npy(self.dir / "mask.npy", "f4", (h, 1, l, s), values(h, l, s))
        done = self.assay("check", "--op", "attention", *inputs, "--input", "mask=mask.npy", "--output", "o.npy")
        self.assertEqual(done.returncode, 2)
        self.assertIn("mask has shape 3x1x4x5, expected 2x3x4x5", done.stderr)

    def test_a_negative_scale_of_attention(self):
        write_npy(self.dir / "q.npy", "f4", (1, 1, 1, 1), [1.0])
        write_npy(self.dir / "k.npy", "f4", (1, 1, 2, 1), [0.0, 1.0])
        write_npy(self.dir / "v.npy", "f4", (1, 1, 2, 1), [1.0, 0.0])
        for scale, code in ((-2.0, 0), (2.0, 1)):
            write_npy(self.dir / "o.npy", "f4", (1, 1, 1, 1), [1 / (1 + math.exp(-2))])
            done = self.assay("check", "--op", "attention", "--input", "q=q.npy", "--input", "k=k.npy", "--input",
                              "v=v.npy", "--output", "o.npy", "--attr", f"scale={scale}")
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)

    def test_an_odd_length_of_c2r_has_to_be_said(self):
        write_safetensors(self.dir / "x.safetensors", {"x": ("C64", [2], struct.pack("<4f", 3, 0, 0, 0))})
        write_npy(self.dir / "y.npy", "f4", (3,), [3.0, 3.0, 3.0])
        fft = ("check", "--op", "fft", "--attr", "kind=c2r", "--attr", "dir=inv", "--input", "x=x.safetensors", "--output",
               "y.npy")
        done = self.assay(*fft)
        self.assertEqual(done.returncode, 2)
        self.assertIn("c2r of odd length needs --attr n=3", done.stderr)
        done = self.assay(*fft, "--attr", "n=3")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_result_below_its_contract_says_why(self):
        random = randoms.Random(8)
        m, n, k = 16, 16, 64
        single = lambda x: struct.unpack("<f", struct.pack("<f", x))[0]
        a = [single(random.gauss(0, 1)) for _ in range(m * k)]
        b = [single(random.gauss(0, 1)) for _ in range(k * n)]
        narrow = lambda x: struct.unpack("<f", struct.pack("<I", (struct.unpack("<I", struct.pack("<f", x))[0] + 0x8000) & 0xFFFF0000))[0]
        y = [math.fsum(narrow(a[i * k + t]) * narrow(b[t * n + j]) for t in range(k)) for i in range(m) for j in range(n)]
        for name, shape, data in (("a", (m, k), a), ("b", (k, n), b), ("y", (m, n), y)):
            write_npy(self.dir / f"{name}.npy", "f4", shape, data)
        done = self.matmul()
        self.assertEqual(done.returncode, 1)
        self.assertIn("below_contract (within_lower_class)", done.stdout)
        self.assertIn("contract: acc=f32; math=4 (the default; --contract states another)", done.stdout)
        figures = re.search(r"behaves like: bf16 operands \(in=bf16\): judged by that class, the largest \|error\| / "
                            r"tolerance is (\S+) and the statistic (\S+); judged by the contract, (\S+) and (\S+)\n",
                            done.stdout)
        self.assertTrue(figures, done.stdout)
        by_class, by_contract = [float(x) for x in figures.groups()[:2]], [float(x) for x in figures.groups()[2:]]
        self.assertLessEqual(max(by_class), 1)
        self.assertGreater(min(by_contract), 1)
        contract = re.search(r"--contract '(.*)' judges by that class", done.stdout).group(1)
        self.assertEqual(self.matmul("--contract", contract).returncode, 0)

    def test_a_softmax_of_minus_infinity_alone_is_nan_unless_the_contract_says_otherwise(self):
        write_npy(self.dir / "x.npy", "f4", (2, 2), [0.0, 0.0, -math.inf, -math.inf])
        for value, contract, code in ((math.nan, (), 0), (0.0, (), 1), (math.nan, ("--contract", "f32"), 1),
                                      (0.0, ("--contract", "f32;masked=zero"), 0),
                                      (math.nan, ("--contract", "f32;masked=nan"), 0)):
            write_npy(self.dir / "s.npy", "f4", (2, 2), [0.5, 0.5, value, value])
            done = self.assay("check", "--op", "softmax", "--input", "x=x.npy", "--output", "s.npy", *contract)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)

    def test_byte_order_and_fortran_order(self):
        write_npy(self.dir / "a.npy", "f4", (2, 3), [1, 4, 2, 5, 3, 6], order=">", fortran=True)
        self.assertEqual(self.matmul().returncode, 0)

    def test_bf16_travels_as_u2_or_as_f32(self):
        write_npy(self.dir / "ab.npy", "u2", (2, 3), bf16(A))
        self.refused("--dtype NAME=TYPE", a="ab.npy")
        done = self.matmul("--dtype", "a=bf16", "--dtype", "b=bf16", a="ab.npy")  # b is stored as f32
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("matmul bf16-bf16-f32", done.stdout)
        write_npy(self.dir / "b.npy", "f4", (3, 2), [1.001] + B[1:])
        self.refused("does not hold its element [0,0]", "--dtype", "a=bf16", "--dtype", "b=bf16", a="ab.npy")
        self.refused("must have one type", "--dtype", "a=bf16", a="ab.npy")

    def test_safetensors(self):
        raw = lambda values: struct.pack(f"<{len(values)}f", *values)
        bits = struct.pack("<6H", *bf16(A))
        write_safetensors(self.dir / "t.safetensors", {"a": ("F32", [2, 3], raw(A)), "w": ("F32", [3, 2], raw(B)),
                                                       "half": ("BF16", [2, 3], bits)})
        write_safetensors(self.dir / "y.safetensors", {"only": ("F32", [2, 2], raw(Y))})
        done = self.matmul(a="t.safetensors", b="t.safetensors:w", y="y.safetensors")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.refused("no tensor 'b', it has a", a="t.safetensors", b="t.safetensors")
        self.refused("half", a="t.safetensors:zz")

    def test_safetensors_of_other_types(self):
        zeros = struct.pack("<2f", 0, 0)
        write_safetensors(self.dir / "d.safetensors", {
            "q": ("F32", [1, 1, 2, 1], zeros), "k": ("F32", [1, 1, 2, 1], zeros),
            "v": ("F32", [1, 1, 2, 1], struct.pack("<2f", 1, 3)), "mask": ("BOOL", [2, 2], bytes([1, 1, 0, 1])),
            "o": ("F32", [1, 1, 2, 1], struct.pack("<2f", 2, 3)), "step": ("U16", [1], b"\0\0")})
        inputs = [word for name in ("q", "k", "v", "mask") for word in ("--input", f"{name}=d.safetensors")]
        done = self.assay("check", "--op", "attention", *inputs, "--output", "d.safetensors:o")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = self.assay("check", "--op", "attention", *inputs, "--output", "o=d.safetensors:step")
        self.assertEqual(done.returncode, 2)
        self.assertIn("tensor 'step' has dtype U16, which is not supported", done.stderr)

    def test_golden_values_are_written(self):
        done = self.matmul("--write-golden", "g.npy")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(read_npy(self.dir / "g.npy"), ((2, 2), Y))
        (self.dir / "g.npy").write_text("old")
        self.assertEqual(self.matmul("--write-golden", "g.npy").returncode, 0)
        self.assertEqual(read_npy(self.dir / "g.npy"), ((2, 2), Y))

    def test_golden_values_go_where_the_user_said_or_nowhere(self):
        self.refused("--write-golden g.txt: give a name that ends in .npy", "--write-golden", "g.txt")
        self.refused("--write-golden no/such/g.npy: there is no folder no/such; make it first", "--write-golden",
                     "no/such/g.npy")
        self.assertFalse((self.dir / "no").exists())
        (self.dir / "d.npy").mkdir()
        self.refused("--write-golden d.npy: this is a folder", "--write-golden", "d.npy")
        done = self.matmul("--write-golden", "/proc/g.npy")
        self.assertEqual(done.returncode, 2)
        self.assertIn("/proc/g.npy: cannot be written", done.stderr)
        self.assertNotIn(".tmp", done.stderr)

    def test_the_golden_value_replaces_no_operand(self):
        before = (self.dir / "a.npy").read_bytes()
        os.symlink("y.npy", self.dir / "link.npy")
        for path, name in (("a.npy", "a"), ("./b.npy", "b"), ("link.npy", "y")):
            self.refused(f"{name} is read from this file", "--write-golden", path)
        self.refused("the output is read from this file", "--write-golden", "y.npy", y="y.npy")
        self.assertEqual((self.dir / "a.npy").read_bytes(), before)

    def test_what_would_accept_zeros_is_untrusted(self):
        random = randoms.Random(9)
        m, n, k = 8, 8, 256
        single = lambda x: struct.unpack("<f", struct.pack("<f", x))[0]
        a = [single(random.gauss(0, 1)) for _ in range(m * k)]
        b = [single(random.gauss(0, 1)) for _ in range(k * n)]
        right = [math.fsum(a[i * k + t] * b[t * n + j] for t in range(k)) for i in range(m) for j in range(n)]
        write_npy(self.dir / "a.npy", "f4", (m, k), a)
        write_npy(self.dir / "b.npy", "f4", (k, n), b)
        for values in (right, [0.0] * len(right), [-y for y in right]):
            write_npy(self.dir / "y.npy", "f4", (m, n), values)
            done = self.matmul("--contract", "bf16acc")
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertTrue(done.stdout.startswith("untrusted"), done.stdout)
            self.assertIn("would accept an output of zeros as well", done.stdout)
            self.assertEqual(self.matmul("--contract", "bf16acc", "--strict").returncode, 1)
            self.assertEqual(self.matmul("--strict").returncode, 0 if values is right else 1)

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
        y = [math.fsum(a[i * k + t] * b[t * n + j] for t in range(k)) for i in range(m) for j in range(n)]
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
            y += [value.real, value.imag]
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

    def test_the_statistic_only_advises(self):
        random = randoms.Random(5)
        x = [[random.gauss(0, 1) for _ in range(256)] for _ in range(4)]
        x = [struct.unpack("<256f", struct.pack("<256f", *row)) for row in x]
        write_npy(self.dir / "x.npy", "f4", (4, 256), sum(x, ()))
        right = [math.fsum(row) for row in x]
        for off, rounding, strict in ((3e-4, "suspect", 1), (0, "bit_exact", 0)):
            write_npy(self.dir / "s.npy", "f4", (4,), [right[0] + off] + right[1:])
            args = ("check", "--op", "reduce", "--attr", "axes=1", "--input", "x=x.npy", "--output", "s.npy")
            done = self.assay(*args)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn(f"pass ({rounding})", done.stdout)
            self.assertEqual(self.assay(*args, "--strict").returncode, strict)

    def test_plain_sums_that_cancel_are_not_suspect(self):
        random = randoms.Random(6)
        for trial in range(25):
            k = random.choice((2, 7, 40, 130))
            a = [random.gauss(0, 1) for _ in range(20 * k)]
            b = [random.gauss(0, 1) for _ in range(20 * k)]
            y = []
            for i in range(20):
                for j in range(20):
                    total = 0.0
                    for t in range(k):
                        total += a[i * k + t] * b[t * 20 + j]
                    y.append(total)
            write_npy(self.dir / "a.npy", "f8", (20, k), a)
            write_npy(self.dir / "b.npy", "f8", (k, 20), b)
            write_npy(self.dir / "y.npy", "f8", (20, 20), y)
            done = self.matmul("--strict")
            self.assertEqual(done.returncode, 0, f"trial {trial}, k {k}: {done.stdout}")

    def test_what_the_text_says_is_in_the_record(self):
        random = randoms.Random(8)
        single = lambda x: struct.unpack("<f", struct.pack("<f", x))[0]
        narrow = lambda x: struct.unpack("<f", struct.pack("<I", (struct.unpack("<I", struct.pack("<f", x))[0] + 0x8000) & 0xFFFF0000))[0]
        m, n, k = 16, 16, 64
        a = [single(random.gauss(0, 1)) for _ in range(m * k)]
        b = [single(random.gauss(0, 1)) for _ in range(k * n)]
        product = lambda cast: [math.fsum(cast(a[i * k + t]) * cast(b[t * n + j]) for t in range(k))
                                for i in range(m) for j in range(n)]
        right = product(lambda x: x)
        results = {"pass": right, "below_contract": product(narrow), "mismatch": right[:37] + [right[37] + 1] + right[38:],
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
            self.assertIn(f"{100 * record['power']:.1f} %", lines["note"])
            self.assertTrue(lines["note"].endswith("it misses " + record["power_missed"]), lines["note"])
        self.assertEqual("note" in lines, record["power"] < 0.99)

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


class FailureFolder(Base):
    def run_case(self, case, *args, program=ASSAY):
        done = self.assay("run", "--out", "out", "--progress", "none", "--case", case, *args, program=program)
        records = [json.loads(line) for line in (self.dir / "out/results.jsonl").read_text().splitlines()]
        return done, {r["implementation"]: r for r in records}

    def lines(self, record):
        text = (self.dir / "out" / record["failure_dir"] / "reproduce.txt").read_text()
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        return text, [l for l in lines if " run " in l], [l for l in lines if " check " in l]

    def test_holds_the_tensors_and_is_judged_alike(self):
        case = "matmul/f32/m=17,n=9,k=64/fill=normal/seed=0"
        _, records = self.run_case(case, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl",
                                   "ok,nan_result,drop_last_k,liar,nondeterministic,stale", "--perf-time", "0.02")
        self.assertEqual(records["ok"]["failure_dir"], "")
        folder = self.dir / "out" / records["nan_result"]["failure_dir"]
        self.assertRegex(records["nan_result"]["failure_dir"], "^failures/[0-9a-f]{16}$")
        self.assertEqual(set(safetensors_header(folder / "inputs.safetensors")) - {"__metadata__"}, {"a", "b"})
        planes = safetensors_header(folder / "golden.safetensors")
        self.assertEqual(set(planes) - {"__metadata__"}, {"value", "magnitude", "sigma", "error"})
        self.assertEqual(planes["value"]["shape"], [17, 9])
        text, runs, checks = self.lines(records["nan_result"])
        self.assertIn(case, text)
        for name, record in records.items():
            if name == "ok":
                continue
            with self.subTest(name):
                self.assertIn(record["reproduce"], runs)
                self.assertIn(record["reason"].split("\n")[0][:40], text)
                # The output file of an implementation, and the line that judges it.
                mine = [line for line in checks if f"got-misbehaving-{name}" in line]
                self.assertTrue(mine)
                results = [self.shell(line + " --json") for line in mine]
                for result in results:
                    self.assertIn(result.returncode, (0, 1), result.stderr)
                if record["verdict"] == "mismatch":
                    self.assertIn(1, [result.returncode for result in results], record["reason"])
        one = sorted(folder.glob("got-misbehaving-nan_result*"))[0]
        got = safetensors_header(one)
        self.assertEqual(got["__metadata__"]["verdict"], "mismatch")
        self.assertEqual((got["y"]["shape"], got["bound"]["shape"]), ([17, 9], [17, 9]))

    def test_its_lines_can_be_pasted_where_the_program_has_a_space_in_its_path(self):
        case = "matmul/f32/m=5,n=3,k=4/fill=normal/seed=0"
        for place in ("a folder/assay", "assay"):
            with self.subTest(place):
                _, records = self.run_case(case, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl", "nan_result",
                                           "--no-perf", program=self.copy_program(place))
                _, runs, checks = self.lines(records["nan_result"])
                self.assertTrue(runs and checks)
                for line in runs + checks:
                    again = self.shell(line + (" --out again" if " run " in line else ""))
                    self.assertEqual(again.returncode, 1, line + again.stderr)
                shutil.rmtree(self.dir / "out")
                shutil.rmtree(self.dir / "again")

    def test_the_same_numbers_come_out(self):
        case = "matmul/f32/m=16,n=16,k=64/fill=normal/seed=1"
        _, records = self.run_case(case, "--plugin", PLUGIN, "--backend", "cpu", "--impl", "naive", "--no-perf",
                                   "--contract", "f64")
        record = records["naive"]
        self.assertEqual(record["verdict"], "below_contract")
        _, runs, checks = self.lines(record)
        self.assertEqual((len(runs), len(checks)), (1, 1))
        judged = json.loads(self.shell(checks[0] + " --json").stdout)
        for key in ("bound_margin", "max_abs_err", "max_ulp_err", "rms_err", "nmse", "worst_elements", "output_hash",
                    "input_hash", "golden_hash", "contract", "tier", "dtype"):
            self.assertEqual(judged[key], record[key], key)
        again = self.shell(runs[0] + " --out again --progress none --no-perf")
        self.assertEqual(again.returncode, 1, again.stderr)

    def test_a_known_failure_gets_no_folder(self):
        (self.dir / "rules.expect").write_text("matmul/* | misbehaving:nan_result | known_failure | it makes NaN\n")
        case = "matmul/f32/m=17,n=9,k=64/fill=normal/seed=0"
        done, records = self.run_case(case, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl", "nan_result",
                                      "--no-perf", "--expectations", "rules.expect")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(records["nan_result"]["failure_dir"], "")
        self.assertFalse((self.dir / "out/failures").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
