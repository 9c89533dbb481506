// SPDX-License-Identifier: Apache-2.0

// Command kube-bench measures Kubernetes schedulers on a real API server with fake nodes. See README.md.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

func main() {
	var options Options
	var content, logs, only string
	var suite bool
	flag.StringVar(&options.System, "system", "", "kube-scheduler, kai, volcano, raw, or mainspring-kube-scheduler, mainspring-kai, mainspring-volcano (our scheduler on that one's objects)")
	flag.StringVar(&options.Scenario, "scenario", "", "one of: "+strings.Join(scenarioNames(), ", "))
	flag.StringVar(&logs, "logs", "kube-bench-logs", "folder for the logs of every process")
	flag.StringVar(&content, "content", "protobuf", "content type of the harness's own pod calls: protobuf or json")
	flag.IntVar(&options.Nodes, "nodes", 500, "fake nodes, 8 GPUs each")
	flag.IntVar(&options.Pods, "pods", 4000, "pods of the singles scenarios and of raw-bind")
	flag.IntVar(&options.Workers, "workers", 16, "parallel clients that create objects")
	flag.IntVar(&options.Connections, "connections", 2, "HTTP/2 connections those clients share")
	flag.IntVar(&options.Binders, "binders", 16, "parallel clients of raw-bind")
	flag.BoolVar(&options.Play, "play", false, "mark bound pods Running and finish deletions (always on where a scenario needs it)")
	flag.DurationVar(&options.KillDelay, "kill-delay", 500*time.Millisecond, "from deletionTimestamp to the pod's end")
	flag.DurationVar(&options.Timeout, "timeout", 5*time.Minute, "longest wait for all pods to be bound")
	flag.DurationVar(&options.Watch, "watch", 90*time.Second, "how long full-gang watches a pending gang")
	flag.BoolVar(&options.Defaults, "defaults", false, "etcd and API server with their default flags")
	flag.BoolVar(&suite, "suite", false, "all named runs, one after the other, as one JSON document")
	flag.StringVar(&only, "only", "", "of the suite: runs whose system/name match this regular expression")
	flag.DurationVar(&options.Bystander, "bystander", 20*time.Second, "when, in the full scenarios, one GPU is freed and a pod submitted for it (0: never)")
	flag.Parse()
	options.ContentType = map[string]string{"protobuf": contentProtobuf, "json": contentJSON}[content]
	if suite && options.ContentType != "" && flag.NArg() == 0 {
		if err := runSuite(options, logs, only); err != nil {
			fmt.Fprintln(os.Stderr, "kube-bench:", err)
			os.Exit(1)
		}
		return
	}
	scenario := scenarios[options.Scenario]
	if scenario == nil || options.ContentType == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	folder, err := filepath.Abs(logFolder(logs, options))
	if err != nil {
		fmt.Fprintln(os.Stderr, "kube-bench:", err)
		os.Exit(1)
	}
	options.LogDir = folder
	result, failure := run(options)
	if result != nil {
		line, err := json.Marshal(result)
		if err != nil {
			failure = err
		}
		fmt.Println(string(line))
	}
	if failure != nil {
		fmt.Fprintln(os.Stderr, "kube-bench:", failure)
		os.Exit(1)
	}
}

// run is one scenario on a control plane of its own. There is no result where nothing was measured.
func run(options Options) (*Result, error) {
	for _, played := range []string{"full", "reclaim", "restart"} {
		options.Play = options.Play || strings.HasPrefix(options.Scenario, played)
	}
	bench, err := newBench(options)
	if bench != nil {
		defer bench.Stop()
	}
	if err != nil {
		return nil, err
	}
	if supports := bench.system.Supports; supports != nil && !supports(options.Scenario) {
		return nil, fmt.Errorf("%s has no such feature: %s", options.System, options.Scenario)
	}
	failure := scenarios[options.Scenario](bench)
	for _, process := range bench.processes {
		if !process.Alive() {
			bench.result.Note += process.Name + " stopped by itself. "
		}
	}
	if failure != nil {
		bench.result.Note += failure.Error()
	}
	return bench.result, failure
}

func scenarioNames() []string {
	var names []string
	for name := range scenarios {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
