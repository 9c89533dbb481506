# SPDX-License-Identifier: Apache-2.0
"""Sizes, banned calls, leftovers: each rule is a function from a file or a tree to findings."""

import ast
import posixpath
import re

from tidy_checks import cpp

LINE_COLUMNS_MAX = 100
HEADER_LINES_MAX = 250
SOURCE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
ROOM_README_LINES_MAX = 60

# Rooms that decide. They see the world through events alone and must repeat themselves exactly.
CORE_ROOMS = {"base", "model", "policy", "placement", "planner", "predict", "engine"}

# Where libraries that throw are wrapped.
ADAPTERS = re.compile(r"src/mainspring/(config/.*|base/json\w*|cli/.*)\.cc$")

LICENSE = "SPDX-License-Identifier: Apache-2.0"
CLOCK = re.compile(
    r"\b(system_clock|steady_clock|high_resolution_clock|gettimeofday|clock_gettime|localtime)\b"
    r"|(?<![\w.>])(?:std::|::)?time\s*\(\s*(?:nullptr|NULL|0|&)"
)
CHANCE = re.compile(
    r"(?<![\w.>:])(?:std::|::)?(rand|srand|random_shuffle)\s*\(|\b(random_device)\b"
)
WORLD = re.compile(
    r"#\s*include\s*<(thread|mutex|shared_mutex|future|atomic|condition_variable|filesystem"
    r"|fstream|iostream|random|ctime|sys/[\w/]+\.h|unistd\.h|fcntl\.h)>"
)
UNORDERED = re.compile(r"#\s*include\s*<(unordered_map|unordered_set|boost/unordered[\w/.]*)>")
# Where look-ups by hash are wrapped so that nobody can walk them.
HASH_TABLES = re.compile(r"src/mainspring/base/\w+\.cc$")
EXCEPTION = re.compile(r"\b(throw|try|catch)\b")
COROUTINE = re.compile(r"\b(co_await|co_yield|co_return)\b|#\s*include\s*<coroutine>")
# Written so that this file does not find itself.
LEFTOVER = re.compile(r"\b(TO[D]O|FIX[M]E|X[X]X|HA[C]K)\b")
MACHINE_PATH = re.compile(
    r"(?<![\w.])(/(?:wor[k]|roo[t]|home/\w+|tmp/brie[f]|mnt/\w+))(?=[/\s'\"`]|$)"
)
VAGUE_WORD = re.compile(r"(?i)^(manager|helper|util)s?$")
# header, the files that may include it, and those files in words
HEAVY_HEADERS = [
    ("yaml-cpp/", r"src/mainspring/config/.*\.cc$", "sources of config/"),
    ("CLI/", r"src/mainspring/cli/.*\.cc$", "sources of cli/"),
    ("boost/json", r"src/mainspring/base/json\w*\.(h|cc)$", "base/json*"),
    ("zlib.h", r"src/mainspring/.*\.cc$", "sources"),
]


def line_length(file):
    if not file.is_code:
        return
    for number, line in enumerate(file.lines, start=1):
        if len(line) > LINE_COLUMNS_MAX:
            text = f"{len(line)} columns, at most {LINE_COLUMNS_MAX}"
            yield from file.finding(number, "line-length", text)


def file_length(file):
    if not file.is_code:
        return
    limit = HEADER_LINES_MAX if file.suffix == ".h" else SOURCE_LINES_MAX
    if len(file.lines) > limit:
        yield from file.finding(1, "file-length", f"{len(file.lines)} lines, at most {limit}")


def function_length(file):
    if file.is_cpp:
        functions = cpp.functions("\n".join(file.code_lines))
        found = [(f.name, f.first_line, f.line_count) for f in functions]
    elif file.suffix == ".py":
        found = [
            (node.name, node.lineno, node.end_lineno - node.lineno + 1)
            for node in ast.walk(ast.parse(file.text))
            if isinstance(node, ast.FunctionDef)
        ]
    else:
        return
    for name, line, count in found:
        if count > FUNCTION_LINES_MAX:
            text = f"{name} has {count} lines, at most {FUNCTION_LINES_MAX}"
            yield from file.finding(line, "function-length", text)


def license_line(file):
    if not file.is_code:
        return
    # A script begins with the line that names its interpreter.
    first = 1 if file.text.startswith("#!") else 0
    if len(file.lines) <= first or LICENSE not in file.lines[first]:
        yield from file.finding(1, "license", f"the first line must be '{LICENSE}'")


def pragma_once(file):
    if file.suffix == ".h" and "#pragma once" not in file.lines:
        yield from file.finding(1, "pragma-once", "a header needs '#pragma once'")


def white_space(file):
    yield from file.search("white-space", re.compile(r"[ \t\r]+$"), "white space at the end")
    if file.is_code and file.name != "Makefile":
        yield from file.search("white-space", re.compile(r"\t"), "a tab")
    if file.text and not file.text.endswith("\n"):
        yield from file.finding(len(file.lines), "white-space", "no newline at the end of the file")


def leftovers(file):
    yield from file.search("leftover", LEFTOVER, r"'\1' left behind: do it, or file it")
    yield from file.search("machine-path", MACHINE_PATH, r"'\1' exists on one machine only")


def vague_names(file):
    words = re.split(r"[^A-Za-z]+", file.path)
    if any(VAGUE_WORD.match(word) for word in words):
        yield from file.finding(1, "vague-name", "a name that says nothing: what does it do?")
    if not file.is_cpp:
        return
    for number, line in enumerate(file.code_lines, start=1):
        for name in re.findall(r"[A-Za-z_]\w*", line):
            words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
            if any(VAGUE_WORD.match(word) for word in words):
                yield from file.finding(number, "vague-name", f"'{name}' says nothing")


def exceptions_and_coroutines(file):
    if not file.is_cpp:
        return
    text = r"'\1': the compiler of this project miscompiles coroutines"
    yield from file.search("coroutine", COROUTINE, text, file.code_lines)
    if not ADAPTERS.match(file.path):
        text = r"'\1' outside the adapters: use Result, Verdict or MAINSPRING_CHECK"
        yield from file.search("exception", EXCEPTION, text, file.code_lines)


def pure_core(file):
    if not file.is_cpp:
        return
    text = "chance that no seed repeats: use base::Rng"
    yield from file.search("chance", CHANCE, text, file.code_lines)
    if file.room not in CORE_ROOMS:
        return
    yield from file.search("clock", CLOCK, "the core reads no clock", file.code_lines)
    if not HASH_TABLES.match(file.path):
        text = r"<\1>: its order is no order; use base::IdMap, a vector or a sorted map"
        yield from file.search("unordered", UNORDERED, text, file.code_lines)
    if not file.is_test:
        text = r"<\1>: the core knows no files, threads or streams"
        yield from file.search("outside-world", WORLD, text, file.code_lines)


def heavy_headers(file):
    if not file.is_cpp:
        return
    for header, home, words in HEAVY_HEADERS:
        if not re.match(home, file.path):
            text = rf"<\1> belongs in {words} only"
            pattern = re.compile(rf"#\s*include\s*[<\"]({re.escape(header)}[^>\"]*)")
            yield from file.search("heavy-header", pattern, text, file.code_lines)


def room_readmes(tree):
    for room in sorted({file.room for file in tree.files if file.room and file.is_cpp}):
        path = f"src/mainspring/{room}/README.md"
        readme = tree.by_path.get(path)
        if readme is None:
            any_file = next(file for file in tree.files if file.room == room)
            yield from any_file.finding(1, "room-readme", f"room {room} has no README.md")
        elif len(readme.lines) > ROOM_README_LINES_MAX:
            yield from readme.finding(1, "room-readme", "longer than a page")


def unused_headers(tree):
    """A header that only its own source and test include is dead."""
    used = set()
    for file in tree.files:
        if not file.is_cpp:
            continue
        stem = re.sub(r"(_test)?\.(cc|h)$", "", file.path)
        for included in re.findall(r'#\s*include\s*"([^"]+)"', file.text):
            if stem != "src/" + included.removesuffix(".h"):
                used.add("src/" + included)
    for file in tree.files:
        if file.room and file.suffix == ".h" and file.path not in used:
            yield from file.finding(1, "unused-header", "nothing includes this header")


def broken_links(tree):
    """Relative links in Markdown lead to something that exists in the tree."""
    for file in tree.files:
        if file.suffix != ".md":
            continue
        for number, line in enumerate(file.lines, start=1):
            for link in re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"", line):
                target = (link[0] or link[1]).split("#")[0]
                if not target or re.match(r"[a-z]+:", target):
                    continue
                path = posixpath.normpath(posixpath.join(posixpath.dirname(file.path), target))
                if not (tree.root / path).exists():
                    yield from file.finding(number, "broken-link", f"no such file: {path}")


FILE_RULES = [
    line_length,
    file_length,
    function_length,
    license_line,
    pragma_once,
    white_space,
    leftovers,
    vague_names,
    exceptions_and_coroutines,
    pure_core,
    heavy_headers,
]
TREE_RULES = [room_readmes, unused_headers, broken_links]


def check(tree):
    findings = []
    for file in tree.files:
        for rule in FILE_RULES:
            findings += rule(file)
    for rule in TREE_RULES:
        findings += rule(tree)
    for file in tree.files:
        for number, line in enumerate(file.lines, start=1):
            if re.search(r"tidy: allow\([a-z-]+\)\s*$", line):
                findings += file.finding(number, "allow-reason", "an excuse needs its reason")
    return findings
