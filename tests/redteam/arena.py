# SPDX-License-Identifier: Apache-2.0
"""Runs a cheat by the program, as a user would, and says what became of it."""
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import time

CASE = "matmul/f32/m=128,n=128,k=128/fill=normal/seed=0"


@dataclasses.dataclass
class Outcome:
    code: int
    records: list
    errors: str  # what the program printed to standard error
    environment: dict
    report: str = ""  # to standard output

    def text(self):
        shown = [{k: r[k] for k in ("case_id", "implementation", "verdict", "reason", "timing_invalid",
                                    "time_median_s") if k in r} for r in self.records]
        return f"exit code {self.code}\n{json.dumps(shown, indent=1)}\n{self.errors[-3000:]}"


class Arena:
    """The program, the folder of plugins, and a folder of its own with an empty golden store."""

    def __init__(self, assay, plugins, folder):
        self.assay, self.plugins, self.folder = str(assay), pathlib.Path(plugins), pathlib.Path(folder)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("ASSAY_", "GTEST_"))}
        self.env = dict(kept, ASSAY_GOLDEN_STORE=str(self.folder / "store"), NO_COLOR="1",
                        HOME=str(self.folder / "home"), XDG_CACHE_HOME=str(self.folder / "cache"))
        for name in ("home", "cache"):
            (self.folder / name).mkdir(exist_ok=True)
        self.runs = 0

    def run(self, library, *options, implementation=None, case=CASE, perf_time="0.05", later_s=0, backend="redteam",
            strict=True):
        """The backend of a library of the red team; without one, of the product."""
        self.runs += 1
        out = self.folder / f"out{self.runs}"
        words = [self.assay, "run", "--backend", backend, "--require-backend", backend, "--progress", "none", "--out",
                 out.name]
        words += ["--plugin", f"{backend}={self.plugins / library}.so"] if library else []
        words += ["--strict"] if strict else []
        for one in case if isinstance(case, (list, tuple)) else [case]:
            words += ["--case", one]
        words += ["--impl", implementation] if implementation else []
        words += ["--perf-time", perf_time] if "--no-perf" not in options else []
        try:
            done = subprocess.run([*words, *options], cwd=self.folder, env=self.env, capture_output=True, text=True,
                                  timeout=60)
        except subprocess.TimeoutExpired:
            return Outcome(-1, [], "the run did not end", {})
        time.sleep(later_s)
        results, environment = out / "results.jsonl", out / "environment.json"
        records = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
        return Outcome(done.returncode, records, done.stderr,
                       json.loads(environment.read_text()) if environment.exists() else {}, done.stdout)

    def clean(self):
        """Removes what a cheat may have left outside of the folder."""
        for path in ("/tmp", "/var/tmp", "/dev/shm"):
            pathlib.Path(path, "assay-redteam-kept").unlink(missing_ok=True)
        subprocess.run(["ipcrm", "-M", "0x72656474"], capture_output=True, check=False)


def shorten(text, most=150):
    """The start of a reason, without numbers that differ from run to run."""
    text = re.sub(r"(?<=[a-z] )-?\d+\.?\d*(e[+-]?\d+)?(?= s\b|[,;]|$)", "...", text)
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0] + " ..."
