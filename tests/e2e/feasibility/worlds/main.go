// SPDX-License-Identifier: Apache-2.0

// Command worlds writes random worlds with the answers of the real kube-scheduler's filters, one
// JSON object per line (feasibility.World), and a table of how often each predicate decided.
//
//	worlds --seed 1 --count 2000 > worlds.jsonl
//	worlds --answer < questions.jsonl > answers.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"mainspring.dev/e2e/feasibility"
)

func main() {
	seed := flag.Uint64("seed", 1, "of the random worlds")
	count := flag.Int("count", 2000, "how many worlds")
	answer := flag.Bool("answer", false, "read worlds from standard input instead, and answer them anew")
	flag.Parse()
	if err := run(*seed, *count, *answer); err != nil {
		fmt.Fprintln(os.Stderr, "worlds:", err)
		os.Exit(1)
	}
}

func run(seed uint64, count int, answer bool) error {
	output := bufio.NewWriter(os.Stdout)
	tally := feasibility.NewTally()
	write := func(world *feasibility.World) error {
		tally.Add(world)
		line, err := json.Marshal(world)
		if err != nil {
			return err
		}
		_, err = output.Write(append(line, '\n'))
		return err
	}
	if answer {
		input := json.NewDecoder(os.Stdin)
		for {
			world := &feasibility.World{}
			if err := input.Decode(world); err == io.EOF {
				break
			} else if err != nil {
				return err
			}
			if err := feasibility.Answer(world); err != nil {
				return err
			}
			if err := write(world); err != nil {
				return err
			}
		}
	} else {
		for number := range count {
			world := feasibility.Generate(seed, number)
			if err := feasibility.Answer(world); err != nil {
				return err
			}
			if err := write(world); err != nil {
				return err
			}
		}
	}
	fmt.Fprint(os.Stderr, tally)
	return output.Flush()
}
