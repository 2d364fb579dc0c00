#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""assay history and assay bisect on real runs: history_test.py ASSAY MISBEHAVING_PLUGIN NO_ENTRY OTHER_MAJOR GROUP."""
import json
import pathlib
import shutil
import subprocess
import sys
import unittest
import zipfile

import numpy

from own_folder import FULL, only_full
from program import CASE, Cli

PRODUCT = "matmul/f32/m=24,n=16,k=96/fill=normal/seed=0"
SMALL = "matmul/f32/m=5,n=3,k=7/fill=normal/seed=0"
KERNELS = """
import os
import assay, numpy as np

@assay.kernel("matmul", contract="f32acc", dtypes=["f32"])
def product(a, b):
    %s
"""
FORWARD = """y = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]): y += a[:, k:k + 1] * b[k]
    return y"""
BACKWARD = FORWARD.replace("range(a.shape[1])", "reversed(range(a.shape[1]))")
HALVES = "return (a.astype(np.float16).astype(np.float32) @ b.astype(np.float16).astype(np.float32))"
BY_VARIABLE = """level = int(os.environ["MINE_LEVEL"])
    if level >= 6: a = a.astype(np.float16).astype(np.float32)
    y = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1])[::-1 if level >= 3 else 1]: y += a[:, k:k + 1] * b[k]
    return y"""


class Runs(Cli):
    def write_kernel(self, body):
        (self.dir / "mine.py").write_text(KERNELS % body)

    def run_kernel(self, out, body, began, *more, cases=(PRODUCT,)):
        """A run of a kernel of this body, which began on this day."""
        self.write_kernel(body)
        named = [word for case in cases for word in ("--case", case)]
        done, records = self.run_cases(*named, "--kernels", "mine.py", "--backend", "mine", "--python", sys.executable,
                                       "--no-perf", *more, out=out)
        self.assertEqual(len(records), len(cases), done.stderr)
        self.change_environment(out, timestamp=f"2026-01-{began:02}T00:00:00Z")
        return records

    def change_environment(self, out, **changes):
        path = self.dir / out / "environment.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    def change_records(self, source, target, began, change):
        shutil.copytree(self.dir / source, self.dir / target)
        path = self.dir / target / "results.jsonl"
        records = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(change(r)) + "\n" for r in records))
        self.change_environment(target, timestamp=f"2026-01-{began:02}T00:00:00Z")

    def tell(self, code, verb, *args):
        done = self.assay(verb, *args)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def as_json(self, code, verb, *args):
        report = json.loads(self.tell(code, verb, *args, "--json").stdout)
        self.assertEqual(report["exit_code"], code)
        return report


class History(Runs):
    def aspects(self, report):
        return [(c["run"], c["after"], c["aspect"], c["trend"]) for c in report["changes"]]

    def test_the_run_in_which_bits_and_verdict_changed_is_told(self):
        self.run_kernel("d", HALVES, 4, cases=(PRODUCT, SMALL))
        self.run_kernel("a", FORWARD, 1, cases=(PRODUCT, SMALL))
        self.run_kernel("b", FORWARD, 2, cases=(PRODUCT, SMALL))
        self.run_kernel("c", BACKWARD, 3)
        self.change_environment("c", variables={"MINE_THREADS": "3"})
        report = self.as_json(0, "history", "d", "c", "b", "a")
        self.assertEqual([r["name"] for r in report["runs"]], ["a", "b", "c", "d"])
        found = self.aspects(report)
        self.assertIn(("c", "b", "bits", "neutral"), found)
        self.assertIn(("d", "c", "verdict", "worse"), found)
        self.assertIn(("d", "b", "verdict", "worse"), found)  # the run c lacks the small case
        self.assertIn(("d", "c", "margin", "worse"), found)
        self.assertFalse([f for f in found if f[0] == "b"], "equal runs have changes")
        steps = {(s["run"], s["after"]): s["differs_in"] for s in report["differences"]}
        self.assertIn("variable MINE_THREADS: not set -> 3", steps["c", "b"])
        text = self.tell(1, "history", "a", "b", "c", "d", "--strict").stdout
        self.assertIn("\nc, after b\n", text)
        self.assertIn("differs in variable MINE_THREADS: not set -> 3", text)
        self.assertIn("2 results in 4 runs: 2 changed, 0 did not; times: no result that passes is timed", text)
        self.tell(0, "history", "a", "b", "c", "--strict")  # other bits alone are not worse
        self.check_page()

    def check_page(self):
        """Where there is a browser, the page shows the changes, and names of runs become no markup."""
        (self.dir / "d").rename(self.dir / "<img src=x>d")
        self.tell(0, "history", "a", "b", "c", "<img src=x>d", "--html", "page.html")
        self.assertIn('id="data"', (self.dir / "page.html").read_text())
        browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        if browser is None:
            return
        done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom",
                               f"--user-data-dir={self.dir}/profile", (self.dir / "page.html").as_uri()],
                              capture_output=True, text=True, timeout=120)
        dom = done.stdout[:done.stdout.index('id="data"')]
        self.assertNotIn(":CONSOLE", done.stderr)
        self.assertNotIn("<img", dom)
        for shown in ("4 runs, 2 of 2 results changed", "<h2>mine</h2>", "<th scope=\"col\">&lt;img src=x&gt;d</th>",
                      '<b aria-hidden="true">✗</b> verdict', "c, after b", "variable MINE_THREADS: not set -&gt; 3", "--impl"):
            self.assertIn(shown, dom)
        self.assertLess(dom.index("&lt;img src=x&gt;d, after c"), dom.index("c, after b"))  # the newest first

    def test_equal_runs_of_a_backend_have_no_change(self):
        for out in "abc":
            self.run_cases("--case", CASE, "--case", SMALL, "--backend", "cpu", "--no-perf", out=out)
        report = self.as_json(0, "history", "a", "b", "c", "--strict")
        self.assertEqual(report["changes"], [])
        self.assertEqual(report["changed"], 0)
        self.assertGreater(report["results"], 4)

    def test_a_time_is_told_by_all_runs_and_not_by_few(self):
        self.run_cases("--case", CASE, "--backend", "cpu", "--impl", "naive", "--perf-time", "0.001", out="real")
        def timed(seconds):
            return lambda r: r | {"time_median_s": seconds, "round_medians_s": str(seconds), "timing_invalid": "",
                                  "timing_unsure": ""}
        for day in range(1, 19):
            noise = 1 + 0.01 * (day * 7 % 5)
            self.change_records("real", f"run{day:02}", day, timed(1e-3 * noise * (1.2 if day > 11 else 1)))
        names = [f"run{day:02}" for day in range(1, 19)]
        report = self.as_json(0, "history", *names)
        self.assertEqual(self.aspects(report), [("run12", "run11", "performance", "worse")], report)
        self.assertAlmostEqual(report["changes"][0]["amount"], 1.2, delta=0.02)
        few = self.tell(0, "history", *names[8:14]).stdout
        self.assertIn("times: not enough runs to tell: 6 timed, and it takes 13", few)

    def test_what_is_no_run_is_refused_with_what_to_do(self):
        self.run_kernel("a", FORWARD, 1)
        self.fails(2, "a history takes two runs or more", "history", "a")
        self.fails(2, "a is given twice; give each run once", "history", "a", "a")
        self.fails(2, "nowhere", "history", "a", "nowhere")
        shutil.copytree(self.dir / "a", self.dir / "damaged")
        (self.dir / "damaged/results.jsonl").write_text('{"case_id": 3}\n[]\n')
        self.fails(2, "damaged/results.jsonl:1", "history", "a", "damaged")
        self.change_records("a", "b", 2, lambda r: r | {"case_id": "other"})
        self.fails(2, "no result in common", "history", "a/results.jsonl", "b/results.jsonl")
        self.assertIn("lost  pass -> missing", self.tell(1, "history", "a", "b", "--strict").stdout)
        self.change_records("a", "c", 3, lambda r: r | {"schema_version": 0})
        self.fails(2, "schema version", "history", "a", "c")
        shutil.copytree(self.dir / "a", self.dir / "e")
        for text in ("{", "[1]", '{"timestamp": 3, "backends": [3], "variables": [], "asked": [[]]}'):
            (self.dir / "e/environment.json").write_text(text)
            done = self.tell(0, "history", "a", "e")
            self.assertIn("e does not say when it began (environment.json)", done.stdout)
        self.change_records("a", "f", 4, lambda r: r | {"outcome": "mis\x1b[31mmatch", "output_hash": "\x1b[2J"})
        self.assertNotIn("\x1b", self.tell(0, "history", "a", "f").stdout)


class Bisect(Runs):
    def bisect(self, code, values, *more, name="MINE_LEVEL"):
        return self.tell(code, "bisect", "--case", PRODUCT, "--kernels", "mine.py", "--backend", "mine", "--python",
                         sys.executable, "--env", f"{name}={values}", *more)

    def test_the_setting_is_found_by_halving(self):
        by_slash = 'int((text := os.environ["MINE_LEVEL"]).strip("_/")) + text.count("/")'
        self.write_kernel(BY_VARIABLE.replace('int(os.environ["MINE_LEVEL"])', by_slash))
        # Two settings would have one folder if a slash became an underscore.
        said = self.bisect(0, "0,1,2,3,4,5_,5/,7,8").stdout
        self.assertIn("the verdict changes between MINE_LEVEL=5_ and MINE_LEVEL=5/\nlast good: MINE_LEVEL=5_\n", said)
        self.assertEqual(said.count(": mine:product "), 5, "both ends, and 4, 5/, 5_ of nine settings\n" + said)
        line = said.split("first bad: MINE_LEVEL=5/\n  ")[1].splitlines()[0]
        self.assertIn("MINE_LEVEL=5/ ", line)

    @only_full
    def test_each_setting_is_tried_and_kept(self):
        self.write_kernel(BY_VARIABLE)
        bits = json.loads(self.bisect(0, "0,1,2,3,4,5", "--json").stdout)
        self.assertEqual(bits["changes"], [{"what": "bits", "before": "MINE_LEVEL=2", "after": "MINE_LEVEL=3"}])
        each = self.bisect(0, "0,3,7", "--each", "--out", "kept").stdout
        self.assertIn("the output bits change between MINE_LEVEL=0 and MINE_LEVEL=3", each)
        self.assertIn("the verdict changes between MINE_LEVEL=3 and MINE_LEVEL=7", each)
        history = self.tell(0, "history", *(f"kept/MINE_LEVEL={k}" for k in (0, 3, 7))).stdout
        self.assertIn("kept/MINE_LEVEL=7, after kept/MINE_LEVEL=3", history)

    def test_nothing_is_told_where_there_is_nothing(self):
        self.write_kernel(BY_VARIABLE)
        if FULL:  # Revisions shows it of commits
            self.assertIn("MINE_LEVEL=0 and MINE_LEVEL=2 agree: neither fails", self.bisect(4, "0,1,2").stderr)
        self.assertIn("MINE_LEVEL=6 and MINE_LEVEL=7 agree: both fail", self.bisect(4, "6,7").stderr)
        self.write_kernel("return (a @ b) * np.float32(1 + os.getpid() * 2.0**-22)")
        done = self.bisect(4, "0,9")
        self.assertIn("MINE_LEVEL=0 does not give the same twice, so no setting can be told from another", done.stderr)

    def test_a_setting_that_cannot_be_tried_is_passed_over(self):
        self.write_kernel(BY_VARIABLE)
        path = self.dir / "mine.py"
        path.write_text("import os\nassert os.environ['MINE_LEVEL'] != '4', 'four is out'\n" + path.read_text())
        said = self.bisect(0, "2,4,6").stdout
        self.assertIn("MINE_LEVEL=4: skipped, it cannot be tried: ", said)
        self.assertIn("four is out", said)
        self.assertIn("the verdict changes between MINE_LEVEL=2 and MINE_LEVEL=6\nskipped between them: MINE_LEVEL=4\n", said)

    def test_wrong_settings_are_refused(self):
        self.write_kernel(BY_VARIABLE)
        for env, text in (("A", "--env 'A' is no NAME=a,b,c"), ("A=1", "--env A has one value"),
                          ("A=1,2,1", "--env A: the value '1' is given twice"), ("=1,2", "is no NAME=a,b,c")):
            self.fails(2, text, "bisect", "--case", PRODUCT, "--backend", "cpu", "--env", env)
        self.fails(2, "give what to search", "bisect", "--case", PRODUCT, "--backend", "cpu")
        self.fails(2, "--pip requires --venvs", "bisect", "--case", PRODUCT, "--backend", "cpu", "--pip", "numpy==1..2")
        (self.dir / "full").mkdir()
        (self.dir / "full/file").write_text("")
        self.fails(2, "--out full: the folder is not empty", "bisect", "--case", PRODUCT, "--env", "A=1,2", "--out", "full",
                   "--backend", "cpu")
        self.fails(2, "give the backend whose results are compared", "bisect", "--case", PRODUCT, "--env", "A=1,2")

    def test_the_instruction_set_with_which_onednn_changes_bits(self):
        done, _ = self.run_cases("--case", PRODUCT, "--backend", "onednn", "--no-perf")
        if done.returncode == 5 or "onednn" not in (self.dir / "out/results.jsonl").read_text():
            self.skipTest("oneDNN is not built")
        found = self.as_json(0, "bisect", "--case", PRODUCT, "--backend", "onednn", "--env",
                             "ONEDNN_MAX_CPU_ISA=SSE41,AVX2,AVX512_CORE", "--each")
        bits = {t["setting"]: {r["implementation"]: r["output_hash"] for r in t["results"]} for t in found["tried"]}
        self.assertEqual(len(bits), 3)
        for change in found["changes"]:
            self.assertNotEqual(bits[change["before"]], bits[change["after"]])
        self.assertNotEqual(bits["ONEDNN_MAX_CPU_ISA=SSE41"], bits["ONEDNN_MAX_CPU_ISA=AVX512_CORE"])


class Versions(Runs):
    def make_wheel(self, name, version, files):
        """A wheel of these files, which pip installs without a network."""
        info = f"{name}-{version}.dist-info"
        files = files | {f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
                         f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
        records = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
        (self.dir / "wheels").mkdir(exist_ok=True)
        with zipfile.ZipFile(self.dir / f"wheels/{name}-{version}-py3-none-any.whl", "w") as wheel:
            for file, text in (files | {f"{info}/RECORD": records}).items():
                wheel.writestr(file, text)

    def test_the_version_of_a_package_with_which_a_kernel_fails(self):
        if subprocess.run([sys.executable, "-c", "import ensurepip, venv"], capture_output=True).returncode != 0:
            self.skipTest("this interpreter makes no virtual environments with pip")
        modules = pathlib.Path(numpy.__file__).parents[1]
        self.make_wheel("numpy", numpy.__version__, {"of_system.pth": f"{modules}\n"})
        for version, level in (("1.8", 0), ("1.9", 3), ("1.10", 4), ("1.11", 5), ("1.12", 6)):
            self.make_wheel("minelevel", version, {"minelevel.py": f"LEVEL = {level}\n"})
        (self.dir / "wheels/minelevel-1.11-py3-none-any.whl").write_bytes(b"damaged")
        self.write_kernel(BY_VARIABLE.replace('int(os.environ["MINE_LEVEL"])', "minelevel.LEVEL"))
        path = self.dir / "mine.py"
        path.write_text("import minelevel\n" + path.read_text())
        def bisect(code, versions, *more):
            done = self.assay("bisect", "--case", PRODUCT, "--kernels", "mine.py", "--backend", "mine", "--python",
                              sys.executable, "--pip", f"minelevel=={versions}", "--venvs", "venvs", *more,
                              env={"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.dir / "wheels")})
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            return done
        said = bisect(0, "1.8..1.12").stdout
        self.assertIn("the verdict changes between minelevel==1.10 and minelevel==1.12\n"
                      "skipped between them: minelevel==1.11\nlast good: minelevel==1.10\n", said)
        self.assertIn("--python " + str(self.dir / "venvs/minelevel==1.12/bin/python"), said.split("first bad: ")[1])
        self.assertFalse((self.dir / "venvs/minelevel==1.9").exists(), "a version that was not asked for is installed")
        shutil.rmtree(self.dir / "wheels")
        self.make_wheel("minelevel", "1.8", {})
        self.make_wheel("minelevel", "1.10", {})
        self.assertIn("the output bits change between minelevel==1.8 and minelevel==1.10", bisect(0, "1.8..1.10").stdout)
        self.assertIn("pip does not offer minelevel 2.0 for this interpreter; it offers 1.8, 1.10", bisect(2, "1.8..2.0").stderr)
        self.assertIn("1.10 is not older than 1.8", bisect(2, "1.10..1.8").stderr)
        self.assertIn("is no PACKAGE==FIRST..LAST", bisect(2, "1.8").stderr)


# One implementation of the misbehaving plugin, by another name.
PLUGIN_IN_C = """
#include <string.h>
#include "backends/abi/assay_backend.h"
const assay_backend_api* misbehaving_backend_v1(const assay_host_info* host);
static const assay_backend_api* original;

static assay_status query(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                          assay_text* error) {
  static assay_implementation one = {sizeof one, "product", "f32acc"};
  static const assay_implementation* items[] = {&one};
  static const assay_implementations list = {sizeof list, 1, items};
  const assay_status status = original->query(device, op, out, error);
  if (status == ASSAY_OK) *out = &list;
  return status;
}
static assay_status plan_create(assay_device* device, const assay_op_desc* op, const char* name, assay_plan** out,
                                assay_text* error) {
  return original->plan_create(device, op, "%s", out, error);
}
ASSAY_EXPORT const assay_backend_api* assay_backend_v1(const assay_host_info* host) {
  static assay_backend_api api;
  original = misbehaving_backend_v1(host);
  api = *original, api.query = query, api.plan_create = plan_create;
  return &api;
}
"""


@unittest.skipIf(shutil.which("git") is None, "git is not installed")
class Revisions(Runs):
    def git(self, *words):
        done = subprocess.run(["git", "-C", self.dir / "own", *words], capture_output=True, text=True, check=True,
                              env=self.env | {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "A",
                                              "GIT_COMMITTER_EMAIL": "a@b", "GIT_CONFIG_GLOBAL": "/dev/null"})
        return done.stdout.strip()

    def commit(self, subject, **files):
        """A commit of these files; its name as a bisection shows it."""
        for name, text in files.items():
            (self.dir / "own/src" / name.replace("_", ".")).write_text(text)
        self.git("add", "-A")
        self.git("commit", "--allow-empty", "-q", "-m", subject)
        return f"{self.git('rev-parse', 'HEAD')[:12]} {subject}"

    def setUp(self):
        super().setUp()
        (self.dir / "own/src").mkdir(parents=True)
        self.git("init", "-q")

    def search(self, code, *words):
        return self.tell(code, "bisect", "--case", PRODUCT, "--git", "own", "--checkouts", "kept", *words)

    @only_full
    @unittest.skipIf(shutil.which("cc") is None, "there is no C compiler")
    def test_the_commit_with_which_a_plugin_in_c_fails(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        build = (f"mkdir -p out && cc -shared -fPIC -fvisibility=hidden -I'{root}' src/mine.c -o out/mine.o -c && cc -shared -fPIC "
                 f"-fvisibility=hidden -I'{root}' -Dassay_backend_v1=misbehaving_backend_v1 out/mine.o "
                 f"'{root}/tests/integration/misbehaving_plugin.c' -o out/mine.so -lm")
        broken = PLUGIN_IN_C % "drop_last_k" + "int forgotten = missing;\n"
        names = [self.commit("Begin", mine_c=PLUGIN_IN_C % "ok"), self.commit("Read me", README_md="x"),
                 self.commit("Rename", mine_c="/* renamed */" + PLUGIN_IN_C % "ok"),
                 self.commit("Drop a line; not it", mine_c=broken),
                 self.commit("Build it again", mine_c=PLUGIN_IN_C % "drop_last_k"), self.commit("Docs", README_md="y"),
                 self.commit("Shape", mine_c="/* shaped */" + PLUGIN_IN_C % "drop_last_k"), self.commit("More docs", README_md="z")]
        found = ("--good", names[0][:12], "--bad", "HEAD", "--build", build, "--plugin", "mine=out/mine.so", "--backend", "mine")
        said = self.search(0, *found).stdout
        self.assertIn(f"{names[3]}: skipped, it cannot be tried: it does not build: src/mine.c:", said)
        self.assertIn(f"the verdict changes between {names[2]} and {names[4]}\nskipped between them: {names[3]}\n"
                      f"last good: {names[2]}\n", said)
        line = said.split(f"first bad: {names[4]}\n  ")[1].splitlines()[0]
        self.assertIn(f"--plugin mine={self.dir}/kept/{names[4][:12]}/out/mine.so", line)
        again = subprocess.run(line, shell=True, cwd=self.dir, env=self.env, capture_output=True, text=True)
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)
        self.assertLessEqual(said.count(": mine:product "), 6, said)
        self.assertEqual(self.git("worktree", "list").count("\n"), 0, "the repository has got work trees")
        self.assertEqual(self.git("status", "--porcelain"), "")
        built = {p.name: p.stat().st_mtime_ns for p in (self.dir / "kept").glob("*.built")}
        self.assertEqual(self.search(0, *found).stdout, said)
        self.assertEqual({p.name: p.stat().st_mtime_ns for p in (self.dir / "kept").glob("*.built")}, built, "built twice")

    def test_the_commit_of_a_file_of_kernels_and_of_a_merge(self):
        first = self.commit("Begin", mine_py=KERNELS % FORWARD)
        main = self.git("symbolic-ref", "--short", "HEAD")
        second = self.commit("Quote 'it'", README_md="x")
        self.git("checkout", "-q", "-b", "side")
        self.commit("Turn", mine_py=KERNELS % BACKWARD)
        self.commit("Turn more", README_md="y")
        self.git("checkout", "-q", main)
        self.git("merge", "-q", "--no-ff", "-m", "Merge side", "side")
        merge = f"{self.git('rev-parse', 'HEAD')[:12]} Merge side"
        self.commit("End", README_md="z")
        kernels = ("--kernels", "src/mine.py", "--backend", "mine", "--python", sys.executable)
        said = self.search(0, "--good", first[:12], "--bad", main, *kernels, "--out", "runs").stdout
        self.assertIn(f"the output bits change between {second} and {merge}\nlast old: {second}\n", said)
        self.assertTrue((self.dir / "runs" / merge[:12] / "results.jsonl").exists())
        ends = ("--good", "HEAD~1", "--bad", "HEAD")
        self.assertIn("agree: neither fails", self.search(4, *ends, *kernels).stderr)
        for words, text in ((("--good", "HEAD", "--bad", "HEAD~1", *kernels), "--good HEAD is no ancestor of --bad HEAD~1"),
                            (("--good", "v1", "--bad", "HEAD", *kernels), "--good v1: own has no such commit"),
                            ((*ends, "--backend", "cpu"), "--git: give the file that each checkout has")):
            self.assertIn(text, self.search(2, *words).stderr)
        (self.dir / "none").mkdir()
        self.fails(2, "--git none: it is no repository of git", "bisect", "--case", PRODUCT, "--git", "none", *ends, "--checkouts",
                   "kept", *kernels)
        self.fails(2, "--git requires --", "bisect", "--case", PRODUCT, "--git", "own", *ends, *kernels)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[5:], verbosity=2)
