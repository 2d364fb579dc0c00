# SPDX-License-Identifier: Apache-2.0
"""Every cheat: what it does, which library and implementation it is, by what it has to be caught, and where something
like it was described in public."""
import dataclasses
import os
import pathlib
import re
import signal
import time

import described as d
from arena import CASE, shorten

# ---- by what a cheat is caught: each returns what the table says, or None ----

def judged(verdict, reason):
    """A record of that verdict whose reason matches, and an exit code that says so."""
    def look(outcome, arena, cheat):
        if outcome.code == 0:
            return None
        for r in outcome.records:
            if r["verdict"] == verdict and re.search(reason, r["reason"]):
                return f"`{verdict}`: {shorten(r['reason'])}"
        return None
    return look


def timed(why):
    """A time that is struck out, for a reason that matches, and an exit code (of --strict) that says so."""
    def look(outcome, arena, cheat):
        if outcome.code == 0:
            return None
        for r in outcome.records:
            if re.search(why, r["timing_invalid"]):
                return f"`timing_invalid`: {shorten(r['timing_invalid'])}"
        return None
    return look


def noted(what):
    """Something that the program says of the run."""
    def look(outcome, arena, cheat):
        found = re.search(what, outcome.errors)
        return found and f"noted: {shorten(found.group(0))}"
    return look


def processes_called(name):
    found = []
    for comm in pathlib.Path("/proc").glob("[0-9]*/comm"):
        try:
            if comm.read_text().strip() == name:
                found.append(int(comm.parent.name))
        except OSError:
            pass  # it has ended
    return found


def ended(name):
    """No process of that name is left soon after the run; those that are, are ended here."""
    def look(outcome, arena, cheat):
        for _ in range(20):
            left = processes_called(name)
            if not left:
                return "what it had started ended with its worker"
            time.sleep(0.1)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return None
    return look


def gains_nothing():
    """Every timed execution cost what an honest one costs: the median is not below half of the honest plugin's."""
    def look(outcome, arena, cheat):
        honest = arena.run("honest", case=cheat.case, perf_time=cheat.perf_time).records[0]["time_median_s"]
        cheats = min((r["time_median_s"] or 0 for r in outcome.records), default=0)
        return "gains nothing: each timed execution has data of its own" if cheats > honest / 2 else None
    return look


@dataclasses.dataclass
class Cheat:
    group: str
    name: str
    does: str
    caught: tuple  # by any of these
    library: str = ""
    implementation: str = ""
    before: tuple = ()  # implementations that run first, each in a run of its own
    options: tuple = ()
    case: object = CASE
    perf_time: str = "0.05"
    known: tuple = ()  # descriptions
    later_s: float = 0  # after which the results are read once more
    gap: str = ""  # why nothing catches it

    def run(self, arena):
        library = self.library or self.name
        for implementation in self.before:
            arena.run(library, *self.options, implementation=implementation, case=self.case, perf_time=self.perf_time)
        return arena.run(library, *self.options, implementation=self.implementation or None, case=self.case,
                         perf_time=self.perf_time, later_s=self.later_s)

    def caught_by(self, outcome, arena):
        """What caught it; "" when nothing did."""
        return next((text for look in self.caught if (text := look(outcome, arena, self))), "")


LARGE = "matmul/f32/m=256,n=256,k=256/fill=normal/seed=0"  # hashing its inputs costs little beside the product
LONG = "matmul/f32/m=256,n=256,k=2048/fill=normal/seed=0"
SMALL = "matmul/f32/m=48,n=40,k=64/fill=normal/seed=0"
WRONG = judged("mismatch", "")
IN_TIMED_LOOP = judged("mismatch", "in the timed loop")

CHEATS = [
    Cheat("Replay", "replay_content", "computes once for each content of its inputs, which it hashes whole, and copies after that",
          (timed("."),), known=(d.EIGH,)),
    Cheat("Replay", "replay_sampled", "the same, hashing some hundred elements", (IN_TIMED_LOOP, timed(".")), known=(d.FINGERPRINT,)),
    Cheat("Replay", "replay_address", "computes once for each buffer that it is given", (WRONG,), known=(d.KERNELBOT, d.QR_GAPS)),
    Cheat("Replay", "replay_count", "computes for the first dozen executions of a plan, then gives old results", (IN_TIMED_LOOP, WRONG), known=(d.TENSARA, d.LLM_C)),
    Cheat("Replay", "replay_slices", "keeps single elements by the contents of their row and column, in any order and scale", (IN_TIMED_LOOP, timed("."))),
    Cheat("Replay", "skip_in_batches", "computes the first execution of each batch, and counts the others as done", (WRONG,), known=(d.BATCH_SKIP,)),
    Cheat("Replay", "skip_unchanged", "counts uploads: where none came since its last execution, the output is still right", (timed("."), IN_TIMED_LOOP)),
    Cheat("Replay", "skip_unchanged_rows", "compares its inputs with the last ones and computes the rows that changed", (timed("."), IN_TIMED_LOOP)),
    Cheat("Replay", "stale", "computes the first execution of a plan, and leaves after that what lies there", (WRONG,), known=(d.FIELD_GUIDE,)),
    Cheat("Replay", "carries_over", "takes the result of one case for that of the next one of that shape", (WRONG,),
          case=(SMALL, SMALL.replace("seed=0", "seed=1"))),
]
for how, what in (("hundredth", "a hundredth of each duration"), ("zero", "durations of zero"), ("negative", "negative durations"),
                  ("nan", "durations that are no numbers"), ("constant", "a nanosecond for each execution"),
                  ("uneven", "the right sum, all of it in one execution of a batch")):
    CHEATS.append(Cheat("Durations", f"forged {how}", what, (timed("."), judged("error", "")), library="forged",
                        implementation=how))
CHEATS += [
    Cheat("Durations", "forged_device_clock", "a hundredth of each duration, said to be of the device's clock", (timed("."),)),
    Cheat("Durations", "own_clock", "brings a clock_gettime of its own", (timed("."),), known=(d.FIELD_GUIDE,)),
    Cheat("Durations", "patches_clock", "writes over the C library's clock_gettime: the harness's clock in the worker is slow too",
          (timed("."),), known=(d.FAKE_CLOCK, d.METR)),
    Cheat("Deferred", "defers_to_thread", "hands the work to a thread and returns", (WRONG,), known=(d.FIELD_GUIDE,)),
    Cheat("Deferred", "defers_and_waits", "the same, and a download waits for the thread", (timed("."),), known=(d.FIELD_GUIDE, d.KERNELBENCH)),
    Cheat("Deferred", "defers_to_download", "computes when the output is asked for", (timed("."),), known=(d.FIELD_GUIDE,)),
    Cheat("Deferred", "computes_at_upload", "computes whenever an operand is uploaded, and copies in execute", (timed("."),)),
    Cheat("Results", "zeros", "writes zeros", (WRONG,), known=(d.PYGPUBENCH,)),
    Cheat("Results", "constant", "writes the mean of the right result everywhere", (WRONG,), known=(d.SAKANA,)),
    Cheat("Results", "returns_input", "copies an input", (WRONG,), known=(d.FIELD_GUIDE,)),
    Cheat("Results", "changes_input", "computes, and clears an input", (judged("mismatch", "changed on the device"),), known=(d.KERNELBENCH,)),
    Cheat("Results", "low_precision", "rounds inputs to bf16 and declares f32", (judged("below_contract", ""), WRONG), known=(d.FIELD_GUIDE, d.FUTUREMARK)),
    Cheat("Results", "precise_samples", "is right where checks by sample look, and bf16 elsewhere", (judged("below_contract", ""), WRONG)),
    Cheat("Results", "undeclared_order", "declares det=yes, and changes the order of its sums", (judged("nondeterministic", ""),), known=(d.GARBAGE,)),
    Cheat("Results", "unaligned_wrong", "leaves terms out where the output does not begin at 16 bytes", (judged("mismatch", "unaligned start"),)),
    Cheat("Results", "rarely_wrong", "one execution in a thousand loses half of its terms", (IN_TIMED_LOOP, WRONG), perf_time="1"),
    Cheat("Results", "borrows_library", "multiplies by oneDNN, and names no library",
          (noted(r"The worker of redteam has loaded libdnnl\S* \(oneDNN\)[^.]*"),), known=(d.MAKORA, d.FIELD_GUIDE)),
    Cheat("Detection", "knows_shapes", "leaves terms out for shapes that are no multiples of 32", (WRONG,), known=(d.SPEC, d.MLPERF)),
    Cheat("Detection", "knows_data", "has the answer to one case of the suite in a table", (WRONG,), known=(d.MLPERF, d.SAKANA)),
    Cheat("Detection", "detects_twin others", "is right on whole numbers, and bf16 on other data", (judged("below_contract", ""), WRONG),
          library="detects_twin", implementation="others"),
    Cheat("Detection", "detects_twin integers", "gives zeros for whole numbers", (WRONG,), library="detects_twin",
          implementation="integers"),
    Cheat("Detection", "answers_twin", "keeps the answer to the first whole numbers, and gives it to all", (WRONG,)),
    Cheat("Detection", "detects_prefill", "computes where the output holds what the harness fills it with, and else does nothing", (timed("."), IN_TIMED_LOOP)),
    Cheat("Detection", "detects_repeat", "leaves terms out for data that it has seen five times", (IN_TIMED_LOOP,), known=(d.LLM_C,)),
    Cheat("Detection", "tires", "rounds inputs to bf16 from the 40th execution on", (IN_TIMED_LOOP, WRONG), known=(d.LLM_C,)),
    Cheat("Detection", "half_in_batches", "leaves terms out in executions that come in a batch", (WRONG,), known=(d.SAMSUNG, d.FUTUREMARK, d.PYGPUBENCH)),
    Cheat("Reading", "reads_memory proc_mem", "takes the golden values from /proc/PID/mem of the harness", (WRONG,),
          library="reads_memory", implementation="proc_mem", known=(d.PYGPUBENCH,)),
    Cheat("Reading", "reads_memory vm_readv", "the same by process_vm_readv", (WRONG,), library="reads_memory",
          implementation="vm_readv", known=(d.PYGPUBENCH,)),
    Cheat("Reading", "reads_store", "takes the golden values from the store", (WRONG,), options=("--no-perf", "--relations", "none"), known=(d.METR,)),
    Cheat("Reading", "reads_command_line", "looks for the case on the command line of the harness", (WRONG,), known=(d.PPID,)),
    Cheat("Reading", "forges_results", "leaves a child that writes `pass` into results.jsonl", (WRONG,), later_s=2, known=(d.PYGPUBENCH,)),
]
for place, what in (("tmp", "/tmp"), ("var_tmp", "/var/tmp"), ("shm", "/dev/shm"), ("folder", "its current folder"),
                    ("home", "HOME"), ("segment", "a System V segment"), ("cache", "its own cache folder")):
    CHEATS.append(Cheat("Persistence", f"keeps_results {place}", f"has kept the results of an earlier run in {what}", (WRONG,),
                        library="keeps_results", implementation=place, before=("learn",), case=SMALL,
                        options=("--no-perf", "--relations", "none"),
                        known=(d.EIGH,) if place == "shm" else ()))
CHEATS += [
    Cheat("Processes", "writes_frames", "writes replies of its own into the worker's connection",
          (judged("error", ""), judged("crash", ""), WRONG), known=(d.FORGED_PIPE,)),
    Cheat("Processes", "leaves_child", "leaves a process that goes on computing, in a session of its own", (ended("redteam-left"),)),
]
for how, what in (("kill", "kills"), ("stop", "stops"), ("ptrace", "traces")):
    CHEATS.append(Cheat("Processes", f"attacks_parent {how}", f"{what} the harness",
                        (judged("crash", f"redteam: {how}: Operation not permitted"),), library="attacks_parent",
                        implementation=how))

