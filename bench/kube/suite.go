// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// planned is one run of the suite.
type planned struct {
	name, system, scenario string
	adjust                 func(*Options)
}

const (
	ours  = "mainspring-kube-scheduler"
	stock = "kube-scheduler"
)

var plan = []planned{
	{"singles_4000", stock, "singles-cold", nil},
	{"singles_4000", ours, "singles-cold", nil},
	{"singles_4000_default_flags", ours, "singles-cold", func(o *Options) { o.Defaults = true }},
	{"singles_live_4000", ours, "singles-live", nil},
	{"gang_512", stock, "gang-512", nil},
	{"gang_512", ours, "gang-512", nil},
	{"gangs_8x500", ours, "gangs-8x500", nil},
	{"reclaim_1", ours, "reclaim-one", nil},
	{"reclaim_2000_for_gang", ours, "reclaim-gang", nil},
	{"hopeless_gang", ours, "full-gang", nil},
	{"hopeless_gang_other_queue", ours, "full-gang-quota", nil},
	{"restart_5000_nodes", ours, "restart", func(o *Options) { o.Nodes = 5000 }},
}

// Spread and CPU are parts of a Run.
type Spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// Quantiles of the waits of pods.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// CPU seconds over the measured span; load is this program itself, with its watches and its player.
type CPU struct {
	Scheduler float64 `json:"scheduler"`
	APIServer float64 `json:"apiserver"`
	Etcd      float64 `json:"etcd"`
	Load      float64 `json:"load"`
}

// Run is one measurement of the document. What a run does not measure is null, or absent where only
// a few runs measure it.
type Run struct {
	Name                  string     `json:"name"`
	System                string     `json:"system"`
	Complete              bool       `json:"complete"`
	Note                  string     `json:"note,omitempty"`
	Pods                  int        `json:"pods"`
	Nodes                 int        `json:"nodes"`
	RawBindsPerSecond     *float64   `json:"raw_binds_per_second"`
	BindsPerSecond        *float64   `json:"binds_per_second"`
	Ratio                 *float64   `json:"ratio"`
	APIRequestsPerPod     *float64   `json:"api_requests_per_pod"`
	FirstCreateToLastBind *float64   `json:"first_create_to_last_bind_seconds"`
	LastCreateToLastBind  *float64   `json:"last_create_to_last_bind_seconds"`
	FirstBindToLastBind   *float64   `json:"first_bind_to_last_bind_seconds"`
	PodWait               *Quantiles `json:"pod_wait_seconds"`
	ClaimToBound          *Spread    `json:"claim_to_bound_seconds"`
	EvictedPods           *float64   `json:"evicted_pods"`
	CPUSeconds            CPU        `json:"cpu_seconds"`
	RSSBytesMax           int64      `json:"rss_bytes_max"`
	Verdict               *float64   `json:"verdict_seconds,omitempty"`
	VerdictText           string     `json:"verdict,omitempty"`
	CPUPerMinutePending   *float64   `json:"cpu_seconds_per_minute_pending,omitempty"`
	BystanderWait         *float64   `json:"bystander_wait_seconds,omitempty"`
	FirstDecision         *float64   `json:"first_decision_seconds,omitempty"`
	ForeignBusyCores      float64    `json:"foreign_busy_cores"` // above 0.1 the figures are not to be trusted
	MachineBusyCores      float64    `json:"machine_busy_cores"`
	RequestsOfAllClients  int        `json:"api_requests_of_all_clients"`
}

// Document is what the suite prints.
type Document struct {
	Schema string `json:"schema"`
	Runs   []Run  `json:"runs"`
}

func say(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "bench-kube: "+format+"\n", arguments...)
}

// runSuite measures the raw limit first and last; the runs are set against the mean of the two.
func runSuite(options Options, logs, only string) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	document := Document{Schema: "mainspring.bench-kube/1", Runs: []Run{}}
	var raw []float64
	incomplete := 0
	measureRaw := func() error {
		say("raw limit: %d bindings without a scheduler", options.Pods)
		result, err := runPlanned(options, logs, planned{"raw", "raw", "raw-bind", nil})
		if err != nil {
			return err
		}
		raw = append(raw, result.Figures["raw_binds_per_s"])
		say("  %.0f bindings/s", raw[len(raw)-1])
		return nil
	}
	if err := measureRaw(); err != nil {
		return err
	}
	for _, p := range plan {
		if !wanted.MatchString(shortName(p.system) + "/" + p.name) {
			continue
		}
		say("%s (%s)", p.name, shortName(p.system))
		began := time.Now()
		result, err := runPlanned(options, logs, p)
		run := describe(p, result, err)
		if !run.Complete {
			incomplete++
		}
		document.Runs = append(document.Runs, run)
		say("  %.0f s%s", time.Since(began).Seconds(), map[bool]string{false: ", incomplete: " + run.Note}[run.Complete])
	}
	if err := measureRaw(); err != nil {
		return err
	}
	mean := round((raw[0] + raw[1]) / 2)
	for i := range document.Runs {
		run := &document.Runs[i]
		run.RawBindsPerSecond = &mean
		if run.BindsPerSecond != nil {
			ratio := round(*run.BindsPerSecond / mean)
			run.Ratio = &ratio
		}
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return err
	}
	if incomplete > 0 {
		return fmt.Errorf("%d runs are incomplete; the logs of all programs are in %s", incomplete, logs)
	}
	return nil
}

func runPlanned(options Options, logs string, p planned) (*Result, error) {
	options.System, options.Scenario = p.system, p.scenario
	if p.adjust != nil {
		p.adjust(&options)
	}
	folder, err := filepath.Abs(logFolder(logs, options))
	if err != nil {
		return nil, err
	}
	options.LogDir = folder
	return run(options)
}

func shortName(system string) string {
	short, _, _ := strings.Cut(system, "-")
	if short == "kube" {
		return system
	}
	return short
}

// describe is the result of one run in the words of the document.
func describe(p planned, result *Result, failure error) Run {
	run := Run{Name: p.name, System: shortName(p.system)}
	if failure != nil {
		run.Note = failure.Error()
	}
	if result == nil {
		return run
	}
	figure := func(name string) *float64 {
		if value, measured := result.Figures[name]; measured {
			return &value
		}
		return nil
	}
	run.Complete, run.Pods, run.Nodes = result.Complete && failure == nil, result.Pods, result.Nodes
	if failure == nil {
		run.Note = strings.TrimSpace(result.Note)
	}
	run.BindsPerSecond = figure("binds_per_s_total")
	run.FirstCreateToLastBind = figure("first_created_to_last_bound_s")
	run.LastCreateToLastBind = figure("last_created_to_last_bound_s")
	run.FirstBindToLastBind = figure("first_bound_to_last_bound_s")
	if p50, p99 := figure("pod_wait_p50_s"), figure("pod_wait_p99_s"); p50 != nil && p99 != nil {
		run.PodWait = &Quantiles{*p50, *p99}
	}
	if median := figure("claim_to_bound_median_s"); median != nil {
		run.ClaimToBound = &Spread{*figure("claim_to_bound_min_s"), *median, *figure("claim_to_bound_max_s")}
	}
	run.EvictedPods = figure("evicted_pods")
	for name, seconds := range result.CPUSeconds {
		switch name {
		case "kube-apiserver":
			run.CPUSeconds.APIServer = seconds
		case "etcd":
			run.CPUSeconds.Etcd = seconds
		case "harness":
			run.CPUSeconds.Load = seconds
		default:
			run.CPUSeconds.Scheduler = round(run.CPUSeconds.Scheduler + seconds)
			run.RSSBytesMax += int64(result.PeakMiB[name] * (1 << 20))
		}
	}
	if strings.HasPrefix(p.scenario, "singles") || strings.HasPrefix(p.scenario, "gang") {
		requests := round(float64(schedulerWrites(result.Requests)) / float64(max(1, result.Pods)))
		run.APIRequestsPerPod = &requests
	}
	for _, count := range result.Requests {
		run.RequestsOfAllClients += count
	}
	if strings.HasPrefix(p.scenario, "full") {
		run.Verdict = figure("first_pod_condition_s")
		run.CPUPerMinutePending = figure("cpu_s_per_minute_scheduler")
		run.BystanderWait = figure("bystander_wait_s")
		for _, verdict := range result.Verdicts {
			if verdict.Where == "pod condition" && run.VerdictText == "" {
				run.VerdictText = verdict.Message
			}
		}
		if run.Verdict == nil || run.BystanderWait == nil {
			run.Complete = false
		}
	}
	run.FirstDecision = figure("restart_to_decision_s")
	run.ForeignBusyCores = result.Figures["foreign_busy_cores"]
	run.MachineBusyCores = result.MachineBusyCores
	return run
}

// schedulerWrites are the writing requests of the scheduler's side: all but the creation of pods and
// of their groups, which are ours.
func schedulerWrites(requests map[string]int) int {
	writes := 0
	for kind, count := range requests {
		verb, resource, _ := strings.Cut(kind, " ")
		if verb != "POST" && verb != "PUT" && verb != "PATCH" && verb != "DELETE" && verb != "APPLY" {
			continue
		}
		if verb == "POST" && (resource == "pods" || resource == "podgroups") {
			continue
		}
		writes += count
	}
	return writes
}
