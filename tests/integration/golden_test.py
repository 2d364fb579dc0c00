#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The store of golden values by `assay golden`, with real processes that share it, are stopped and are killed:
golden_test.py ASSAY.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

from own_folder import HELD_BY_PERMISSIONS, OwnFolder

ASSAY = sys.argv[1]
SMALL = ["matmul/f32/m=8,n=8,k=64/fill=normal/seed=0", "matmul/f64/m=8,n=8,k=64/fill=normal/seed=0",
         "reduce/f32/shape=16x100,axes=1/fill=normal/seed=0", "fft/c64/kind=c2c,n=64/fill=near_one/seed=0"]
MIXED = """
matmul dtypes=f32|f64|bf16 {m,n,k}={40,70,300}|{1,1,1} fill=normal|lognormal
matmul dtypes=f32 m=16 n=24 k=200 fill=special|cancel-1e6
conv dtypes=f32|f16 n=1 c=8 o=8 i=12x12 k=3x3 pad=1 bias=1
softmax dtypes=f32 shape=5x300
attention dtypes=f32 b=1 h=2 l=40 d=32 causal=1
reduce dtypes=f32|f64 shape=20x500 axes=1 kind=sum|logsumexp|l2
fft dtypes=c64|c128 kind=c2c n=360|101 fill=near_one
"""


class Base(OwnFolder):
    def setUp(self):
        super().setUp()
        self.store = self.dir / "store"
        (self.dir / "mixed.suite").write_text(MIXED)

    def command(self, *args):
        return [ASSAY, "golden", *map(str, args)]

    def golden(self, *args, code=0, **env):
        done = subprocess.run(self.command(*args), cwd=self.dir, env=dict(self.env, **env), capture_output=True, text=True,
                              timeout=240)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def build(self, ids=SMALL, code=0):
        return self.golden("build", *[word for i in ids for word in ("--case", i)], "--progress", "none", code=code)

    def counts(self, done):
        return [int(n) for n in re.search(r"(\d+) computed, (\d+) there already, (\d+) damaged.*, (\d+) failed",
                                          done.stdout).groups()]

    def listed(self):
        return json.loads(self.golden("list", "--json").stdout)

    def files(self):
        return sorted(p for p in self.store.rglob("*") if p.is_file())


class Store(Base):
    def test_build_fills_once_and_list_says_what_is_there(self):
        self.assertEqual(self.counts(self.build()), [4, 0, 0, 0])
        before = {p: p.read_bytes() for p in self.files()}
        self.assertEqual(self.counts(self.build()), [0, 4, 0, 0])
        self.assertEqual(before, {p: p.read_bytes() for p in self.files()})
        rows = self.listed()
        self.assertEqual(sorted(r["case_id"] for r in rows), sorted(SMALL))
        for row in rows:
            self.assertEqual(row["kind"], "golden")
            self.assertEqual(row["bytes"], pathlib.Path(row["path"]).stat().st_size)
            self.assertEqual(row["tier"], "reproducible" if "/f64/" in row["case_id"] else "fast")
            self.assertLess(row["age_s"], 600)
        table = self.golden("list", "--filter", "fft/*").stdout
        self.assertIn("fft/c64/kind=c2c,n=64", table)
        self.assertNotIn("matmul", table)

    def test_a_tier_has_values_of_its_own(self):
        self.build()
        done = self.golden("build", "--case", SMALL[0], "--tier", "reproducible", "--progress", "none")
        self.assertEqual(self.counts(done), [1, 0, 0, 0])
        self.assertEqual(len(self.files()), 5)

    def test_build_refuses_what_cannot_be(self):
        self.golden("build", "--case", "nonsense", code=2)
        self.golden("build", "--suite", "smoke", "--filter", "nothing", code=4)
        (self.dir / "file").write_text("")
        done = self.golden("build", "--case", SMALL[0], "--store", self.dir / "file", code=3)
        self.assertIn("cannot be created", done.stderr)

    def test_damage_is_reported_and_computed_again(self):
        self.build()
        self.assertIn("4 golden values checked, 0 wrong", self.golden("verify").stdout)
        victim = self.files()[0]
        good = victim.read_bytes()
        victim.write_bytes(good[:-3] + bytes([good[-3] ^ 1]) + good[-2:])
        done = self.golden("verify", code=1)
        self.assertRegex(done.stdout, r"damaged .*checksum")
        self.assertIn("4 golden values checked, 1 wrong", done.stdout)
        self.assertEqual(json.loads(self.golden("verify", "--json", code=1).stdout)["findings"][0]["kind"], "damaged")
        done = self.build()
        self.assertEqual(self.counts(done), [0, 3, 1, 0])
        self.assertIn(str(victim), done.stderr)
        self.assertEqual(victim.read_bytes(), good)
        victim.write_bytes(good[:40])
        self.golden("verify", code=1)
        self.assertIn("removed  damaged", self.golden("gc").stdout)
        self.assertNotIn(victim, self.files())
        self.golden("verify", "--filter", "nothing", code=4)

    def test_another_case_s_value_under_this_one_s_name_is_found(self):
        self.build()
        self.assertIn("0 wrong", self.golden("verify", "--recompute", "--progress", "none").stdout)
        for tier in ("fast", "reproducible"):
            right, wrong = (f"matmul/f32/m=8,n=8,k=64/fill=normal/seed={n}" for n in (0, 1))
            self.golden("build", "--case", right, "--case", wrong, "--tier", tier, "--progress", "none")
            row = {r["case_id"]: pathlib.Path(r["path"]) for r in self.listed() if r["tier"] == tier}
            self.assertNotEqual(row[right].read_bytes(), row[wrong].read_bytes())
            row[right].write_bytes(row[wrong].read_bytes())
            self.assertIn("belongs to something else", self.golden("verify", code=1).stdout)
            row[right].unlink()

    def test_export_of_one_case(self):
        self.golden("export", "--case", SMALL[1], "--out", "y.safetensors")
        data = (self.dir / "y.safetensors").read_bytes()
        header = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])
        self.assertEqual(set(header), {"__metadata__", "value", "value_lo", "magnitude", "sigma", "error"})
        self.assertEqual(header["value"]["shape"], [8, 8])
        self.assertEqual(header["__metadata__"]["case_id"], SMALL[1])
        for plane, kind in (("value", "<f8"), ("error", "<f8"), ("magnitude", "<f8")):
            self.golden("export", "--case", SMALL[1], "--out", f"{plane}.npy", "--plane", plane)
            npy = (self.dir / f"{plane}.npy").read_bytes()
            self.assertIn(kind.encode(), npy[:128])
            begin = header[plane]["data_offsets"][0] + 8 + struct.unpack("<Q", data[:8])[0]
            self.assertEqual(npy[-512:], data[begin:begin + 512])
        self.golden("export", "--case", SMALL[3], "--out", "z.npy")
        self.assertIn(b"<c16", (self.dir / "z.npy").read_bytes()[:128])
        self.assertIn("magnitude", self.golden("export", "--case", SMALL[1], "--out", "x.npy", "--plane", "no", code=2).stderr)
        self.golden("export", "--case", SMALL[1], "--out", "x.txt", code=2)
        self.golden("export", "--case", SMALL[1], "--case", SMALL[0], "--out", "x.npy", code=2)
        self.golden("export", "--case", SMALL[1], code=2)

    def test_a_golden_value_replaces_a_golden_value_and_nothing_else(self):
        for name, older in (("y.safetensors", SMALL[0]), ("y.npy", SMALL[0])):
            self.golden("export", "--case", older, "--out", name)
            before = (self.dir / name).read_bytes()
            self.golden("export", "--case", SMALL[1], "--out", name)
            self.assertNotEqual((self.dir / name).read_bytes(), before)
        weights = struct.pack("<Q", 2) + b"{}"  # another program's tensors
        for name, what in (("w.safetensors", "file of golden values"), ("w.npy", ".npy file")):
            (self.dir / name).write_bytes(weights)
            self.assertIn(f"--out {name}: this is not a {what}, so it is not replaced",
                          self.golden("export", "--case", SMALL[1], "--out", name, code=2).stderr)
            self.assertEqual((self.dir / name).read_bytes(), weights)

    def test_export_leaves_out_nothing_that_was_asked_for(self):
        case = ("export", "--case", SMALL[1])
        self.assertIn("a .safetensors file gets all of them",
                      self.golden(*case, "--out", "y.safetensors", "--plane", "error", code=2).stderr)
        self.assertIn("a manifest has hashes", self.golden(*case, "--manifest", "m.json", "--plane", "value", code=2).stderr)
        self.assertIn("needs reproducible golden values", self.golden(*case, "--manifest", "m.json", "--tier", "fast", code=2).stderr)
        self.assertEqual({p.name for p in self.dir.iterdir()}, {"mixed.suite", self.shared.name})
        self.golden(*case, "--manifest", "m.json", "--tier", "reproducible")


class Gc(Base):
    def age(self, path, seconds):
        stamp = time.time() - seconds
        os.utime(path, (stamp, stamp))

    def test_limits(self):
        self.build()
        files = self.files()
        for i, path in enumerate(files):
            self.age(path, 1000 * (i + 1))
        self.assertIn("would remove 1 file, ", self.golden("gc", "--older-than", "3500s", "--dry-run").stdout)
        self.assertEqual(self.files(), files)
        self.golden("gc", "--older-than", "3500s")
        self.assertEqual(self.files(), files[:3])
        size = files[0].stat().st_size + files[1].stat().st_size
        self.golden("gc", "--max-bytes", size)
        self.assertEqual(self.files(), files[:2])
        self.golden("gc", "--max-bytes", "0k")
        self.assertEqual(self.files(), [])
        for wrong in ("12", "x", "-1d"):
            self.golden("gc", "--older-than", wrong, code=2)
        self.golden("gc", "--max-bytes", "3parsec", code=2)

    def test_what_is_used_is_young(self):
        self.build()
        path = self.files()[0]
        self.age(path, 5000)
        self.build()
        self.golden("gc", "--older-than", "1h")
        self.assertIn(path, self.files())

    def test_what_does_not_belong_to_its_name_goes_and_strangers_stay(self):
        self.build()
        keep = self.files()
        data = keep[0].read_bytes()
        length = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + length])
        header["__metadata__"]["golden_version"] = "1"
        text = json.dumps(header).encode()
        # Not the name that version 1 would give it, which makes it damaged.
        other = self.store / "ab" / ("ab" * 8 + ".safetensors")
        other.parent.mkdir(exist_ok=True)
        other.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length:])
        strangers = [self.store / "notes.txt", self.store / "ab" / "thesis.safetensors", self.store / "ab" / "x.1.2.tmp"]
        for path in strangers:
            path.write_text("mine")
        done = self.golden("gc")
        self.assertIn(str(other), done.stdout)
        self.assertEqual(self.files(), sorted(keep + strangers))

    def test_an_empty_or_absent_store(self):
        self.assertIn("0 files", self.golden("gc").stdout)
        self.assertEqual(self.listed(), [])
        self.assertIn("is empty; assay golden build", self.golden("list").stderr)
        self.golden("verify", code=4)
        self.build(SMALL[:1])
        self.assertIn("matches none of the 1 golden values of the store", self.golden("list", "--filter", "conv*", code=4).stderr)
        self.assertEqual(self.golden("list", "--filter", "matmul*").stderr, "")

    def test_a_store_that_may_not_be_read_is_not_empty(self):
        self.build(SMALL[:1])
        self.store.chmod(0)
        done = subprocess.run([*HELD_BY_PERMISSIONS, *self.command("list")], cwd=self.dir, env=self.env, capture_output=True,
                              text=True, timeout=240)
        self.store.chmod(0o755)  # before the folder is removed
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("cannot be listed: Permission denied", done.stderr)
        self.assertNotIn("is empty", done.stderr)


class Processes(Base):
    LARGE = [f"matmul/f64/m=1,n=200000,k=1/fill=normal/seed={n}" for n in range(12)]  # 8 MB each, quickly computed

    def start_writer(self):
        return subprocess.Popen(self.command("build", *[w for i in self.LARGE for w in ("--case", i)], "--progress", "none"),
                                cwd=self.dir, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def halfway(self, number, process):
        """Sends a signal while a file is being written, and returns the file."""
        deadline = time.time() + 60
        while time.time() < deadline and process.poll() is None:
            for path in self.store.rglob("*.tmp"):
                process.send_signal(number)
                if number == signal.SIGKILL:
                    process.communicate()
                else:
                    os.waitpid(process.pid, os.WUNTRACED)
                # A stopped writer that has written has its lock; one that has not yet may lose the file, and begins anew.
                if path.exists() and (number == signal.SIGKILL or path.stat().st_size > 0):
                    return path
                if number != signal.SIGKILL:
                    process.send_signal(signal.SIGCONT)
                else:
                    process = self.start_writer()
        self.fail("no process was ever seen writing")

    def test_several_builders_share_a_store(self):
        command = self.command("build", "--suite", self.dir / "mixed.suite", "--progress", "none")
        running = [subprocess.Popen(command, cwd=self.dir, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    text=True) for _ in range(4)]
        collectors = [self.golden("gc", "--max-bytes", "200k") for _ in range(5)]
        for process in running:
            out, err = process.communicate(timeout=240)
            self.assertEqual((process.returncode, err), (0, ""), out)
        self.assertEqual(len(collectors), 5)
        self.golden("build", "--suite", self.dir / "mixed.suite", "--progress", "none")
        done = self.golden("verify", "--recompute", "--progress", "none")
        self.assertIn(f"{len(self.files())} golden values checked, 0 wrong", done.stdout)
        self.assertFalse([p for p in self.files() if p.suffix == ".tmp"])

    def test_a_killed_writer_leaves_nothing_for_long(self):
        for clean in (lambda: self.golden("gc"), self.build):  # by hand, and by whoever comes next
            shutil.rmtree(self.store, ignore_errors=True)
            left = self.halfway(signal.SIGKILL, self.start_writer())
            self.assertEqual([r["kind"] for r in self.listed() if r["path"] == str(left)], ["temporary"])
            clean()
            self.assertFalse(list(self.store.rglob("*.tmp")))
            self.build()
            self.golden("verify")

    def test_what_a_running_process_writes_stays(self):
        writer = self.start_writer()
        half = self.halfway(signal.SIGSTOP, writer)
        try:
            done = self.golden("gc", "--max-bytes", "0")
            self.assertNotIn(str(half), done.stdout)
            self.assertTrue(half.exists())
            self.build()
            self.assertTrue(half.exists())
        finally:
            writer.send_signal(signal.SIGCONT)
        out, err = writer.communicate(timeout=120)
        self.assertEqual((writer.returncode, err), (0, ""), out)
        self.assertFalse(half.exists())
        self.golden("verify")


class Manifest(Base):
    def export(self, name, *args, **env):
        self.golden("export", "--manifest", name, "--suite", "mixed.suite", "--progress", "none", *args, **env)
        return (self.dir / name).read_text()

    def test_the_same_hashes_whatever_the_threads_and_instruction_sets(self):
        first = self.export("a.json", "--store", "a")
        self.assertEqual(len(json.loads(first)["cases"]), len(set(json.loads(first)["cases"])))
        self.assertGreater(len(json.loads(first)["cases"]), 25)
        for n, env in enumerate(({"ASSAY_THREADS": "1"}, {"ASSAY_THREADS": "5"}, {"ASSAY_MAX_VECTORS": "scalar"},
                                 {"ASSAY_MAX_VECTORS": "avx2", "ASSAY_THREADS": "3"})):
            self.assertEqual(self.export(f"{n}.json", "--store", f"store{n}", **env), first, env)

    def test_from_the_store_or_computed(self):
        self.assertEqual(self.export("a.json"), self.export("b.json"))

    def test_verify_finds_a_changed_value(self):
        text = self.export("a.json")
        self.assertIn("0 wrong", self.golden("verify", "--manifest", "a.json", "--progress", "none").stdout)
        pinned = json.loads(text)
        ids = list(pinned["cases"])
        pinned["cases"][ids[3]]["golden"] = "0" * 16
        pinned["cases"][ids[5]]["inputs"] = "0" * 16
        (self.dir / "b.json").write_text(json.dumps(pinned))
        done = self.golden("verify", "--manifest", "b.json", "--progress", "none", code=1)
        self.assertRegex(done.stdout, re.escape(ids[3]) + r"  golden value [0-9a-f]{16}, pinned 0{16}")
        self.assertRegex(done.stdout, re.escape(ids[5]) + r"  inputs [0-9a-f]{16}, pinned 0{16}")
        self.assertIn("2 wrong", done.stdout)

    def test_a_manifest_replaces_a_manifest_and_nothing_else(self):
        first = self.export("a.json")
        (self.dir / "a.json").write_text(first.replace('"golden_version": ', '"golden_version": 9'))
        self.assertEqual(self.export("a.json"), first)
        (self.dir / "empty.json").write_text("")
        self.assertEqual(self.export("empty.json"), first)
        (self.dir / "notes.json").write_text('{"format": "mine"}')
        (self.dir / "folder").mkdir()
        (self.dir / "nowhere").symlink_to("absent")
        for name, text in (("mixed.suite", "the suite is read from this file"), ("notes.json", "is not a manifest"),
                           ("folder", "this is a folder"), ("nowhere", "is a link to nothing"),
                           ("/dev/null", "this is not a file, so it is not replaced"),
                           ("no/such.json", "there is no folder no; make it first")):
            done = self.golden("export", "--manifest", name, "--suite", "mixed.suite", code=2)
            self.assertIn(f"--manifest {name}: ", done.stderr)
            self.assertIn(text, done.stderr)
        self.assertEqual((self.dir / "notes.json").read_text(), '{"format": "mine"}')
        self.assertEqual((self.dir / "mixed.suite").read_text(), MIXED)

    def test_bad_manifests_are_refused(self):
        pinned = json.loads(self.export("a.json"))
        for change in ({"golden_version": 1}, {"format": "x"}, {"cases": {}}, {"cases": {"no id": {}}}):
            (self.dir / "b.json").write_text(json.dumps({**pinned, **change}))
            self.golden("verify", "--manifest", "b.json", code=2)
        (self.dir / "b.json").write_text("{")
        self.golden("verify", "--manifest", "b.json", code=2)
        self.golden("verify", "--manifest", "absent.json", code=2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
