# SPDX-License-Identifier: Apache-2.0
"""As much understanding of C++ as the rules need: literals, comments, where functions begin."""

import dataclasses
import re

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<raw>R"(?P<mark>[^()\s\\"]{0,16})\(.*?\)(?P=mark)")
      | (?P<text>"(?:\\.|[^"\\\n])*")
      | (?P<digits>\b\d[\w.']*)
      | (?P<char>'(?:\\.|[^'\\\n])+')""",
    re.VERBOSE | re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
TYPE_HEAD = re.compile(r"\b(class|struct|union|enum)\b[^()]*$")
INITIALISER_HEAD = re.compile(r"\)[^:]*(?<!:):(?!:).*[\w>]\s*$", re.DOTALL)


def blank_comments_and_literals(text):
    """The same text, line for line, with comments and the inside of literals removed.

    The path of an #include stays, because rules look at it.
    """

    def blank(match):
        if match.lastgroup == "digits":
            return match.group()
        newlines = "\n" * match.group().count("\n")
        if match.group("comment"):
            return " " + newlines
        line_start = text.rfind("\n", 0, match.start()) + 1
        if text[line_start : match.start()].lstrip().startswith("#"):
            return match.group()
        return '""' + newlines

    return TOKEN.sub(blank, text)


@dataclasses.dataclass
class Function:
    head: str
    first_line: int
    last_line: int

    @property
    def line_count(self):
        return self.last_line - self.first_line + 1

    @property
    def name(self):
        match = re.search(r"([\w:~]+)\s*\(", self.head)
        return match.group(1) if match else "?"


def _without_arguments(head):
    """Replaces the inside of every parenthesis, so that only the shape of the head remains."""
    depth = 0
    shape = []
    for char in head:
        if char == "(":
            depth += 1
            shape.append("(" if depth == 1 else "")
        elif char == ")":
            depth -= 1
            shape.append(")" if depth == 0 else "")
        elif depth == 0:
            shape.append(char)
    return "".join(shape)


def _kind_of_block(head):
    """What does the brace after this head open? `head` starts after the last ; { or }."""
    head = re.sub(r"\boperator\s*(\(\)|[^\s\w(]+)", "operator", head)
    head = re.sub(r"\balignas\s*\([^)]*\)", "", head)
    shape = _without_arguments(head)
    if re.search(r"\bnamespace\b", shape) or re.search(r'\bextern\s*""\s*$', shape):
        return "scope"
    if TYPE_HEAD.search(shape):
        return "scope"
    if "=" in shape or "(" not in shape:
        return "value"
    return "initialiser" if INITIALISER_HEAD.search(shape) else "function"


def functions(text):
    """All function bodies outside other functions. `text` has its literals blanked already."""
    text = DIRECTIVE.sub(lambda match: "\n" * match.group().count("\n"), text)
    found = []
    blocks = []  # kinds of the open braces
    parentheses = 0
    line = 1
    head = ""
    head_line = 1
    for char in text:
        if char == "\n":
            line += 1
        inside_function = "function" in blocks
        if char == "{":
            kind = "value" if inside_function or parentheses else _kind_of_block(head)
            if kind == "function":
                found.append(Function(head.strip(), head_line, line))
            blocks.append(kind)
            if kind in {"scope", "function"}:
                head = ""
            continue
        if char == "}" and blocks:
            kind = blocks.pop()
            if kind == "function":
                found[-1].last_line = line
            # After a brace of an initialiser list the same head goes on.
            head = "" if kind in {"scope", "function"} else head + "}"
            continue
        if inside_function or (blocks and blocks[-1] in {"value", "initialiser"}):
            continue
        parentheses += {"(": 1, ")": -1}.get(char, 0)
        if char == ";" and parentheses <= 0:
            head = ""
            continue
        if not head.strip():
            head_line = line
        head += char
    return found
