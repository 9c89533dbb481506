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
    (["audit"], "--run is required"),
    (["audit", "--run", "no-such.events"], "no-such.events"),
    (["audit", "--run", GOOD], GOOD),
    (["audit", "--run", "no-such.events", "-o", "yaml"], "--output"),
    (["shares", "--run", GOOD, "--at", "10"], "--at: '10' has no unit"),
    (["priority", "--run", GOOD], "job is required"),
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
        for command in [[], ["simulate"], ["explain"], ["audit"], ["shares"],
                        ["priority"], ["bench"], ["demo"], ["completion"]]:
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


class LookingBack(unittest.TestCase):
    """audit, shares and priority read what `simulate --record` wrote."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.folder.name, "run.events")
        done = run("simulate", "scenarios/queues/reclaim-between-roots.yaml", "--record", cls.path)
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def document(self, *arguments):
        done = run(*arguments, "--run", self.path, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)

    def refused(self, words, *arguments):
        done = run(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(words, done.stderr)

    def test_audit(self):
        document = self.document("audit")
        self.assertEqual(document["schema"], "mainspring.audit/1")
        (record,) = document["records"]
        for field in ["at", "victim", "winner", "rule", "alternatives", "lost_gpu_seconds",
                      "checkpoint_age_seconds", "winner_started"]:
            self.assertIn(field, record)
        self.assertEqual(record["winner"], "claim")
        self.assertEqual(record["rule"], "reclaim")
        self.assertIs(record["winner_started"], True)
        self.assertGreater(record["lost_gpu_seconds"], 0)
        self.assertEqual([row["queue"] for row in document["queues"]],
                         ["alone", "company", "division", "team"])
        alone = document["queues"][0]
        self.assertEqual(alone["jobs_ended"], 1)
        self.assertGreater(alone["gpu_hours"]["lent"], 0)

    def test_audit_before_the_winner_started(self):
        document = self.document("audit", "--at", "10m")
        (record,) = document["records"]
        self.assertIsNone(record["winner_started"])
        self.assertEqual(record["outcome"], "open")

    def test_audit_of_one_job_or_queue(self):
        victim = self.document("audit")["records"][0]["victim"]
        self.assertEqual(len(self.document("audit", "--job", victim)["records"]), 1)
        self.assertEqual(len(self.document("audit", "--queue", "company")["records"]), 1)
        self.refused("did you mean 'claim'?", "audit", "--run", self.path, "--job", "clam")
        self.refused("did you mean 'team'?", "audit", "--run", self.path, "--queue", "teem")

    def test_shares(self):
        document = self.document("shares", "--at", "20m")
        self.assertEqual(document["schema"], "mainspring.shares/1")
        self.assertEqual(document["capacity"], {"gpu": 16000})
        team = document["queues"][-1]
        self.assertEqual((team["queue"], team["parent"], team["depth"]), ("team", "division", 2))
        (gpu,) = team["resources"]
        self.assertEqual((gpu["quota"], gpu["held"], gpu["pending"]), (8000, 8000, 8000))

    def test_priority(self):
        victim = self.document("audit")["records"][0]["victim"]
        document = self.document("priority", victim, "--at", "20m")
        self.assertEqual(document["schema"], "mainspring.priority/1")
        self.assertTrue(document["waits"])
        self.assertEqual(document["overall"], {"position": 1, "of": 1})
        self.assertEqual([step["queue"] for step in document["path"]],
                         ["company", "division", "team"])
        self.assertEqual(document["displacements"], 1)
        self.refused("did you mean 'claim'?", "priority", "clam", "--run", self.path)
        self.refused("is not there at", "priority", "claim", "--run", self.path)

    def test_tables(self):
        for arguments in [["audit"], ["audit", "-o", "wide"], ["shares", "--at", "20m"],
                          ["shares", "--at", "20m", "-o", "wide"],
                          ["priority", "claim", "--at", "20m"]]:
            with self.subTest(arguments=arguments):
                done = run(*arguments, "--run", self.path)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stderr, "")
                self.assertTrue(done.stdout.strip())

    def test_a_file_that_was_cut_off(self):
        lines = pathlib.Path(self.path).read_text(encoding="utf-8").splitlines(keepends=True)
        path = os.path.join(self.folder.name, "cut.events")
        pathlib.Path(path).write_text("".join(lines[:-1]), encoding="utf-8")
        for command in [["audit"], ["shares"], ["priority", "claim"]]:
            self.refused("cut.events", *command, "--run", path)
            self.refused("cut.events", *command, "--run", path, "--at", "1s")


if __name__ == "__main__":
    unittest.main()
