# SPDX-License-Identifier: Apache-2.0
"""How the faults of faults_table.py are committed, each to a World: functions that give how the run ended that was hit.
What the user does then is at the end."""
import os
import resource
import shutil
import signal
import subprocess
import time

from faults_world import WHILE, World
from own_folder import HELD_BY_PERMISSIONS
from program import ASSAY


# ---- in the plugin, the worker or the harness ----

def in_call(call, fault, *more):
    return lambda world: world.run_all(*more, env={"ASSAY_FAULT": f"{call}:{fault}"})


def of_device_clock(how):
    def commit(world):
        world.options.remove("--no-perf")
        return world.run_all("--perf-time", "0.005", env={"ASSAY_FAULT": f"clock:{how}"})
    return commit


def to_harness(number):
    return lambda world: world.killed(number)


def stop_harness(world):
    """For longer than a call may take."""
    run = world.begin()
    run.send_signal(signal.SIGSTOP)
    world.go.touch()
    time.sleep(1.3)
    run.send_signal(signal.SIGCONT)
    return world.end(run)


def children_of(pid):
    tasks = f"/proc/{pid}/task"
    found = []
    for task in os.listdir(tasks):
        with open(f"{tasks}/{task}/children", encoding="ascii") as children:
            found += map(int, children.read().split())
    return found


def kill_supervisor(world):
    run = world.begin()
    for pid in children_of(run.pid):
        os.kill(pid, signal.SIGKILL)
    return world.end(run)


def kill_worker(world, *more, env=None):
    run = world.begin(*more, env=env)
    world.lasts.touch()
    for supervisor in children_of(run.pid):
        for pid in children_of(supervisor):
            os.kill(pid, signal.SIGKILL)
    return world.end(run)


def kill_worker_where_no_other_starts(**faults):
    return lambda world: kill_worker(world, "--retries", "0", env=world.broken(**faults, **{WHILE: True}))


# ---- on a machine where calls fail ----

def always(**faults):
    return lambda world: world.run_all(env=world.broken(**faults))


def later(**faults):
    """From the third case on."""
    def commit(world):
        run = world.begin(env=world.broken(**faults, **{WHILE: True}))
        time.sleep(0.1)  # the third case is executed by then, as the record of the second does not say yet
        world.lasts.touch()
        return world.end(run)
    return commit


def full_until(end, records=2, **faults):
    """From a record on, until `end`, which is called once the run waits for room."""
    def commit(world):
        if records == 0:
            world.lasts.touch()
        run = world.begin(env=world.broken(**faults, **{WHILE: True}), records=records)
        world.lasts.touch()
        world.go.touch()
        said = run.stderr.readline()
        world.assertIn("the run waits 300 s for room: delete something", said)
        end(world, run)
        done = world.end(run)
        done.stderr = said + done.stderr
        return done
    return commit


def make_room(world, _):
    world.lasts.unlink()


def interrupt(_, run):
    run.send_signal(signal.SIGINT)


def file_limit(world):
    run = world.begin()
    size = world.results.stat().st_size + 1000
    resource.prlimit(run.pid, resource.RLIMIT_FSIZE, (size, size))
    return world.end(run)


def ever_more(kind, amounts):
    """From a limit under which nothing can run to one under which all can: no end between may be a crash."""
    def commit(world):
        ends = []
        for amount in amounts:
            world.write_to(f"with-{amount}")
            ends.append(world.run_all(preexec_fn=lambda: resource.setrlimit(kind, (amount, amount))))
            world.assertIn(ends[-1].returncode, (0, 3), f"{amount}: {ends[-1].stderr}")
            world.whole_records()
        world.assertEqual(ends[-1].returncode, 0, ends[-1].stderr)
        return subprocess.CompletedProcess([], ends[0].returncode, "", "".join(end.stderr for end in ends))
    return commit


def too_large(world):
    return world.run_all("--case", "matmul/f32/m=2000000,n=1000000,k=2/fill=normal/seed=0")


def too_large_in_suite(world):
    suite = world.dir / "large.suite"
    suite.write_text("matmul dtypes=f32 m=5|6|2000000000|8 n=3 k=4\n")
    world.cases = ["--suite", str(suite)]
    world.planned = [id.replace("m=7", "m=2000000000") for id in world.planned]
    return world.run_all()


# ---- to what lies on the disk ----

def in_mid_run(act, prefix=()):
    def commit(world):
        run = world.begin(prefix=prefix)
        act(world)
        return world.end(run)
    return commit


def exchange_folder(world):
    world.note_what_stands()
    world.out.rename(world.dir / "moved")
    (world.dir / "theirs").mkdir()
    world.out.symlink_to("theirs")


def remove_folder(world):
    shutil.rmtree(world.out)


def make_read_only(world):
    world.note_what_stands()
    world.out.chmod(0o555)


def before_resume(act, *more, **faults):
    """To what a killed run left; `act` says what it takes away itself."""
    def commit(world: World):
        world.killed(signal.SIGKILL)
        world.note_what_stands()
        act(world)
        return world.resume(*more, env=world.broken(**faults) if faults else None)
    return commit


def nothing(_):
    pass


def change_results(change):
    def act(world):
        world.results.write_bytes(change(world.results.read_bytes()))
    return act


def tear_last_record(world):
    world.stood.pop()
    change_results(lambda data: data[:-300])(world)


def insert(line):
    return change_results(lambda data: data.replace(b"\n", b"\n" + line, 1))


def contradict_first(world):
    """Its record stands there twice, with two verdicts."""
    first = world.stood.pop(0)
    change_results(lambda data: data + first.replace(b'"pass"', b'"crash"'))(world)


def remove(name):
    def act(world):
        (world.out / name).unlink()
        if name == "results.jsonl":
            world.stood = []
    return act


def cut(name, keep=0.5):
    def act(world):
        path = world.out / name
        path.write_bytes(path.read_bytes()[:int(path.stat().st_size * keep)])
    return act


def empty_results(world):
    world.stood = []
    cut("results.jsonl", 0)(world)


def cut_last_offer(world):
    world.stood.pop()
    path = world.out / "offers.jsonl"
    offers = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(offers[0] + offers[1][:20])


def to_stored(act):
    """To each golden value that an earlier run has kept."""
    def commit(world):
        world.write_to("first")
        world.assertEqual(world.run_all().returncode, 0)
        files = [path for path in (world.dir / "store").rglob("*") if path.is_file()]
        world.assertEqual(len(files), len(world.planned))
        for path in files:
            act(path)
        world.write_to("out")
        return world.run_all()
    return commit


def flip_bit(path):
    data = bytearray(path.read_bytes())
    data[-5] ^= 0x40
    path.write_bytes(data)


def halve(path):
    path.write_bytes(path.read_bytes()[:path.stat().st_size // 2])


def empty(path):
    path.write_bytes(b"")


def make_folder(path):
    path.unlink()
    path.mkdir()


def store_is_a_file(world):
    (world.dir / "store").write_text("no folder")
    return world.run_all()


def full_output(world):
    with open("/dev/full", "w", encoding="ascii") as full:
        return subprocess.run([ASSAY, *world.words()], cwd=world.dir, env=world.env, stdout=full, stderr=subprocess.PIPE,
                              text=True, timeout=60)


# ---- what the user does then ----

def run_again(world):
    world.assertEqual(world.stood, [], "records that stood are left behind")
    world.write_to("again")
    world.go.touch()
    return world.run_all()


def report(world):
    world.out.chmod(0o755)
    return world.assay("report", world.out.name)


def put_folder_back(world):
    world.out.unlink()
    (world.dir / "moved").rename(world.out)
    return world.resume()


def remove_line(world):
    world.results.write_bytes(b"".join(line for line in world.lines() if line.startswith(b"{")))
    return world.resume()


def copy_plan(world):
    done = world.assay("run", "--out", "other", *world.cases, *world.options)
    world.assertEqual(done.returncode, 0)
    shutil.copy(world.dir / "other/plan.json", world.out / "plan.json")
    return world.resume()


THEN = {"`--resume`": World.resume, "run again": run_again, "`assay report`": report,
        "put it back, `--resume`": put_folder_back, "remove the line, `--resume`": remove_line,
        "put a copy back, `--resume`": copy_plan, "`--resume --allow-changed`": lambda w: w.resume("--allow-changed")}
READ_ONLY_FOLDER = in_mid_run(make_read_only, HELD_BY_PERMISSIONS)
