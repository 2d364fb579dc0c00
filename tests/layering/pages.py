# SPDX-License-Identifier: Apache-2.0
"""Checks what the pages (*.md) name: links and anchors, and with a program also verbs, options, scripts and files.

  pages.py ROOT                    every relative link leads to a file, and every anchor to a heading
  pages.py ROOT --program ASSAY    every `assay VERB --option` in them is in the program's help, every script and
                                   every file of the tree that a code span names is there
  pages.py ROOT --self-test        plants faults and fails unless each one is found
"""
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
ANCHOR = re.compile(r'<a (?:id|name)="([^"]+)"')
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*)")
PATH = re.compile(r"`((?:backends|golden|harness|ops|reports|scripts|tests)/[\w./*-]*)`")
FENCE = re.compile(r"^```.*?^```\n", re.M | re.S)


def pages_of(root):
    return [page for page in sorted(root.rglob("*.md"))
            if not {"build", "out", ".git"} & set(page.relative_to(root).parts)]


def anchors_of(text):
    """The anchors that GitHub gives to headings, and those that a page sets itself."""
    found = set(ANCHOR.findall(text))
    for title in re.findall(r"^#+ +(.*?)\s*$", FENCE.sub("", text), re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)  # a link counts with its text
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        same = sum(1 for name in found if re.fullmatch(re.escape(slug) + r"(-\d+)?", name))
        found.add(f"{slug}-{same}" if slug in found else slug)
    return found


def link_problems(root):
    found = []
    pages = pages_of(root)
    for page in pages:
        here = page.relative_to(root)
        text = FENCE.sub("", page.read_text(encoding="utf-8"))
        for link in LINK.findall(re.sub(r"`[^`]*`", "", text)):  # code is no link
            if re.match(r"[a-z]+:", link):
                continue  # elsewhere
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            if not target.exists():
                found.append(f"{here}: {link}: there is no such file")
            elif anchor and anchor not in anchors_of(target.read_text(encoding="utf-8")):
                found.append(f"{here}: {link}: no heading gives this anchor")
    return found if pages else [f"no page under {root}: wrong folder?"]


def help_of(program, verb=()):
    """{verb: options} of the program, of its verbs and of those below them."""
    text = subprocess.run([program, *verb, "--help"], capture_output=True, text=True, check=True).stdout
    if "--help-all" in text:
        text = subprocess.run([program, *verb, "--help-all"], capture_output=True, text=True, check=True).stdout
    known = {verb: set(OPTION.findall("\n".join(line for line in text.splitlines() if line.startswith("  -"))))}
    for name in re.findall(r"^  ([a-z][a-z-]*)", re.sub(r"^Positionals:\n(  .*\n)*", "", text, flags=re.M), re.M):
        known.update(help_of(program, (*verb, name)))
    return known


def commands_of(text):
    """The command lines in a page's blocks and code spans, continuation lines joined and comments left out."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    lines += re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
    for line in lines:
        line = re.sub(r"^\$ ", "", re.sub(r"\s#.*", "", line))
        for part in re.split(r"&&|\||;", line) if "assay" in line or "scripts/" in line or line.startswith("--") else ():
            try:
                yield shlex.split(part)
            except ValueError:
                pass  # no command: a quotation of something


def command_problems(root, page, known):
    everywhere = set().union(*known.values())
    scripts = " ".join(path.read_text(encoding="utf-8") for path in [*(root / "scripts").glob("*.*"), root / "harness/python/assay/compose.py"] if path.is_file())
    for words in commands_of(page.read_text(encoding="utf-8")):
        while words and re.fullmatch(r"\w+=\S*", words[0]):
            words = words[1:]  # a variable of the command
        name = words[0] if words else ""
        verb = ("run",) if name.endswith("scripts/run.sh") else ()
        if re.match(r"(\./)?scripts/[\w.-]+\.(sh|py)$", name) and not (root / name).is_file():
            yield f"{name}: there is no such script"
        elif name.startswith("--"):
            option = OPTION.match(name)
            if option and option[1] not in everywhere and option[1] not in scripts:
                yield f"{name}: no verb and no script has this option"
        elif (name == "assay" or name.endswith("/assay") or verb) and len(words) > 1:
            rest = words[1:]
            while rest and (*verb, rest[0]) in known:
                verb, rest = (*verb, rest[0]), rest[1:]
            if not verb and re.fullmatch(r"[a-z][a-z-]*", rest[0]):
                yield f"{' '.join(words[:2])}: there is no such verb"
            for word in rest:
                option = OPTION.match(word)
                if option and option[1] not in known[verb]:
                    yield f"{' '.join(words)}: {option[1]} is no option of {' '.join(['assay', *verb])}"


def path_problems(root, page):
    for path in PATH.findall(page.read_text(encoding="utf-8")):
        if not any(root.glob(path.rstrip("/"))):
            yield f"{path}: there is no such file"


def program_problems(root, program):
    known = help_of(program)
    return [f"{page.relative_to(root)}: {problem}" for page in pages_of(root)
            for problem in [*command_problems(root, page, known), *path_problems(root, page)]]


def self_test():
    """Each fault must be found in a page that has it, and none in the page before."""
    right = ("# A b, `c`\n[a](#a-b-c) [f](sub/x.md#x) [g](https://x.y/z) ![p](p.svg)\n`assay run --case x` `assay list ops`\n"
             "```\n$ ./scripts/run.sh --case y  # --nothing\nassay run \\\n  --case z\n# no heading\n```\n`--case` `[a](b)[c](d)` `scripts/*.sh` `sub/y`\n")
    faults = ["[a](#no-heading)", "[f](sub/y.md)", "[f](sub/x.md#a-b-c)", "![p](q.svg)", "`assay walk`", "`assay run --cast x`",
              "```\nassay run \\\n  --cast z\n```", "`assay list ops --case x`", "`./scripts/walk.sh`", "`--cast`",
              "`./scripts/run.sh --cast x`", "`scripts/walk.txt`"]
    known = {(): {"--help"}, ("run",): {"--case"}, ("list",): set(), ("list", "ops"): {"--verbose"}}
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {"sub/x.md": "# X\n", "p.svg": "", "scripts/run.sh": ""}.items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text)
        for fault in ["", *faults]:
            page = root / "page.md"
            page.write_text(right + fault + "\n")
            found = link_problems(root) + [*command_problems(root, page, known), *path_problems(root, page)]
            if len(found) != (1 if fault else 0):
                failures.append(f"self-test: {fault or 'a page without fault'} gives {found}")
    return failures


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    if "--self-test" in sys.argv[2:]:
        found = self_test()
    else:
        found = link_problems(root)
        if "--program" in sys.argv[2:]:
            found += program_problems(root, sys.argv[sys.argv.index("--program") + 1])
    print("\n".join(found) if found else "ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
