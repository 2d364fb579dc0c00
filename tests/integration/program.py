# SPDX-License-Identifier: Apache-2.0
"""The program under test and the test plugins, from the command line: ASSAY MISBEHAVING_PLUGIN NO_ENTRY_PLUGIN
OTHER_MAJOR_PLUGIN; every test runs it in a folder of its own with an empty golden store."""
import json
import shutil
import subprocess
import sys
import tempfile
import time

from own_folder import OwnFolder

ASSAY, PLUGIN, NO_ENTRY, OTHER_MAJOR = sys.argv[1:5]
CASE = "matmul/f32/m=17,n=9,k=64/fill=normal/seed=0"


class Cli(OwnFolder):
    def assay(self, *args, env=None, **kwargs):
        return subprocess.run([ASSAY, *args], cwd=self.dir, env={**self.env, **(env or {})}, capture_output=True,
                              text=True, timeout=240, **kwargs)

    def run_cases(self, *args, out="out", env=None):
        done = self.assay("run", "--out", out, "--progress", "none", *args, env=env)
        path = self.dir / out / "results.jsonl"
        records = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return done, records

    kept = {}  # by class and arguments: the folder of a run that run_once has made, and what the program said

    def run_once(self, *args, out="out"):
        """Like run_cases; a run of arguments that another test of the class has run is a copy of that one's folder."""
        key = type(self), args, tuple((self.dir / word).read_text() for word in args if word.endswith(".suite"))
        if key not in self.kept:
            done, _ = self.run_cases(*args, out=out)
            folder = tempfile.TemporaryDirectory()
            shutil.copytree(self.dir / out, folder.name + "/run")
            self.kept[key] = folder, done
        elif (self.dir / out).exists():
            raise AssertionError(f"{out} is there already")
        else:
            shutil.copytree(self.kept[key][0].name + "/run", self.dir / out)
        records = [json.loads(line) for line in (self.dir / out / "results.jsonl").read_text().splitlines()]
        return self.kept[key][1], records

    def page_data(self, out="out"):
        """The data that report.html embeds for its script."""
        page = (self.dir / out / "report.html").read_text()
        return json.loads(page.split('id="data">')[1].split("</script>")[0])

    @staticmethod
    def await_text(path):
        for _ in range(2400):
            if path.exists() and path.stat().st_size > 0:
                return
            time.sleep(0.05)
        raise AssertionError(f"{path} is still missing or empty after 120 s")

    def fails(self, code, text, *args, env=None):
        done = self.assay(*args, env=env)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn(text, done.stderr)
        return done
