# SPDX-License-Identifier: Apache-2.0
"""Tensors as other programs dump them, for tests of `assay check`: ASSAY PLUGIN on the command line. The .npy and
.safetensors files are written by hand, so that no package is needed."""
import json
import math
import shutil
import struct
import subprocess
import sys

from own_folder import OwnFolder

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


def normals(random, count):
    """Normal deviates rounded to f32."""
    return [struct.unpack("<f", struct.pack("<f", random.gauss(0, 1)))[0] for _ in range(count)]


def to_bf16(x):
    """The nearest bf16 to an f32, ties to even."""
    word = struct.unpack("<I", struct.pack("<f", x))[0]
    return struct.unpack("<f", struct.pack("<I", (word + 0x7FFF + (word >> 16 & 1)) & 0xFFFF0000))[0]


def product(a, b, m, n, k):
    """[m,k] times [k,n] in f64, each element's products summed exactly."""
    return [math.fsum(a[i * k + t] * b[t * n + j] for t in range(k)) for i in range(m) for j in range(n)]


class Base(OwnFolder):
    def assay(self, *args, program=ASSAY):
        return subprocess.run([str(program), *args], cwd=self.dir, env=self.env, capture_output=True, text=True, timeout=240)

    def copy_program(self, place):
        (self.dir / place).parent.mkdir(parents=True, exist_ok=True)
        return shutil.copy2(ASSAY, self.dir / place)

    def shell(self, line, cwd=None):
        return subprocess.run(line, shell=True, cwd=cwd or self.dir, env=self.env, capture_output=True, text=True, timeout=240)


class Matmul(Base):
    """A folder with a.npy, b.npy and their product y.npy, and `assay check` of them."""

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
