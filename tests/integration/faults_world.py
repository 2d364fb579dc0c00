# SPDX-License-Identifier: Apache-2.0
"""The world that a fault strikes: a run of four small cases in a folder of its own; the third case meets the fault."""
import json
import subprocess
import sys
import time

from program import ASSAY, PLUGIN, Cli

FAILING_SYSTEM = sys.argv[5]
ROWS = (5, 6, 7, 8)
MET = 7  # of faulty_plugin.c: its fault meets the case with so many rows
WHILE = "while"  # key of `broken`


def case(rows):
    return f"matmul/f32/m={rows},n=3,k=4/fill=normal/seed=0"


class World(Cli):
    def setUp(self):
        super().setUp()
        self.go, self.lasts = self.shared / "go", self.shared / "lasts"
        self.planned = [case(rows) for rows in ROWS]
        self.cases = [word for id in self.planned for word in ("--case", id)]
        self.options = ["--plugin", f"misbehaving={PLUGIN}", "--backend", "misbehaving", "--impl", "ok", "--jobs", "1",
                        "--progress", "none", "--relations", "none", "--timeout", "1", "--no-perf"]
        self.stood = None  # lines of results that must never be lost; None: not looked at yet
        self.write_to("out")

    def write_to(self, name):
        self.out = self.dir / name
        self.results = self.out / "results.jsonl"

    def broken(self, **faults):
        """The environment of a machine on which calls fail as failing_system.c says; while `lasts` is there, if WHILE."""
        lasts = {"ASSAY_TEST_WHILE": str(self.lasts)} if faults.pop(WHILE, False) else {}
        return {"LD_PRELOAD": FAILING_SYSTEM, **lasts,
                **{f"ASSAY_TEST_{name.upper()}": value for name, value in faults.items()}}

    def words(self, *more):
        return ["run", "--out", self.out.name, *self.cases, *self.options, *more]

    def run_all(self, *more, env=None, **kwargs):
        return self.assay(*self.words(*more), env=env, **kwargs)

    def begin(self, *more, env=None, records=2, prefix=()):
        """A run that waits in the third case until it may go on, once there are so many records."""
        env = {**self.env, "ASSAY_FAULT": "execute:wait", "ASSAY_FAULT_GO": str(self.go), **(env or {})}
        run = subprocess.Popen([*prefix, ASSAY, *self.words(*more)], cwd=self.dir, env=env, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2400):
            if sum(line.endswith(b"\n") for line in self.lines()) >= records:
                return run
            time.sleep(0.025)
        run.kill()
        raise AssertionError(f"no {records} records after a minute: {run.communicate()}")

    def end(self, run, go=True):
        if go:
            self.go.touch()
        stdout, stderr = run.communicate(timeout=60)
        return subprocess.CompletedProcess(run.args, run.returncode, stdout, stderr)

    def killed(self, number):
        run = self.begin()
        run.send_signal(number)
        return self.end(run, go=False)

    def resume(self, *more, env=None):
        self.go.touch()
        return self.run_all("--resume", *more, env=env)

    def lines(self):
        return self.results.read_bytes().splitlines(keepends=True) if self.results.exists() else []

    def note_what_stands(self):
        self.stood = [line for line in self.lines() if line.endswith(b"\n") and line.startswith(b"{")]

    def whole_records(self):
        """Reads the records of results.jsonl, in which no line may be torn or double."""
        lines = self.lines()
        self.assertEqual([line for line in lines if not line.endswith(b"\n")], [], "a torn record")
        records = [json.loads(line) for line in lines]
        places = [(r["case_id"], r["backend"], r["device"], r["implementation"]) for r in records]
        self.assertEqual(len(places), len(set(places)), "a double record")
        return records
