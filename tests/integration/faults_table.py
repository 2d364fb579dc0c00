# SPDX-License-Identifier: Apache-2.0
"""The faults of disk, memory, clock and worker, each with its documented end state. harness/engine/results/README.md shows them:
faults_test.py compares, and --table prints what belongs there."""
import dataclasses
import errno
import resource
import signal
from typing import Callable

from faults_commits import *  # pylint: disable=wildcard-import,unused-wildcard-import  # the words of the table
from faults_world import MET, ROWS


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    commit: Callable  # to a World; gives how the run ended that was hit
    code: int  # its exit code; negative: the signal that ended it
    verdict: str  # of each case that is met, or one of all of them; the others pass
    text: str = ""  # in the messages, or in the records of the cases that are met
    then: str = ""  # what the user does, a key of THEN, which ends with code 0; "": the run is complete
    met: tuple = (MET,)
    alike: bool = False  # another one is told apart from a pass by the same code: --full alone commits this one

    def verdict_of(self, rows):
        if rows not in self.met:
            return "pass"
        verdicts = self.verdict.split(", ")
        return verdicts[self.met.index(rows) % len(verdicts)]

    def row(self, group):
        end = signal.Signals(-self.code).name if self.code < 0 else str(self.code)
        return f"| {group} | {self.name} | {end} | {self.verdict} | {self.then} |"


FULL, BROKEN, BUSY = (str(number) for number in (errno.ENOSPC, errno.EIO, errno.EAGAIN))
YEAR = 31556952
RESUME, AGAIN, REPORT, CHANGED = "`--resume`", "run again", "`assay report`", "`--resume --allow-changed`"
LINE, COPY, BACK = "remove the line, `--resume`", "put a copy back, `--resume`", "put it back, `--resume`"
RECORDS_FULL = {"writes": f"results.jsonl:{FULL}"}
TORN, DAMAGED = "the last line is torn", "environment.json is missing or damaged"
NO_MORE = "restore it from a copy, or run again with another --out"
ANEW = "the value was computed again"

DISK = [
    Fault("is full before the first record; Ctrl-C while the run waits for room",
          full_until(interrupt, 0, **RECORDS_FULL), 130, "pass", "No space left on device", RESUME),
    Fault("is full in mid-run; Ctrl-C while the run waits for room",
          full_until(interrupt, **RECORDS_FULL), 130, "pass", "No space left on device", RESUME),
    Fault("is full in mid-run; somebody makes room", full_until(make_room, **RECORDS_FULL), 0, "pass", "there is room again"),
    Fault("a quota is used up in mid-run; somebody raises it", full_until(make_room, writes=f"results.jsonl:{errno.EDQUOT}"),
          0, "pass", "there is room again"),
    Fault("fails to write a record", later(writes=f"results.jsonl:{BROKEN}"), 3, "pass",
          "--out out --resume continues the run", RESUME),
    Fault("takes records and fails to keep them", always(syncs=f"results.jsonl:{BROKEN}"), 3, "pass",
          "cannot be synced to the disk: Input/output error", RESUME),
    Fault("fails to write an offer", later(writes=f"offers.jsonl:{BROKEN}"), 3, "pass", "offers.jsonl: Input/output", RESUME),
    Fault("has no room for the plan", always(writes=f"plan.json:{FULL}"), 3, "pass", "plan.json: cannot be written", AGAIN),
    Fault("has no room for a report", always(writes=f"report.html:{FULL}"), 3, "pass",
          "assay report out writes the reports again", REPORT),
    Fault("records reach the largest size of a file (`ulimit -f`)", file_limit, 3, "pass", "File too large", RESUME),
    Fault("the output folder is removed in mid-run", in_mid_run(remove_folder), 3, "pass",
          ".jsonl was deleted during the run", AGAIN),
    Fault("`results.jsonl` is removed in mid-run", in_mid_run(lambda world: world.results.unlink()), 3, "pass",
          "results.jsonl was deleted during the run", AGAIN),
    Fault("another folder takes the place of the output folder", in_mid_run(exchange_folder), 3, "pass",
          "restore that folder and use --resume", BACK),
    Fault("the output folder becomes read-only in mid-run", READ_ONLY_FOLDER, 3, "pass", "Permission denied", REPORT),
    Fault("the last record is torn", before_resume(tear_last_record), 0, "pass", TORN),
    Fault("a record was begun", before_resume(change_results(lambda data: data + data[:700])), 0, "pass", TORN),
    Fault("the file system adds zeros at the end", before_resume(change_results(lambda data: data + bytes(4096))), 0,
          "pass", TORN),
    Fault("an empty line among records", before_resume(insert(b"\n")), 0, "pass", "2 results of out stand"),
    Fault("a line of garbage among records", before_resume(insert(b"\xff\xfe nothing\n")), 2, "pass",
          "results.jsonl:2: not a record", LINE),
    Fault("zeros among records", before_resume(insert(bytes(512) + b"\n")), 2, "pass", "results.jsonl:2: not a record", LINE),
    Fault("each record stands there twice", before_resume(change_results(lambda data: data * 2)), 0, "pass",
          "2 results of out stand"),
    Fault("a result has two records that differ", before_resume(contradict_first), 0, "pass", "1 result of out stands"),
    Fault("`results.jsonl` is empty", before_resume(empty_results), 0, "pass", "0 results of out stand"),
    Fault("`results.jsonl` is gone", before_resume(remove("results.jsonl")), 2, "pass", NO_MORE, AGAIN),
    Fault("the last offer is torn", before_resume(cut_last_offer), 0, "pass", "2 results of out stand"),
    Fault("`plan.json` is gone", before_resume(remove("plan.json")), 2, "pass", "there is no run to continue", COPY),
    Fault("`plan.json` is cut short", before_resume(cut("plan.json")), 2, "pass", "take it from a copy", COPY),
    Fault("`environment.json` is gone", before_resume(remove("environment.json")), 2, "pass", DAMAGED, CHANGED),
    Fault("`environment.json` is cut short", before_resume(cut("environment.json")), 2, "pass", DAMAGED, CHANGED),
    Fault("a bit flips in each stored golden value", to_stored(flip_bit), 0, "pass", "the checksum does not match"),
    Fault("each stored golden value is cut short", to_stored(halve), 0, "pass", ANEW),
    Fault("each stored golden value is empty", to_stored(empty), 0, "pass", ANEW),
    Fault("a folder stands in the place of each stored golden value", to_stored(make_folder), 0, "pass", ANEW),
    Fault("the golden store cannot be written", store_is_a_file, 0, "pass", "the value was computed and is used"),
    Fault("has no room for golden values", always(writes=f"/store/:{FULL}"), 0, "pass", "the value was computed and is used"),
    Fault("standard output is full", full_output, 3, "pass", "cannot write to standard output"),
]

MEMORY = [
    Fault("the device has none left", in_call("buffer_alloc", "no_memory"), 3, "error", "the device is full"),
    Fault("a plugin allocates without end (`--worker-limit memory`)",
          in_call("execute", "allocate", "--worker-limit", "memory=512M"), 3, "crash", "at most 512M bytes of memory"),
    Fault("a plugin uses up its stack", in_call("execute", "stack"), 3, "crash", "SIGSEGV"),
    Fault("a plugin destroys its heap", in_call("execute", "heap"), 3, "crash", "SIGABRT"),
    Fault("a case of `--case` needs more than there is", too_large, 2, "pass", "make the shape smaller", AGAIN),
    Fault("a case of a suite needs more than there is", too_large_in_suite, 3, "error", "make the shape smaller",
          met=(2000000000,)),
    Fault("there is none to share with a worker", always(memfds=str(errno.ENOMEM)), 3, "error", "shared memory failed",
          met=ROWS),
    Fault("the address space is too small (`ulimit -v`)",
          ever_more(resource.RLIMIT_AS, [mb << 20 for mb in (70, 80, 90, 95, 100, 105, 110, 130, 400)]), 3, "pass", "ulimit -v"),
    Fault("there are too few descriptors (`ulimit -n`)", ever_more(resource.RLIMIT_NOFILE, [6, 8, 10, 11, 12, 14, 16, 64]), 3,
          "pass", "Too many open files"),
    Fault("no process starts (`ulimit -u`)", always(forks=BUSY), 3, "error", "cannot start a worker process", met=ROWS),
    Fault("no process starts any more, and a worker is killed", kill_worker_where_no_other_starts(forks=BUSY), 3,
          "crash, error", "cannot start a worker process", met=(7, 8)),
    Fault("no thread starts (`ulimit -u`)", always(threads=BUSY), 3, "pass", "the system grants no further thread", AGAIN),
    Fault("no thread starts any more", later(threads=BUSY), 0, "pass"),
]

CLOCK = [
    *(Fault(f"the device's clock {name}", of_device_clock(how), 3, "error", "not a duration (negative, infinite or NaN)",
            alike=how == "endless") for name, how in (("runs backwards", "back"), ("gives NaN", "nan"), ("gives infinity", "endless"))),
    Fault("the device's clock stands still", of_device_clock("still"), 0, "pass", "its clock stands still"),
    Fault("the device's clock jumps by an hour", of_device_clock("jump"), 0, "pass", "by the host's clock"),
    Fault("the device's clock is a thousand times too fast", of_device_clock("fast"), 0, "pass", "by the host's clock"),
    *(Fault(f"the wall clock is set {name} in mid-run", later(wall=str(years * YEAR)), 0, "pass", alike=abs(years) == 10)
      for name, years in
      (("back ten years", -10), ("ten years ahead", 10), ("to before 1970", -80), ("to after the year 9999", 9000))),
    Fault("the wall clock is set back before `--resume`", before_resume(nothing, wall=str(-10 * YEAR)), 0, "pass"),
    Fault("the steady clock jumps by an hour in mid-run", later(steady="3600"), 0, "pass"),
    Fault("the steady clock runs back by an hour in mid-run", later(steady="-3600"), 3, "error", "is not a duration"),
    Fault("assay is stopped for longer than `--timeout`", stop_harness, 0, "pass"),
]

WORKER = [
    *(Fault(f"crashes in `{call}`", in_call(call, "SIGSEGV"), 3, "crash", "SIGSEGV", alike=call in ("buffer_alloc", "buffer_upload")) for call in
      ("query", "plan_create", "buffer_alloc", "buffer_upload", "execute", "buffer_download", "plan_destroy", "buffer_free")),
    Fault("crashes in `device_open`", in_call("device_open", "SIGSEGV"), 3, "crash", "SIGSEGV", met=ROWS),
    Fault("crashes in `device_close`", in_call("device_close", "SIGSEGV"), 3, "pass", "failed when it was closed"),
    Fault("hangs in `plan_create`", in_call("plan_create", "hang", "--retries", "0"), 3, "timeout", "prepare did not end"),
    *(Fault(f"hangs in `{call}`", in_call(call, "hang", "--retries", "0"), 3, "timeout", "did not end within 1 s") for call in
      ("query", "execute", "plan_destroy", "buffer_free")),
    Fault("hangs in `device_close`", in_call("device_close", "hang"), 3, "pass", "failed when it was closed"),
    *(Fault(f"ends by {name}", in_call("execute", name), 3, "crash", name, alike=name not in ("SIGABRT", "SIGKILL")) for name in
      ("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGKILL")),
    Fault("stops itself (SIGSTOP)", in_call("execute", "SIGSTOP"), 3, "timeout", "did not end within 1 s"),
    *(Fault(f"calls `exit({code})`", in_call("execute", f"exit_{code}"), 3, "crash", f"exited with code {code}")
      for code in (0, 3)),
    Fault("ends its thread", in_call("execute", "end_thread"), 3, "crash", "exited with code 0"),
    Fault("closes all descriptors", in_call("execute", "close_all"), 3, "crash", "closed the connection to assay"),
    Fault("writes garbage to all descriptors", in_call("execute", "garbage"), 3, "error", "this is not a message"),
    *(Fault(f"prints to standard {stream} without end", in_call("execute", word, "--retries", "0"), 3, "timeout", "it printed: ")
      for stream, word in (("output", "stdout"), ("error", "stderr"))),
    Fault("is killed once", kill_worker, 1, "flaky", "First crash: the worker was killed by SIGKILL"),
    Fault("its supervisor is killed once", kill_supervisor, 1, "flaky", "First crash: the worker was killed by SIGKILL"),
    *(Fault(f"assay gets {number.name}", to_harness(number), 130, "pass", "--out out --resume continues", RESUME)
      for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)),
    *(Fault(f"assay is ended by {number.name}", to_harness(number), -number, "pass", "", RESUME)
      for number in (signal.SIGKILL, signal.SIGSEGV)),
]

GROUPS = {"disk": DISK, "memory": MEMORY, "clock": CLOCK, "worker": WORKER}
