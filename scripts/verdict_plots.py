#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws harness/judge/plots/*.svg from the runs that harness/judge/README.md describes.

usage: scripts/verdict_plots.py [--run] [--build DIR] [--scratch DIR]      from the repository root; needs numpy

--run removes out/verdicts and runs every command of the page again, each of which has to end with the exit code that
the page states (`# exit N`; 0 without one). Then the page's quotations and tables are compared with the records, and a
difference is an error. The plots come from the records and tensors in out/verdicts alone. What is computed again here
(deviations, groups) is compared with the records first, too.
--build DIR stands for build/release in the commands. --scratch DIR takes the runs and the plots and leaves the tree as
it is: for tests.
"""
import argparse
import json
import math
import pathlib
import re
import shutil
import struct
import subprocess
import sys

try:
    import numpy as np
except ModuleNotFoundError:
    print("verdict_plots.py needs numpy (Debian: python3-numpy)", file=sys.stderr)
    sys.exit(77)  # ctest: skipped

import verdict_page
from verdict_svg import Figure, Panel

PAGE = pathlib.Path("harness/judge/README.md")
PLOTS = pathlib.Path("harness/judge/plots")
RUNS = pathlib.Path("out/verdicts")
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}


def run_page(build):
    shutil.rmtree(RUNS, ignore_errors=True)
    for block in re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S):
        expected = re.search(r"# exit (\d)", block)
        command = block.replace("build/release", build).replace("out/verdicts", str(RUNS))
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
        if done.returncode != int(expected.group(1) if expected else 0):
            sys.exit(f"exit code {done.returncode} of\n{block}\n{done.stdout}{done.stderr}")
    if wrong := verdict_page.problems(PAGE.read_text(encoding="utf-8"), RUNS):
        sys.exit("the page differs from its runs:\n" + "\n".join(wrong))


def records(run):
    lines = (RUNS / run / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {r["implementation"]: r for r in map(json.loads, lines)}


def tensors(run, name):
    """The tensors of one safetensors file of the only failing case of a run, as float64."""
    (path,) = (RUNS / run / "failures").glob(f"*/{name}.safetensors")
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    found = {}
    for key, entry in json.loads(data[8:8 + size]).items():
        if key == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        raw = data[8 + size + begin:8 + size + end]
        if entry["dtype"] == "BF16":
            values = (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4")
        else:
            values = np.frombuffer(raw, DTYPES[entry["dtype"]])
        found[key] = values.astype(float).reshape(entry["shape"])
    return found


def spacing(x, precision, least):
    """One unit in the last place of a format, where it holds x."""
    exponent = np.frexp(np.abs(x))[1]
    return np.maximum(np.ldexp(1.0, exponent - precision), least)


FORMATS = {"bf16": (8, 2.0**-133), "f32": (24, 2.0**-149)}


def deviation(golden, terms, u):
    """sigma of a sum of `terms` products: panel ends, or the floor of short sums (golden/bound/bound.cc, SigmaFloor)."""
    floor = 0.5 * 0.425 * u * max(1, min(math.sqrt(terms), 64 / math.sqrt(terms)))
    own = np.maximum(u * golden["sigma"], floor * (golden["magnitude"] + np.abs(golden["value"])))
    return np.hypot(own, golden["error"])


def own_rounding(y, golden, output):
    """Half the gap from y towards the golden value, which is smaller below a power of two (own_rounding.h)."""
    inward = np.signbit(y) == np.signbit(y - golden)
    return spacing(np.where(inward, np.nextafter(np.abs(y), 0), y), *FORMATS[output]) / 2


def margins_of(found, y, golden):
    beyond = np.maximum(np.abs(y - golden) - found["rounding"], 0)
    return beyond / (found["bound"] - found["rounding"])


def standard_errors(run, got, terms, output, u=2.0**-24):
    """r of every element (statistic.h), for sums in an accumulator of unit roundoff u."""
    golden = tensors(run, "golden")
    y = tensors(run, got)["y"]
    beyond = np.abs(y - golden["value"]) - own_rounding(y, golden["value"], output)
    return np.maximum(beyond, 0) / deviation(golden, terms, u)


def same(found, recorded, what):
    if not math.isclose(found, recorded, rel_tol=1e-3):
        sys.exit(f"{what}: {found} computed here, {recorded} in the record")


def group_limit(members, groups):
    """groups.h, GroupLimit."""
    share = math.log(groups / 1e-6) / members
    return 1.25 * math.sqrt(1 + 2 * math.sqrt(share) + 2 * share)


def decades(low, high, step=1):
    return [10.0**e for e in range(low, high + 1, step)]


def plot_twin():
    name = "corpus-fault_last_k_repeated_in_one_element-twin0"
    inputs, got = tensors("twin", "inputs-" + name), tensors("twin", "got-" + name)["y"]
    expected = tensors("twin", "golden-" + name)["value"]
    (row,), (column,) = np.nonzero(got != expected)
    terms = inputs["a"][row] * inputs["b"][:, column]
    difference = got[row, column] - expected[row, column]
    figure = Figure(720, 300, "Terms of the wrong element of the exact twin by k; the repeated one equals the error")
    count, k = 50, len(terms)
    for left, first in ((60, 0), (400, k - count)):
        panel = Panel(figure, left, 60, 290, 180, (first - 1, first + count), (-70, 70))
        ks = range(first, first + count)
        panel.axes("k", "a[k] b[k]" if first == 0 else "", [first, first + 24, first + count - 1],
                   [-60, -30, 0, 30, 60], f"element [{row},{column}], the {'first' if first == 0 else 'last'} {count} terms")
        for at in ks:
            hit = terms[at] == difference
            figure.line(panel.at(at, 0), panel.at(at, terms[at]), "lb" if hit else "la")
            if hit:
                panel.points([at], [terms[at]], "lb dot big")
                panel.note(at, 0, f"k = {at}", "fb", "end" if at == k - 1 else "start", 0, -8)
        panel.level(difference, f"got − expected = {difference:g}" if first == 0 else "", "lb dash")
    figure.save(PLOTS / "twin.svg")


def plot_magnitude():
    golden = tensors("magnitude", "golden")
    inputs = tensors("magnitude", "inputs")
    legal = tensors("magnitude", "got-corpus-legal_sequential")
    cast = tensors("magnitude", "got-corpus-fault_operands_cast_to_tf32-run1")["y"]
    value, s = golden["value"], golden["magnitude"]
    figure = Figure(720, 430, "Error against the magnitude S of the terms, with the bound and torch's tolerance")
    low, high = 10.0**math.floor(math.log10(s.min())), 10.0**math.ceil(math.log10(s.max()))
    panel = Panel(figure, 60, 60, 440, 310, (low, high), (1e-6, 1e4), True, True)
    panel.axes("S = Σ|a b| of the element", "|error|", decades(round(math.log10(low)), round(math.log10(high))),
               decades(-6, 4, 2), "f32 matmul, K = 512, lognormal data")
    pick = slice(None, None, 5)
    flat = [x.ravel()[pick] for x in (s, np.abs(legal["y"] - value), np.abs(cast - value),
                                      1e-5 + 1.3e-6 * np.abs(value))]
    panel.points(flat[0], flat[3], "ls dot thin")
    panel.points(flat[0], flat[2], "lb dot thin")
    panel.points(flat[0], flat[1], "la dot thin")
    order = np.argsort(s.ravel())[::-64]
    panel.curve(s.ravel()[order], legal["bound"].ravel()[order], "lc")
    row, column = 32, 21
    term = abs(inputs["a"][row, -1] * inputs["b"][-1, column])
    panel.points([s[row, column]], [term], "lb dot big")
    figure.legend(516, 90, [("fc", "T_hard, the bound"), ("fb", "• operands cast to tf32"),
                            ("fa", "• a correct f32 kernel"), ("soft", "• what torch.testing"),
                            ("soft", "  permits: 1e-5 + 1.3e-6 |y|")])
    figure.legend(516, 190, [("fb", f"⬤ the dropped term of [{row},{column}],"), ("fb", f"    {term:.2g}: below T_hard"),
                             ("fb", f"    ({legal['bound'][row, column]:.2g}), torch permits"),
                             ("fb", f"    {1e-5 + 1.3e-6 * abs(value[row, column]):.2g}")])
    figure.save(PLOTS / "magnitude.svg")


def plot_histograms():
    fault, legal = "got-corpus-fault_products_rounded_to_f16", "got-corpus-legal_sequential"
    figure = Figure(720, 320, "Histograms of margins and of r for a correct and a faulty kernel")
    golden = tensors("legal", "golden")["value"]
    kinds = (("a", "legal", legal, "legal.sequential"), ("b", "element", fault, "fault.products-rounded-to-f16"))
    left = Panel(figure, 60, 60, 270, 200, (2.0**-12, 2), (1, 1e5), True, True)
    left.axes("error beyond rounding / A", "elements", [(2.0**-10, "2⁻¹⁰"), (2.0**-5, "2⁻⁵"), (1, "1")],
              decades(0, 5), "against the bound")
    right = Panel(figure, 410, 60, 290, 200, (0.01, 1e4), (1, 1e5), True, True)
    right.axes("r, standard deviations beyond half an ulp", "elements", decades(-2, 4, 2), decades(0, 5),
               "against random roundings")
    for letter, run, got, implementation in kinds:
        found = tensors(run, got)
        margins = margins_of(found, found["y"], golden)
        same(margins.max(), records(run)[implementation]["bound_margin"], "bound margin")
        edges = 2.0**np.arange(-12, 1.01, 0.5)
        left.steps(edges, np.histogram(margins, edges)[0], letter)
        r = standard_errors(run, got, 512, "bf16")
        edges = 10.0**np.arange(-2, 4.01, 0.25)
        right.steps(edges, np.histogram(r, edges)[0], letter)
        print(f"{implementation}: r > 8 in {int((r > 8).sum())}, r = 0 in {int((r == 0).sum())} of {r.size}, max {r.max():.4g}")
        if letter == "b":
            same(float((r > 5).sum()), records(run)[implementation]["outliers"], "outliers")
    for panel, at, text in ((left, 1, "bound"), (right, 8, "threshold 8")):
        figure.line(panel.at(at, 1), panel.at(at, 1e5), "ls dash")
        panel.note(at, 1e5, text, "soft", "middle", 0, -4)
    figure.legend(430, 290 + 22, [("fb", "products rounded to f16")])
    figure.legend(80, 290 + 22, [("fa", "a correct f32 accumulator")])
    figure.save(PLOTS / "histograms.svg")


def plot_groups():
    name = "fault.subnormal-f16-operands-flushed"
    r = standard_errors("group", "got-corpus-fault_subnormal_f16_operands_flushed", 512, "f32")
    figure = Figure(720, 310, "Mean error of every row and column against its limit")
    limit = group_limit(64, 64)
    for left, axis, text in ((60, 1, "row"), (400, 0, "column")):
        rms = np.sqrt((r**2).mean(axis=axis))
        panel = Panel(figure, left, 60, 290, 190, (-1, 64), (0, 3))
        panel.axes(text, "root mean square of r over 64 values" if axis == 1 else "", [0, 16, 32, 48, 63], [0, 1, 2, 3],
                   f"every {text}")
        for k, value in enumerate(rms):
            figure.line(panel.at(k, 0), panel.at(k, value), "lb" if value > limit else "la")
        panel.points(range(64), rms, "la dot")
        panel.level(limit, f"limit {limit:.2f}")
        for k in np.nonzero(rms > limit)[0]:
            panel.points([k], [rms[k]], "lb dot big")
            panel.note(k, rms[k], f"column {k}: {rms[k]:.2f}", "fb", "start", 8, 4)
        if axis == 0:
            same(rms.max() / limit, records("group")[name]["stat_group_margin"], "group margin")
    same(float((r > 5).sum()), records("group")[name]["outliers"], "outliers")
    print(f"group: largest r of one element {r.max():.3g}, whole tensor {math.sqrt((r**2).mean()):.3g}")
    figure.save(PLOTS / "groups.svg")


def plot_rows():
    golden = tensors("mask", "golden")["value"]
    got = tensors("mask", "got-corpus-fault_mask_off_by_one_row-run1")
    worst = margins_of(got, got["o"], golden).max(axis=-1)[0]
    figure = Figure(720, 300, "Largest margin in every row of an attention whose mask is off by one in one row")
    panel = Panel(figure, 60, 60, 630, 180, (-8, 520), (0.1, 100), False, True)
    panel.axes("query", "largest margin of the 64 values of a row", [0, 128, 256, 384, 511], decades(-1, 2),
               "bf16 attention, 512 keys, causal; both heads")
    for head, letter in ((0, "a"), (1, "c")):
        panel.points(range(512), worst[head], f"l{letter} dot")
    row = int(worst.max(axis=0).argmax())
    panel.points([row, row], worst[:, row], "lb dot big")
    panel.note(row, worst[:, row].max(), f"query {row} sees one key too many", "fb", "start", 10, 4)
    panel.level(1, "bound")
    same(worst.max(), records("mask")["fault.mask-off-by-one-row"]["bound_margin"], "bound margin")
    figure.save(PLOTS / "rows.svg")


def plot_bits():
    rows = [(r["effective_bits"], name) for name, r in records("bits").items()
            if r["effective_bits"] is not None and r["verdict"] in ("pass", "below_contract")]
    rows = sorted(rows, key=lambda r: (-r[0], r[1]))
    figure = Figure(720, 80 + 18 * len(rows) + 40, "Effective bits of each implementation of an f32 matmul")
    panel = Panel(figure, 280, 50, 400, 18 * len(rows), (8, 28), (0, len(rows)))
    panel.axes("effective bits", "", [8, 12, 16, 20, 24, 28], [])
    for k, (bits, name) in enumerate(rows):
        y = len(rows) - k - 0.5
        bad = records("bits")[name]["verdict"] != "pass"
        figure.line(panel.at(8, y), panel.at(bits, y), "lb" if bad else "la")
        panel.points([bits], [y], f"l{'b' if bad else 'a'} dot big")
        panel.note(8, y, name, "", "end", -8, 4)
        panel.note(bits, y, f"{bits:.1f}", "soft", "start", 8, 4)
    figure.legend(280, 22, [("fa", "● pass"), ])
    figure.legend(340, 22, [("fb", "● below_contract")])
    figure.save(PLOTS / "bits.svg")


def plot_bias():
    figure = Figure(720, 290, "Error in ulp, away from zero positive, of rounding to nearest and of truncation")
    panel = Panel(figure, 60, 50, 430, 180, (-1.1, 1.1), (0, 0.1))
    panel.axes("(got − golden) · sign(golden), in ulp of bf16", "share of the elements", [-1, -0.5, 0, 0.5, 1],
               [0, 0.05, 0.1])
    edges = np.linspace(-1.1, 1.1, 45)
    for letter, run, got in (("a", "legal", "got-corpus-legal_sequential"), ("b", "bias", "got-corpus-fault_output_truncated-run1")):
        golden = tensors(run, "golden")["value"]
        error = (tensors(run, got)["y"] - golden) * np.sign(golden) / spacing(golden, *FORMATS["bf16"])
        panel.steps(edges, np.histogram(error, edges)[0] / error.size, letter)
    bias = records("bias")["fault.output-truncated"]["bias_z"]
    figure.legend(510, 80, [("fa", "to nearest: bias_z ="),
                            ("fa", f"{records('element')['legal.sequential']['bias_z']:.2g}"), ("", ""),
                            ("fb", "truncated: bias_z ="), ("fb", f"{bias:.3g}")])
    figure.save(PLOTS / "bias.svg")


def plot_self():
    name = "fault.rows-swapped-in-one-tile"
    golden = tensors("metamorphic", "golden")
    y = tensors("metamorphic", "got-corpus-fault_rows_swapped_in_one_tile")["y"]
    own = spacing(np.maximum(np.abs(y), np.abs(golden["value"])), *FORMATS["f32"]) / 2
    beyond = np.maximum(np.abs(y - golden["value"]) - golden["error"], 0)
    scaled = beyond / np.hypot(deviation(golden, 64, 2.0**-24), own / math.sqrt(3))
    ranked = np.sort(scaled.ravel())
    scale = max(ranked[int(0.5 * ranked.size)] / 0.6745, ranked[int(0.99 * ranked.size)] / 2.576)
    same(scaled.max() / (10 * scale), records("self")[name]["self_margin"], "self-calibrated margin")
    figure = Figure(720, 310, "Errors of an f32 kernel that swaps two rows of a tile, in its own usual errors")
    panel = Panel(figure, 60, 60, 440, 190, (-1, 64), (0, 14))
    panel.axes("row", "|error| over the usual error", [0, 16, 32, 48, 63], [0, 4, 8, 12],
               "f32 matmul, K = 64, products that cancel")
    apart = np.zeros(scaled.shape, bool)
    apart[48:50, 48:] = True
    rows = np.broadcast_to(np.arange(64)[:, None], scaled.shape)
    pick = slice(None, None, 3)
    panel.points(rows[~apart][pick], (scaled[~apart] / scale)[pick], "la dot thin")
    panel.points(rows[apart], scaled[apart] / scale, "lb dot")
    panel.level(10, "threshold 10")
    count, usual = int(apart.sum()), scaled[~apart].max() / scale
    figure.legend(516, 90, [("fb", f"• the {count} swapped elements,"),
                            ("fb", f"  {scaled[apart].min() / scale:.1f} to {scaled.max() / scale:.1f}")])
    figure.legend(516, 150, [("fa", "• all others,"), ("fa", f"  at most {usual:.1f}")])
    print(f"self: scale {scale:.3g} deviations, swapped {scaled[apart].min() / scale:.3g} to {scaled.max() / scale:.3g}, "
          f"others at most {usual:.3g}; above 10: {int((scaled > 10 * scale).sum())}")
    figure.save(PLOTS / "self.svg")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="store_true", help="run the page's commands first")
    parser.add_argument("--build", default="build/release", help="folder of the build (default: %(default)s)")
    parser.add_argument("--scratch", type=pathlib.Path, help="folder for runs and plots instead of the tree's")
    options = parser.parse_args()
    if options.scratch:
        global RUNS, PLOTS
        RUNS, PLOTS = options.scratch / "verdicts", options.scratch / "plots"
    if options.run:
        run_page(options.build)
    PLOTS.mkdir(parents=True, exist_ok=True)
    for plot in (plot_twin, plot_magnitude, plot_histograms, plot_groups, plot_rows, plot_bits, plot_bias, plot_self):
        plot()
    for path in sorted(PLOTS.glob("*.svg")):
        print(path, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
