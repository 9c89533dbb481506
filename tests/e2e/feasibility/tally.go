// SPDX-License-Identifier: Apache-2.0

package feasibility

import (
	"fmt"
	"strings"
)

// Tally counts in how many worlds each predicate binds: without it, at least one more node would
// be feasible.
type Tally struct {
	Worlds, Feasible, Nodes int
	Binds                   map[string]int
}

// NewTally is empty.
func NewTally() *Tally { return &Tally{Binds: map[string]int{}} }

// Add counts a world that has its answer.
func (t *Tally) Add(world *World) {
	t.Worlds++
	t.Nodes += len(world.Nodes)
	t.Feasible += len(world.Feasible)
	alone := map[string]bool{}
	for _, failed := range world.Failed {
		if len(failed) == 1 {
			alone[failed[0]] = true
		}
	}
	for name := range alone {
		t.Binds[name]++
	}
}

// Share is the part of the worlds in which a predicate binds.
func (t *Tally) Share(name string) float64 { return float64(t.Binds[name]) / float64(max(t.Worlds, 1)) }

func (t *Tally) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d worlds, %d of %d nodes feasible; the part of the worlds in which it binds:\n",
		t.Worlds, t.Feasible, t.Nodes)
	for _, name := range Predicates {
		fmt.Fprintf(&text, "  %-30s %5.1f %%\n", name, 100*t.Share(name))
	}
	return text.String()
}
