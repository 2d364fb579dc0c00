# SPDX-License-Identifier: Apache-2.0
"""The man pages that installing writes: man_pages_test.py ASSAY MAN_PAGES_PY."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ASSAY, SCRIPT = sys.argv[1:]


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120)


def verbs_of(*above):
    """The verbs below one, all the way down: ("golden",), ("golden", "build"), ..."""
    text = run(ASSAY, *above, "--help").stdout
    for name in re.findall(r"^  ([a-z][a-z-]*)", re.sub(r"^Positionals:\n(  .*\n)*", "", text, flags=re.MULTILINE), re.MULTILINE):
        yield (*above, name)
        yield from verbs_of(*above, name)


class ManPages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.pages = pathlib.Path(cls.folder.name, "man1")
        done = run(sys.executable, SCRIPT, ASSAY, cls.pages)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        cls.verbs = [(), *verbs_of()]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def text(self, verb):
        """A page as roff, without the backslashes that keep a hyphen a hyphen."""
        return (self.pages / ("-".join(["assay", *verb]) + ".1")).read_text().replace("\\-", "-")

    def test_each_verb_has_one_and_nothing_else_has(self):
        self.assertGreater(len(self.verbs), 12)
        self.assertEqual({p.name for p in self.pages.iterdir()}, {"-".join(["assay", *verb]) + ".1" for verb in self.verbs})

    def test_each_option_of_the_help_is_in_the_page(self):
        count = 0
        for verb in self.verbs:
            page = self.text(verb)
            text = run(ASSAY, *verb, "--help-all" if verb == ("run",) else "--help").stdout
            for term in re.findall(r"^  (-\S+)", text, re.MULTILINE):
                self.assertIn(f".TP\n\\fB{term}", page, verb)
                count += 1
        self.assertGreater(count, 200)

    def test_each_page_has_what_whatis_and_readers_look_for(self):
        for verb in self.verbs:
            page = self.text(verb)
            name = "-".join(["assay", *verb])
            self.assertRegex(page, rf'(?m)^\.TH "{name.upper()}" "1" "" "assay \d+\.\d+\.\d+" "assay"$')
            self.assertRegex(page, rf"(?m)^\.SH NAME\n{name} \\?- \S.*\n\.SH SYNOPSIS\n\\fBassay")
            for section in ("OPTIONS", "EXIT STATUS", "ENVIRONMENT", "SEE ALSO"):
                self.assertIn(f"\n.SH {section}\n", page)

    def test_a_help_whose_options_have_another_heading_is_refused(self):
        with tempfile.TemporaryDirectory() as name:
            program, pages = pathlib.Path(name, "assay"), pathlib.Path(name, "man1")
            program.write_text(f"#!/bin/sh\n'{ASSAY}' \"$@\" | sed 's/^Options:/OPTIONS:/'\n")
            program.chmod(0o755)
            done = run(sys.executable, SCRIPT, program, pages)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("no options under 'Options:'", done.stderr)
            self.assertIn("OPTIONS", done.stderr)
            self.assertFalse(pages.exists())

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_groff_has_nothing_to_complain_of(self):
        for page in self.pages.iterdir():
            done = run("groff", "-man", "-ww", "-Tutf8", "-z", page)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page.name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
