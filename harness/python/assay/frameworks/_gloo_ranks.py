# SPDX-License-Identifier: Apache-2.0
"""Processes of one host that meet by torch.distributed over gloo and do collectives, started as _gloo_ranks.py FOLDER DESCRIPTORS."""
from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, Mapping, Optional

import torch

MEETING_S = 50.0  # for the processes to start and meet, which importing PyTorch once delays


class RankFailure(RuntimeError):
    """A rank ended, refused or did not answer."""


class Ranks:
    """Processes that wait for calls. Whatever goes wrong ends all of them; the next call needs new ones."""

    def __init__(self, count: int, patience_s: float = 40.0) -> None:
        self.count, self._patience = count, patience_s
        self.folder = tempfile.TemporaryDirectory(prefix="assay-gloo-")
        pairs = [(os.pipe(), os.pipe()) for _ in range(count)]  # to the rank, and back
        self._to, self._back = [to[1] for to, _ in pairs], [back[0] for _, back in pairs]
        theirs = [end for to, back in pairs for end in (to[0], back[1])]
        self._server = subprocess.Popen([sys.executable, __file__, self.folder.name, *map(str, theirs)], pass_fds=theirs, stdin=subprocess.DEVNULL,
                                        start_new_session=True)
        for end in theirs:
            os.close(end)
        self._pending = [b""] * count
        try:
            self._ids = [int(answer["pid"]) for answer in self._answers("to meet", max(patience_s, MEETING_S))]
        except BaseException:
            self.close()
            raise

    @property
    def process_ids(self) -> list[int]:
        return list(self._ids)

    def call(self, collective: str, x: torch.Tensor, result_shape: tuple[int, ...]) -> torch.Tensor:
        """The results of all ranks, a row each, of what the rows of x are. Raises RankFailure where one fails. Whatever is raised,
        all ranks have ended."""
        try:
            return self._call(collective, x, result_shape)
        except BaseException:
            self.close()
            raise

    def _call(self, collective: str, x: torch.Tensor, result_shape: tuple[int, ...]) -> torch.Tensor:
        paths = {name: os.path.join(self.folder.name, name) for name in ("x", "y")}
        y = torch.from_file(paths["y"], shared=True, size=result_shape[0] * result_shape[1], dtype=x.dtype).view(result_shape)
        torch.from_file(paths["x"], shared=True, size=x.numel(), dtype=x.dtype).copy_(x.reshape(-1))
        order = {"collective": collective, "type": str(x.dtype).removeprefix("torch."), "x": list(x.shape), "y": list(result_shape)}
        for rank, end in enumerate(self._to):
            try:
                os.write(end, json.dumps(order).encode() + b"\n")
            except OSError:
                self._fail(f"rank {rank} of {self.count} has ended", rank)
        self._answers(collective, self._patience)
        return y.clone()

    def close(self) -> None:
        if self._server.returncode is not None:  # an earlier call ended them
            return
        for end in (*self._to, *self._back):
            os.close(end)
        self._to, self._back = [], []
        try:
            os.killpg(self._server.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._server.wait()
        self.folder.cleanup()

    def _answers(self, what: str, patience_s: float) -> list[Mapping[str, Any]]:
        answers: dict[int, Mapping[str, Any]] = {}
        end = time.monotonic() + patience_s
        while len(answers) < self.count:
            waiting = {self._back[rank]: rank for rank in range(self.count) if rank not in answers}
            ready, _, _ = select.select(list(waiting), [], [], max(0.0, end - time.monotonic()))
            if not ready:
                silent = ", ".join(str(rank) for rank in waiting.values())
                self._fail(f"of {self.count} ranks {silent} did not answer {what} within {patience_s:g} s; all were ended")
            for descriptor in ready:
                rank = waiting[descriptor]
                read = os.read(descriptor, 65536)
                if not read:
                    self._fail(f"rank {rank} of {self.count} ended during {what}", rank)
                self._pending[rank] += read
                if self._pending[rank].endswith(b"\n"):
                    answers[rank] = json.loads(self._pending[rank])
                    self._pending[rank] = b""
                    if "error" in answers[rank]:
                        self._fail(f"rank {rank} of {self.count} refused {what}: {answers[rank]['error']}")
        return [answers[rank] for rank in range(self.count)]

    def _how(self, rank: int) -> str:
        try:
            with open(os.path.join(self.folder.name, f"end-{rank}"), encoding="utf-8") as file:
                return file.read()
        except OSError:
            return "nobody knows how; its messages are on standard error"

    def _fail(self, text: str, ended: Optional[int] = None) -> None:
        if ended is not None:
            time.sleep(0.2)  # until the server has written how it ended
            text += ", " + self._how(ended)
        self.close()
        raise RankFailure(f"gloo: {text}")


def _compute(order: Mapping[str, Any], rank: int, folder: str) -> None:
    import torch.distributed as dist
    dtype = getattr(torch, order["type"])

    def rows(name: str) -> torch.Tensor:
        shape = order[name]
        return torch.from_file(os.path.join(folder, name), shared=True, size=shape[0] * shape[1], dtype=dtype).view(shape)

    x, y = rows("x")[rank].clone(), rows("y")[rank]
    if order["collective"] == "all_reduce":
        dist.all_reduce(x)
        y.copy_(x)
    elif order["collective"] == "reduce_scatter":
        part = torch.empty_like(y)
        dist.reduce_scatter_tensor(part, x)
        y.copy_(part)
    else:
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x)
        y.copy_(torch.cat(parts))


def _serve(rank: int, count: int, folder: str, read: int, write: int) -> None:
    import torch.distributed as dist
    torch.set_num_threads(1)

    def answer(**fields: Any) -> None:
        os.write(write, json.dumps(fields).encode() + b"\n")

    try:
        dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=count)
    except Exception as error:
        return answer(error=f"{type(error).__name__}: {error}"[:2000])
    answer(pid=os.getpid())
    with os.fdopen(read) as orders:
        for line in orders:
            try:
                _compute(json.loads(line), rank, folder)
                answer()
            except Exception as error:
                answer(error=f"{type(error).__name__}: {error}"[:2000])


def _describe(status: int) -> str:
    return f"by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"with exit code {os.waitstatus_to_exitcode(status)}"


def main(folder: str, *descriptors: str) -> None:
    """Forks the ranks, which share one import of PyTorch, and writes down how each ended."""
    ends = [int(each) for each in descriptors]
    count, ranks = len(ends) // 2, {}
    for rank in range(count):
        process = os.fork()
        if process == 0:
            for end in ends[:2 * rank] + ends[2 * rank + 2:]:
                os.close(end)  # else nobody sees that another rank has gone
            _serve(rank, count, folder, ends[2 * rank], ends[2 * rank + 1])
            os._exit(0)
        ranks[process] = rank
    for _ in range(count):
        process, status = os.wait()
        with open(os.path.join(folder, f"end-{ranks[process]}"), "w", encoding="utf-8") as file:
            file.write(_describe(status))
        os.close(ends[2 * ranks[process] + 1])


if __name__ == "__main__":
    main(*sys.argv[1:])
