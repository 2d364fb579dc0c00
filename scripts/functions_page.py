#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of reports/published/functions/README.md, and functions.csv beside it, from passports of assay fingerprint.

usage: scripts/functions_page.py PASSPORTS.json ...      several files of `assay fingerprint --json`; a later one replaces what an
earlier one has of the same function, type and implementation. Without files the tables are written from functions.csv; --check writes
nothing, and ends with 1 where the page is another one.
"""
import csv
import json
import pathlib
import re
import sys

PAGE = pathlib.Path(__file__).resolve().parents[1] / "reports/published/functions/README.md"
DATA = PAGE.with_name("functions.csv")
COLUMNS = {"cpu": ("cpu", ("direct",)), "oneDNN": ("onednn", ("jit-avx512_core_bf16", "jit-avx512_core", "ref-any")), "OpenCL": ("opencl", ("item-per-element",)),
           "Vulkan": ("vulkan", ("element",)), "NumPy": ("numpy", ("eager",)), "PyTorch": ("torch", ("eager",)), "JAX": ("jax", ("jit",)),
           "ONNX Runtime": ("onnxruntime", ("cpu",)), "OpenVINO": ("openvino", ("cpu",)), "TensorFlow": ("tensorflow", ("eager",))}
FIELDS = ("function", "type", "backend", "implementation", "library", "contract", "inputs", "max_ulp", "worst_input", "max_subnormal_ulp",
          "not_correctly_rounded", "wrong_nan", "wrong_inf", "wrong_order", "symmetry", "asymmetric")
ALL = 2 ** 32


def rows_of(files):
    rows = {}
    for name in files:
        for passport in json.loads(pathlib.Path(name).read_text(encoding="utf-8"))["passports"]:
            function, dtype = passport["case"].split("/")[:2]
            parts = passport.get("parts", "1/1").split("/")
            if "max_ulp" not in passport or parts[0] != parts[1]:
                continue
            row = {"function": function, "type": dtype, **passport}
            rows[function, dtype, row["backend"], row["implementation"], row["inputs"] == ALL] = {field: str(row[field]) for field in FIELDS}
    return [rows[key] for key in sorted(rows)]


def figure(row):
    if row is None:
        return ""
    most = float(row["max_ulp"]) if row["max_ulp"] not in ("", "None") else float("inf")
    text = f"{most:.2f}" if most < 1000 else f"{most:.0e}".replace("e+0", "e")
    return text + (" †" if int(row["wrong_nan"]) + int(row["wrong_inf"]) > 0 else "") + (" ‡" if int(row["asymmetric"]) > 0 else "")


def table(rows, dtype, everything):
    chosen = {}
    for row in rows:
        if row["type"] == dtype and (int(row["inputs"]) == ALL) == everything:
            chosen.setdefault(row["function"], {})[row["backend"], row["implementation"]] = row

    def cell(function, column):
        backend, names = COLUMNS[column]
        return next((chosen[function][backend, name] for name in names if (backend, name) in chosen[function]), None)
    columns = [column for column in COLUMNS if any(cell(function, column) for function in chosen)]
    if not columns:
        return "No function yet.\n"
    lines = ["| function | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| `{function}` | " + " | ".join(figure(cell(function, column)) for column in columns) + " |" for function in sorted(chosen)]
    return "\n".join(lines) + "\n"


def in_full(rows):
    lines = ["| function | column | largest error | at x | not correctly rounded | wrong NaN or infinity | wrong order |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        if int(row["inputs"]) == ALL:
            lines.append(f"| `{row['function']}` | {row['backend']} `{row['implementation']}` | {float(row['max_ulp']):.3f} | {float(row['worst_input']):g} | "
                         f"{int(row['not_correctly_rounded']):,} | {int(row['wrong_nan']) + int(row['wrong_inf']):,} | {int(row['wrong_order']):,} |")
    return "\n".join(lines) + "\n"


def main(files):
    check = files == ["--check"]
    if files and not check:
        with DATA.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows_of(files))
    with DATA.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    before = page = PAGE.read_text(encoding="utf-8")
    parts = {"f32": table(rows, "f32", False), "f16": table(rows, "f16", False), "bf16": table(rows, "bf16", False), "all": in_full(rows)}
    for name, text in parts.items():
        page = re.sub(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", lambda found: found.group(1) + text + found.group(2), page, flags=re.DOTALL)
    if check:
        sys.exit(0 if page == before else f"{PAGE} is not what scripts/functions_page.py makes of {DATA.name}; run it without words")
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
