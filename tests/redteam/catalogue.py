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
            found = re.search(reason, r["reason"])
            if r["verdict"] == verdict and found:
                short = shorten(r["reason"])
                return f"`{verdict}`: {short}" + (f" ({found.group(0)})" if found.group(0) not in short else "")
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
    """Something that the program notes of the run in its report."""
    def look(outcome, arena, cheat):
        found = re.search("note: .*?(" + what + ")", outcome.report)
        return found and f"noted: {shorten(found.group(1))}"
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


def gains_nothing(text="gains nothing: each timed execution has data of its own"):
    """Every timed execution cost what an honest one costs: the median is not below half of what the honest plugin takes
    where nothing holds it up. Its fastest tenth says that on a busy machine too, where its median says how busy."""
    def look(outcome, arena, cheat):
        runs = [arena.run("honest", case=cheat.case, perf_time=cheat.perf_time) for _ in range(3)]
        times = [r["time_p10_s"] for run in runs for r in run.records if r["time_p10_s"]]
        if not times:  # each was struck out: nothing to compare with
            return None
        honest = min(times)
        cheats = min((r["time_median_s"] or 0 for r in outcome.records), default=0)
        return text if cheats > honest / 2 else None
    return look


def only_at_most():
    """No figure is believed: where the host's clock does not confirm the time, as executions are too short or the host is
    busy, the record gives an upper limit, which is not below half of what the honest plugin takes."""
    def look(outcome, arena, cheat):
        limits = [r["time_at_most_s"] for r in outcome.records]
        if not limits or None in limits:
            return None
        runs = [arena.run("honest", case=cheat.case, perf_time=cheat.perf_time) for _ in range(3)]
        honest = min((r["time_p10_s"] for run in runs for r in run.records if r["time_p10_s"]), default=0)
        return "no figure: `time_at_most_s`, by the host's clock" if min(limits) > honest / 2 else None
    return look


@dataclasses.dataclass
class Cheat:
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
    by_chance: bool = False  # in most runs: the table names it, and no test can
    alike: bool = False  # another one of its group is caught in the same way: --full alone tries this one

    def run(self, arena):
        library = self.library or self.name
        for implementation in self.before:
            arena.run(library, *self.options, implementation=implementation, case=self.case, perf_time=self.perf_time)
        return arena.run(library, *self.options, implementation=self.implementation or None, case=self.case,
                         perf_time=self.perf_time, later_s=self.later_s)

    def caught_by(self, outcome, arena):
        """Names the check that caught it; "" if none did."""
        return next((text for look in self.caught if (text := look(outcome, arena, self))), "")


LARGE = "matmul/f32/m=256,n=256,k=256/fill=normal/seed=0"  # a look at its inputs costs little beside the product
LONG = "matmul/f32/m=512,n=512,k=512/fill=normal/seed=0"
SMALL = "matmul/f32/m=48,n=40,k=64/fill=normal/seed=0"
TINY = "matmul/f32/m=16,n=12,k=32/fill=normal/seed=0"  # executed many times beside the timed loop
TWO_OUTPUTS = "fused_add_rms_norm/f32/rows=256,n=1024/fill=normal/seed=0"  # the second one is in place
ODD = "matmul/f32/m=65,n=97,k=129,transb=1/fill=normal/seed=0"  # as suite `default` has it

MISMATCH = judged("mismatch", "")
TWIN = judged("mismatch", "exact twin")
IN_TIMED_LOOP = judged("mismatch", "in the timed loop")
WEAKER = judged("below_contract", "")
# Timed executions that are all on data which has to be computed, or a time that is found out.
NO_GAIN = (IN_TIMED_LOOP, timed("."), gains_nothing())
WHILE = "0.3"  # seconds of timing, for what shows only after some
OF_CASE = ("--no-perf", "--relations", "none")  # what is run beside the case's own data is computed

CHANGED_ROWS = ("its results are right and its times true, but of work that only data like the last can spare: few "
                "rows change places between two executions")
REPLAY = [
    Cheat("replay_content", "hashes its inputs whole, computes once for each content, and copies after that",
          NO_GAIN, case=LARGE, known=(d.EIGH, d.MLPERF)),
    Cheat("replay_sampled", "the same, with some hundred elements hashed", NO_GAIN, case=LARGE, known=(d.FINGERPRINT,)),
    Cheat("replay_address", "computes once for each buffer that it is given", (MISMATCH,),
          known=(d.KERNELBOT, d.QR_GAPS)),
    Cheat("replay_count", "computes for the first dozen executions of a plan, then gives old results", (MISMATCH,),
          perf_time=WHILE,
          known=(d.TENSARA, d.LLM_C)),
    Cheat("replay_slices", "keeps single elements by the contents of their row and column, in whatever order and scale",
          NO_GAIN, case=LONG),
    Cheat("skip_in_batches", "computes the first execution of each batch, and counts the others as done", (MISMATCH,),
          known=(d.BATCH_SKIP,)),
    Cheat("skip_unchanged", "counts uploads: where none came since its last execution, the output is still right",
          NO_GAIN, case=LARGE),
    Cheat("skip_unchanged_rows", "compares its inputs with the last ones, and computes the rows that changed", NO_GAIN,
          case=LARGE, gap=CHANGED_ROWS, by_chance=True),
    Cheat("stale", "computes the first execution of a plan, and leaves after that what lies there", (MISMATCH,),
          known=(d.FIELD_GUIDE,)),
] + [
    Cheat(f"second_output {how}", f"of two outputs, computes the first in each execution, and the second {what}",
          (IN_TIMED_LOOP,), case=TWO_OUTPUTS.replace("rows=256,n=1024", "rows=64,n=512"), perf_time=WHILE, library="second_output",
          implementation=how, alike=how != "omitted")
    for how, what in (("omitted", "in the first dozen of a plan"),
                      ("replayed", "in the first dozen of a plan, and copies it from one of these after that"),
                      ("stale", "in the first dozen of a plan; then it stays what it was in this place, whatever data have come"))
] + [
    Cheat("carries_over", "takes the result of one case for that of the next one of that shape", (MISMATCH,),
          case=(TINY, TINY.replace("seed=0", "seed=1"))),
]

NO_DURATION = judged("error", "not a duration")
FORGED = (timed("."), NO_DURATION, gains_nothing(), only_at_most())  # where nothing counts, the times are those of the host's clock
DURATIONS = [Cheat(f"forged {how}", what, FORGED, case=LARGE, perf_time=WHILE, library="forged", implementation=how,
                   alike=how in ("constant", "not_alone")) for how, what in (
    ("hundredth", "a hundredth of each duration"), ("zero", "durations of zero"), ("negative", "negative durations"),
    ("nan", "durations that are no numbers"), ("constant", "a nanosecond for each execution"),
    ("not_alone", "the truth of an execution that comes alone, a hundredth of others"))] + [
    Cheat("forged hundredth short", "the same where an execution takes a microsecond, which hides beside a call",
          (only_at_most(),), case=TINY, perf_time=WHILE, library="forged", implementation="hundredth"),
    Cheat("forged cold", "the truth with warm caches, and a hundredth with cold ones, which were never emptied",
          (timed("with cold caches"),), case=LARGE, perf_time="0.8", library="forged", implementation="cold", options=("--cold",)),
    # Nothing but its patience ends a run that suspects times, some thirty times as late as it would otherwise end.
    Cheat("forged uneven", "the right sum, nearly all of it in one execution of a batch", NO_GAIN, perf_time="0.1",
          library="forged", implementation="uneven"),
    Cheat("forged mostly_uneven", "the same, but for every sixth batch", NO_GAIN, perf_time="0.1",
          library="forged", implementation="mostly_uneven", alike=True),
    Cheat("forged_device_clock", "a hundredth of each duration, said to be of the device's clock", (timed("."), only_at_most()),
          case=LARGE),
    Cheat("own_clock", "brings a clock_gettime of its own", (timed("."), only_at_most()), known=(d.FIELD_GUIDE,)),
    Cheat("patches_clock", "writes over the C library's clock_gettime: the harness's clock in the worker is slow too",
          (timed("."), only_at_most()), known=(d.FAKE_CLOCK, d.METR)),
]

DEFERRED = [
    Cheat("defers_to_thread", "hands the work to a thread and returns", (MISMATCH,), known=(d.FIELD_GUIDE,)),
    # Executions that take longer than the thread is left alone for, where others have the processors too.
    Cheat("defers_and_waits", "the same, and a download waits for the thread", (timed("download"), only_at_most()), case=LONG,
          perf_time=WHILE, known=(d.FIELD_GUIDE, d.KERNELBENCH), alike=True),
    Cheat("defers_to_download", "computes when the output is asked for", (timed("download"), only_at_most()), case=LARGE,
          perf_time=WHILE, known=(d.FIELD_GUIDE,)),
    # Where the machine is busy, the median may be that of the honest ones.
    Cheat("defers_some", "does so in three executions of five, and is honest between",
          (timed("download"), gains_nothing(), only_at_most()), case=LARGE, perf_time=WHILE, alike=True),
] + [
    Cheat(f"computes_at_upload {when}", what, (timed("upload"), only_at_most()) + (() if when == "always" else (gains_nothing(),)),
          case=LARGE, perf_time=WHILE, library="computes_at_upload", implementation=when, alike=when != "always")
    for when, what in (("always", "computes whenever an operand is uploaded, and copies in execute"),
                       ("some", "does so at three uploads of five, and is honest between"),
                       ("later", "does so once the first sixty uploads are over"))] + [
    Cheat("defers_output norm", "of two outputs, computes the one that takes most of the time when it is asked for",
          (timed("download"), only_at_most()), case=TWO_OUTPUTS, perf_time="0.1", library="defers_output", implementation="norm"),
    Cheat("defers_output sum", "does so with the other one, in the place of an input that is still as it was",
          (timed("download"), gains_nothing("gains less than half, as much as is permitted beside a duration")),
          case=TWO_OUTPUTS, perf_time=WHILE, library="defers_output", implementation="sum", alike=True),
]

CHANCE = "a run judges some dozens of the executions of a result, and finds what goes wrong that rarely in few runs"
RESULTS = [
    Cheat("zeros", "writes zeros", (MISMATCH,), known=(d.PYGPUBENCH,)),
    Cheat("constant", "writes the mean of the right result everywhere", (MISMATCH,), known=(d.SAKANA,)),
    Cheat("returns_input", "copies an input", (MISMATCH,), known=(d.FIELD_GUIDE,)),
    Cheat("changes_input", "computes, and clears an input", (judged("mismatch", "changed on the device"),),
          known=(d.KERNELBENCH,)),
    Cheat("refuses_download", "computes wrong results, and says when they are asked for that they are not supported",
          (judged("error", "buffer_download"),)),
    Cheat("low_precision", "rounds inputs to bf16 and declares f32", (WEAKER, MISMATCH),
          known=(d.FIELD_GUIDE, d.FUTUREMARK)),
    Cheat("precise_samples", "is right where checks by sample look, and bf16 elsewhere", (WEAKER, MISMATCH)),
    Cheat("undeclared_order", "declares det=yes, and changes the order of its sums", (judged("nondeterministic", ""),),
          known=(d.GARBAGE,)),
    Cheat("unaligned_wrong", "leaves terms out where the output does not begin at 16 bytes",
          (judged("mismatch", "unaligned start"),), case=SMALL),
    Cheat("rarely_wrong third", "one execution in three loses half of its terms", (MISMATCH,), library="rarely_wrong",
          implementation="third"),
    Cheat("rarely_wrong thousandth", "one execution in a thousand does", (MISMATCH,), library="rarely_wrong",
          implementation="thousandth", gap=CHANCE, by_chance=True),
    Cheat("rarely_wrong untimed", "the same in a run that times nothing", (MISMATCH,),
          library="rarely_wrong", implementation="third", case=TINY, options=("--no-perf",)),
    Cheat("borrows_library", "multiplies by oneDNN, and names no library",
          (noted(r"The worker of redteam has loaded libdnnl\S* \(oneDNN\), which its library_version"),),
          known=(d.MAKORA, d.FIELD_GUIDE)),
]

DETECTION = [
    Cheat("knows_shapes", "leaves terms out for shapes that are no multiples of 32", (MISMATCH,), case=(CASE, ODD),
          known=(d.SPEC, d.MLPERF)),
    Cheat("knows_data", "has the answer to one case of the suite in a table", (MISMATCH,), known=(d.MLPERF, d.SAKANA)),
    Cheat("detects_twin others", "is right on whole numbers, and bf16 on other data", (WEAKER, MISMATCH),
          library="detects_twin", implementation="others"),
    Cheat("detects_twin integers", "gives zeros for whole numbers", (TWIN,), library="detects_twin",
          implementation="integers"),
    Cheat("answers_twin", "keeps the answer to the first whole numbers, and gives it to all", (TWIN,)),
    Cheat("detects_prefill", "computes where the output holds what the harness fills it with, and else does nothing",
          NO_GAIN, case=LARGE),
    Cheat("detects_repeat", "leaves terms out for data that it has seen five times", NO_GAIN, known=(d.LLM_C,)),
    Cheat("tires", "rounds inputs to bf16 from the 40th execution on", (MISMATCH,), perf_time=WHILE, known=(d.LLM_C,)),
    Cheat("half_in_batches", "leaves terms out in executions that come in a batch", (MISMATCH,),
          known=(d.SAMSUNG, d.FUTUREMARK, d.PYGPUBENCH)),
    Cheat("half_in_batches untimed", "the same in a run that times nothing", (MISMATCH,),
          library="half_in_batches", case=TINY, options=("--no-perf",)),
]

READING = [
    Cheat("reads_memory proc_mem", "takes the golden values from /proc/PID/mem of the harness", (MISMATCH,),
          library="reads_memory", implementation="proc_mem", known=(d.PYGPUBENCH,)),
    Cheat("reads_memory vm_readv", "the same by process_vm_readv", (MISMATCH,), library="reads_memory",
          implementation="vm_readv", known=(d.PYGPUBENCH,)),
    Cheat("reads_store", "takes the golden values from the store", (MISMATCH,), options=OF_CASE, known=(d.METR,)),
    Cheat("reads_command_line", "looks for the case on the command line of the harness", (MISMATCH,), known=(d.PPID,)),
    Cheat("forges_results", "leaves a child that writes `pass` into results.jsonl", (MISMATCH,), later_s=1,
          known=(d.PYGPUBENCH,)),
]

KEPT = {
    "tmp": "/tmp", "var_tmp": "/var/tmp", "shm": "/dev/shm", "folder": "its current folder", "home": "HOME",
    "segment": "a System V segment", "cache": "its own cache folder"}
PERSISTENCE = [
    Cheat(f"keeps_results {place}", f"has kept the results of an earlier run in {where}", (MISMATCH,),
          library="keeps_results", implementation=place, before=("learn",), case=SMALL, options=OF_CASE,
          known=(d.EIGH,) if place == "shm" else ())
    for place, where in KEPT.items()]

PROCESSES = [
    Cheat("writes_frames", "writes replies of its own into the worker's connection", (judged("error", "message"),),
          known=(d.FORGED_PIPE,)),
    Cheat("leaves_child", "leaves a process that goes on computing, in a session of its own", (ended("redteam-left"),)),
] + [
    Cheat(f"attacks_parent {how}", f"{what} the harness",
          (judged("crash", f"redteam: {how}: Operation not permitted"),), library="attacks_parent", implementation=how)
    for how, what in (("kill", "kills"), ("stop", "stops"), ("ptrace", "traces"))]

GROUPS = {"Replay": REPLAY, "Durations": DURATIONS, "Deferred": DEFERRED, "Results": RESULTS, "Detection": DETECTION,
          "Reading": READING, "Persistence": PERSISTENCE, "Processes": PROCESSES}
