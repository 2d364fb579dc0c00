#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""man_pages.py PROGRAM FOLDER: writes assay.1, assay-run.1, ... from what the program's --help says of each verb.

The help is the one text: a page has it as a synopsis, a list of options and a list of verbs, and adds only what is the
same for all of them (exit codes, environment, where the guides are).
"""
import pathlib
import re
import subprocess
import sys

EXIT_CODES = [
    ("0", "Everything is as it should be."),
    ("1", "A result is wrong, weaker than required, or a regression."),
    ("2", "The command line or a file that it names is wrong; nothing has run."),
    ("3", "A backend crashed, hung or failed, a planned result is missing, or assay itself failed."),
    ("4", "Nothing was selected, or no backend offers any of it."),
    ("5", "A backend that --require-backend names is absent or unusable."),
    ("130", "Interrupted, after what was there has been written."),
]
ENVIRONMENT = [
    ("ASSAY_PLUGIN_FILES", "Plugins that replace the installed ones, separated by colons."),
    ("ASSAY_ADD_PLUGIN_FILES", "Plugins beside the installed ones, separated by colons."),
    ("ASSAY_GOLDEN_STORE", "Folder of the golden values; by default ~/.cache/assay/golden."),
    ("ASSAY_SHARD", "I/N, as --shard."),
    ("NO_COLOR", "No colours on the terminal."),
]


def help_of(program, verb, option="--help"):
    done = subprocess.run([program, *verb, option], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SystemExit(f"man_pages.py: {' '.join([str(program), *verb])} {option} gave exit code {done.returncode}: {done.stderr}")
    has_more = option == "--help" and "--help-all" in done.stdout
    return help_of(program, verb, "--help-all") if has_more else done.stdout


def sections_of(text):
    """(description, usage, {heading: [(term, explanation)]}) of a help text."""
    head, *rest = re.split(r"^(\w+):\n", text, flags=re.MULTILINE)
    description, usage = re.fullmatch(r"(.*)\nUsage: (.*?)\s*", head.strip("\n") + "\n", re.DOTALL).groups()
    sections = {}
    for heading, body in zip(rest[::2], rest[1::2]):
        entries = []
        for line in body.splitlines():
            if re.match(r" {2}\S", line):  # a term, and what it means unless the term is too long for that
                term, _, meaning = line.strip().partition("  ")
                entries.append((term, [meaning.strip()] if meaning else []))
            elif line.strip():
                entries[-1][1].append(line.strip())
        sections[heading] = [(term, " ".join(lines)) for term, lines in entries]
    if not sections.get("Options"):  # --help itself is one
        raise ValueError(f"no options under 'Options:', but these sections: {', '.join(sections) or 'none'}")
    return " ".join(description.split()), usage, sections


def arguments_of(sections):
    return [heading for heading in sections if heading == "Positionals"]


def options_of(sections):
    """The headings of options: "Options" first, then those of groups."""
    return [heading for heading, entries in sections.items() if entries[0][0].startswith("-")]


def verbs_of(sections):
    return [heading for heading in sections if heading not in (*arguments_of(sections), *options_of(sections))]


def roff(text):
    """Escapes running text for roff: a leading dot or apostrophe is no request, and a hyphen stays a hyphen."""
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("`", r"\(ga").replace("^", r"\(ha").replace("~", r"\(ti")
    return r"\&" + text if text.startswith(".") else text


def list_of(entries):
    lines = []
    for term, meaning in entries:
        lines += [".TP", rf"\fB{roff(term)}\fR", roff(meaning or "See the guides.")]
    return lines


def page(verb, description, usage, sections, version, others):
    name = "-".join(["assay", *verb])
    lines = [f'.\\" Written by scripts/man_pages.py from the program\'s --help.',
             f'.TH "{name.upper()}" "1" "" "assay {version}" "assay"', ".nh", ".ad l",
             ".SH NAME", rf"{roff(name)} \- {roff(description)}", ".SH SYNOPSIS", rf"\fB{roff(usage)}\fR"]
    for title, headings in (("ARGUMENTS", arguments_of(sections)), ("OPTIONS", options_of(sections)), ("COMMANDS", verbs_of(sections))):
        for heading in headings:
            lines += [f".SH {title}" if heading == headings[0] else f".SS {heading}", *list_of(sections[heading])]
    lines += [".SH EXIT STATUS", *list_of(EXIT_CODES)]
    lines += [".SH ENVIRONMENT", *list_of(ENVIRONMENT)]
    lines += [".SH SEE ALSO", ",\n".join(rf"\fB{roff(other)}\fR(1)" for other in others if other != name),
              ".PP", roff("The guides are installed in share/doc/assay; README.md there says which is which.")]
    return name, "\n".join(lines) + "\n"


def collect(program, verb=()):
    """The pages of a verb and of those below it."""
    try:
        description, usage, sections = sections_of(help_of(program, verb))
    except ValueError as error:
        raise SystemExit(f"man_pages.py: {' '.join([str(program), *verb])} --help has {error}; "
                         "read sections_of() against what this CLI11 writes") from error
    found = [(verb, description, usage, sections)]
    for heading in verbs_of(sections):
        for below, _ in sections[heading]:
            found += collect(program, (*verb, below))
    return found


def main(program, folder):
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    found = collect(program)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for verb, *content in found:
        # The page above, those beside it and those right below.
        near = ["-".join(["assay", *other]) for other, *_ in found if other[:-1] in (verb, verb[:-1]) or other == verb[:-1]]
        name, text = page(verb, *content, version, near)
        (folder / f"{name}.1").write_text(text)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: man_pages.py PROGRAM FOLDER")
    main(*sys.argv[1:])
