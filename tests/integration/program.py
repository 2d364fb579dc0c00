# SPDX-License-Identifier: Apache-2.0
"""The program under test and the test plugins, from the command line: ASSAY MISBEHAVING_PLUGIN NO_ENTRY_PLUGIN
OTHER_MAJOR_PLUGIN; every test runs it in a folder of its own with an empty golden store."""
import json
import subprocess
import sys
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
