#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The guide's job array under a Slurm of the test's own, one job requeued in the middle: slurm_test.py ASSAY CPU_PLUGIN"""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ASSAY, CPU = sys.argv[1:3]
GUIDE = pathlib.Path(__file__).resolve().parents[2] / "harness/tools/bundle/README.md"
DAEMONS = ("munged", "slurmctld", "slurmd")
SUITE = "matmul dtypes=f32|f64 m=16|17|18|19|20 n=24|25|26|27|28 k=64|96|128|160 fill=normal\n"
JOBS = 4
CONFIGURATION = """ClusterName=test
SlurmctldHost={host}
SlurmctldPort={port}
SlurmdPort={next_port}
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
NodeName={host} CPUs=2
PartitionName=all Nodes=ALL Default=YES
"""


def free_ports():
    """Two that nobody listens on, beside each other."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("", port + 1))
                return port
            except OSError:
                continue


@unittest.skipUnless(all(shutil.which(d) for d in DAEMONS) and os.geteuid() == 0,
                     "needs root, and Slurm and MUNGE: apt-get install slurm-wlm munge")
class Slurm(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="slurm"))
        os.chmod(self.dir, 0o755)
        self.addCleanup(shutil.rmtree, self.dir, True)
        for name in ("state", "spool", "munge"):
            (self.dir / name).mkdir(mode=0o700)
        key = self.dir / "munge/key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        port = free_ports()
        configuration = self.dir / "slurm.conf"
        configuration.write_text(CONFIGURATION.format(host=socket.gethostname().split(".")[0], folder=self.dir, port=port,
                                                      next_port=port + 1))
        self.env = {**os.environ, "SLURM_CONF": str(configuration), "ASSAY_PLUGIN_FILES": CPU,
                    "XDG_CACHE_HOME": str(self.dir / "cache"), "PATH": f"{pathlib.Path(ASSAY).parent}:{os.environ['PATH']}"}
        self.addCleanup(self.stop)
        munge = self.dir / "munge"
        self.run_command("munged", "--force", f"--key-file={key}", f"--socket={self.dir}/munge.socket",
                         f"--pid-file={self.dir}/munged.pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        self.run_command("slurmctld", "-c")
        self.run_command("slurmd")
        self.wait(lambda: "idle" in self.run_command("sinfo", "-h", "-o", "%t").stdout, 60)

    def stop(self):
        for daemon in reversed(DAEMONS):
            try:
                os.kill(int((self.dir / f"{daemon}.pid").read_text()), signal.SIGTERM)
            except (OSError, ValueError):
                pass
        time.sleep(2)

    def run_command(self, *words, code=0):
        done = subprocess.run(words, cwd=self.dir, env=self.env, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}{self.logs()}")
        return done

    def logs(self):
        return "".join(f"\n{p.name}: {p.read_text()[-1500:]}" for p in sorted(self.dir.glob("*.log")) if p.exists())

    def wait(self, holds, seconds):
        end = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), end, "still not after so many seconds" + self.logs())
            time.sleep(0.1)

    def script(self):
        """The guide's, on cases and a backend that there are here."""
        block = next(b for b in re.findall(r"```\n(.*?)```", GUIDE.read_text(), re.S) if "#SBATCH" in b)
        asked = "--suite full --plugin libmine.so --require-backend mine"
        self.assertIn(asked, block)
        self.assertIn("--array=0-7", block)
        return block.replace(asked, "--suite mine.suite --backend cpu --no-perf").replace("0-7", f"0-{JOBS - 1}")

    @staticmethod
    def essence(run):
        records = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
        return sorted((r["case_id"], r["implementation"], r["verdict"], r["output_hash"]) for r in records)

    def test_a_requeued_job_goes_on_and_the_parts_are_the_whole(self):
        (self.dir / "mine.suite").write_text(SUITE)
        (self.dir / "job.sh").write_text(self.script())
        job = self.run_command("sbatch", "--parsable", "job.sh").stdout.strip()
        results = self.dir / "part1/results.jsonl"
        self.wait(lambda: results.exists() and results.read_text().count("\n") > 20, 120)
        self.run_command("scontrol", "requeue", f"{job}_1")
        before = results.read_text().count("\n")
        self.wait(lambda: " " in self.queued(job, "PD"), 60)
        self.run_command("scontrol", "update", f"jobid={job}_1", "StartTime=now")
        self.wait(lambda: not self.queued(job), 300)
        environment = json.loads((self.dir / "part1/environment.json").read_text())
        self.assertEqual(len(environment["resumed"]), 1, environment["resumed"])
        self.assertGreaterEqual(environment["resumed"][0]["results_before"], min(20, before))
        self.run_command("assay", "merge", *(f"part{i}" for i in range(JOBS)), "--out", "merged")
        self.run_command("assay", "run", "--suite", "mine.suite", "--backend", "cpu", "--no-perf", "--out", "whole")
        self.assertEqual(self.essence(self.dir / "merged"), self.essence(self.dir / "whole"))

    def queued(self, job, state="PD,R,CG"):
        return self.run_command("squeue", "-h", "-j", job, "-t", state, "-o", "%i %t").stdout


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
