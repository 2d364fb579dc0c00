# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin in a pytest of its own: pytest_plugin_test.py [CLASS]."""
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

TESTS = '''
import numpy as np, assay, pytest

def softmax(case):
    x, axis = case.inputs["x"].astype(np.float64), int(case.attrs["axis"])
    e = np.exp(x - x.max(axis, keepdims=True))
    return (e / e.sum(axis, keepdims=True)).astype(np.float32)

@assay.mark.suite(SUITE)
def test_returned(assay_case):
    return softmax(assay_case)

@assay.mark.suite(SUITE)
def test_checked(assay_case):
    assay_case.check(softmax(assay_case))

@assay.mark.suite(SUITE)
@pytest.mark.parametrize("factor", [1, 1.01])
def test_wrong(assay_case, factor, tmp_path):
    return softmax(assay_case) * np.float32(factor)

@assay.mark.suite(SUITE)
def test_nothing(assay_case):
    pass

@assay.mark.suite(SUITE)
def test_only_told(assay_case):
    assay_case.judge(softmax(assay_case) * np.float32(1.01))

@assay.mark.suite(SUITE)
def test_shape(assay_case):
    return softmax(assay_case)[:1, :1]

def test_plain():
    assert True
'''
ASYNC = TESTS.partition("@assay")[0] + '''
@assay.mark.suite(SUITE)
async def test_right(assay_case):
    return softmax(assay_case)

@assay.mark.suite(SUITE)
async def test_wrong(assay_case):
    return softmax(assay_case) * np.float32(1.01)

@assay.mark.suite(SUITE)
async def test_nothing(assay_case):
    pass
'''
AWAITING = '''
import asyncio, inspect, pytest

@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if inspect.iscoroutinefunction(pyfuncitem.obj):
        names = pyfuncitem._fixtureinfo.argnames
        asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
        return True
'''
SUITE = '"smoke", op="softmax", dtype=["f32"], filter="*shape=2x128x128/*:*shape=17x33x5*:-*log=1*"'
CASES = 2


@unittest.skipUnless(importlib.util.find_spec("pytest"), "pytest is not installed (Debian: python3-pytest)")
class Plugin(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.dir = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def pytest(self, *arguments, tests=TESTS.replace("SUITE", SUITE)):
        """`tests` is a file's text, or those of several files."""
        texts = {"test_kernel.py": tests} if isinstance(tests, str) else {f"test_{i}.py": text for i, text in enumerate(tests)}
        for name, text in texts.items():
            (self.dir / name).write_text(text)
        return subprocess.run([sys.executable, "-m", "pytest", "-p", "assay.pytest_plugin", "-p", "no:cacheprovider",
                               "--strict-markers", *arguments, *texts], cwd=self.dir, capture_output=True,
                              text=True, timeout=240)

    def run_all(self):
        """The file above, once for all tests of this class."""
        if "all" not in type(self).__dict__:
            type(self).all = self.pytest("-v", "--junitxml", "junit.xml"), xml.etree.ElementTree.parse(self.dir / "junit.xml").getroot()
        return self.all

    def test_a_test_runs_for_each_case(self):
        done, _ = self.run_all()
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        for name, outcome, count in (("returned", "PASSED", CASES), ("checked", "PASSED", CASES), ("plain", "PASSED", 1), ("wrong", "PASSED", CASES),
                                     ("wrong", "FAILED", CASES), ("nothing", "FAILED", CASES), ("only_told", "FAILED", CASES), ("shape", "FAILED", CASES)):
            self.assertEqual(len(re.findall(rf"^test_kernel.py::test_{name}(?:\[\S+\])? {outcome}", done.stdout, re.MULTILINE)), count, name)
        self.assertIn("test_kernel.py::test_returned[softmax/f32/shape=2x128x128/fill=normal/seed=0] PASSED", done.stdout)
        self.assertNotIn("warning", done.stdout)

    def test_what_is_wrong_fails_with_assays_words(self):
        done, junit = self.run_all()
        self.assertIn("mismatch: softmax f32 shape=2x128x128", done.stdout)
        self.assertNotIn("_check.py", done.stdout)  # nobody wants to read assay's own code
        self.assertEqual(done.stdout.count("worst elements:"), CASES)  # each failure once
        failures = {case.get("name"): case.find("failure").get("message") for case in junit.iter("testcase") if case.find("failure") is not None}
        self.assertEqual(len(failures), 4 * CASES)
        self.assertEqual(sum(name.startswith("test_wrong") and "mismatch: softmax" in said for name, said in failures.items()), CASES)

    def test_what_is_not_judged_fails_without_assays_code(self):
        done, _ = self.run_all()
        self.assertIn("no wrong result could fail it", done.stdout)
        self.assertIn("judge() only tells", done.stdout)
        self.assertIn("softmax: y has shape 1x1x5, expected 17x33x5", done.stdout)
        self.assertNotIn("def demand", done.stdout)

    def test_the_marks_contract_holds_for_what_a_test_checks_itself(self):
        done = self.pytest(tests='''
import assay, numpy as np

@assay.mark.suite("smoke", op="reduce", dtype=["f32"], filter="*kind=l2,*", contract="bf16acc")
def test_it(assay_case):
    assay_case.check(np.sqrt((assay_case.inputs["x"] ** 2).sum((0, 2), keepdims=True)))
''')
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("below_contract", done.stdout)

    def test_the_mark_may_ask_for_a_sample(self):
        done = self.pytest(tests=TESTS.partition("@assay")[0] + f"""
@assay.mark.suite({SUITE}, sample=2000)
@pytest.mark.parametrize("factor", [1, 1.01])
def test_it(assay_case, factor):
    right = assay_case.judge(softmax(assay_case), sample=2000)
    assert right and right.sample.judged <= 2000, right
    return softmax(assay_case) * np.float32(factor)
""")
        self.assertIn(f"{CASES} failed, {CASES} passed", done.stdout)
        self.assertRegex(done.stdout, r"; judged 1,\d+ of 32,768 elements, drawn by seed \d+")

    def test_types_that_numpy_lacks_are_named_before_a_test_computes_with_their_bits(self):
        (self.dir / "conftest.py").write_text("import sys\nsys.modules['ml_dtypes'] = None\n")  # as if it were missing
        test = TESTS.partition("@assay")[0] + f"""
@assay.mark.suite({SUITE.replace('"f32"', '"bf16"')}MORE)
def test_it(assay_case):
    x = (assay_case.inputs["x"].astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    e = np.exp(x - x.max(int(assay_case.attrs["axis"]), keepdims=True))
    bits = (e / e.sum(int(assay_case.attrs["axis"]), keepdims=True)).astype(np.float32).view(np.uint32)
    return (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(np.uint16) FACTOR
"""
        pairs = (("", ""), (", bits=True", ""), (", bits=True", "* np.uint16(2)"))
        done = self.pytest(tests=[test.replace("MORE", more).replace("FACTOR", factor) for more, factor in pairs])
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("without the package ml_dtypes x has the bits of bf16 as uint16, and no values: pip install ml_dtypes, or "
                      "say bits=True in assay.mark.suite", done.stdout)
        self.assertNotIn("def assay_case", done.stdout)
        self.assertIn("note: without the package ml_dtypes x has the bits of bf16 as uint16", done.stdout)
        told = {int(i): re.findall(rf"^(?:ERROR|FAILED) test_{i}.py", done.stdout, re.MULTILINE) != [] for i in "012"}
        self.assertEqual(told, {0: True, 1: False, 2: True}, done.stdout)

    def test_an_operator_of_ones_own_is_marked_by_its_definition(self):
        done = self.pytest("-rA", tests='''
import assay

@assay.operator("leaky_bias", types=["f32", "f64"], roles={"bias": "offset"})
def leaky_bias(x: "rows n", bias: "n", *, slope: float = 0.125):
    return assay.namespace(x).maximum(x, slope * x) + bias

def doubled(x: "n"):
    return x + x

@assay.mark.suite(op=leaky_bias, dtype="f32")
def test_right(assay_case):
    return leaky_bias(*assay_case.inputs.values(), slope=float(assay_case.attrs["slope"]))

@assay.mark.suite(op=[leaky_bias], dtype="f32")
def test_wrong(assay_case):
    return leaky_bias(*assay_case.inputs.values(), slope=0.126)

@assay.mark.suite(op=doubled, dtype="f64")
def test_annotated(assay_case):
    return 2 * assay_case.inputs["x"]
''')
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        for name, outcome in (("right", "PASSED"), ("wrong", "FAILED"), ("annotated", "PASSED")):
            outcomes = re.findall(rf"^(\w+) test_kernel.py::test_{name}\[\S+\]$", done.stdout, re.MULTILINE)
            self.assertEqual(set(outcomes), {outcome}, done.stdout)
        self.assertRegex(done.stdout, r"test_right\[leaky_bias/f32/rows=\d+,n=\d+")
        self.assertIn("mismatch: leaky_bias f32", done.stdout)

    def test_one_case_is_selected_by_k(self):
        done = self.pytest("-k", "returned and 17x33x5")
        self.assertIn("1 passed", done.stdout)

    def test_what_an_async_test_returns_is_judged(self):
        (self.dir / "conftest.py").write_text(AWAITING)  # in the place of a plugin that awaits tests
        done = self.pytest(tests=ASYNC.replace("SUITE", SUITE))
        self.assertIn(f"{2 * CASES} failed, {CASES} passed", done.stdout)
        self.assertIn("mismatch: softmax", done.stdout)
        self.assertIn("no wrong result could fail it", done.stdout)

    def test_wrong_use_is_said_at_collection(self):
        wrong = {"there is no suite 'smoky'": '@assay.mark.suite("smoky")\ndef test_it(assay_case): pass',
                 "needs the argument assay_case": '@assay.mark.suite("smoke")\ndef test_it(): pass',
                 "is for tests with @assay.mark.suite": "def test_it(assay_case): pass",
                 "annotate it with its axes": "@assay.mark.suite(op=lambda x: x + x)\ndef test_it(assay_case): pass",
                 "nothing would be judged": 'import unittest\n@assay.mark.suite("smoke")\n'
                                            "class Tests(unittest.TestCase):\n  def test_it(self): return 1"}
        done = self.pytest("--continue-on-collection-errors", tests=["import assay\n" + test for test in wrong.values()])
        self.assertNotEqual(done.returncode, 0)
        for i, words in enumerate(wrong):
            self.assertRegex(done.stdout, rf"(?m)^(ERROR|FAILED) test_{i}\.py")
            self.assertIn(words, done.stdout + done.stderr)
        self.assertNotIn(" passed", done.stdout)
        self.assertNotIn("Traceback", done.stdout + done.stderr)
        self.assertNotIn("def assay_case", done.stdout)

    def test_a_test_has_one_mark(self):
        """With two marks, the cases of one would be dropped. A mark of a test replaces that of its class."""
        two = ('@assay.mark.suite("smoke", op="softmax")\n@assay.mark.suite("smoke", op="matmul")\n')
        tests = (two + "def test_it(assay_case): pass", two + "class Test:\n  def test_it(self, assay_case): pass")
        done = self.pytest("--continue-on-collection-errors", tests=["import assay\n" + test for test in tests])
        self.assertNotEqual(done.returncode, 0, done.stdout + done.stderr)
        said = "test_it: a test has one assay.mark.suite, and this one has several: give op="
        self.assertEqual(done.stdout.count(said), 2, done.stdout)
        self.assertNotIn("Traceback", done.stdout + done.stderr)
        done = self.pytest("--collect-only", "-q", tests='import assay\n@assay.mark.suite("smoke", op="matmul")\nclass Test:\n'
                           f"  @assay.mark.suite({SUITE})\n  def test_it(self, assay_case): pass")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("::test_it[softmax/"), CASES, done.stdout)
        self.assertNotIn("matmul", done.stdout)

    def test_decorators_that_do_not_fit_are_said_at_collection(self):
        """With the line, what is wrong and what to write, and without the code of assay."""
        written = r"; write it as in @assay\.mark\.suite\(\"smoke\", op=\"softmax\"\)"
        wrong = (
                ('mark.suite("smoke", opp="softmax")', r"assay\.mark\.suite takes no opp=; it takes op, dtype, filter, "
                                                       r"contract, strict, bits, sample; did you mean 'op'\?" + written),
                ('mark.suite("smoke", "softmax")', "assay.mark.suite takes nothing but suite without a name, and 'softmax' "
                                                   "has none; names are op, dtype"),
                ('mark.suite("smoke", suite="smoke")', "assay.mark.suite is given suite twice, without its name and as suite="),
                ("mark.suite", r"assay\.mark\.suite needs parentheses, @assay\.mark\.suite\(\)"),
                ('kernel("softmax", contract=7)', "contract=7: give a text such as"),
                ('kernel("softmax")', r"assay\.kernel needs contract=, which is missing; write it as in "
                                      r"@assay\.kernel\(\"softmax\", contract=\"f32acc\"\)"))
        done = self.pytest(tests=[f"import assay\n\n@assay.{decorator}\ndef test_it(assay_case): pass\n" for decorator, _ in wrong])
        self.assertNotEqual(done.returncode, 0, done.stdout + done.stderr)
        for i, (decorator, said) in enumerate(wrong):
            with self.subTest(decorator):
                self.assertRegex(done.stdout, f"(?m)^E +assay.UsageError: .*/test_{i}.py:3: {said}")
                self.assertRegex(done.stdout, f"(?m)^test_{i}.py:3: in <module>$")
        self.assertNotIn("harness/python/assay", done.stdout + done.stderr)


@unittest.skipUnless(importlib.util.find_spec("xdist"), "pytest-xdist is not installed: pip install pytest-xdist")
class Distributed(Plugin):
    """All of the above in two processes of pytest-xdist, and what is about these."""

    def pytest(self, *arguments, **more):
        return super().pytest("-n", "2", *arguments, **more)

    def test_a_test_runs_for_each_case(self):
        done, _ = self.run_all()
        # Both processes collect the same ids in the same order, else xdist refuses them.
        self.assertRegex(done.stdout, r"\[gw\d\].* PASSED .*test_returned\[softmax/f32/shape=2x128x128/fill=normal/seed=0\]")
        self.assertIn(f"{4 * CASES} failed, {3 * CASES + 1} passed", done.stdout)

    def test_junit_has_each_case_once(self):
        done = self.pytest("-k", "returned or wrong", "--junitxml", "junit.xml")
        self.assertIn(f"{CASES} failed, {2 * CASES} passed", done.stdout)
        cases = xml.etree.ElementTree.parse(self.dir / "junit.xml").getroot().iter("testcase")
        names = [case.get("name") for case in cases]
        self.assertEqual(len(names), 3 * CASES)
        self.assertEqual(len(set(names)), len(names))


if __name__ == "__main__":
    unittest.main(verbosity=2)
