#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which shapes, attributes and files `assay check` takes, and what it writes: check_operands_test.py ASSAY PLUGIN."""
import json
import math
import os
import random as randoms
import shlex
import struct
import sys
import unittest

from dumped_tensors import A, ASSAY, B, Matmul, Y, bf16, read_npy, write_npy, write_safetensors
from own_folder import FULL, HELD_BY_PERMISSIONS


class Operands(Matmul):
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
        self.refused("unknown tensor 'q'", "--dtype", "q=bf16")
        self.refused("f33", "--dtype", "a=f33")
        self.refused("nowhere.npy", a="nowhere.npy")
        self.refused("neither a .npy nor a .safetensors", a="a.bin")
        self.refused("also needs --input c=FILE of f32 2x2", "--attr", "beta=1")
        done = self.assay("check", "--op", "matmul", "--input", "a=a.npy", "--output", "y.npy")
        self.assertIn("needs --input b=FILE", done.stderr)
        self.assertEqual(done.returncode, 2)
        done = self.assay("check", "--op", "matmull", "--input", "a=a.npy", "--output", "y.npy")
        self.assertRegex(done.stderr, "names all .*did you mean .matmul.")
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
            return (record["golden_hash"], record["bound_margin"], record["mutation_power"],
                    read_npy(self.dir / "g.npy"))

        golden = set()
        for shape in ((1, 1, l, s), (b, 1, l, s), (1, h, l, s), (b, 1, 1, s), (h, l, s), (l, s), (s,))[::1 if FULL else 3]:
            with self.subTest(shape):
                mask = values(*shape)
                full = (1,) * (4 - len(shape)) + shape
                at = lambda *index: sum(
                    (0 if extent == 1 else i) * math.prod(full[axis + 1:]) for axis, (i, extent) in enumerate(zip(index, full)))
                expanded = [mask[at(i, j, r, c)] for i in range(b) for j in range(h) for r in range(l) for c in range(s)]
                short, long = judged(shape, mask), judged((b, h, l, s), expanded)
                self.assertEqual(short, long)
                golden.add(short[0])
        self.assertEqual(len(golden), 7 if FULL else 3)
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
        many = {f"layer{i}": ("F32", [2, 3], raw(A)) for i in range(20)}
        write_safetensors(self.dir / "many.safetensors", many)
        self.refused("and 12 more; did you mean 'layer19'?", a="many.safetensors:layr19")

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

    def test_what_is_no_file(self):
        (self.dir / "full.npy").symlink_to("/dev/full")
        for operand in ({"a": "full.npy"}, {"y": "y=full.npy"}):
            self.refused("full.npy: this is a device or a pipe, which has no size; name a regular file", **operand)
        (self.dir / "folder.npy").mkdir()
        self.refused("folder.npy: this is a folder; name a file", a="folder.npy")
        (self.dir / "y.npy").chmod(0)
        program = self.dir / "held"
        program.write_text(f"#!/bin/sh\nexec {shlex.join([*HELD_BY_PERMISSIONS, ASSAY])} \"$@\"\n")
        program.chmod(0o755)
        self.refused("y.npy: cannot be read: Permission denied", program=program)

    def test_a_case_that_does_not_fit_is_refused_before_it_is_read_or_computed(self):
        with open(self.dir / "huge.npy", "wb") as file:
            file.truncate(10 ** 13)  # takes no space
        self.refused("a: huge.npy has 1e+04 GB; reading it takes twice as much, and ", a="huge.npy")
        size = 10 ** 6  # a column and a row: their product has 10^12 elements
        write_npy(self.dir / "column.npy", "f4", (size, 1), [1.0] * size)
        write_npy(self.dir / "row.npy", "f4", (1, size), [1.0] * size)
        self.refused("the case is too large for this host: its tensors and golden values (a 1000000x1, b 1x1000000, y "
                     "1000000x1000000) need about 5.4e+04 GB, and ", a="column.npy", b="row.npy")

    def test_progress_names_the_stages(self):
        done = self.matmul("--progress", "bar")
        for stage in ("reading the tensors, 0 s", "computing golden values, 0 s", "judging, 0 s"):
            self.assertIn(stage, done.stderr)
        self.assertTrue(done.stderr.endswith("\x1b[2K"), done.stderr)
        for quiet in (("--progress", "none"), ("--progress", "lines"), ()):
            self.assertEqual(self.matmul(*quiet).stderr, "")

    def test_golden_values_are_written(self):
        done = self.matmul("--write-golden", "g.npy")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(read_npy(self.dir / "g.npy"), ((2, 2), Y))
        for older in ((self.dir / "a.npy").read_bytes(), b""):
            (self.dir / "g.npy").write_bytes(older)
            self.assertEqual(self.matmul("--write-golden", "g.npy").returncode, 0)
            self.assertEqual(read_npy(self.dir / "g.npy"), ((2, 2), Y))

    def test_golden_values_go_where_the_user_said_or_nowhere(self):
        self.refused("--write-golden g.txt: give a name that ends in .npy", "--write-golden", "g.txt")
        self.refused("--write-golden no/such/g.npy: there is no folder no/such; make it first", "--write-golden",
                     "no/such/g.npy")
        self.assertFalse((self.dir / "no").exists())
        (self.dir / "d.npy").mkdir()
        self.refused("--write-golden d.npy: this is a folder", "--write-golden", "d.npy")
        (self.dir / "notes.npy").write_text("notes")
        self.refused("--write-golden notes.npy: this is not a .npy file, so it is not replaced", "--write-golden", "notes.npy")
        self.assertEqual((self.dir / "notes.npy").read_text(), "notes")
        done = self.matmul("--write-golden", "/proc/g.npy")
        self.assertEqual(done.returncode, 3)
        self.assertTrue(done.stdout.startswith("pass"), done.stdout)  # what was judged is said
        self.assertIn("/proc/g.npy: cannot be written", done.stderr)
        self.assertNotIn(".tmp", done.stderr)

    def test_the_golden_value_replaces_no_operand(self):
        before = (self.dir / "a.npy").read_bytes()
        os.symlink("y.npy", self.dir / "link.npy")
        for path, name in (("a.npy", "a"), ("./b.npy", "b"), ("link.npy", "y")):
            self.refused(f"{name} is read from this file", "--write-golden", path)
        self.refused("the output is read from this file", "--write-golden", "y.npy", y="y.npy")
        self.assertEqual((self.dir / "a.npy").read_bytes(), before)

    def test_a_pass_says_what_was_not_judged(self):
        # Query 5 has scores so large that nothing is known of its weights, and all values are infinite.
        values = [[(7 * i + 3 * j) % 11 - 5 for j in range(8)] for i in range(64)]
        for name in "qkv":
            rows = [[x * (1e10 if name == "q" and i == 5 else 0.25) for x in row] for i, row in enumerate(values)]
            flat = [math.inf if name == "v" else x for row in rows for x in row]
            write_npy(self.dir / f"{name}.npy", "f4", (1, 1, 64, 8), flat)
        words = ("check", "--op", "attention", *(word for name in "qkv" for word in ("--input", f"{name}={name}.npy")))
        write_npy(self.dir / "o.npy", "f4", (1, 1, 64, 8), [0.0] * 512)
        done = self.assay(*words, "--output", "o=o.npy", "--write-golden", "g.npy")
        _, golden = read_npy(self.dir / "g.npy")
        write_npy(self.dir / "o.npy", "f4", (1, 1, 64, 8), golden)
        done = self.assay(*words, "--output", "o=o.npy")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("note: 8 of 512 results were not judged: the contract gives no bound for them", done.stdout)
        record = json.loads(self.assay(*words, "--output", "o=o.npy", "--json").stdout)
        self.assertEqual((record["verdict"], record["not_judged"], record["elements"]), ("pass", 8, 512))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
