#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report_browser_test.py REPORT.html: opens the report in headless Chromium.

Fails when a script reports an error, the table of results stays empty, filtering, sorting and following a link show
other rows than the records ask for, an address does not lead back to what was shown, a result does not stand beside the
other implementations of its case, the page scrolls sideways or has texts over each other on a phone, or the table of
results is wider than a laptop's screen; when a term has no definition, text from records becomes markup, or what was not
measured has a column. With ASSAY_TEST_FULL it checks before that it would notice: an error planted into a copy, a copy
without its records, one with a wide line, one with a wide table and one whose texts get too little room must all fail.
Exits 77 (skipped) without Chromium.
"""
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

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
  seen.unexplained = [...document.querySelectorAll('a.term')].filter((a) => !a.title || !byId(a.getAttribute('href').slice(1)))
      .map((a) => a.textContent);
  seen.sections = [...document.querySelectorAll('section')].map((section) => section.id);
  seen.linked_sections = [...document.querySelectorAll('nav a')].map((a) => a.hash.slice(1));
  seen.headline = document.querySelector('h1').textContent;
  seen.facts = [...document.querySelectorAll('dl.facts dt')].map((name) => name.textContent);
  seen.matrix = [...document.querySelectorAll('.matrix a.line .w')].map((line) => line.textContent).sort();
  seen.escaped = fragment({case: 'fft/n=8,axes=1+2', on: 'cpu:a&b'});
  const axis = decades([3e-6, .02]);
  seen.scales = [gaugeShare(.5), axis.low, axis.high, axis.at(.02).toFixed(4), axis.at(3e-6).toFixed(4)];
  seen.known = [...document.querySelectorAll('#known .why')].map((e) => e.textContent).length;
  document.body.append(make('output', {id: 'seen'}, JSON.stringify(seen)));
}
use();
</script>"""


# A window of a browser has a least width; a frame has the width of a phone. The opened record is the widest thing there.
PHONE, LAPTOP = 390, 1280
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
  parent.postMessage(JSON.stringify({window: innerWidth, page: document.documentElement.scrollWidth, over,
                                     beside: byId('results').scrollWidth - byId('results').parentElement.clientWidth}), '*');
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


def data_of(text):
    return json.loads(re.search(DATA, text, re.S).group(1))


def with_data(text, **changed):
    """The page with other data in some places."""
    data = re.search(DATA, text, re.S).group(1)
    return plant(text, data, json.dumps({**json.loads(data), **changed}).replace("<", "\\u003c"))


def field(data, row, key):
    """A field of a row of the table."""
    if key in data["common"]:
        return data["common"][key]
    k = data["keys"].index(key)
    return data["texts"][row[k]] if data["text"][k] else row[k]


def first_result(text):
    """The address of the first failure."""
    data = data_of(text)
    row = data["rows"][data["failures"][0]["shown"][0]["record"]]
    case, impl = (urllib.parse.quote(field(data, row, key), safe="/,=:") for key in ("case_id", "shown_as"))
    return f"#case={case}&on={impl}"


def hostile(value):
    """The value with markup before every text in it."""
    if isinstance(value, str):
        return "<img src=x onerror=planted()>" + value
    if isinstance(value, list):
        return [hostile(entry) for entry in value]
    return {key: hostile(entry) for key, entry in value.items()} if isinstance(value, dict) else value


def seen_at(width, browser, text, folder):
    """The widths of the window and of what it would scroll over, texts that lie over each other, and how far the table of
    results reaches beyond its place."""
    (folder / "framed.html").write_text(text.replace("</body>", MEASURE + "</body>"), "utf-8")
    frame = folder / "frame.html"
    frame.write_text(FRAME.replace("WIDTH", str(width)).replace("#ADDRESS", html.escape(first_result(text))), "utf-8")
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


def problems(browser, page, address):
    """Checks a rendered page; returns its faults, as a list of sentences."""
    expected = min(50, len(data_of(page.read_text("utf-8"))["rows"]))
    dom, console = open_page(browser, page, address)
    found = [f"console: {line}" for line in console]
    rows = len(re.findall(r'<tr class="row"', dom))
    if rows == 0 or rows != expected:
        found.append(f"{rows} rows of results rendered, expected {expected}")
    if 'class="detail"' not in dom:
        found.append("the address of a result opens no details")
    return found


def check_use(browser, page, folder):
    """Uses the page by script; returns its faults, as a list of sentences."""
    data = data_of(page.read_text("utf-8"))
    records = [json.loads(line) for line in (page.parent / "results.jsonl").read_text("utf-8").splitlines()]
    driven = folder / "driven.html"
    driven.write_text(page.read_text("utf-8").replace("</body>", DRIVE + "</body>"), "utf-8")
    dom, console = open_page(browser, driven)
    match = re.search(r'<output id="seen">(.*?)</output>', dom)
    if not match:
        return [f"using the page failed: {console}"]
    seen = json.loads(html.unescape(match.group(1)))
    seen["fields"] = sorted([*data["keys"], *data["common"]])
    seen["facts"] = seen["facts"][:2]
    link = seen["link"]
    linked = sum(r["op"] == link["op"] and r["dtype"] == link["dtype"] and
                 f'{r["backend"]}:{r["implementation"]}' == link["impl"] for r in records)
    failing_matmul = sum(r["outcome"] in FAILING and "matmul" in r["case_id"] for r in records)
    sections = ["failures", "known", "verdicts", "cases", "performance", "not-run", "environment", "legend"]
    lines = [f"{line['name']} " + ", ".join(f"{count} {outcome}" for outcome, count in line["counts"]) +
             (f" ({line['suspect']} suspect)" if "suspect" in line else "") for line in data["matrix"]["lines"]]
    expected = {
        "fields": sorted({*data["keys"], *data["common"]}),  # none has two meanings
        "facts": ["Ran", "Backends"], "unexplained": [], "sections": sections, "linked_sections": sections, "matrix": sorted(lines),
        "headline": " ".join(data["headline"][1:]), "escaped": "#case=fft/n=8,axes=1%2B2&on=cpu:a%26b",
        "scales": [0.9, -6, -1, "0.8602", "0.0954"],
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


def check_others(browser, text, folder):
    """Pages of other runs; returns their faults, as a list of sentences."""
    data, found = data_of(text), []
    page = folder / "other.html"

    def expect(shown, what, dom):
        if (what in dom) != shown:
            found.append(f"{what!r} is {'not ' if shown else ''}shown")

    said = ("failures", "known", "matrix", "notes", "fault", "headline", "counts", "not_run", "backends", "environment", "texts", "common")
    page.write_text(with_data(text, **{key: hostile(data[key]) for key in said}), "utf-8")
    dom, console = open_page(browser, page)
    dom = dom[dom.index("<header>"):dom.index('id="data"')]
    found += [f"console, with markup in records: {line}" for line in console]
    expect(False, "<img", dom)
    expect(True, "&lt;img src=x onerror=planted()&gt;crash", dom)
    expect(True, '<i class="broken" style="flex:4">', dom)  # an outcome that this version does not know

    timed = [place for op in data["timed"] for case in op["cases"] for place in case if field(data, data["rows"][place], "flops")]
    points = [{"value": 8, "record": timed[0]}, {"value": 64, "record": timed[1]}]
    sweep = {"key": "b", "title": "matmul/f32", "advice": ["cpu: <b>", "cpu: slow"], "curves": [{"backend": "cpu", "turn": 24, "points": points}]}
    unmeasured = {data["keys"].index(key) for key in ("time_cold_median_s", "roofline_fraction")}
    rows = [[None if k in unmeasured else value for k, value in enumerate(row)] for row in data["rows"]]
    line = {"op": "fft", "dtype": "f32", "backend": "cpu", "counts": [["pass", 2]]}
    lines = [{**line, "name": "a", "margin": 0.5, "margin_text": "0.50"}, {**line, "name": "b", "margin": 0.25, "margin_text": "0.25"},
             {**line, "name": "c", "counts": [["mismatch", 1]]}]
    page.write_text(with_data(text, failures=[], known=[], rows=rows, sweeps=[sweep], matrix={"backends": ["cpu"], "lines": lines},
                              profile={"line": "9 s", "head": ["phase", "all"], "rows": [["run", "9.00 s"]]}), "utf-8")
    dom, console = open_page(browser, page)
    found += [f"console, of another run: {line}" for line in console]
    for what in ('id="failures"', 'id="known"'):
        expect(False, f"<section {what}", dom)
    for what in ('<summary class="line ok"', "<em>2 implementations</em> 4 pass", 'style="width:90.0%"></i>0.50</span></summary>', '<section id="profile"',
                 'class="no-cold no-roofline"', "assay run --cold --roofline", '<polyline class="rate"', '<line class="turn"', "<li>cpu: &lt;b&gt;</li>"):
        expect(True, what, dom)
    if not re.search(r'<polyline class="rate" points="64.0,[\d.]+ 744.0,[\d.]+"', dom):
        found.append("a sweep does not span its chart")
    if dom.find("<em>c</em>") > dom.find("<em>2 implementations</em>"):
        found.append("what only passes stands before what does not")
    return found


def find_unseen(browser, text, folder):
    """A fault that none of the checks sees in a copy that has it, or None."""
    first = first_result(text)
    broken, empty = folder / "broken.html", folder / "empty.html"
    broken.write_text(plant(text, "'use strict';\n", "'use strict';\nsetTimeout(() => planted(), 0);\n"), "utf-8")
    if not any("planted is not defined" in problem for problem in problems(browser, broken, first)):
        return "an error planted into the script"
    empty.write_text(with_data(text, rows=[], failures=[], known=[], timed=[]), "utf-8")
    if not any("0 rows" in problem for problem in problems(browser, empty, first)):
        return "a page without rows"
    wide = plant(text, "<main", '<p style="white-space: nowrap">' + "wide " * 100 + "</p><main")
    if seen_at(PHONE, browser, wide, folder)["page"] <= PHONE:
        return "a page that scrolls sideways"
    crowded = plant(text, "</style>", ".known > summary .why { flex: 1 1 12rem; }</style>")
    if not seen_at(PHONE, browser, crowded, folder)["over"]:
        return "a badge over a text"
    long = plant(text, "</style>", ".results td { min-width: 12rem !important; }</style>")
    return "a table wider than the page" if seen_at(LAPTOP, browser, long, folder)["beside"] <= 0 else None


def main():
    browser = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if browser is None:
        print("skipped: no Chromium found (Debian package chromium)")
        return SKIPPED
    page = pathlib.Path(sys.argv[1]).resolve()
    text = page.read_text("utf-8")
    first = first_result(text)
    with tempfile.TemporaryDirectory() as folder:
        if "ASSAY_TEST_FULL" in os.environ and (unseen := find_unseen(browser, text, pathlib.Path(folder))):
            print(f"self-check failed: {unseen} went unseen")
            return 1
        found = problems(browser, page, first) + check_use(browser, page, pathlib.Path(folder)) + \
            check_others(browser, text, pathlib.Path(folder))
        seen = seen_at(PHONE, browser, text, pathlib.Path(folder))
        if seen["window"] != PHONE or seen["page"] > PHONE:
            found.append(f"a window of {seen['window']} (wanted {PHONE}) scrolls sideways over {seen['page']}")
        found += [f"on a phone one text lies over another: {texts}" for texts in seen["over"]]
        if (beside := seen_at(LAPTOP, browser, text, pathlib.Path(folder))["beside"]) > 0:
            found.append(f"at {LAPTOP} pixels the table of results reaches {beside} beyond the page")
    print("\n".join(found) if found else "ok: no console messages, rows and details rendered, filter, sort and links right")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
