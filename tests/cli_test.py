#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line as a stranger meets it: mistakes, exit codes, and the forms of its JSON."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = os.environ.get("MAINSPRING_BIN", "build/release/mainspring")
GOOD = "scenarios/gangs/elastic.yaml"
LIST = "scenarios/openb/default.yaml"


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)


# Arguments, and what the one line about them says.
MISTAKES = [
    (["simulat"], "unknown command 'simulat'; did you mean 'simulate'?"),
    (["simulate"], "input is required"),
    (["simulate", "no-such.yaml"], "no-such.yaml: cannot be read"),
    (["simulate", "no-such.events"], "no-such.events"),
    (["simulate", "scenarios"], "scenarios"),
    (["simulate", GOOD, "--sedes", "1"], "unknown flag '--sedes'; did you mean '--seeds'?"),
    (["simulate", GOOD, "--seeds", "51..42"], "--seeds: '51..42' ends before it begins"),
    (["simulate", GOOD, "--seeds", "-1"], "--seeds: '-1' is negative"),
    (["simulate", GOOD, "--seeds", "1.5"], "--seeds: '1.5' is a fraction"),
    (["simulate", GOOD, "--seeds", "nan"], "--seeds: 'nan' is not a number"),
    (["simulate", GOOD, "--seeds", "1,1"], "--seeds: 1 is given twice"),
    (["simulate", GOOD, "--seeds", "0..9999999"], "--seeds: more than 10,000"),
    (["simulate", GOOD, "--seeds", "9007199254740993"], "is over 2^53"),
    (["simulate", GOOD, "--seeds", "1,2", "--record", "x.events"], "--record: "),
    (["simulate", GOOD, "--policies", "fgd"], "--policies: "),
    (["simulate", GOOD, "--policies", "mainsprung"], "did you mean 'mainspring'?"),
    (["simulate", GOOD, "--tie-break", "last"], "--tie-break"),
    (["simulate", LIST], "--traces: is missing"),
    (["simulate", LIST, "--traces", "no-such-folder"], "no-such-folder"),
    (["explain", GOOD], "job is required"),
    (["explain", GOOD, "elastic"], "--at is required"),
    (["explain", GOOD, "elastic", "--at", "soon"], "--at: 'soon' is not an amount"),
    (["explain", GOOD, "elastic", "--at", "10"], "--at: '10' has no unit"),
    (["explain", GOOD, "elastik", "--at", "1m"], "did you mean 'elastic'?"),
    (["bench", "--only", "state_lockup"], "did you mean 'state_lookup'?"),
    (["demo", "--seed", "x"], "--seed"),
    (["completion", "tcsh"], "tcsh"),
    (["version", "now"], "unknown argument 'now'"),
]

BROKEN = {
    "unknown field": ("name: x\ncluster: {}\nworkload: {}\nsede: 1\n", ":4:1: "),
    "not YAML": ("name: [x\n", ": this is not YAML: "),
    "negative": (
        "name: x\ncluster: {generate: {count: -1}}\nworkload: {}\n",
        ":2:29: cluster.generate.count: '-1' is negative; expected a whole number",
    ),
    "empty": ("", ":1:1: expected a scenario"),
}


class CommandLine(unittest.TestCase):
    def expect_refused(self, arguments, words):
        done = run(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("mainspring: "), done.stderr)
        self.assertIn(words, done.stderr)

    def test_mistakes_in_flags(self):
        for arguments, words in MISTAKES:
            with self.subTest(arguments=arguments):
                self.expect_refused(arguments, words)

    def test_mistakes_in_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, (text, words) in BROKEN.items():
                with self.subTest(mistake=name):
                    path = pathlib.Path(folder) / "broken.yaml"
                    path.write_text(text, encoding="utf-8")
                    record = pathlib.Path(folder) / "run.events"
                    self.expect_refused(["simulate", str(path), "--record", str(record)], words)
                    self.assertEqual(list(pathlib.Path(folder).iterdir()), [path])

    def test_a_record_that_cannot_be_written(self):
        done = run("simulate", GOOD, "--record", "no-such-folder/run.events")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_an_expectation_that_fails(self):
        text = pathlib.Path(GOOD).read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "wrong.yaml"
            path.write_text(text + "  - {job: elastic, never_starts: true}\n", encoding="utf-8")
            self.assertEqual(run("simulate", str(path)).returncode, 0)
            done = run("simulate", str(path), "--check")
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn("never_starts", done.stdout)

    def test_help(self):
        for command in [[], ["simulate"], ["explain"], ["bench"], ["demo"], ["completion"]]:
            done = run(*command, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertIn("mainspring", done.stdout)
            self.assertEqual(done.stderr, "")

    def test_bash_completion_is_a_program(self):
        script = run("completion", "bash").stdout
        words = subprocess.run(
            ["bash", "-c", script + "COMP_WORDS=(mainspring simulate --po); COMP_CWORD=2; "
             "_mainspring; echo ${COMPREPLY[@]}"],
            capture_output=True, text=True, check=True,
        ).stdout.split()
        self.assertEqual(words, ["--policies"])


class Forms(unittest.TestCase):
    def test_simulate(self):
        done = run("simulate", GOOD, "--seeds", "1..2", "--json")
        document = json.loads(done.stdout)
        self.assertEqual(document["schema"], "mainspring.simulate/1")
        (result,) = document["results"]
        for field in ["scenario", "policy", "seeds", "tie_break", "allocated_gpu_ratio",
                      "placed_pods_per_second", "skipped_rows", "invariant_violations", "run_hash"]:
            self.assertIn(field, result)
        self.assertEqual(result["scenario"], "elastic")
        self.assertEqual(result["seeds"], [1, 2])
        self.assertEqual(result["invariant_violations"], 0)
        self.assertRegex(result["run_hash"], "^[0-9a-f]{16}$")

    def test_explain(self):
        done = run("explain", "scenarios/reasons/not-now.yaml", "one-rack", "--at", "2m", "--json")
        document = json.loads(done.stdout)
        self.assertEqual(document["schema"], "mainspring.explain/1")
        self.assertEqual(document["job"], "one-rack")
        self.assertEqual(document["verdict"], "not_now")
        self.assertIsInstance(document["failed_nodes"], dict)
        self.assertIn("domain", document["nearest_miss"])
        self.assertIsInstance(document["nearest_miss"]["short"], dict)
        self.assertTrue(document["sentence"])
        self.assertTrue(document["remedies"])
        for remedy in document["remedies"]:
            self.assertTrue(remedy["sentence"])

    def test_bench(self):
        done = run("bench", "--only", "state_lookup", "--json")
        document = json.loads(done.stdout)
        self.assertEqual(document["schema"], "mainspring.bench/1")
        (budget,) = document["budgets"]
        self.assertEqual(set(budget), {"name", "measured", "budget", "unit", "samples", "ok"})
        self.assertEqual(budget["budget"], 50)

    def test_version(self):
        document = json.loads(run("version", "--json").stdout)
        self.assertEqual(document["schema"], "mainspring.version/1")

    def test_a_record_replays_to_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.events")
            first = run("simulate", "scenarios/faults/lost-node.yaml", "--record", path)
            self.assertEqual(first.returncode, 0, first.stderr)
            again = run("simulate", path)
            self.assertEqual(again.returncode, 0, again.stdout + again.stderr)


if __name__ == "__main__":
    unittest.main()
