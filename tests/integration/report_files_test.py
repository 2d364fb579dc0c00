#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report_files_test.py DIR: reads junit.xml and benchmark.json of a run folder as their users do."""
import collections
import json
import pathlib
import sys
import xml.etree.ElementTree

FAILURES = {"mismatch", "below_contract", "nondeterministic", "unexpected_pass"}
ERRORS = {"crash", "timeout", "error", "missing"}


def check_junit(path, records):
    root = xml.etree.ElementTree.parse(path).getroot()
    cases = root.findall("testsuite/testcase")
    assert len(cases) == len(records), f"{len(cases)} testcases for {len(records)} records"
    counts = collections.Counter(r["outcome"] for r in records)
    for element, types in (("failure", FAILURES), ("error", ERRORS)):
        found = [node.get("type") for case in cases for node in case.findall(element)]
        assert set(found) == types & set(counts), f"types of {element}: {set(found)}"
        assert len(found) == sum(counts[t] for t in types), f"number of {element}"
    for suite in root.findall("testsuite"):
        assert int(suite.get("tests")) == len(suite.findall("testcase")), suite.get("name")
        assert suite.findall("properties/property"), f"no properties in {suite.get('name')}"
    expected = {(r["case_id"], ".".join(filter(None, (r["backend"], r["implementation"])))) for r in records}
    assert {(case.get("name"), case.get("classname")) for case in cases} == expected
    assert all(float(case.get("time")) >= 0 for case in cases)
    reasons = {r["reason"] for r in records if r["outcome"] in ("unsupported", "unavailable")}
    assert reasons <= {node.get("message") for case in cases for node in case.findall("skipped")}


def check_benchmark(path, records):
    content = json.loads(path.read_text("utf-8"))
    assert content["context"]["json_schema_version"] == 1
    assert content["context"]["library_build_type"] in ("release", "debug")
    names = [entry["name"] for entry in content["benchmarks"]]
    assert names and len(names) == len(set(names)), "names are not unique"
    for entry in content["benchmarks"]:
        assert entry["run_type"] == "aggregate" and entry["aggregate_name"] == "median", entry["name"]
        assert entry["name"] == entry["run_name"] + "_median"
        assert entry["time_unit"] == "ns" and entry["real_time"] > 0 and entry["cpu_time"] > 0
        assert isinstance(entry["iterations"], int) and isinstance(entry["repetitions"], int)
    timed = sum(r["time_median_s"] is not None for r in records)
    assert len(names) + len(content["context"]["assay_excluded"]) == timed


def main():
    folder = pathlib.Path(sys.argv[1])
    records = [json.loads(line) for line in (folder / "results.jsonl").read_text("utf-8").splitlines()]
    check_junit(folder / "junit.xml", records)
    check_benchmark(folder / "benchmark.json", records)
    print(f"ok: {len(records)} records")


if __name__ == "__main__":
    main()
