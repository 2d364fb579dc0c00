# SPDX-License-Identifier: Apache-2.0
"""Runs with evidence and bundles of them."""
import json
import subprocess
import sys

from program import Cli

PACK_BUNDLE = sys.argv[5]
SUITE = "matmul dtypes=f32|f64 m=3|4 n=8|9 k=64 fill=normal\nsoftmax dtypes=f32 shape=4x8|5x9 fill=normal\n"
DRAWN = 4


class BundledRuns(Cli):
    shares_runs = False  # whether a test may get the copy of another one's run

    def setUp(self):
        super().setUp()
        (self.dir / "mine.suite").write_text(SUITE)

    def run_with_evidence(self, *more, out="out", code=0):
        run = self.run_once if self.shares_runs else self.run_cases
        done, records = run("--suite", "mine.suite", "--backend", "cpu", "--no-perf",
                            *(more if "--evidence" in more else ("--evidence", str(DRAWN), *more)), out=out)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done, records

    def bundle(self, run="out", name="run.assay.tar.zst", *more):
        done = self.assay("bundle", run, "-o", name, *more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return self.dir / name

    def pack(self, run="out", name="forged.tar.zst"):
        """A bundle of a folder that assay bundle refuses, as a forger makes it."""
        (self.dir / name).unlink(missing_ok=True)
        subprocess.run([PACK_BUNDLE, run, name], cwd=self.dir, env=self.env, check=True)
        return self.dir / name

    def change_json(self, name, change):
        path = self.dir / name
        value = json.loads(path.read_text())
        change(value)
        path.write_text(json.dumps(value, indent=1 if name.endswith("evidence.json") else 2) + "\n")

    def verify(self, name="run.assay.tar.zst", *more, code=0):
        done = self.assay("verify", str(name), "--progress", "none", *more)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def unpack(self, bundle, to):
        (self.dir / to).mkdir()
        subprocess.run(["tar", "--zstd", "-xf", bundle, "-C", self.dir / to], check=True)
        return self.dir / to
