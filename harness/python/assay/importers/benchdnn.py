# SPDX-License-Identifier: Apache-2.0
"""Cases of oneDNN's benchdnn: batch files, files of problems, and its output, of which the words behind __REPRO count. A
case there is a problem with one choice of the options that change what is computed."""
from __future__ import annotations

import itertools
import math
import os
import re
from typing import Iterator, Optional, Union

from ._benchdnn_options import DRIVERS, IGNORED, Choice, Driver, meaning_of
from ._cases import Found, Option, Unusable, attempt, read_text, show_path

_RESULT_MARK = "__REPRO: "
_MOST_INCLUDES = 16
_MOST_CHOICES = 100_000  # of options, for one problem
_NO_TEXT = re.compile("[^\t\n\r -~\u00a0-\U0010ffff]")
_PROBLEM = re.compile(r'([^n]*?)_*(?:n["\\]*(.*?)["\\]*)?', re.S)  # ic3oc16_n"name"

Items = Iterator[Union[Found, Option]]


def _text_of(path: str) -> str:
    try:
        text = read_text(path, errors="strict")
    except UnicodeDecodeError:
        text = "\0"
    if _NO_TEXT.search(text):
        raise Unusable(f"{show_path(path)}: it is no text; give files of benchdnn's inputs folder")
    return text


class _Reader:
    def __init__(self) -> None:
        self._options: dict[str, list[str]] = {}  # that were stated, each value by its meaning
        self._driver: Optional[Driver] = None
        self._choices: list[tuple[Choice, str]] = []  # of these options, made for the first of their problems

    def read_batch(self, path: str, depth: int, driver: str = "") -> Items:
        text = _text_of(path)
        if depth == 0:
            self._set_driver(driver or os.path.basename(os.path.dirname(path)))
        is_output = _RESULT_MARK in text
        begun = ""  # a line that goes on behind '\': its last word does too, unless an option follows
        for number, part in enumerate(text.split("\n"), 1):
            line = part.partition("\r")[0].strip(" \t")
            if line.startswith("#"):
                continue
            line = begun + " " * (begun != "" and line.startswith("-")) + line
            begun = line[:-1].strip(" \t") if line.endswith("\\") else ""
            if line.endswith("\\"):
                continue
            _, mark, result = line.partition(_RESULT_MARK)
            if mark:
                self._reset()
                line = result
            elif is_output:
                continue
            yield from self._read_line(line, f"{show_path(path)}:{number}", path, depth)

    def _read_line(self, line: str, where: str, path: str, depth: int) -> Items:
        for word in line.replace("\t", " ").split(" "):
            if word.startswith("#"):
                return
            if word.startswith("--batch="):
                yield from self._include(word[8:], where, path, depth)
            elif word.startswith("-"):
                yield from self._read_option(word[2 if word.startswith("--") else 1:])
            elif word and not word.endswith("benchdnn"):
                yield from self._take_problem(word, where)

    def _set_driver(self, name: str) -> None:
        self._driver = DRIVERS.get(name)
        self._reset()

    def _reset(self) -> None:
        self._options.clear()
        self._choices.clear()

    def _read_option(self, word: str) -> Iterator[Option]:
        name, equals, text = word.partition("=")
        name = name.replace("_", "-")
        counting = self._driver.options if self._driver else {}
        if not equals and name in DRIVERS:
            return self._set_driver(name)
        if name == "reset":
            return self._reset()
        if name not in counting and name.startswith("attr-") and name not in IGNORED:
            name = "attr-others"
        self._choices.clear()
        if name not in counting:
            yield Option("--" + name, name in IGNORED)
        elif text:
            self._options[name] = list(dict.fromkeys(meaning_of(name, value) for value in text.split(",")))
        else:  # its default again
            self._options.pop(name, None)

    def _find(self, name: str, path: str) -> Optional[str]:
        """Beside the file, or in the driver's folder beside it or above, as benchdnn looks for them."""
        folder = os.path.dirname(path)
        places = [os.path.join(folder, name), name]
        if self._driver:
            places += [os.path.join(above, self._driver.name, name) for above in (folder, os.path.dirname(folder))]
        return next(filter(os.path.isfile, places), None)

    def _include(self, name: str, where: str, path: str, depth: int) -> Items:
        def refuse(reason: str) -> Found:
            return Found(where, f"--batch={name}", None, reason)

        found = self._find(name, path)
        if found is None:
            yield refuse("a batch file that is not there")
        elif depth == _MOST_INCLUDES:
            yield refuse("batch files that include each other more than 16 deep")
        else:
            try:
                yield from self.read_batch(found, depth + 1)
            except (OSError, Unusable):
                yield refuse("a batch file that cannot be read")

    def _take_problem(self, word: str, where: str) -> Iterator[Found]:
        driver, reason = self._driver, ""
        if driver is None:
            reason = "no driver: give --driver NAME, such as matmul, for files that do not say it"
        elif driver.define is None:
            reason = f"driver {driver.name}: no such operator"
        elif math.prod(map(len, self._options.values())) > _MOST_CHOICES:
            reason = f"more than {_MOST_CHOICES} combinations of options"
        if driver is None or reason:
            yield Found(where, word, None, reason)
            return
        problem, label = _PROBLEM.fullmatch(word).groups("")
        for choice, stated in self._choices or self._make_choices(driver):
            yield attempt(where, f"{stated} {word}", label, lambda: driver.map_choice(choice, problem))

    def _make_choices(self, driver: Driver) -> list[tuple[Choice, str]]:
        """Every choice of the options, and the options that state it."""
        for values in itertools.product(*(self._options.get(name, [usual]) for name, usual in driver.options.items())):
            choice = dict(zip(driver.options, values))
            stated = [f" --{name}={value}" for name, value in choice.items() if value != driver.options[name]]
            self._choices.append((choice, f"--{driver.name}" + "".join(stated)))
        return self._choices


def read(path: str, driver: str) -> Items:
    if driver and driver not in DRIVERS:
        raise Unusable(f"--driver {driver}: benchdnn has no driver of this name; give matmul, conv, ip, softmax, reduction, "
                       "lnorm, gnorm or eltwise")
    return _Reader().read_batch(path, 0, driver)
