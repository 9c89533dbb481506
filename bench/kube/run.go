// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
)

// Options are the command line.
type Options struct {
	System, Scenario, LogDir, ContentType string
	Nodes, Workers, Connections, Binders  int
	Pods                                  int
	Play, Defaults                        bool
	KillDelay, Timeout, Watch, Bystander  time.Duration
}

// Result is one line of output.
type Result struct {
	System           string             `json:"system"`
	Scenario         string             `json:"scenario"`
	When             string             `json:"when"`
	Nodes            int                `json:"nodes"`
	Pods             int                `json:"pods"`
	Bound            int                `json:"bound"`
	Complete         bool               `json:"complete"`
	Note             string             `json:"note,omitempty"`
	LoadAtStart      string             `json:"load_at_start"`
	MachineBusyCores float64            `json:"machine_busy_cores,omitempty"` // over the measured span, all processes
	Figures          map[string]float64 `json:"figures"`
	CPUSeconds       map[string]float64 `json:"cpu_seconds,omitempty"`
	PeakMiB          map[string]float64 `json:"peak_rss_mib,omitempty"`
	Writes           map[string]int     `json:"watch_notifications,omitempty"`
	Requests         map[string]int     `json:"api_requests,omitempty"` // answered by the API server in the counted span
	Verdicts         []Verdict          `json:"verdicts,omitempty"`
	Options          map[string]string  `json:"options"`
}

func round(x float64) float64 { return float64(int64(x*1000+0.5)) / 1000 }

// Bench is one run: a control plane, one system, and what we saw.
type Bench struct {
	options   Options
	system    *System
	cp        *ControlPlane
	cluster   *Cluster
	recorder  *Recorder
	processes []*Process // of the system under test
	launches  []Launch
	result    *Result
	cpuBase   map[string]float64
	calls     map[string]int
	busyBase  float64
	cpuSince  time.Time
}

func newBench(options Options) (*Bench, error) {
	system, err := systemByName(options.System)
	if err != nil {
		return nil, err
	}
	b := &Bench{options: options, system: system, result: &Result{
		System: options.System, Scenario: options.Scenario, Nodes: options.Nodes, LoadAtStart: loadAverage(),
		When: time.Now().UTC().Format(time.RFC3339), Figures: map[string]float64{}, Options: map[string]string{},
	}}
	if err := os.MkdirAll(options.LogDir, 0o755); err != nil {
		return nil, err
	}
	if b.cp, err = startControlPlane(options.LogDir, system.APIServerArgs, options.Defaults); err != nil {
		return b, err
	}
	b.figure("control_plane_start_s", b.cp.StartSeconds)
	if b.cluster, err = newCluster(b.cp, options.ContentType, options.Connections, options.Workers); err != nil {
		return b, err
	}
	var onPod func(*corev1.Pod)
	if options.Play {
		player, err := newPlayer(b.cp, options.KillDelay, 8)
		if err != nil {
			return b, err
		}
		onPod = player.Observe
	}
	b.recorder = newRecorder(onPod)
	for _, name := range append([]string{"work", "fill", "canary", "queued"}, system.Namespaces...) {
		if err := b.cluster.createNamespace(name); err != nil {
			return b, err
		}
	}
	if system.Queues != nil {
		if system.Definitions != "" || system.Name == "kai" || system.Name == "volcano" {
			if err := b.cluster.applyDefinitions(system.Definitions); err != nil {
				return b, err
			}
		}
		if err := b.cluster.postAll(system.Queues(shares(options))); err != nil {
			return b, err
		}
	}
	began := time.Now()
	if err := b.cluster.createNodes(options.Nodes); err != nil {
		return b, err
	}
	b.figure("create_nodes_s", time.Since(began).Seconds())
	return b, b.recorder.Start(b.cp, system.GroupKinds)
}

// shares splits the cluster between queues a and b half and half; for full-gang-quota it protects so much of
// queue a that the gang of queue b lacks exactly one GPU.
func shares(options Options) []QueueShare {
	all := options.Nodes * gpusPerNode
	if options.Scenario == "full-gang-quota" {
		protected := all - hopelessPods*gpusPerNode + 1
		return []QueueShare{{"queue-a", protected, false, 0}, {"queue-b", all - protected, true, 1}}
	}
	return []QueueShare{{"queue-a", all / 2, false, 1}, {"queue-b", all / 2, false, 1}}
}

func (b *Bench) figure(name string, value float64) { b.result.Figures[name] = round(value) }

// startSystem launches the processes under test.
func (b *Bench) startSystem(reclaim bool) error {
	var err error
	if b.launches, err = b.system.Launch(b.cp, b.options.LogDir, reclaim, shares(b.options)); err != nil {
		return err
	}
	for _, launch := range b.launches {
		process, err := startProcess(launch.Name, b.options.LogDir, launch.Path, launch.Args, []string{
			"KUBECONFIG=" + b.cp.Kubeconfig, "POD_NAMESPACE=default", "KLOG_SOCKET_DIR=" + b.options.LogDir,
			"DEBUG_SOCKET_DIR=" + b.options.LogDir})
		if err != nil {
			return err
		}
		b.processes = append(b.processes, process)
		var kept []string
		for _, arg := range launch.Args {
			if !strings.Contains(arg, "127.0.0.1") && !strings.Contains(arg, "/") {
				kept = append(kept, arg)
			}
		}
		b.result.Options[launch.Name] = strings.Join(kept, " ")
	}
	return nil
}

// canary proves that the system schedules, then removes its trace: one pod, bound, deleted.
func (b *Bench) canary() error {
	gang := Gang{Namespace: "canary", Name: "canary", Queue: "queue-a", Size: 1, GPUs: 1}
	if _, _, err := b.cluster.submit(b.system, []Gang{gang}); err != nil {
		return err
	}
	if !b.recorder.waitCount("canary", 1, 90*time.Second, isBound) {
		return fmt.Errorf("%s did not bind a single pod within 90 s; see its log in %s", b.system.Name, b.options.LogDir)
	}
	zero := int64(0)
	if err := deletePod(b.cluster.client(0), "canary", "canary-0000", &zero); err != nil {
		return err
	}
	b.recorder.waitCount("canary", 1, 10*time.Second, isGone)
	// A group left without pods still holds its share in Volcano's admission ("Inqueue").
	for _, group := range b.system.Group(gang) {
		if err := b.cluster.delete(group); err != nil {
			return err
		}
	}
	time.Sleep(2 * time.Second)
	return nil
}

func (b *Bench) accounted() map[string]*Process {
	all := map[string]*Process{"etcd": b.cp.etcd, "kube-apiserver": b.cp.apiserver}
	for _, process := range b.processes {
		all[process.Name] = process
	}
	return all
}

// requests reads how many calls of each kind the API server has answered so far, all clients together.
func (b *Bench) requests() map[string]int {
	counts := map[string]int{}
	text, err := b.cluster.client(0).RESTClient().Get().AbsPath("/metrics").SetHeader("Accept", "*/*").DoRaw(context.Background())
	if err != nil {
		return counts
	}
	label := func(line, name string) string {
		_, rest, _ := strings.Cut(line, name+`="`)
		value, _, _ := strings.Cut(rest, `"`)
		return value
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "apiserver_request_total{") {
			continue
		}
		kind := label(line, "verb") + " " + label(line, `resource`)
		if sub := label(line, "subresource"); sub != "" {
			kind += "/" + sub
		}
		if code := label(line, "code"); code >= "400" {
			kind += " -> " + code
		}
		value, _ := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndexByte(line, ' '):]), 64)
		counts[kind] += int(value)
	}
	return counts
}

// startCounting sets the zero of processor time and of API calls.
func (b *Bench) startCounting() {
	b.calls = b.requests()
	b.cpuBase = map[string]float64{"harness": cpuSeconds(os.Getpid())}
	for name, process := range b.accounted() {
		b.cpuBase[name] = cpuSeconds(process.command.Process.Pid)
	}
	b.busyBase, b.cpuSince = machineBusySeconds(), time.Now()
}

// stopCounting stores processor time since startCounting and peak memory.
func (b *Bench) stopCounting() {
	b.result.CPUSeconds, b.result.PeakMiB = map[string]float64{}, map[string]float64{}
	b.result.CPUSeconds["harness"] = round(cpuSeconds(os.Getpid()) - b.cpuBase["harness"])
	for name, process := range b.accounted() {
		pid := process.command.Process.Pid
		b.result.CPUSeconds[name] = round(cpuSeconds(pid) - b.cpuBase[name])
		b.result.PeakMiB[name] = round(peakResidentMiB(pid))
	}
	span := time.Since(b.cpuSince).Seconds()
	b.result.Requests = map[string]int{}
	for kind, count := range b.requests() {
		if more := count - b.calls[kind]; more > 1 {
			b.result.Requests[kind] = more
		}
	}
	b.figure("counted_span_s", span)
	busy := machineBusySeconds() - b.busyBase
	b.result.MachineBusyCores = round(busy / span)
	for _, seconds := range b.result.CPUSeconds {
		busy -= seconds
	}
	b.figure("foreign_busy_cores", max(0, busy/span)) // processor time of anything else on the machine
}

// Stop ends everything this bench started.
func (b *Bench) Stop() {
	if b.recorder != nil && b.recorder.stop != nil {
		b.recorder.stop()
	}
	for _, process := range b.processes {
		if !process.Alive() {
			b.result.Note += process.Name + " had stopped by itself. "
		}
		process.Stop()
	}
	if b.cp != nil {
		b.cp.Stop()
	}
}

// fill binds single running pods of queue a directly, past the scheduler, on nodes first..last-1.
func (b *Bench) fill(name string, firstSlot, lastSlot int) error {
	var gangs []Gang
	for slot := firstSlot; slot < lastSlot; slot++ {
		gangs = append(gangs, Gang{Namespace: "fill", Name: fmt.Sprintf("%s-%d", name, slot), Queue: "queue-a", Size: 1, GPUs: 1})
	}
	if b.system.Name == "kai" && os.Getenv("KAI_PODGROUPER") != "" {
		return fmt.Errorf("fill needs group objects made by the harness: unset KAI_PODGROUPER")
	}
	// The pods carry a scheduler name, so no scheduler of that name may run unless it has no room for them.
	if _, _, err := b.cluster.submit(b.system, gangs); err != nil {
		return err
	}
	if err := b.cluster.forEach(len(gangs), func(client *kubernetes.Clientset, i int) error {
		return bind(client, "fill", gangs[i].Name+"-0000", nodeName((firstSlot+i)/gpusPerNode))
	}); err != nil {
		return err
	}
	if !b.recorder.waitCount("fill", lastSlot, 60*time.Second, isRunning) {
		return fmt.Errorf("the filling pods did not all become Running")
	}
	return nil
}

// quantile of sorted values, nearest rank.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// reportBinding turns traces of the namespace "work" into figures. started may be zero.
func (b *Bench) reportBinding(firstSent, lastAcknowledged, started time.Time) {
	traces := b.recorder.Traces("work")
	var created, bound, waited []float64
	at := func(moment time.Time) float64 { return moment.Sub(firstSent).Seconds() }
	for _, trace := range traces {
		created = append(created, at(trace.Created))
		if isBound(&trace) {
			bound = append(bound, at(trace.Bound))
			waited = append(waited, trace.Bound.Sub(trace.Created).Seconds())
		}
	}
	sort.Float64s(created)
	sort.Float64s(bound)
	sort.Float64s(waited)
	b.result.Bound, b.result.Complete = len(bound), len(bound) == b.result.Pods
	b.figure("submit_s", lastAcknowledged.Sub(firstSent).Seconds())
	if len(bound) == 0 {
		return
	}
	last := bound[len(bound)-1]
	b.figure("first_created_to_last_bound_s", last)
	b.figure("last_created_to_last_bound_s", last-created[len(created)-1])
	b.figure("first_created_to_first_bound_s", bound[0])
	b.figure("first_bound_to_last_bound_s", last-bound[0])
	b.figure("pod_wait_p50_s", quantile(waited, 0.50))
	b.figure("pod_wait_p99_s", quantile(waited, 0.99))
	if !started.IsZero() {
		b.figure("scheduler_start_to_first_bound_s", bound[0]-at(started))
		b.figure("scheduler_start_to_last_bound_s", last-at(started))
	}
	if len(bound) >= 100 {
		b.figure("binds_per_s_total", float64(len(bound))/(last-bound[0]))
		low, high := quantile(bound, 0.1), quantile(bound, 0.9)
		b.figure("binds_per_s_middle80", 0.8*float64(len(bound))/(high-low))
		best, tail := 0, 0
		for head := range bound {
			for bound[head]-bound[tail] > 1 {
				tail++
			}
			best = max(best, head-tail+1)
		}
		b.figure("binds_best_1s", float64(best))
	}
}

func logFolder(base string, options Options) string {
	stamp := time.Now().UTC().Format("150405")
	return filepath.Join(base, strings.Join([]string{options.System, options.Scenario, stamp}, "-"))
}
