# SPDX-License-Identifier: Apache-2.0
"""Checks how comments begin: none opens with a word that leaves its subject to the line below. Checks also that each
page (*.md) that a comment names is there, from the file's folder or one above it, with the heading that #... asks for.

A block is a run of full-line comments. A comment behind code is a block of its own, and so is a docstring of Python.
The line with the licence, or with the interpreter of a script, belongs to no block.

  comments.py ROOT              checks the tree; prints "file:line: what" and exits 1 on a violation
  comments.py ROOT --self-test  plants comments, good ones and bad ones, and fails unless exactly the bad ones are found
"""
import ast
import io
import os
import pathlib
import re
import sys
import tempfile
import tokenize

from pages import anchors_of

OPENING = r"(?P<opening>Of|What|The same|Those|As)\b"
REFUSED = re.compile(rf"[\s*]*{OPENING}")
RULE = "a comment is a sentence with a subject and a verb, or a plain description of a value; rewrite it, or delete it"
# A file without a match has no violation; only the others are taken apart.
CANDIDATE = re.compile(rf"(?://|#|/\*|\"|'|SPDX-.*\n)[\s/!<*#]*{OPENING}")
PAGE = re.compile(r"(?<![\w./:*-])(?P<page>[\w./-]*\w\.md)\b(?:#(?P<anchor>[\w-]+))?")
WRITTEN = {"summary.md"}  # by a run
FIXED = "ops/profiles/"  # no byte of a published profile changes
APART = re.compile(r"SPDX-|!/")  # the licence, and `#!/...`

LITERALS = {  # one expression a language: strings first, so that // and # in them are no comments
    "c": r"""R"(?P<delimiter>[^\s()\\]{0,16})\(.*?\)(?P=delimiter)"|"(?:[^"\\\n]|\\.)*"|\b\d(?:'?[\w.])*"""
         r"""|'(?:[^'\\\n]|\\.)*'|(?P<comment>//(?:[^\\\n]|\\.)*|/\*.*?\*/)""",
    "cmake": r"""\[(?P<level>=*)\[.*?\](?P=level)\]|"(?:[^"\\]|\\.)*"|\\."""
             r"""|(?P<comment>#\[(?P<fence>=*)\[.*?\](?P=fence)\]|#[^\n]*)""",
    "shell": r"""<<-?\s*(?P<quote>['"]?)(?P<end>\w+)(?P=quote).*?^\s*(?P=end)$|'[^']*'|"(?:[^"\\]|\\.)*"|\\."""
             r"""|(?:(?<=[\s;(])|^)(?P<comment>\#[^\n]*)""",
    "toml": r'''"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|(?P<comment>\#[^\n]*)'''}
LITERALS = {language: re.compile(text, re.S | re.M) for language, text in LITERALS.items()}
LANGUAGES = {".py": "python", ".cmake": "cmake", ".sh": "shell", ".toml": "toml"}
LANGUAGES |= dict.fromkeys(".c .cc .cpp .h .hpp .inc .cu .cuh .hip .cl .comp .glsl".split(), "c")


def language_of(name):
    if name == "CMakeLists.txt":
        return "cmake"
    return LANGUAGES.get(os.path.splitext(name.removesuffix(".in"))[1])


def sources_of(root):
    """The files in a known language, without what a build makes."""
    for folder, folders, names in os.walk(root):
        skip = r"\.|build|out" if folder == str(root) else r"\."
        folders[:] = [name for name in folders if not re.match(skip, name)]
        for name in sorted(names):
            language = language_of(name)
            if language:
                yield pathlib.Path(folder, name), language


def comments_of(text, language):
    """(line, column, text) of each comment, docstrings included, without the characters that open and close it."""
    if language != "python":
        line, done = 1, 0
        for match in LITERALS[language].finditer(text):
            if match["comment"] is not None:
                start = match.start("comment")
                line, done = line + text.count("\n", done, start), start
                yield line, start - text.rfind("\n", 0, start) - 1, match["comment"]
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield *token.start, token.string
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and body:
            first = getattr(body[0], "value", None) if isinstance(body[0], ast.Expr) else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.lineno, first.col_offset, '"""' + first.value


def blocks_of(text, language):
    """(line, text) of the first comment of each block."""
    lines = text.split("\n")
    after = (0, 0, False)  # the line below the last comment, its column, and whether it may go on there
    for line, column, comment in sorted(comments_of(text, language)):
        own_line = not lines[line - 1][:column].strip()
        one_line = comment.startswith("//") or comment.startswith("#") and not re.match(r"#\[=*\[", comment)
        words = re.sub(r'^(?:/\*+|//+|#\[=*\[|#+(?!!/)|""")[!<]*', "", comment)
        apart = APART.match(words.lstrip(" #"))
        goes_on = own_line and one_line and after[2] and after[0] == line and (after[1] in (column, -1))
        if not goes_on and not apart:
            skipped = len(words) - len(words.lstrip("\n\t *"))
            yield line + words.count("\n", 0, skipped), words[skipped:]
        elif apart and "\n" in words:  # a licence at the head of a block comment
            yield line + 1, words.split("\n", 1)[1]
        after = (line + 1, -1 if own_line else column, one_line and not apart)


def page_problems(root, path, text, language):
    """(line, what) of each page that a comment names and that is not there."""
    folders = [folder for folder in path.parents if folder == root or root in folder.parents]
    for line, _, comment in comments_of(text, language):
        for match in PAGE.finditer(comment):
            pages = [folder / match["page"] for folder in folders if (folder / match["page"]).is_file()]
            at = line + comment.count("\n", 0, match.start())
            if not pages and match["page"] not in WRITTEN:
                yield at, f"{match[0]}: there is no such page"
            elif pages and match["anchor"] and not any(
                    match["anchor"] in anchors_of(page.read_text(encoding="utf-8")) for page in pages):
                yield at, f"{match[0]}: no heading gives this anchor"


def violations(root):
    found, files = [], 0
    for path, language in sources_of(root):
        files += 1
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(root).as_posix()
        if ".md" in text and not name.startswith(FIXED):
            found += [f"{name}:{line}: {problem}" for line, problem in page_problems(root, path, text, language)]
        if CANDIDATE.search(text) is None:
            continue
        for line, words in blocks_of(text, language):
            match = REFUSED.match(words)
            if match:
                first = words.strip(" *\n").splitlines()[0].removesuffix("*/").strip()
                found.append(f"{name}:{line}: this comment begins with '{match['opening']}': {first}\n  {RULE}")
    return files, found


BAD = {  # BAD marks a line on which one is found
    "a.cc": """// SPDX-License-Identifier: Apache-2.0
// What follows the licence. BAD
// Of a second line: part of the block above.

// Of a block. BAD
int a = 1'000;  // As a trailing comment. BAD
int b;          // A trailing one
                // As it goes on below.
int c;  // Fine.
// The same on a line of its own, which begins a block. BAD
/* Those in one line. BAD */
/*
 * As on the second line. BAD
 */
char d = '"';  // What follows a quotation mark. BAD
auto e = R"x(")" // Of no comment
)x";  // Of one. BAD
/// What tools read. BAD
""", "a.h": "int a;  ///< Of what stands before. BAD\n/** The same. BAD */\n",
    "a.cu": "// Of a kernel. BAD\n", "a.cl": "// What OpenCL runs. BAD\n", "a.comp": "// Those of Vulkan. BAD\n",
    "a.glsl": "#version 450\n// The same. BAD\n", "a.hip": "// As HIP has it. BAD\n", "a.cc.in": "// Of @this@. BAD\n",
    "a.c": "/* SPDX-License-Identifier: Apache-2.0\n   What follows the licence. BAD */\n",
    "a.py": '''# SPDX-License-Identifier: Apache-2.0
"""What a module is. BAD"""
class A:
    """
    Of a class. BAD
    """
    async def f():
        "The same. BAD"
        g("# Of no comment")  # Those behind code. BAD
        # As a block. BAD
''', "a.sh": """#!/bin/sh
# What follows the interpreter. BAD
echo "# Of no comment" ${a#Of} $#  # Of one. BAD
cat <<'END'
# Of no comment: it isn't
END
# Those behind it. BAD
""", 
    "CMakeLists.txt": 'set(a "# Of none")  # Of one. BAD\n#[[ As a block. BAD ]]\n'
                      'set(b [[\n# What no comment says\n]])\n',
    "sub/pages.cc": """// Sums (NONE.md 1). BAD
int a;  // sub/none.md BAD
/* Sums,
   page.md#no-heading BAD */
int b;  // deeper/page.md BAD
""",
    "sub/pages.py": '"""Sums.\n\nAs in NONE.md. BAD\n"""\n# page.md#a-heading-1 BAD\n',
    "sub/a.cmake": "# The same. BAD\n", "sub/a.toml": 'a = "x # Of none"\n# Those. BAD\nb = 1  # As. BAD\n'}
GOOD = {"good.cc": """// Sums of squares.
// Of these the root.
int a;  // Often seconds; Ask, Whatever, Thosely, Office
const char* b = "// Of none";  // of lower case
const char* c = "\\"// What";
char d = '"'; const char* e = "/* As none */";
// Same as above. The same again: What, Of, Those.
/* Numbers
   Of many. */
auto f = R"(// Of none " )";
int g = 1'000'000; const char* h = "// As none";
""", "good.py": '''"""Module.

Of a second paragraph.
"""
A = """What is no docstring
# Of none
"""
B = "# As none" f'{A}# Those'
''', "good.sh": "echo '# Of none' a#Of\n# Runs.\n# As told.\n", "good.txt": "# Of no language\n",
    "build/a.cc": "// Of a build\n", "out-1/a.cc": "// As an output\n", ".git/a.sh": "# What git keeps\n",
    "page.md": "# A heading\n", "sub/page.md": "# Another\n", "ops/profiles/old.toml": "# NONE.md\n",
    "sub/named.cc": """// page.md#a-heading, sub/page.md#another, page.md#another
// https://x.y/NONE.md, *.md, summary.md, page.mdx
const char* a = "NONE.md";
""",
    "sub/CMakeLists.txt": 'set(a "\n# The same\n")\n',
    "good.toml": "a = '''\n# Of none\n'''\n"}


def self_test():
    """Exactly the marked lines must be found."""
    with tempfile.TemporaryDirectory() as folder:
        expected = set()
        for name, text in {**BAD, **GOOD}.items():
            file = pathlib.Path(folder, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            expected |= {f"{name}:{number}" for number, line in enumerate(text.splitlines(), 1) if "BAD" in line}
        found = [":".join(problem.split(":")[:2]) for problem in violations(pathlib.Path(folder))[1]]
    failures = [f"self-test: {place}: not found" for place in sorted(expected - set(found))]
    failures += [f"self-test: {place}: found, but it is none" for place in sorted(set(found) - expected)]
    return failures + [f"self-test: {place}: found twice" for place in sorted(set(found)) if found.count(place) > 1]


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    if "--self-test" in sys.argv[2:]:
        found = self_test()
    else:
        files, found = violations(root)
        print(f"{files} files looked at")
        if files == 0:
            found = [f"no source file under {root}: wrong folder?"]
    print("\n".join(found) if found else "ok")
    return 1 if found else 0


sys.exit(main())
