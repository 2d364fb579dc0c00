# SPDX-License-Identifier: Apache-2.0
"""Importing assay loads nothing, and its names are documented: module_test.py [CLASS]."""
import os
import subprocess
import sys
import unittest

import assay


class Module(unittest.TestCase):
    def run_python(self, code, **env):
        return subprocess.run([sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True)

    def test_importing_it_imports_and_loads_nothing(self):
        done = self.run_python("import sys; before = set(sys.modules); import assay; print(*sorted(set(sys.modules) - before)); "
                               "print('libassay' in open('/proc/self/maps').read())")
        self.assertEqual(done.stdout, "assay\nFalse\n", done.stderr)

    def test_frameworks_are_not_imported(self):
        done = self.run_python("import sys, numpy as np, assay; x = np.eye(2, dtype=np.float32); assay.check('matmul', [x, x], x); "
                               "print({'torch', 'jax', 'ml_dtypes', 'pytest'} & set(sys.modules))")
        self.assertEqual(done.stdout, "set()\n", done.stderr)

    def test_a_worker_starts_without_modules_that_few_kernels_need(self):
        done = self.run_python("import sys, assay._bridge; print({'email', 'importlib.metadata', 'json', 'numpy', 'zipfile'} & set(sys.modules))")
        self.assertEqual(done.stdout, "set()\n", done.stderr)

    def test_an_absent_library_is_an_error_that_says_so(self):
        done = self.run_python("import assay; assay.operators()", ASSAY_LIBRARY="/nowhere/libassay.so")
        self.assertIn("assay.Error: ASSAY_LIBRARY=/nowhere/libassay.so: there is no such file", done.stderr)
        done = self.run_python("import assay; assay.operators()", ASSAY_LIBRARY=__file__)
        self.assertIn("cannot be loaded", done.stderr)

    def test_names_are_as_documented(self):
        self.assertEqual(sorted(set(assay.__all__) & set(dir(assay))), assay.__all__)
        for name in assay.__all__:
            self.assertTrue(getattr(assay, name).__doc__ or name == "mark", name)
        self.assertRegex(assay.__version__, r"^\d+\.\d+\.\d+$")
        with self.assertRaisesRegex(AttributeError, "no attribute 'nothing'"):
            assay.nothing

    def test_a_decorator_that_does_not_fit_says_where_it_stands(self):
        with self.assertRaisesRegex(assay.UsageError, rf"^{__file__}:\d+: assay.kernel needs contract=, which is missing; "):
            assay.kernel("softmax")
        with self.assertRaisesRegex(assay.UsageError, rf"^{__file__}:\d+: assay.kernel takes no contracts=; .* did you mean 'con"):
            assay.kernel("softmax", contracts="f32acc")


if __name__ == "__main__":
    unittest.main(verbosity=2)
