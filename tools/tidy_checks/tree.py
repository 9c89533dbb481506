# SPDX-License-Identifier: Apache-2.0
"""The files of a source tree, read once, and what a rule says about them."""

import dataclasses
import functools
import os
import pathlib
import re

from tidy_checks import cpp

SKIPPED_FOLDERS = {".git", "build", ".cache", ".ccache", "__pycache__", "node_modules", "corpus"}
CODE_SUFFIXES = {".h", ".cc", ".py", ".sh", ".cmake"}
CODE_NAMES = {"CMakeLists.txt", "Makefile"}
TEXT_SUFFIXES = CODE_SUFFIXES | {".md", ".yaml", ".yml", ".json", ".txt", ".svg", ".in", ".csv"}
ALLOW = re.compile(r"tidy: allow\(([a-z-]+)\)[ \t]*(.*)")


@dataclasses.dataclass(frozen=True)
class Finding:
    path: str
    line: int
    rule: str
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text} [{self.rule}]"


class File:
    def __init__(self, root, path):
        self.path = path.relative_to(root).as_posix()
        self.name = path.name
        self.suffix = path.suffix
        self.text = path.read_text(encoding="utf-8", errors="replace")
        self.lines = self.text.splitlines()
        self.is_cpp = self.suffix in {".h", ".cc"}
        self.is_test = self.name.endswith("_test.cc")
        is_script = self.suffix == "" and self.text.startswith("#!")
        self.is_code = self.suffix in CODE_SUFFIXES or self.name in CODE_NAMES or is_script

    @functools.cached_property
    def code_lines(self):
        """The lines of a C++ file without comments and without the inside of literals."""
        return cpp.blank_comments_and_literals(self.text).split("\n")

    @functools.cached_property
    def room(self):
        match = re.match(r"src/mainspring/([^/]+)/", self.path)
        return match.group(1) if match else None

    def allows(self, rule, line):
        """Is the 1-based line excused, by itself or by the comment line above it?"""
        for number in (line, line - 1):
            if 1 <= number <= len(self.lines):
                match = ALLOW.search(self.lines[number - 1])
                if match and match.group(1) == rule:
                    return True
        return False

    def finding(self, line, rule, text):
        """A list of one finding, or an empty one where the line is excused."""
        return [] if self.allows(rule, line) else [Finding(self.path, line, rule, text)]

    def search(self, rule, pattern, text, lines=None):
        """One finding per line that matches; `text` may use the groups of the match."""
        found = []
        for number, line in enumerate(self.lines if lines is None else lines, start=1):
            match = pattern.search(line)
            if match:
                found += self.finding(number, rule, match.expand(text))
        return found


class Tree:
    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.files = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(set(folders) - SKIPPED_FOLDERS)
            for name in sorted(names):
                path = pathlib.Path(folder) / name
                if path.is_symlink() or not self._is_ours(path):
                    continue
                self.files.append(File(self.root, path))
        self.by_path = {file.path: file for file in self.files}

    def _is_ours(self, path):
        if path.suffix in TEXT_SUFFIXES or path.name in CODE_NAMES:
            return True
        return path.suffix == "" and path.parent.name in {"tools", ".ci", "tests"}
