#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report_browser_test.py REPORT.html: opens the report in headless Chromium.

Fails when a script reports an error, the table of results stays empty, filtering, sorting and following a link show
other rows than the records ask for, an address does not lead back to what was shown, a result does not stand beside the
other implementations of its case, or the page scrolls sideways or has texts over each other on a phone. Before that it
checks that it would notice: an error planted into a copy, a copy without its records, one with a wide line and one whose
texts get too little room must all fail. Exits 77 (skipped) without Chromium.
"""
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
FAILING = {"crash", "timeout", "error", "missing", "mismatch", "below_contract", "nondeterministic", "flaky",
           "unexpected_pass"}
DATA = r'id="data">(.*?)</script>'
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

# Uses the page as a reader would and leaves what it saw in the document.
DRIVE = """<script>
const seen = {};
const count = () => Number(/ of (\\d+)/.exec(byId('status').textContent)[1]);
const followed = () => new Promise((done) => setTimeout(done, 100));
async function use() {
  byId('failing-only').click();
  seen.failing = count();
  byId('filter-text').value = 'matmul';
  byId('filter-text').dispatchEvent(new Event('input'));
  seen.failing_matmul = count();
  seen.address = location.hash;
  byId('all-verdicts').click();
  byId('filter-text').value = 'SUSPECT -conv';
  byId('filter-text').dispatchEvent(new Event('input'));
  seen.suspect = count();
  const link = document.querySelector('.matrix a.line');
  link.click();
  await followed();
  seen.link = {...parametersOf(link.getAttribute('href')), count: count()};
  byId('pinned').querySelector('button').click();
  seen.all = count();
  [...document.querySelectorAll('#results thead button')].find((b) => b.textContent.startsWith('decided by')).click();
  seen.worst = document.querySelector('tr.row td:nth-child(1)').textContent.split(' ').pop();
  document.querySelector('article h4 a').click();
  await followed();
  seen.opened = document.querySelector('article h4 a').textContent;
  seen.beside = document.querySelectorAll('.others tbody tr').length;
  seen.known = [...document.querySelectorAll('#known .why')].map((e) => e.textContent).length;
  document.body.append(make('output', {id: 'seen'}, JSON.stringify(seen)));
}
use();
</script>"""


# A window of a browser has a least width; a frame has the width of a phone. The opened record is the widest thing there.
PHONE = 390
MEASURE = """<script>
// Lines of text within one summary, row or definition that lie over each other, by what they say.
function overlaps() {
  const linesOf = (element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    return [...range.getClientRects()];
  };
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
                         Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
  const found = [];
  for (const box of document.querySelectorAll('summary, .line, .facts div, .legend div, .copy, figcaption, tr, nav .wrap')) {
    const parts = [...box.children].map((part) => [part, linesOf(part)]);
    parts.forEach(([one, lines], i) => parts.slice(0, i).forEach(([other, others]) => {
      if (lines.some((a) => others.some((b) => meet(a, b)))) found.push(`${other.textContent} / ${one.textContent}`);
    }));
  }
  return found;
}
addEventListener('load', () => setTimeout(() => {
  const over = overlaps();
  for (const details of document.querySelectorAll('details')) details.open = true;
  parent.postMessage(JSON.stringify({window: innerWidth, page: document.documentElement.scrollWidth, over}), '*');
}, 300));
</script>"""
FRAME = """<!DOCTYPE html><body><iframe src="framed.html#ADDRESS" width="WIDTH" height="800" style="border:0"></iframe>
<output id="seen"></output><script>
addEventListener('message', (message) => { document.getElementById('seen').textContent = message.data; });
</script></body>"""


def plant(text, old, new):
    """The page with a change that a check has to see; one that changes nothing would check nothing."""
    changed = text.replace(old, new, 1)
    if changed == text:
        raise SystemExit(f"self-check failed: the page has no {old!r} any more")
    return changed


def without_rows(text):
    """The page whose records are gone and whose other data are as they were."""
    data = re.search(DATA, text, re.S).group(1)
    return plant(text, data, json.dumps({**json.loads(data), "rows": []}).replace("<", "\\u003c"))


def first_result(text, unescape=True):
    """The address of the first result that the page links to."""
    address = re.search(r'href="(#case=[^"]+)"', text).group(1)
    return html.unescape(address) if unescape else address


def seen_on_a_phone(browser, text, folder):
    """The widths of the window and of what it would scroll over, and texts that lie over each other."""
    (folder / "framed.html").write_text(text.replace("</body>", MEASURE + "</body>"), "utf-8")
    frame = folder / "frame.html"
    frame.write_text(FRAME.replace("WIDTH", str(PHONE)).replace("#ADDRESS", first_result(text, unescape=False)), "utf-8")
    dom, _ = open_page(browser, frame)
    return json.loads(html.unescape(re.search(r'<output id="seen">(.*?)</output>', dom, re.S).group(1)))


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
    """Checks a rendered page; returns its faults, as a list of sentences."""
    records = json.loads(re.search(DATA, page.read_text("utf-8"), re.S).group(1))
    expected = min(50, len(records.get("rows", [])))
    dom, console = open_page(browser, page, first_result(page.read_text("utf-8")))
    found = [f"console: {line}" for line in console]
    rows = len(re.findall(r'<tr class="row"', dom))
    if rows == 0 or rows != expected:
        found.append(f"{rows} rows of results rendered, expected {expected}")
    if 'class="detail"' not in dom:
        found.append("the address of a result opens no details")
    return found


def check_use(browser, page, folder):
    """Uses the page by script; returns its faults, as a list of sentences."""
    records = [json.loads(line) for line in (page.parent / "results.jsonl").read_text("utf-8").splitlines()]
    driven = folder / "driven.html"
    driven.write_text(page.read_text("utf-8").replace("</body>", DRIVE + "</body>"), "utf-8")
    dom, console = open_page(browser, driven)
    match = re.search(r'<output id="seen">(.*?)</output>', dom)
    if not match:
        return [f"using the page failed: {console}"]
    seen = json.loads(html.unescape(match.group(1)))
    link = seen["link"]
    linked = sum(r["op"] == link["op"] and r["dtype"] == link["dtype"] and
                 f'{r["backend"]}:{r["implementation"]}' == link["impl"] for r in records)
    failing_matmul = sum(r["outcome"] in FAILING and "matmul" in r["case_id"] for r in records)
    expected = {
        "failing": sum(r["outcome"] in FAILING for r in records),
        "suspect": sum(r["class"] == "suspect" and r["op"] != "conv" for r in records),
        "link": {**link, "count": linked},
        "all": len(records),
        "failing_matmul": failing_matmul,
        "beside": sum(r["case_id"] == seen["opened"] for r in records),
        "known": len({r["reason"] for r in records if r["outcome"] in ("known_failure", "known_flake")}),
    }
    if seen["worst"] not in FAILING:
        return [f"sorted by the deciding check, a result that is {seen['worst']} comes first"]
    again, _ = open_page(browser, page, seen["address"])
    if f" of {failing_matmul} that match" not in again:
        return [f"the address {seen['address']} does not lead back to the filter"]
    return [f"{name}: saw {seen[name]}, expected {want}" for name, want in expected.items() if seen[name] != want]


def main():
    browser = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if browser is None:
        print("skipped: no Chromium found (Debian package chromium)")
        return SKIPPED
    page = pathlib.Path(sys.argv[1]).resolve()
    text = page.read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        broken = pathlib.Path(folder) / "broken.html"
        broken.write_text(plant(text, "'use strict';\n", "'use strict';\nsetTimeout(() => planted(), 0);\n"), "utf-8")
        if not any("planted is not defined" in problem for problem in problems(browser, broken)):
            print("self-check failed: an error planted into the script went unseen")
            return 1
        empty = pathlib.Path(folder) / "empty.html"
        empty.write_text(without_rows(text), "utf-8")
        if not any("0 rows" in problem for problem in problems(browser, empty)):
            print("self-check failed: a page without rows went unseen")
            return 1
        wide = plant(text, "<main", '<p style="white-space: nowrap">' + "wide " * 100 + "</p><main")
        if seen_on_a_phone(browser, wide, pathlib.Path(folder))["page"] <= PHONE:
            print("self-check failed: a page that scrolls sideways went unseen")
            return 1
        crowded = plant(text, "</style>", ".known > summary .why { flex: 1 1 12rem; }</style>")
        if not seen_on_a_phone(browser, crowded, pathlib.Path(folder))["over"]:
            print("self-check failed: a badge over a text went unseen")
            return 1
        found = problems(browser, page) + check_use(browser, page, pathlib.Path(folder))
        seen = seen_on_a_phone(browser, text, pathlib.Path(folder))
        if seen["window"] != PHONE or seen["page"] > PHONE:
            found.append(f"a window of {seen['window']} (wanted {PHONE}) scrolls sideways over {seen['page']}")
        found += [f"on a phone one text lies over another: {texts}" for texts in seen["over"]]
    print("\n".join(found) if found else "ok: no console messages, rows and details rendered, filter, sort and links right")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
