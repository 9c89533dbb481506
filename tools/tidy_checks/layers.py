# SPDX-License-Identifier: Apache-2.0
"""Which room may include which. The table is the order of docs/architecture.md."""

import re

from tidy_checks.tree import Finding

CORE = {"base", "model"}
SIBLINGS = {"policy", "placement", "planner", "predict"}
DECISION = CORE | SIBLINGS | {"engine"}
SETTLED = DECISION | {"config", "report"}
EDGES = {"sim", "kube", "store", "telemetry", "agent", "server"}

# room -> rooms below it. The four siblings do not see each other, and neither do the edges, except
# that the server shows what the other edges of a running scheduler know. `sim` never sees `kube`.
MAY_INCLUDE = {
    "base": set(),
    "model": {"base"},
    **{room: CORE for room in SIBLINGS},
    "engine": CORE | SIBLINGS,
    "config": DECISION,
    "report": DECISION,
    **{room: SETTLED for room in EDGES},
    "server": SETTLED | {"kube", "store", "telemetry"},
    "cli": SETTLED | EDGES,
}

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
ROOM_IN_CMAKE = re.compile(r"mainspring_room\(\s*(\w+)([^)]*)\)", re.DOTALL)
# The version changes with each commit; a room that decides must not.
VERSION_ROOMS = EDGES | {"cli"}


def check_include(file, number, path):
    parts = path.split("/")
    if parts[0] != "mainspring" or len(parts) < 2:
        text = f'"{path}": write the whole path, "mainspring/ROOM/{parts[-1]}"'
        return [Finding(file.path, number, "include-path", text)]
    if path == "mainspring/version.h":
        allowed = file.room is None or file.room in VERSION_ROOMS
        text = f"{file.room} must not depend on the version of the build"
        return [] if allowed else [Finding(file.path, number, "layer", text)]
    room = parts[1]
    if len(parts) == 2 or room not in MAY_INCLUDE:
        return [Finding(file.path, number, "include-path", f'"{path}" is in no room')]
    if file.room is None or room == file.room or room in MAY_INCLUDE.get(file.room, set()):
        return []
    text = f"{file.room} must not include {room}"
    return [Finding(file.path, number, "layer", text)]


def check_cmake(file):
    """The libraries must not be linked against the direction of the includes either."""
    for match in ROOM_IN_CMAKE.finditer(file.text):
        room, words = match.group(1), match.group(2).split()
        line = file.text.count("\n", 0, match.start()) + 1
        if room not in MAY_INCLUDE:
            yield Finding(file.path, line, "unknown-room", f"'{room}' is not a room")
            continue
        dependencies = []
        for word in words[words.index("DEPS") + 1 :] if "DEPS" in words else []:
            if word.isupper():
                break
            dependencies.append(word)
        for dependency in dependencies:
            if dependency not in MAY_INCLUDE[room]:
                text = f"{room} must not be linked to {dependency}"
                yield Finding(file.path, line, "layer-link", text)


def check(tree):
    findings = []
    for file in tree.files:
        if file.path == "CMakeLists.txt":
            findings += check_cmake(file)
        if not file.is_cpp:
            continue
        if file.room and file.room not in MAY_INCLUDE:
            text = f"'{file.room}' is not a room; the table is in tools/tidy_checks/layers.py"
            findings.append(Finding(file.path, 1, "unknown-room", text))
        for number, line in enumerate(file.code_lines, start=1):
            match = INCLUDE.match(line)
            if match:
                findings += check_include(file, number, match.group(1))
    return findings
