#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Verifying finds forged bundles out: forged_evidence_test.py ASSAY MISBEHAVING_PLUGIN NO_ENTRY_PLUGIN
OTHER_MAJOR_PLUGIN PACK_BUNDLE [GROUP...]"""
import hashlib
import json
import sys
import time
import unittest

from bundled_runs import BundledRuns, DRAWN
from own_folder import rule
from program import PLUGIN

TERMS = "environment.json: shard, commitment, challenge or count of its evidence are not those of evidence.json"


class Forged(BundledRuns):
    """Changes that somebody makes before bundling, whose hashes are therefore right."""
    shares_runs = True

    def refused(self, text, run="out"):
        self.pack(run)
        done = self.verify("forged.tar.zst", code=1)
        self.assertIn("contradicted", done.stdout)
        self.assertIn(text, done.stdout)

    def change_records(self, change):
        path = self.dir / "out/results.jsonl"
        records = [json.loads(line) for line in path.read_text().splitlines()]
        kept = [r for r in records if change(r) is not False]
        path.write_text("".join(json.dumps(r, separators=(",", ":")) + "\n" for r in kept))

    def run_wrong_kernel(self, *more, evidence="9", code=1):
        done, records = self.run_once("--suite", "mine.suite", "--op", "matmul", "--dtype", "f32", "--plugin", PLUGIN,
                                      "--backend", "misbehaving", "--impl", "drop_last_k", "--no-perf", "--evidence", evidence, *more)
        self.assertEqual(done.returncode, code, done.stderr)
        return records

    PASS = dict(verdict="pass", outcome="pass", reason="", violations=0, nonfinite_mismatch=0, bound_margin=0.5, exact_margin=0,
                exceptional_margin=0, stat_margin=0.5, lower_class="", lower_class_name="", lower_class_contract="",
                lower_class_bound_margin=None, lower_class_stat_margin=None, decided_by="", deterministic=True, **{"class": "within_class"})

    def make_pass(self, r, **more):
        for key in [k for k in r if k.endswith("_nonfinite")]:
            del r[key]
        r.update(self.PASS, **more)

    def test_failures_recorded_as_passes(self):
        self.run_wrong_kernel()
        self.change_records(self.make_pass)
        self.refused("it is recorded as pass and comes out as mismatch")

    def test_weaker_results_recorded_as_passes_by_other_golden_values(self):
        done, _ = self.run_cases("--suite", "mine.suite", "--op", "matmul", "--dtype", "f32", "--backend", "cpu", "--impl", "naive",
                                 "--no-perf", "--contract", "f64", "--evidence", "9")
        self.assertEqual(done.returncode, 1, done.stderr)
        path = self.dir / "out/results.jsonl"
        kept = path.read_text()
        self.change_records(lambda r: r.update(golden_hash="0123456789abcdef"))
        self.bundle("out", "honest.tar.zst")
        text = self.verify("honest.tar.zst").stdout
        self.assertRegex(text, r"follow from them, of (\d+) of them the verdict alone")
        self.assertRegex(text, r"inputs of [1-9]\d* cases, and golden values of 0, of ")
        path.write_text(kept)
        self.change_records(lambda r: self.make_pass(r, golden_hash="0123456789abcdef"))
        self.refused("it is recorded as pass and comes out as below_contract")

    def test_passes_with_invented_hashes(self):
        self.run_wrong_kernel("--tier", "reproducible", evidence="1")
        kept = (self.dir / "out/results.jsonl").read_text()
        for key, text in (("input_hash", "its inputs are not those of the case"), ("golden_hash", "its golden value is not that"),
                          ("output_hash", "drawn, and its outputs (outputs/")):
            self.change_records(lambda r: self.make_pass(r, **{key: "0123456789abcdef"}))
            self.refused(text)
            (self.dir / "out/results.jsonl").write_text(kept)
        self.change_records(lambda r: self.make_pass(r, output_hash=""))
        self.refused("it is pass and has no hash of its outputs")

    def test_results_that_are_hidden(self):
        self.run_wrong_kernel()
        kept = {name: (self.dir / "out" / name).read_text() for name in ("results.jsonl", "offers.jsonl")}
        first = json.loads(kept["results.jsonl"].splitlines()[0])["case_id"]

        def back():
            for name, text in kept.items():
                (self.dir / "out" / name).write_text(text)

        self.change_records(lambda r: r.update(verdict="unsupported", outcome="unsupported", **{"class": "none"}))
        self.refused("it was offered and is unsupported")
        back()
        def hide(verdict):  # all of the first case behind one record of assay itself
            self.change_records(lambda r: r.update(backend="assay", implementation="", verdict=verdict, outcome=verdict, output_hash="",
                                                   **{"class": "none"}) if r["case_id"] == first else None)

        hide("error")
        self.refused("assay broke it off, and misbehaving has an offer or a record of it")
        back()
        hide("unsupported")
        (self.dir / "out/offers.jsonl").write_text("".join(line for line in kept["offers.jsonl"].splitlines(True)
                                                           if json.loads(line)["case_id"] != first))
        self.refused("it was left out (--max-memory), and a bundle needs all cases")
        back()
        self.change_records(lambda r: r["case_id"] != first)
        self.refused("without a record, such as " + first)
        back()
        self.change_records(lambda r: r.update(implementation="", verdict="unsupported", outcome="unsupported", output_hash="",
                                               **{"class": "none"}))
        self.refused("a record says that nothing was offered, and offers.jsonl has an offer")
        back()
        (self.dir / "out/offers.jsonl").write_text("")
        self.refused("drop_last_k was not offered")
        back()
        (self.dir / "out/offers.jsonl").unlink()
        self.refused("offers.jsonl: without the list of offers missing results cannot be found")

    def test_a_waiver_that_there_is_not(self):
        self.run_wrong_kernel(evidence="1")
        self.change_records(lambda r: r.update(outcome="known_failure", known_issue="K-1", known_reason="so it is"))
        self.refused("outcome known_failure (K-1) does not follow from the lists of the bundle")

    def test_waivers_expire_by_the_beginning_of_the_run(self):
        tomorrow = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 86400))
        (self.dir / "rules.toml").write_text(rule("misbehaving", id="K-17", owner="me", expires=tomorrow))
        self.run_wrong_kernel("--expectations", "rules.toml", code=0)
        self.change_records(lambda r: r.update(timestamp="2999-01-01T00:00:00Z"))  # of a run that lasted into another day
        self.pack()
        text = self.verify("forged.tar.zst", code=1).stdout
        self.assertIn("is not between run and bundle", text)
        self.assertNotIn("does not follow from the lists of the bundle", text)
        path = self.dir / "out/environment.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "timestamp": "2999-01-01T00:00:00Z"}, indent=2) + "\n")
        self.refused("does not follow from the lists of the bundle")

    def test_a_waiver_of_later(self):
        self.run_wrong_kernel(evidence="1")
        (self.dir / "rules.toml").write_text(rule("misbehaving", id="K-17"))
        done, waived = self.run_cases("--suite", "mine.suite", "--op", "matmul", "--dtype", "f32", "--plugin", PLUGIN, "--backend",
                                      "misbehaving", "--impl", "drop_last_k", "--no-perf", "--expectations", "rules.toml", out="later")
        self.change_records(lambda r: r.update(next({k: w[k] for k in ("outcome", "known_issue", "reason", "fault", "read_on", "known_reason",
                                                                       "known_where", "known_owner", "known_expires")}
                                                    for w in waived if w["case_id"] == r["case_id"])))
        path = self.dir / "out/environment.json"
        environment = json.loads(path.read_text())
        environment["expectations"] = json.loads((self.dir / "later/environment.json").read_text())["expectations"]
        path.write_text(json.dumps(environment, indent=2) + "\n")
        self.refused("environment.json: there is no hash of rules.toml")

    def test_words_and_margins_that_no_run_writes(self):
        self.run_with_evidence("--evidence", "100")
        path = self.dir / "out/results.jsonl"
        kept = path.read_text()
        for change, text in (({"class": "gold_medal"}, "class is not one that assay writes: the file was changed; give it as the run left it"),
                             ({"bound_margin": 77.0}, "bound_margin is 77"),
                             ({"bound_margin": 0.0, "max_abs_err": 0.0}, "bound_margin is recorded as 0.0 and comes out as"),
                             ({"class": "bit_exact"}, "class is recorded as bit_exact and comes out as within_class"),
                             ({"margin_histogram": "15,0"}, "margin_histogram is recorded as"),
                             ({"seed": 7}, "op, dtype, shape, fill or seed is not that of its id"),
                             ({"medal": "gold"}, "results.jsonl:1: not in the form that assay"),
                             ({"driver": "another"}, "driver, library_version, pool or sandbox of"),
                             ({"flops": 1.0}, "flops or bytes are not those of the case")):
            self.change_records(lambda r: r.update(change) if r["op"] == "matmul" and r["class"] == "within_class" or "medal" in change else None)
            self.refused(text)
            path.write_text(kept)

    def test_sections_that_are_gone_or_say_something_else(self):
        self.run_with_evidence()
        path = self.dir / "out/environment.json"
        kept = path.read_text()
        for change, text in ((lambda e: e.pop("machine_before"), "environment.json: it has no 'machine_before'"),
                             (lambda e: e.pop("sha256"), "environment.json: it has no hashes of program and plugins"),
                             (lambda e: e.update(tool_version="9.9"), "environment.json: tool_version is not that of the plan"),
                             (lambda e: e["backends"][0].update(device="another"), "its backends and devices are not those of plan.json"),
                             (lambda e: e["evidence"].update(commitment="0" * 64), TERMS), (lambda e: e.pop("evidence"), TERMS),
                             (lambda e: e.update(timestamp="2999-01-01T00:00:00Z"), "is not between run and bundle")):
            environment = json.loads(kept)
            change(environment)
            path.write_text(json.dumps(environment, indent=2) + "\n")
            self.refused(text)
        path.write_text(kept)
        (self.dir / "out/evidence.json").unlink()
        self.refused("evidence.json: the run kept outputs, and the bundle has no sample")

    def test_terms_that_were_chosen_after_the_last_challenge(self):
        self.run_with_evidence("--challenge", "before")
        kept = (self.dir / "out/evidence.json").read_text()
        for terms in ({"count": DRAWN + 1}, {"count": 0}, {"challenge": "a better one"}):
            self.change_json("out/evidence.json", lambda e: e["draws"][0].update(terms))
            self.refused(TERMS)
            (self.dir / "out/evidence.json").write_text(kept)
        for index in range(2):
            self.run_with_evidence("--shard", f"{index}/2", out=f"part{index}")
        self.assertEqual(self.assay("merge", "part0", "part1", "-o", "merged").returncode, 0)
        secret = "of the forger, who got the last challenge"
        self.change_json("merged/evidence.json", lambda e: e["draws"][1].update(
            secret=secret, commitment=hashlib.sha256(secret.encode()).hexdigest()))
        self.refused(TERMS, "merged")
        self.change_json("merged/evidence.json", lambda e: e["draws"].pop())
        self.refused("its number of draws differs from the run's number of parts", "merged")

    def test_another_order_of_draws_and_one_that_stands_twice(self):
        """Each is another sample, of which the forger could choose the best one after the last challenge."""
        for index in range(2):
            self.run_with_evidence("--shard", f"{index}/2", out=f"part{index}")
        self.assertEqual(self.assay("merge", "part1", "part0", "-o", "merged").returncode, 0)
        kept = {name: (self.dir / "merged" / name).read_text() for name in ("evidence.json", "environment.json")}
        draws = json.loads(kept["evidence.json"])["draws"]
        self.assertEqual([d["shard_index"] for d in draws], [1, 0])

        def forge(order=(0, 1), text=TERMS, parts=lambda parts: parts, **terms):
            self.change_json("merged/evidence.json", lambda e: e.update(draws=[{**draws[i], **terms} for i in order]))
            self.change_json("merged/environment.json", lambda e: e.update(merged=parts(e["merged"])))
            done = self.fails(2, "assay verify would refuse a bundle of it", "bundle", "merged", "--challenge", "late", "-o", "no.tar.zst")
            self.assertIn("or merge it again with all of its shards", done.stderr)
            self.refused(text, "merged")
            for name, contents in kept.items():
                (self.dir / "merged" / name).write_text(contents)

        for order in ((1, 0), (0, 0), (1, 1)):
            forge(order)
        for terms in ({"shard_count": 3}, {"shard_count": 1}, {"shard_index": 0}):
            forge(**terms)
        forge((0, 0), "environment.json: two parts of 'merged' are of one shard", lambda parts: [parts[0], parts[0]])
        forge(text="environment.json: a part of 'merged' has the evidence of another shard",
              parts=lambda parts: [{**part, "shard": 1 - part["shard"]} for part in parts])
        forge(text="evidence.json: a draw is of another shard than the plan", shard_count=1,
              parts=lambda parts: [{**part, "evidence": {**part["evidence"], "shard_count": 1}} for part in parts])
        self.bundle("merged", "whole.tar.zst", "--challenge", "late")
        self.verify("whole.tar.zst")

    def test_outputs_and_secrets_that_were_changed(self):
        self.run_with_evidence("--evidence", "100")
        stored = sorted((self.dir / "out/outputs").iterdir())
        contents = stored[0].read_bytes()
        stored[0].write_bytes(contents[:-1] + bytes([contents[-1] ^ 1]))
        self.refused(f"{stored[0].name}): its record is of other outputs")
        stored[0].write_bytes(contents.replace(b'"case_id":"', b'"case_id":"x', 1))
        self.refused(f"{stored[0].name})")
        stored[0].unlink()
        self.refused(f"drawn, and its outputs (outputs/{stored[0].name}) are missing")
        stored[0].write_bytes(contents)
        path = self.dir / "out/evidence.json"
        kept = path.read_text()
        path.write_text(kept.replace('"secret": "', '"secret": "0', 1))
        self.refused("the secret does not match the commitment")
        path.write_text(kept)
        self.change_records(lambda r: r.update(case_id=r["case_id"].replace("m=3", "m=7")))
        self.refused("is not planned")

    def test_a_sample_of_nothing_confirms_nothing(self):
        self.run_with_evidence()
        self.change_json("out/evidence.json", lambda e: e["draws"][0].update(count=0))
        self.change_json("out/environment.json", lambda e: e["evidence"].update(count=0))
        self.bundle("out", "none.tar.zst")
        text = self.verify("none.tar.zst").stdout
        self.assertRegex(text, "any output: of [0-9]+ results none was drawn")
        self.assertNotIn("sample: ", text)

    def test_bundles_of_older_versions_are_named(self):
        self.run_with_evidence()
        path = self.dir / "out/evidence.json"
        kept = path.read_text()
        path.write_text(json.dumps({"format": 1, "draws": []}))
        self.fails(2, "evidence.json has format 1, this program reads 4", "bundle", "out", "-o", "old.tar.zst")
        path.write_text(kept)

    def test_a_result_with_two_records_and_one_of_another_shard(self):
        self.run_with_evidence()
        path = self.dir / "out/results.jsonl"
        kept = path.read_text()
        path.write_text(kept + kept.splitlines(True)[0])
        self.refused(f"results.jsonl: a second record of {json.loads(kept.splitlines()[0])['case_id']}")
        done = self.assay("report", "out")
        self.assertIn("1 record repeats the result of another record", done.stderr)
        path.write_text(kept)
        plan = json.loads((self.dir / "out/plan.json").read_text())
        (self.dir / "out/plan.json").write_text(json.dumps({**plan, "shard_index": 0, "shard_count": 3}))
        self.refused("is of another shard")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[6:], verbosity=2)
