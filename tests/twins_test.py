#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same scenario gives the same run hash: twice in one build, and in its sanitized twin."""

import json
import os
import pathlib
import subprocess
import unittest

PROGRAM = os.environ.get("MAINSPRING_BIN", "build/release/mainspring")
TWIN = PROGRAM + "_sanitized"
NOT_EVERYWHERE = ("# needs: traces", "# needs: long")


def scenarios():
    """The scenarios that can be run anywhere, in order of path."""
    for path in sorted(pathlib.Path("scenarios").rglob("*.yaml")):
        if path.is_relative_to("scenarios/openb"):
            continue
        head = path.read_text(encoding="utf-8").splitlines()[:10]
        if not any(line.startswith(NOT_EVERYWHERE) for line in head):
            yield path


def run_hashes(program, path):
    command = [program, "simulate", str(path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return [(one["policy"], one["run_hash"]) for one in json.loads(done.stdout)["results"]]


class Twins(unittest.TestCase):
    def test_there_are_scenarios(self):
        self.assertTrue(list(scenarios()))

    def test_twice_the_same(self):
        for path in scenarios():
            with self.subTest(scenario=str(path)):
                self.assertEqual(run_hashes(PROGRAM, path), run_hashes(PROGRAM, path))

    @unittest.skipUnless(os.path.exists(TWIN), "skipped: this build has no sanitized twin")
    def test_twin_agrees(self):
        for path in scenarios():
            with self.subTest(scenario=str(path)):
                self.assertEqual(run_hashes(PROGRAM, path), run_hashes(TWIN, path))


if __name__ == "__main__":
    unittest.main()
