#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bundles of runs, and what verifying them finds: evidence_test.py ASSAY MISBEHAVING_PLUGIN NO_ENTRY_PLUGIN
OTHER_MAJOR_PLUGIN PACK_BUNDLE [GROUP...]"""
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import time
import unittest

from bundled_runs import BundledRuns, DRAWN, PACK_BUNDLE
from own_folder import FULL, rule
from program import PLUGIN

# Suite with every kind of output; evidence of each is kept.
ALL_KINDS = """matmul dtypes=f16|bf16|i8-i8-i32 m=3 n=8 k=64 fill=normal
fft dtypes=c64|c128 kind=c2c n=12 batch=2 fill=normal
fft dtypes=f32-c64 kind=r2c n=12 fill=normal
reduce dtypes=f32-i64 shape=4x9 axes=1 kind=argmax fill=normal
attention dtypes=bf16 b=1 h=2 l=5 d=8 causal=1 fill=normal
softmax dtypes=f32 shape=4x8 fill=special
layer_norm dtypes=f32 rows=3 n=16 stats=1 fill=normal
"""


class Evidence(BundledRuns):
    shares_runs = True

    def test_a_bundle_is_verified_without_the_plugin(self):
        done, records = self.run_with_evidence("--challenge", "from the customer")
        self.assertRegex(done.stderr, f"evidence: outputs are kept, and assay bundle draws those of {DRAWN} results; "
                                      "commitment [0-9a-f]{64}")
        draw = json.loads((self.dir / "out/evidence.json").read_text())["draws"][0]
        self.assertEqual(draw["commitment"], hashlib.sha256(draw["secret"].encode()).hexdigest())
        self.assertEqual(len(list((self.dir / "out/outputs").iterdir())), len(records))
        folder = self.unpack(self.bundle(), "unpacked")
        self.assertEqual(subprocess.run(["sha256sum", "--quiet", "-c", "MANIFEST"], cwd=folder).returncode, 0)
        self.assertEqual(len(list((folder / "outputs").iterdir())), DRAWN)
        statement = json.loads((folder / "statement.json").read_text())
        self.assertEqual(statement["claims"]["outcomes"], {"pass": len(records)})
        self.assertEqual(statement["claims"]["exit_code"], 0)
        for part in ("before_the_run", "at_bundling"):
            plugins = [p for p in statement[part]["files"] if p.endswith("assay_cpu.so") or "cpu" in os.path.basename(p)]
            self.assertTrue(plugins, statement[part])
            self.assertRegex(statement[part]["program"]["sha256"], "^[0-9a-f]{64}$")
        self.assertEqual(statement["before_the_run"]["program"], statement["at_bundling"]["program"])
        text = self.verify().stdout
        self.assertIn(f"sample: {DRAWN} results drawn by commitment, challenges and the hash of the run's files", text)
        share = 100 * DRAWN / len(records)
        self.assertIn(f"judgement: the stored outputs of {DRAWN} of {len(records)} results ({share:.3g} %) have", text)
        self.assertIn("inputs of 10 cases, and golden values of 10, of 10 in all", text)
        self.assertIn("who made it: the bundle is not signed", text)
        self.assertIn("claimed, by the bundle alone:\n  results.jsonl, every result: ", text)
        self.assertNotIn("contradicted", text)

    def test_the_sample_is_drawn_when_the_records_stand(self):
        done, records = self.run_with_evidence("--challenge", "before")
        said = re.search("evidence: the hash of the run's files is ([0-9a-f]{64})", done.stderr)[1]
        names = [n for n in ("environment.json", "offers.jsonl", "plan.json", "results.jsonl") if (self.dir / "out" / n).exists()]
        lines = subprocess.run(["sha256sum", *names], cwd=self.dir / "out", capture_output=True, check=True).stdout
        self.assertEqual(said, hashlib.sha256(lines).hexdigest())
        samples = []
        for name, challenge in (("a.tar.zst", ()), ("b.tar.zst", ("--challenge", "one")),
                                ("c.tar.zst", ("--challenge", "other"))):
            folder = self.unpack(self.bundle("out", name, *challenge), name[0])
            samples.append(json.loads((folder / "evidence.json").read_text()))
            self.assertEqual(samples[-1]["committed"], said)
            self.assertEqual(len(samples[-1]["results"]), DRAWN)
        self.assertEqual(len({tuple(s["results"]) for s in samples}), 3)
        self.assertIn("no challenge was stated after their hash " + said, self.verify("a.tar.zst").stdout)
        self.assertIn(f"that the hash {said} was handed in before the challenge 'one' was stated",
                      self.verify("b.tar.zst").stdout)

    def test_a_resumed_run_has_the_results_of_its_first_part(self):
        run = ("--suite", "mine.suite", "--backend", "cpu", "--no-perf")
        self.run_once(*run)
        results = self.dir / "out/results.jsonl"
        results.write_text("".join(results.read_text().splitlines(True)[:-1]))
        time.sleep(1.1)  # timestamps have seconds
        done = self.assay("run", *run, "--out", "out", "--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.bundle()
        self.verify()

    def test_marks_of_fingerprints_change_nothing_that_was_committed_to(self):
        (self.dir / "mine.suite").write_text("matmul dtypes=f32 m=3 n=8 k=64\n")
        done, _ = self.run_with_evidence("--evidence", "1")
        hash_of_run, = re.findall("hash of the run's files is ([0-9a-f]{64})", done.stderr)
        before = (self.dir / "out/results.jsonl").read_bytes()
        for _ in range(2):  # marks are replaced
            done = self.assay("fingerprint", "--run", "out", "--backend", "cpu", "--impl", "naive", "--op", "matmul", "--progress", "none")
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.dir / "out/results.jsonl").read_bytes().replace(b',"reordered":true}', b"}"), before)
        self.assertIn(b',"reordered":true}\n', (self.dir / "out/results.jsonl").read_bytes())
        bundle = self.bundle()
        self.assertIn(hash_of_run, self.assay("verify", str(bundle)).stdout)

    def test_the_secret_is_written_when_the_run_has_ended(self):
        self.run_with_evidence()
        path = self.dir / "out/evidence.json"
        evidence = json.loads(path.read_text())
        evidence["draws"][0]["secret"] = ""  # as it stands while the run runs
        path.write_text(json.dumps(evidence))
        self.fails(2, "the run has not ended, so nothing can be drawn: begin it again with another --out",
                   "bundle", "out", "-o", "killed.tar.zst")

    def test_part_of_the_golden_values_may_be_computed(self):
        self.run_with_evidence()
        self.bundle()
        text = self.verify("run.assay.tar.zst", "--recompute", "0.000001").stdout
        cases = int(re.search(r"inputs of (\d+) cases, and golden values of \1, of 10 in all", text)[1])
        self.assertTrue(0 < cases < 10, text)
        self.assertIn(f"results.jsonl, {10 - cases} of 10 cases: tier, flops, bytes, input_hash, golden_hash", text)

    def test_outputs_of_every_kind_are_judged_again(self):
        (self.dir / "mine.suite").write_text(ALL_KINDS)
        for tier in ("fast", "reproducible"):
            done, records = self.run_with_evidence("--evidence", "100", "--tier", tier, out=tier)
            ran = [r for r in records if r["output_hash"]]
            self.assertGreater(len({r["op"] for r in ran}), 4, records)
            self.bundle(tier, f"{tier}.tar.zst")
            self.assertIn(f"judgement: the stored outputs of {len(ran)} of {len(ran)} results (100 %)",
                          self.verify(f"{tier}.tar.zst").stdout)

    def test_processors_with_other_vectors_come_to_the_same(self):
        (self.dir / "mine.suite").write_text("conv dtypes=f32 n=1 c=16 o=24 i=15x13 k=3x3 pad=1 fill=normal\n")
        self.run_with_evidence("--evidence", "100")
        self.bundle()
        done = self.assay("verify", "run.assay.tar.zst", "--progress", "none", env={"ASSAY_MAX_VECTORS": "scalar"})
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_failures_are_judged_again_and_waivers_held_against_their_list(self):
        (self.dir / "rules.toml").write_text(rule("misbehaving", id="K-17", implementation="drop_last_k"))
        done, records = self.run_cases("--suite", "mine.suite", "--op", "matmul", "--dtype", "f32", "--plugin", PLUGIN,
                                       "--backend", "misbehaving", "--impl", "drop_last_k", "--no-perf", "--evidence", "1",
                                       "--expectations", "rules.toml")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(list((self.dir / "out/outputs").iterdir())), len(records))
        self.bundle()
        text = self.verify().stdout
        self.assertIn(f"waivers: {len(records)} results waived", text)
        self.assertIn(f"judgement: the stored outputs of {len(records)} of {len(records)} results", text)
        # A list that was changed since does not say what the run went by.
        (self.dir / "rules.toml").write_text(rule("misbehaving", id="K-18"))
        self.fails(2, "rules.toml was changed since the run", "bundle", "out", "-o", "again.tar.zst")

    def test_the_seed_can_be_handed_in_before(self):
        (self.dir / "seed").write_text("a seed that nobody else knows\n")
        self.run_with_evidence("--evidence-seed", "seed")
        draw = json.loads((self.dir / "out/evidence.json").read_text())["draws"][0]
        self.assertEqual(draw["commitment"], hashlib.sha256((self.dir / "seed").read_bytes()).hexdigest())
        self.bundle()
        self.assertIn(draw["commitment"], self.verify().stdout)
        (self.dir / "short").write_text("x")
        self.fails(2, "--evidence-seed short: not a text of 16 to 4096 characters", "run", "--suite", "mine.suite",
                   "--evidence", "3", "--evidence-seed", "short", "--out", "o")

    def test_a_bundle_of_one_shard_says_which_and_counts_its_cases(self):
        _, records = self.run_with_evidence("--shard", "1/2", out="part1")
        own, planned = len({r["case_id"] for r in records}), len(json.loads((self.dir / "part1/plan.json").read_text())["cases"])
        self.assertTrue(0 < own < planned)
        done = self.assay("bundle", "part1", "-o", "run.assay.tar.zst")
        self.assertIn("this is --shard 1/2 alone: assay merge joins the folders of all shards", done.stderr)
        text = self.verify().stdout
        self.assertIn(f"shard: this is --shard 1/2, {own} of the {planned} planned cases\n", text)
        self.assertIn(f"presence: each of {own} planned cases of this shard has a record", text)
        self.assertIn(f"  the {planned - own} planned cases of the other shards: assay merge joins", text)

    def test_an_out_that_cannot_be_written_is_named_as_it_was_given(self):
        self.run_once("--suite", "mine.suite", "--backend", "cpu", "--no-perf")
        done = self.assay("bundle", "out", "-o", "/proc/x.tar.zst")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("assay: --out /proc/x.tar.zst: cannot be written: No such file or directory; give another "
                      "--out\n", done.stderr)

    def test_shards_are_bundled_when_merged(self):
        for index in range(2):
            self.run_with_evidence("--shard", f"{index}/2", out=f"part{index}")
        done = self.assay("merge", "part0", "part1", "-o", "merged")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.bundle("merged")
        self.assertIn("evidence: the hash of the run's files is", done.stderr)
        text = self.verify().stdout
        self.assertIn(f"sample: {2 * DRAWN} results drawn by", text)
        self.assertNotIn("--shard", text)
        self.run_with_evidence()
        self.assertEqual(self.assay("merge", "out", "-o", "alone").returncode, 0)
        self.bundle("alone", "alone.tar.zst")
        self.assertIn(f"sample: {DRAWN} results drawn by", self.verify("alone.tar.zst").stdout)

    def test_a_shard_without_outputs_leaves_the_merged_run_without_a_sample(self):
        self.run_with_evidence("--shard", "0/2", out="with")
        self.run_cases("--suite", "mine.suite", "--backend", "cpu", "--no-perf", "--shard", "1/2", out="without")
        for number, order in enumerate((("with", "without"), ("without", "with"))):
            done = self.assay("merge", *order, "-o", f"merged{number}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("shard without kept no outputs: the merged run has no sample", done.stderr)
            self.bundle(f"merged{number}", f"{number}.tar.zst")
            self.assertIn("any output: the run kept none", self.verify(f"{number}.tar.zst").stdout)

    def test_a_run_without_outputs_says_what_is_not_confirmed(self):
        self.run_once("--suite", "mine.suite", "--backend", "cpu", "--no-perf")
        done = self.assay("bundle", "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the run kept no outputs", done.stderr)
        self.assertIn("any output: the run kept none", self.verify().stdout)
        self.fails(2, "run.assay.tar.zst is there already", "bundle", "out")
        self.fails(2, "give the output folder of a run", "bundle", ".", "-o", "x.tar.zst")
        (self.dir / "run.assay.tar.zst").unlink()
        for name, right in (("x.zst", "x.tar.zst"), ("x.tar", "x.tar.zst"), ("v1.2.tgz", "v1.2.tar.zst"), ("x", "x.tar.zst"),
                            (".tar.zst", "run.assay.tar.zst")):
            self.fails(2, f"--out {name}: the name must end in .tar.zst, so that the sandbox hides the file from plugins; give --out {right}\n",
                       "bundle", "out", "-o", name)
            self.bundle("out", right)
            (self.dir / right).unlink()
        (self.dir / "x.tar.zst").mkdir()
        for name, right in (("out", "out/run.assay.tar.zst"), ("new/", "new/run.assay.tar.zst"), ("x.tar.zst", "x.tar.zst/run.assay.tar.zst")):
            self.fails(2, f"--out {name} is a folder: give --out {right}\n", "bundle", "out", "-o", name)
            self.bundle("out", right)
            (self.dir / right).unlink()
        (self.dir / "x.tar.zst").rmdir()
        (self.dir / "x.tar.zst.sig").write_text("of another bundle")
        self.fails(2, "x.tar.zst.sig is there already", "bundle", "out", "-o", "x.tar.zst")


class Refused(BundledRuns):
    """Folders of which a bundle would be refused when it is verified: nothing is written."""
    shares_runs = True

    def refuses(self, text, advice, run="out"):
        before = sorted(os.listdir(self.dir))
        done = self.fails(2, text, "bundle", run, "-o", "no.tar.zst")
        self.assertIn(f"{run}: assay verify would refuse a bundle of it: ", done.stderr)
        self.assertIn(advice, done.stderr)
        self.assertEqual(sorted(os.listdir(self.dir)), before)
        self.assertIn(text, self.verify(self.pack(run, "packed.tar.zst"), code=1).stdout)
        (self.dir / "packed.tar.zst").unlink()

    def test_what_is_not_there(self):
        self.run_with_evidence("--evidence", "100")
        again = "run it again with another --out: a run with evidence cannot be continued"
        kept = {name: (self.dir / "out" / name).read_text() for name in ("results.jsonl", "offers.jsonl")}
        stored = min((self.dir / "out/outputs").iterdir())
        contents = stored.read_bytes()
        stored.unlink()
        self.refuses(f"drawn, and its outputs (outputs/{stored.name}) are missing", again)
        stored.write_bytes(contents)
        (self.dir / "out/results.jsonl").write_text("".join(kept["results.jsonl"].splitlines(True)[1:]))
        self.refuses(" without a record, such as ", again)
        (self.dir / "out/results.jsonl").write_text(kept["results.jsonl"])
        (self.dir / "out/offers.jsonl").unlink()
        self.refuses("offers.jsonl: without the list of offers", again)

    def test_a_run_that_goes_on_later(self):
        self.run_cases("--suite", "mine.suite", "--backend", "cpu", "--no-perf", "--maxfail", "1", "--plugin", PLUGIN, "--backend",
                       "misbehaving", "--impl", "naive", "--impl", "drop_last_k")
        self.refuses(" without a record, such as ", "the same command with --out out --resume runs only what is missing")

    def test_shards_that_are_absent(self):
        self.run_with_evidence("--shard", "0/2", out="with")
        self.run_cases("--suite", "mine.suite", "--backend", "cpu", "--no-perf", "--shard", "0/2", out="without")
        for part in ("with", "without"):
            self.assay("merge", part, "-o", f"merged_{part}")
            self.refuses(" without a record, such as ", "at its end, or merge it again with all of its shards, each run to its end\n",
                         f"merged_{part}")


class Damaged(BundledRuns):
    shares_runs = True
    FLIPS = 40

    def test_every_flipped_bit_is_refused_with_its_file(self):
        self.run_with_evidence()
        bundle = self.bundle()
        names = {line[66:] for line in (self.unpack(bundle, "unpacked") / "MANIFEST").read_text().splitlines()}
        names |= {"MANIFEST", "the archive's end", "the index at the file's end"}
        whole = bundle.read_bytes()
        random.seed(7)
        named = set()
        for _ in range(self.FLIPS):
            bit = random.randrange(8 * len(whole))
            changed = bytearray(whole)
            changed[bit // 8] ^= 1 << bit % 8
            bundle.write_bytes(changed)
            done = self.verify(code=1)
            line = done.stdout.splitlines()[1].strip()
            self.assertIn(line.split(":")[0], names, (bit, done.stdout))
            named.add(line.split(":")[0])
        self.assertGreater(len(named), 2, named)
        bundle.write_bytes(whole[:-100])
        self.verify(code=1)

    def test_something_else_is_no_bundle(self):
        (self.dir / "text").write_text("a text")
        self.assertIn("is not a bundle of assay", self.verify("text", code=1).stdout)
        self.verify("nothing", code=2)
        self.run_with_evidence()
        done = self.verify("out/", code=2)
        self.assertIn("out/ is a folder; make a bundle of it with `assay bundle out/ --out out.assay.tar.zst`", done.stderr)
        self.unpack(self.bundle(), "unpacked")
        self.assertIn("unpacked is an unpacked bundle: give the file", self.verify("unpacked", code=2).stderr)


class Fields(BundledRuns):
    """Files of a run in which a field is of another kind: whoever reads them says which, and nobody meets an exception."""
    shares_runs = True

    def says_no_exception(self, *args):
        done = self.assay(*args)
        for word in ("exception:", ".exception.", "map::at", "internal error", "bad_"):
            self.assertNotIn(word, done.stdout + done.stderr, args)
        self.assertIn(done.returncode, (0, 1, 2, 3), (args, done.stderr))
        return done

    def test_a_bundle_names_the_field(self):
        self.run_with_evidence()
        path = self.dir / "out/environment.json"
        whole = json.loads(path.read_text())
        for change, text in (({"expectations": [{}]}, "environment.json: expectations[0] is {}, and has to be a text"),
                             ({"expectations": ["mine.toml"]}, "environment.json: expectations has 'mine.toml' instead of files"),
                             ({"backends": [{"plugin": 3}]}, "environment.json: backends[0].plugin is 3, and has to be a text"),
                             ({"hashes_before_the_run": 1}, ""), ({"backends": {}}, "backends is {}, and has to be a list")):
            path.write_text(json.dumps({**whole, **change}))
            done = self.says_no_exception("bundle", "out", "-o", "bad.tar.zst")
            (self.dir / "bad.tar.zst").unlink(missing_ok=True)
            self.assertIn(text, done.stderr)
        path.write_text(json.dumps({**whole, "merged": [{}]}))
        self.pack("out", "merged.tar.zst")
        self.assertIn("a part of what was merged says no shard", self.verify("merged.tar.zst", code=1).stdout)
        path.write_text(json.dumps({**whole, "sandbox": True}))
        self.pack("out", "sandbox.tar.zst")
        self.assertIn("environment.json: its sandbox is not that of its backends", self.verify("sandbox.tar.zst", code=1).stdout)

    def test_no_field_of_any_file_ends_in_an_exception(self):
        readers = (("report", "out"), ("compare", "out", "out"))
        self.run_with_evidence()
        for name in ("environment.json", "plan.json", "evidence.json"):
            path = self.dir / "out" / name
            kept = path.read_text()
            whole = json.loads(kept)
            for number, key in list(enumerate(whole))[::1 if FULL else 3]:  # a third of them, of which each reader gets some
                for wrong in (True, [{}]) if FULL else ([True], [[{}]])[number % 2]:
                    path.write_text(json.dumps({**whole, key: wrong}))
                    (self.dir / "bad.tar.zst").unlink(missing_ok=True)
                    self.says_no_exception("bundle", "out", "-o", "bad.tar.zst")
                    if subprocess.run([PACK_BUNDLE, "out", "bad.tar.zst"], cwd=self.dir, capture_output=True).returncode == 0:
                        self.says_no_exception("verify", "bad.tar.zst", "--progress", "none")
                for reader in readers if FULL else [readers[number % 2]]:
                    self.says_no_exception(*reader)
            path.write_text(kept)


class DamagedOften(Damaged):
    FLIPS = 1000


class Signed(BundledRuns):
    def test_a_signature_says_whose_bundle_it_is(self):
        for who in ("vendor", "other"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", who, "-f", self.dir / who], check=True)
        public = (self.dir / "vendor.pub").read_text()
        (self.dir / "allowed").write_text(f"vendor@example.org {public}")
        (self.dir / "strangers").write_text(f"vendor@example.org {(self.dir / 'other.pub').read_text()}")
        self.run_with_evidence()
        bundle = self.bundle("out", "run.assay.tar.zst", "--sign", "vendor")
        asked = ("--allowed-signers", "allowed", "--identity", "vendor@example.org")
        self.assertIn("signature: Good", self.verify(bundle, *asked).stdout)
        self.assertIn("whose key signed it", self.verify(bundle).stdout)
        self.assertIn("signature: ", self.verify(bundle, "--allowed-signers", "strangers", "--identity",
                                                 "vendor@example.org", code=1).stdout)
        # Another bundle under the same signature.
        self.run_with_evidence(out="second")
        self.bundle("second", "second.tar.zst")
        (self.dir / "second.tar.zst.sig").write_bytes((self.dir / "run.assay.tar.zst.sig").read_bytes())
        self.verify("second.tar.zst", *asked, code=1)
        self.verify("second.tar.zst", code=1)
        (self.dir / "second.tar.zst.sig").unlink()
        self.assertIn("there is no signature", self.verify("second.tar.zst", *asked, code=1).stdout)
        before = sorted(os.listdir(self.dir))
        self.fails(2, "cannot sign with nokey", "bundle", "out", "-o", "x.tar.zst", "--sign", "nokey")
        self.assertEqual(sorted(os.listdir(self.dir)), before)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[6:], verbosity=2)
