#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report_browser_test.py REPORT.html: opens the report in headless Chromium.

Fails when a script reports an error or the table of results stays empty. Before that it checks that it would notice:
an error planted into a copy, and a copy without its records, must both fail. Exits 77 (skipped) without Chromium.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def open_page(browser, page, fragment=""):
    """Returns the document after its scripts ran, and what went to the console."""
    with tempfile.TemporaryDirectory() as profile:
        result = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", f"--user-data-dir={profile}",
             "--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom", page.as_uri() + fragment],
            capture_output=True, text=True, timeout=120, check=False)
    console = [line for line in result.stderr.splitlines() if ":CONSOLE" in line]
    return result.stdout, console


def problems(browser, page):
    """What is wrong with a page, as a list of sentences."""
    records = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text("utf-8"), re.S).group(1))
    expected = min(50, len(records.get("rows", [])))
    dom, console = open_page(browser, page, "#r0")
    found = [f"console: {line}" for line in console]
    rows = len(re.findall(r'<tr class="row"', dom))
    if rows == 0 or rows != expected:
        found.append(f"{rows} rows of results rendered, expected {expected}")
    if 'class="detail"' not in dom:
        found.append("#r0 opens no details")
    return found


def main():
    browser = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if browser is None:
        print("skipped: no Chromium found (Debian package chromium)")
        return SKIPPED
    page = pathlib.Path(sys.argv[1]).resolve()
    text = page.read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        broken = pathlib.Path(folder) / "broken.html"
        broken.write_text(text.replace("'use strict';\n", "'use strict';\nsetTimeout(() => planted(), 0);\n"), "utf-8")
        if not any("planted is not defined" in problem for problem in problems(browser, broken)):
            print("self-check failed: an error planted into the script went unseen")
            return 1
        empty = pathlib.Path(folder) / "empty.html"
        empty.write_text(re.sub(r'"rows":\[.*?\],"verdicts"', '"rows":[],"verdicts"', text, flags=re.S), "utf-8")
        if not any("0 rows" in problem for problem in problems(browser, empty)):
            print("self-check failed: a page without rows went unseen")
            return 1
    found = problems(browser, page)
    print("\n".join(found) if found else "ok: no console messages, rows and details rendered")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
