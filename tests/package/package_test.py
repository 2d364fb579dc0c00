# SPDX-License-Identifier: Apache-2.0
"""The relocatable package: package_test.py PACKAGE_SH BUILD.

Unpacked into a folder whose name nobody foresaw, with an empty environment, every library but the system's resolves
inside of the package, and it still runs after it has been moved.
"""
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest

PACKAGE_SH, BUILD = sys.argv[1:]
CASES = ["matmul/f32/m=5,n=7,k=64/fill=normal/seed=0", "softmax/f32/shape=4x33/fill=normal/seed=0"]
SYSTEM = re.compile(r"(linux-vdso|/lib64/ld-linux|ld-linux|lib(c|m|mvec|dl|pthread|rt|resolv|util|stdc\+\+|gcc_s|vulkan|cuda\w*|amdhip64)\.so)")


def run(*words, cwd=None):
    """With nothing in the environment but where PoCL finds its linker: no LD_LIBRARY_PATH, no HOME."""
    return subprocess.run(["/usr/bin/env", "-i", "PATH=/usr/bin:/bin", *map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=300)


def cuda_architectures(library):
    """{"PTX": {"80"}, "machine code": {"80", "90"}}, from the headers of the fat binaries that nvcc embeds."""
    found = {"PTX": set(), "machine code": set()}
    for start in re.finditer(re.escape(struct.pack("<IHH", 0xBA55ED50, 1, 16)), library):
        at = start.start() + 16
        end = at + struct.unpack_from("<Q", library, at - 8)[0]
        while at < end:
            kind, _, header, size = struct.unpack_from("<HHIQ", library, at)
            found["PTX" if kind == 1 else "machine code"].add(str(struct.unpack_from("<I", library, at + 28)[0]))
            at += header + size
    return found


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.dir = pathlib.Path(cls.folder.name)
        made = subprocess.run([PACKAGE_SH, "--build", BUILD, "--out", cls.dir], capture_output=True, text=True)
        if made.returncode != 0:
            raise AssertionError(made.stdout + made.stderr)
        cls.archive = pathlib.Path(made.stdout.strip())
        with tarfile.open(cls.archive) as archive:
            archive.extractall(cls.dir / "first place")
        cls.tree = next((cls.dir / "first place").iterdir())

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def binaries(self):
        return [self.tree / "bin/assay", self.tree / "lib/libassay.so", *(self.tree / "lib/assay/plugins").glob("*.so"),
                self.tree / "lib/assay/corpus/libassay_control.so",
                *(self.tree / "lib/assay/deps").iterdir()]

    def test_the_name_says_version_and_system(self):
        self.assertRegex(self.archive.name, r"^assay-\d+\.\d+\.\d+-linux-x86_64\.tar\.gz$")
        self.assertEqual(self.tree.name + ".tar.gz", self.archive.name)

    def test_every_library_but_the_systems_is_inside(self):
        self.assertTrue((self.tree / "lib/assay/plugins/libassay_cpu.so").exists())
        inside = {p.name for p in (self.tree / "lib/assay/deps").iterdir()}
        for binary in self.binaries():
            dynamic = subprocess.run(["readelf", "-d", binary], capture_output=True, text=True, check=True).stdout
            needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
            self.assertTrue(needed, binary)
            for name in needed:
                self.assertTrue(SYSTEM.match(name) or name in inside, f"{binary.name} needs {name}")

    def test_of_the_corpus_the_control_of_conform_is_inside(self):
        self.assertEqual([p.name for p in (self.tree / "lib/assay/corpus").iterdir()], ["libassay_control.so"])

    def test_libraries_inside_are_taken_before_the_systems(self):
        for binary in self.binaries():
            if binary.parent.name == "deps":
                continue
            for line in run("/usr/bin/ldd", binary).stdout.splitlines():
                name, _, where = line.strip().partition(" => ")
                if (self.tree / "lib/assay/deps" / name).exists():
                    folder = os.path.normpath(os.path.dirname(where))
                    self.assertEqual(folder, str(self.tree / "lib/assay/deps"), f"{binary.name}: {line}")

    def test_nothing_of_the_system_or_the_device_is_shipped(self):
        names = [p.name for p in (self.tree / "lib/assay/deps").iterdir()]
        self.assertTrue(names)
        for name in names:
            self.assertIsNone(SYSTEM.match(name), name)
            self.assertNotIn("fftw", name)

    def test_paths_in_the_files_are_relative(self):
        for binary in self.binaries():
            if binary.parent.name == "deps":
                continue
            dynamic = subprocess.run(["readelf", "-d", binary], capture_output=True, text=True).stdout
            paths = re.findall(r"\((RPATH|RUNPATH)\).*\[(.*)\]", dynamic)
            self.assertEqual([kind for kind, _ in paths], ["RPATH"], binary)
            self.assertTrue(paths[0][1].startswith("$ORIGIN/"), paths)

    def test_every_library_has_its_licence_and_its_line(self):
        manifest = (self.tree / "MANIFEST").read_text()
        licences = {p.stem for p in (self.tree / "licences").iterdir()}
        for library in (self.tree / "lib/assay/deps").iterdir():
            line = next(line for line in manifest.splitlines() if line.split()[:1] == [library.name])
            self.assertIn(line.split()[1], licences)
        for word in ("glibc", "libcli11-dev", "cpu "):
            self.assertIn(word, manifest)
        self.assertIn("Apache License", (self.tree / "LICENSE").read_text())

    def manifest_names(self, plugin, pattern):
        """Architectures that the manifest lists for a GPU plugin; skips where the plugin was not built."""
        library = self.tree / f"lib/assay/plugins/libassay_{plugin}.so"
        if not library.exists():
            self.skipTest("not built")
        named = re.search(rf"^  {plugin} .*{pattern}", (self.tree / "MANIFEST").read_text(), re.MULTILINE)
        self.assertIsNotNone(named)
        return library.read_bytes(), named[1].split(",")

    def test_the_manifest_names_the_gpus_of_cuda(self):
        code, named = self.manifest_names("cuda", r"CUDA for sm_([\d,]+) and PTX")
        kernels = cuda_architectures(code)
        self.assertEqual(kernels["machine code"], set(named))
        self.assertEqual(kernels["PTX"], {named[0]})

    def test_the_manifest_names_the_gpus_of_hip(self):
        code, named = self.manifest_names("hip", r"HIP for (gfx\w+(?:,gfx\w+)*)")
        self.assertEqual({name.decode() for name in re.findall(rb"amdgcn-amd-amdhsa--(gfx\w+)", code)}, set(named))

    def test_the_guides_are_inside_and_find_each_other(self):
        guides = self.tree / "share/doc/assay"
        for name in ("README.md", "backends/README.md", "reports/README.md", "harness/judge/README.md", "tests/consumer/vendor/CMakeLists.txt"):
            self.assertTrue((guides / name).is_file(), name)
        checked = subprocess.run([sys.executable, pathlib.Path(__file__).parents[1] / "layering/pages.py", guides], capture_output=True, text=True)
        self.assertEqual((checked.stdout, checked.returncode), ("ok\n", 0))

    def test_every_verb_has_a_man_page(self):
        helped = run(self.tree / "bin/assay", "--help").stdout
        verbs = re.findall(r"^  ([a-z][a-z-]*)  ", helped, re.MULTILINE)
        self.assertGreaterEqual(len(verbs), 9)
        found = {p.name for p in (self.tree / "share/man/man1").iterdir()}
        self.assertLessEqual({"assay.1", *(f"assay-{verb}.1" for verb in verbs)}, found)

    def test_the_python_module_finds_library_and_suites(self):
        code = ("import assay, numpy as np; case = assay.cases('formulas', filter='exp/f32/*normal*')[0]; "
                "print(case.judge(np.exp(case.inputs['x'].astype('f8')).astype('f4')).verdict)")
        done = run(f"PYTHONPATH={self.tree}/lib/assay/python", "PYTHONDONTWRITEBYTECODE=1", "/usr/bin/python3", "-c", code)
        self.assertEqual(done.stdout, "pass\n", done.stderr)

    def test_what_is_built_with_a_users_own_library_stays_out(self):
        self.assertFalse((self.tree / "lib/assay/plugins/libassay_hip_cpu.so").exists())

    def test_it_runs_and_still_does_elsewhere(self):
        for place in ("first place", "second/place, moved"):
            here = self.dir / place / self.tree.name
            if not here.exists():
                here.parent.mkdir(parents=True)
                self.tree.rename(here)
                type(self).tree = here
            with self.subTest(place), tempfile.TemporaryDirectory() as work:
                words = [word for case in CASES for word in ("--case", case)]
                done = run(f"ASSAY_GOLDEN_STORE={work}/store", here / "bin/assay", "run", *words, "--no-perf", "--out",
                           "out", cwd=work)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                records = [json.loads(line) for line in pathlib.Path(work, "out/results.jsonl").read_text().splitlines()]
                built = {p.name[len("libassay_"):-len(".so")] for p in pathlib.Path(BUILD, "lib/assay/plugins").iterdir()}
                built.discard("hip_cpu")
                self.assertEqual({r["verdict"] for r in records if r["backend"] in ("cpu", "onednn")}, {"pass"})
                self.assertEqual({r["backend"] for r in records}, built)
                suite = here / "share/assay/suites/smoke.suite"
                whole = suite.read_text()
                suite.write_text("matmul dtypes=f32 m=2 n=2 k=2\n")
                listed = run(here / "bin/assay", "list", "cases", "--suite", "smoke", cwd=work)
                suite.write_text(whole)
                self.assertEqual(listed.stdout.splitlines(), ["matmul/f32/m=2,n=2,k=2/fill=normal/seed=0"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
