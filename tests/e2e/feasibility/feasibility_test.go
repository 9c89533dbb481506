// SPDX-License-Identifier: Apache-2.0

package feasibility

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"mainspring.dev/e2e/cluster"
)

// How many worlds; MAINSPRING_WORLDS changes it. The first seed is fixed, so that a failure can be
// made again; change it with MAINSPRING_SEED.
func number(t *testing.T, variable string, otherwise int) int {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	value, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return value
}

var once struct {
	sync.Mutex
	worlds []*World
}

// answered are the worlds of this run.
func answered(t *testing.T) []*World {
	t.Helper()
	once.Lock()
	defer once.Unlock()
	if once.worlds != nil {
		return once.worlds
	}
	count, seed := number(t, "MAINSPRING_WORLDS", 2000), number(t, "MAINSPRING_SEED", 1)
	worlds := make([]*World, count)
	err := cluster.ForEach(count, func(i int) error {
		worlds[i] = Generate(uint64(seed), i)
		return Answer(worlds[i])
	})
	if err != nil {
		t.Fatal(err)
	}
	once.worlds = worlds
	return worlds
}

// rare says which predicates need not bind in a fifth of the worlds: a volume for one pod excludes
// all nodes at once, and would hide all others.
func rare(predicate string) bool { return predicate == "VolumeRestrictions" }

func TestWorldsLetEachPredicateDecide(t *testing.T) {
	tally := NewTally()
	for _, world := range answered(t) {
		tally.Add(world)
	}
	t.Log(tally)
	for _, predicate := range Predicates {
		least := 0.18 // any seed; the first has a fifth and more
		if rare(predicate) {
			least = 0.03
		}
		if share := tally.Share(predicate); share < least {
			t.Errorf("%s binds in %.1f %% of the worlds only", predicate, 100*share)
		}
	}
	for predicate := range tally.Binds {
		if !slices.Contains(Predicates, predicate) {
			t.Errorf("%s is not in the list of predicates", predicate)
		}
	}
}

func TestWorldsCanBeMadeAgain(t *testing.T) {
	for i := range 20 {
		var lines [2][]byte
		for run := range lines {
			world := Generate(7, i)
			if err := Answer(world); err != nil {
				t.Fatal(err)
			}
			line, err := json.Marshal(world)
			if err != nil {
				t.Fatal(err)
			}
			lines[run] = line
		}
		if !bytes.Equal(lines[0], lines[1]) {
			t.Fatalf("world %d differs from itself:\n%s\n%s", i, lines[0], lines[1])
		}
		var again World
		if err := json.Unmarshal(lines[0], &again); err != nil {
			t.Fatal(err)
		}
		if err := Answer(&again); err != nil {
			t.Fatal(err)
		}
		line, _ := json.Marshal(&again)
		if !bytes.Equal(lines[0], line) {
			t.Fatalf("world %d has another answer once it was written and read", i)
		}
	}
}

func program(t *testing.T) string {
	t.Helper()
	path, err := cluster.MainspringProgram()
	if err != nil {
		t.Fatal(err)
	}
	help, err := exec.Command(path, "--help").Output()
	if err != nil || !strings.Contains(string(help), "feasibility") {
		t.Skipf("skipped: %s has no subcommand feasibility", path)
	}
	return path
}

// ask returns what `mainspring feasibility` says: a line {"name": ..., "feasible": [...]} per world.
func ask(t *testing.T, path, file string, arguments ...string) [][]string {
	t.Helper()
	command := exec.Command(path, append([]string{"feasibility", "--worlds", file}, arguments...)...)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("mainspring feasibility: %v", err)
	}
	var all [][]string
	for line := range strings.Lines(string(output)) {
		var answer struct{ Feasible []string }
		if err := json.Unmarshal([]byte(line), &answer); err != nil {
			t.Fatalf("not an answer: %s", line)
		}
		slices.Sort(answer.Feasible)
		all = append(all, answer.Feasible)
	}
	return all
}

func TestMainspringAgrees(t *testing.T) {
	path := program(t)
	worlds := answered(t)
	name := filepath.Join(t.TempDir(), "worlds.jsonl")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	output := bufio.NewWriter(file)
	for _, world := range worlds {
		line, err := json.Marshal(world)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := output.Write(append(line, '\n')); err != nil {
			t.Fatal(err)
		}
	}
	if err := output.Flush(); err != nil {
		t.Fatal(err)
	}
	answers := ask(t, path, name)
	if len(answers) != len(worlds) {
		t.Fatalf("%d answers to %d worlds", len(answers), len(worlds))
	}
	different := 0
	for i, world := range worlds {
		if slices.Equal(world.Feasible, answers[i]) {
			continue
		}
		different++
		if different > 10 {
			continue
		}
		for _, node := range world.Nodes {
			ours, theirs := slices.Contains(answers[i], node.Name), slices.Contains(world.Feasible, node.Name)
			if ours != theirs {
				t.Errorf("%s, node %s: feasible is %t, should be %t; fails %v", world.Name, node.Name,
					ours, theirs, world.Failed[node.Name])
			}
		}
	}
	if different > 0 {
		t.Errorf("%d of %d worlds differ", different, len(worlds))
	}
	t.Run("and would not without any one predicate", func(t *testing.T) {
		for _, predicate := range Predicates {
			wrong := 0
			for i, feasible := range ask(t, path, name, "--without", predicate) {
				if !slices.Equal(feasible, worlds[i].Feasible) {
					wrong++
				}
			}
			least := len(worlds) / 5
			if rare(predicate) {
				least = len(worlds) / 50
			}
			if wrong < least {
				t.Errorf("without %s only %d of %d worlds differ", predicate, wrong, len(worlds))
			}
		}
	})
}
