# SPDX-License-Identifier: Apache-2.0
"""Each rule must fire on a small tree made to break it, and keep silent on a good tree."""

import pathlib
import tempfile

from tidy_checks import cpp
from tidy_checks.tree import Tree

SPDX_CPP = "// SPDX-License-Identifier: Apache-2.0\n"
SPDX_HASH = "# SPDX-License-Identifier: Apache-2.0\n"
HEADER = SPDX_CPP + "#pragma once\n"
README = {"src/mainspring/base/README.md": "# base\n"}
# Two words in pieces, lest the checker find them here.
MARK = "TO" + "DO"
MACHINE = "/wo" + "rk"

GOOD_SOURCE = (
    SPDX_CPP
    + """\
#include "mainspring/base/good.h"

#include <vector>

// A comment may say throw, try and rand() as it likes; so may "a text".
namespace mainspring::base {

Good::Good(int size) : sizes_{size}, total_(size) {
  sizes_.push_back(1'000'000);
}

const char* text() { return "throw // not a comment"; }

// tidy: allow(clock) shows that an excuse with a reason is accepted
long started_ms = steady_clock;

int next_time(int time);
int start_time(int now) { return next_time(now); }

}  // namespace mainspring::base
"""
)
GOOD_CMAKE = SPDX_HASH + "mainspring_room(base)\nmainspring_room(model DEPS base LIBS x)\n"
GOOD = {
    **README,
    "src/mainspring/base/good.h": HEADER + "class Good { int total_; };\n",
    "src/mainspring/base/good.cc": GOOD_SOURCE,
    "src/mainspring/model/README.md": "See [base](../base/README.md#purpose).\n",
    "src/mainspring/model/user.cc": SPDX_CPP + '#include "mainspring/base/good.h"\n',
    "src/mainspring/config/README.md": "# config\n",
    "src/mainspring/config/yaml.cc": SPDX_CPP + "#include <yaml-cpp/yaml.h>\nint a() try {}\n",
    "CMakeLists.txt": GOOD_CMAKE,
}


def core(line):
    """A tree whose only fault is this line in a source of the room base."""
    return {**README, "src/mainspring/base/a.cc": SPDX_CPP + line + "\n"}


def file(path, text):
    return {**README, path: text}


HASH_MAP = "#include <unordered_map>\n"
LONG_BODY = "  g();\n" * 70 + "}\n"

# rule -> trees, each of which breaks that rule and no other
BAD = {
    "tidy": [
        ("line-length", core("int a;  //" + " long" * 20)),
        ("file-length", core("int a;\n" * 500)),
        ("file-length", {**GOOD, "src/mainspring/base/good.h": HEADER + "int a;\n" * 249}),
        ("function-length", core("int f() {\n" + LONG_BODY)),
        ("function-length", core("namespace n {\nA::A() : a_(x), b_{x} {\n" + LONG_BODY + "}")),
        ("function-length", core("struct S {\n void f() const noexcept {\n" + LONG_BODY + "};")),
        ("function-length", file("tests/a.py", SPDX_HASH + "def f():\n" + "    g()\n" * 70)),
        ("license", file("src/mainspring/base/a.cc", "int a;\n")),
        ("license", file("tools/run.sh", "#!/bin/bash\necho\n")),
        ("pragma-once", {**GOOD, "src/mainspring/base/good.h": SPDX_CPP}),
        ("white-space", file("docs/a.md", "end \n")),
        ("white-space", core("\tint a;")),
        ("white-space", file("docs/a.md", "no newline")),
        ("leftover", file("docs/a.md", f"{MARK}: write this\n")),
        ("machine-path", file("docs/a.md", f"see {MACHINE}/notes\n")),
        ("vague-name", core("class JobManager {};")),
        ("vague-name", core("int string_utils();")),
        ("vague-name", file("src/mainspring/base/helpers.cc", SPDX_CPP)),
        ("exception", core("int f() { throw 1; }")),
        ("exception", core("int f() { try { g(); } ...; }")),
        ("coroutine", core("co_return 1;")),
        ("chance", core("int a = std::rand();")),
        ("chance", core("std::random_device seed;")),
        ("clock", core("auto now = std::chrono::steady_clock::now();")),
        ("clock", core("auto now = time(nullptr);")),
        ("unordered", {**GOOD, "src/mainspring/base/good.h": HEADER + HASH_MAP}),
        ("unordered", {**GOOD, "src/mainspring/model/a.cc": SPDX_CPP + HASH_MAP}),
        ("outside-world", core("#include <fstream>")),
        ("outside-world", core("#include <thread>")),
        ("heavy-header", core("#include <yaml-cpp/yaml.h>")),
        ("heavy-header", core("#include <CLI/CLI.hpp>")),
        ("heavy-header", core("#include <boost/json.hpp>")),
        ("room-readme", {"src/mainspring/base/a.cc": SPDX_CPP}),
        ("room-readme", {**core("int a;"), "src/mainspring/base/README.md": "x\n" * 61}),
        ("unused-header", {**README, "src/mainspring/base/a.h": HEADER}),
        ("broken-link", file("docs/a.md", "[b](b.md)\n")),
        ("allow-reason", core("auto now = steady_clock;  // tidy: allow(clock)")),
    ],
    "layers": [
        ("layer", core('#include "mainspring/model/job.h"')),
        ("layer", file("src/mainspring/policy/a.cc", '#include "mainspring/placement/a.h"\n')),
        ("layer", file("src/mainspring/sim/a.cc", '#include "mainspring/kube/client.h"\n')),
        ("layer", file("src/mainspring/engine/a.h", '#include "mainspring/version.h"\n')),
        ("include-path", core('#include "ids.h"')),
        ("include-path", core('#include "mainspring/nowhere/a.h"')),
        ("unknown-room", file("src/mainspring/nowhere/a.cc", "\n")),
        ("layer-link", file("CMakeLists.txt", "mainspring_room(model DEPS base engine LIBS x)\n")),
    ],
}


def rules_that_fire(check, files):
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            full = pathlib.Path(folder) / path
            full.parent.mkdir(parents=True, exist_ok=True)
            full.write_text(text, encoding="utf-8")
        findings = check(Tree(folder))
        return {finding.rule for finding in findings}, findings


def function_scanner_failures():
    """The names that the scanner of functions must see in the good source, in order."""
    names = [f.name for f in cpp.functions(cpp.blank_comments_and_literals(GOOD_SOURCE))]
    expected = ["Good::Good", "text", "start_time"]
    return [] if names == expected else [f"functions: saw {names}, expected {expected}"]


def run(names, checks):
    failures = function_scanner_failures()
    tree_count = 0
    for name in names:
        fired, findings = rules_that_fire(checks[name], GOOD)
        failures += [f"{name}: fires on a good tree: {finding}" for finding in findings]
        for rule, files in BAD[name]:
            tree_count += 1
            fired, _ = rules_that_fire(checks[name], files)
            if fired != {rule}:
                failures.append(f"{name}: expected {rule} alone, got {sorted(fired)}: {files}")
    for failure in failures:
        print(failure)
    print(f"self-test of {'+'.join(names)}: {tree_count} bad trees, {len(failures)} failures")
    return 1 if failures else 0
