// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// QueueShare is one tenant queue. Deserved is its guaranteed number of GPUs; where a system can say so,
// Unlimited lifts that, and Weight is the queue's part of what nobody else claims.
type QueueShare struct {
	Name      string
	Deserved  int
	Unlimited bool
	Weight    int
}

// System is one scheduler under test: its processes and its dialect.
type System struct {
	Name          string
	SchedulerName string
	APIServerArgs []string
	Definitions   string // folder of CustomResourceDefinitions; empty: none
	GroupKinds    []schema.GroupVersionResource
	Namespaces    []string
	Supports      func(scenario string) bool
	Queues        func(shares []QueueShare) []Object
	Group         func(gang Gang) []Object
	Decorate      func(pod *corev1.Pod, gang Gang)
	// Launch returns the processes to start, in order.
	// shares are the queues, of which only our own scheduler is told in a file.
	Launch func(cp *ControlPlane, folder string, reclaim bool, shares []QueueShare) ([]Launch, error)
}

// Launch is one process of a system.
type Launch struct {
	Name, Path string
	Args       []string
}

func systemByName(name string) (*System, error) {
	if dialect, ours := strings.CutPrefix(name, "mainspring-"); ours && dialect != "raw" {
		other, err := systemByName(dialect)
		if err != nil {
			return nil, err
		}
		return mainspring(other), nil
	}
	switch name {
	case "kube-scheduler":
		return kubeScheduler(), nil
	case "kai":
		return kai(), nil
	case "volcano":
		return volcano(), nil
	case "raw":
		return &System{Name: "raw", SchedulerName: "nobody", Group: func(Gang) []Object { return nil },
			Decorate: func(*corev1.Pod, Gang) {}}, nil
	}
	return nil, fmt.Errorf("unknown system %q: use kube-scheduler, kai, volcano, mainspring-<one of these> or raw", name)
}

// extraArgs are further flags from an environment variable; later flags override ours.
func extraArgs(variable string) []string { return strings.Fields(os.Getenv(variable)) }

// writeFile puts a configuration into a folder of its own: Volcano reloads its configuration whenever any
// file beside it changes, so it must not lie beside a log.
func writeFile(folder, name, text string) (string, error) {
	folder = filepath.Join(folder, "conf")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(folder, name)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

func metadata(namespace, name string) map[string]any {
	m := map[string]any{"name": name}
	if namespace != "" {
		m["namespace"] = namespace
	}
	return m
}

func kubeScheduler() *System {
	const group = "/apis/scheduling.k8s.io/v1alpha2/namespaces/"
	gates := os.Getenv("KUBE_GATES")
	if gates == "" {
		gates = "GenericWorkload=true,GangScheduling=true"
	}
	gangs := strings.Contains(gates, "GangScheduling=true")
	var groupKinds []schema.GroupVersionResource
	arguments := []string{"--feature-gates=" + gates}
	if gangs {
		groupKinds = []schema.GroupVersionResource{{Group: "scheduling.k8s.io", Version: "v1alpha2", Resource: "podgroups"}}
		arguments = append(arguments, "--runtime-config=scheduling.k8s.io/v1alpha2=true")
	}
	return &System{
		Name: "kube-scheduler", SchedulerName: "default-scheduler",
		APIServerArgs: arguments,
		GroupKinds:    groupKinds,
		Supports:      func(scenario string) bool { return !strings.HasPrefix(scenario, "reclaim") },
		Queues:        func([]QueueShare) []Object { return nil },
		Group: func(gang Gang) []Object {
			if gang.Size == 1 || !gangs {
				return nil
			}
			policy := map[string]any{"gang": map[string]any{"minCount": gang.Size}}
			return []Object{{group + gang.Namespace + "/podgroups", map[string]any{
				"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup",
				"metadata": metadata(gang.Namespace, gang.Name),
				"spec":     map[string]any{"schedulingPolicy": policy},
			}}}
		},
		Decorate: func(pod *corev1.Pod, gang Gang) {
			if gang.Size > 1 && gangs {
				pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &gang.Name}
			}
		},
		Launch: func(cp *ControlPlane, folder string, _ bool, _ []QueueShare) ([]Launch, error) {
			config, err := writeFile(folder, "kube-scheduler.yaml", fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection:
  kubeconfig: %q
  qps: 5000
  burst: 10000
  contentType: application/vnd.kubernetes.protobuf
  acceptContentTypes: application/vnd.kubernetes.protobuf,application/json
`, cp.Kubeconfig))
			args := append([]string{"--config", config, "--feature-gates=" + gates, "--bind-address=127.0.0.1",
				fmt.Sprintf("--secure-port=%d", freePort()), "--cert-dir", folder, "--v=1"}, extraArgs("KUBE_SCHEDULER_ARGS")...)
			return []Launch{{"kube-scheduler", program("KUBE_SCHEDULER", "kube-scheduler"), args}}, err
		},
	}
}

func kai() *System {
	return &System{
		Name: "kai", SchedulerName: "kai-scheduler",
		Definitions: os.Getenv("KAI_CRDS"),
		GroupKinds:  []schema.GroupVersionResource{{Group: "scheduling.run.ai", Version: "v2alpha2", Resource: "podgroups"}},
		Namespaces:  []string{"kai-scheduler", "kai-resource-reservation", "kai-scale-adjust"},
		Supports:    func(string) bool { return true },
		Queues:      kaiQueues,
		Group: func(gang Gang) []Object {
			if os.Getenv("KAI_PODGROUPER") != "" {
				if gang.Size > 1 {
					panic("with KAI_PODGROUPER set only single pods are supported: bare pods have no owner to group by")
				}
				return nil
			}
			return []Object{{"/apis/scheduling.run.ai/v2alpha2/namespaces/" + gang.Namespace + "/podgroups", map[string]any{
				"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup",
				"metadata": metadata(gang.Namespace, gang.Name),
				"spec": map[string]any{"minMember": gang.Size, "queue": gang.Queue,
					"priorityClassName": "train", "preemptibility": "preemptible"},
			}}}
		},
		Decorate: func(pod *corev1.Pod, gang Gang) {
			pod.Labels["kai.scheduler/queue"] = gang.Queue
			pod.Spec.PriorityClassName = "train"
			if os.Getenv("KAI_PODGROUPER") == "" {
				pod.Annotations["pod-group-name"] = gang.Name
			}
		},
		Launch: func(cp *ControlPlane, folder string, _ bool, _ []QueueShare) ([]Launch, error) {
			address := func() string { return fmt.Sprintf("127.0.0.1:%d", freePort()) }
			launches := []Launch{
				{"kai-binder", os.Getenv("KAI_BINDER"), append([]string{"--qps=5000", "--burst=10000",
					"--max-concurrent-reconciles=100", "--metrics-bind-address=" + address(),
					"--health-probe-bind-address=" + address()}, extraArgs("KAI_BINDER_ARGS")...)},
				{"kai-scheduler", os.Getenv("KAI_SCHEDULER"), append([]string{"--leader-elect=false",
					"--qps=5000", "--burst=10000", "--listen-address=" + address(),
					fmt.Sprintf("--plugin-server-port=%d", freePort()), "--v=1"}, extraArgs("KAI_SCHEDULER_ARGS")...)},
			}
			if grouper := os.Getenv("KAI_PODGROUPER"); grouper != "" {
				launches = append([]Launch{{"kai-podgrouper", grouper, append([]string{"--qps=5000", "--burst=10000",
					"--max-concurrent-reconciles=50", "--metrics-bind-address=" + address(),
					"--health-probe-bind-address=" + address()}, extraArgs("KAI_PODGROUPER_ARGS")...)}}, launches...)
			}
			if controller := os.Getenv("KAI_PODGROUPCONTROLLER"); controller != "" {
				launches = append(launches, Launch{"kai-podgroupcontroller", controller, append([]string{"--qps=5000", "--burst=10000",
					"--enable-podgroup-webhook=false", "--metrics-bind-address=" + address(),
					"--health-probe-bind-address=" + address()}, extraArgs("KAI_PODGROUPCONTROLLER_ARGS")...)})
			}
			return launches, nil
		},
	}
}

func kaiQueues(shares []QueueShare) []Object {
	const path = "/apis/scheduling.run.ai/v2/queues"
	queue := func(name, parent string, gpus, weight int) Object {
		free := map[string]any{"quota": -1, "limit": -1, "overQuotaWeight": 1}
		spec := map[string]any{"resources": map[string]any{"cpu": free, "memory": free,
			"gpu": map[string]any{"quota": gpus, "limit": -1, "overQuotaWeight": weight}}}
		if parent != "" {
			spec["parentQueue"] = parent
		}
		return Object{path, map[string]any{"apiVersion": "scheduling.run.ai/v2", "kind": "Queue",
			"metadata": metadata("", name), "spec": spec}}
	}
	objects := []Object{queue("root-queue", "", -1, 1)}
	for _, share := range shares {
		gpus := share.Deserved
		if share.Unlimited {
			gpus = -1
		}
		objects = append(objects, queue(share.Name, "root-queue", gpus, share.Weight))
	}
	classes := []struct {
		name  string
		value int
	}{{"train", 50}, {"build-preemptible", 75}, {"build", 100}, {"inference", 125}}
	for _, class := range classes {
		objects = append(objects, Object{"/apis/scheduling.k8s.io/v1/priorityclasses", map[string]any{
			"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
			"metadata": metadata("", class.name), "value": class.value}})
	}
	return objects
}

// The stock configuration of Volcano's chart, and the one that its capacity plugin's guide gives for reclaim.
const (
	volcanoStock = `actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - {name: priority}
  - {name: gang, enablePreemptable: false}
  - {name: conformance}
- plugins:
  - {name: overcommit}
  - {name: drf, enablePreemptable: false}
  - {name: predicates}
  - {name: proportion}
  - {name: nodeorder}
  - {name: binpack}
`
	volcanoReclaim = `actions: "enqueue, allocate, backfill, %s"
tiers:
- plugins:
  - {name: priority}
  - {name: gang, enablePreemptable: false}
  - {name: conformance}
- plugins:
  - {name: drf, enablePreemptable: false}
  - {name: predicates}
  - {name: capacity}
  - {name: nodeorder}
  - {name: binpack}
`
)

func volcano() *System {
	return &System{
		Name: "volcano", SchedulerName: "volcano",
		Definitions: os.Getenv("VOLCANO_CRDS"),
		GroupKinds:  []schema.GroupVersionResource{{Group: "scheduling.volcano.sh", Version: "v1beta1", Resource: "podgroups"}},
		Namespaces:  []string{"volcano-system"},
		Supports:    func(string) bool { return true },
		Queues:      volcanoQueues,
		Group: func(gang Gang) []Object {
			return []Object{{"/apis/scheduling.volcano.sh/v1beta1/namespaces/" + gang.Namespace + "/podgroups", map[string]any{
				"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
				"metadata": metadata(gang.Namespace, gang.Name),
				"spec": map[string]any{"minMember": gang.Size, "queue": gang.Queue, "minResources": map[string]any{
					"cpu": fmt.Sprint(gang.Size), "memory": fmt.Sprintf("%dGi", gang.Size),
					string(gpuResource): fmt.Sprint(gang.Size * gang.GPUs)}},
			}}}
		},
		Decorate: func(pod *corev1.Pod, gang Gang) {
			pod.Annotations["scheduling.k8s.io/group-name"] = gang.Name
			pod.Annotations["volcano.sh/preemptable"] = "true"
		},
		Launch: func(cp *ControlPlane, folder string, reclaim bool, _ []QueueShare) ([]Launch, error) {
			text := volcanoStock
			if reclaim {
				action := os.Getenv("VOLCANO_RECLAIM_ACTION")
				if action == "" {
					action = "reclaim"
				}
				text = fmt.Sprintf(volcanoReclaim, action)
			}
			config, err := writeFile(folder, "volcano-scheduler.conf", text)
			args := append([]string{"--kubeconfig", cp.Kubeconfig, "--scheduler-conf", config, "--leader-elect=false",
				"--kube-api-qps=5000", "--kube-api-burst=10000", "--csi-storage=false", "--cache-dumper=false",
				fmt.Sprintf("--listen-address=127.0.0.1:%d", freePort()), "-v=1"}, extraArgs("VOLCANO_SCHEDULER_ARGS")...)
			return []Launch{{"vc-scheduler", os.Getenv("VOLCANO_SCHEDULER"), args}}, err
		},
	}
}

// volcanoQueues are created open, which Volcano's controller would otherwise do; a queue without
// that state accepts no job. The scheduler makes "root" and "default" itself, but never opens them.
func volcanoQueues(shares []QueueShare) []Object {
	var objects []Object
	for _, name := range []string{"root", "default"} {
		objects = append(objects, Object{"/apis/scheduling.volcano.sh/v1beta1/queues", map[string]any{
			"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": metadata("", name),
			"spec": map[string]any{"weight": 1, "reclaimable": false}, "status": map[string]any{"state": "Open"}}})
	}
	for _, share := range shares {
		amount := map[string]any{string(gpuResource): fmt.Sprint(share.Deserved),
			"cpu": fmt.Sprint(share.Deserved * 16), "memory": fmt.Sprintf("%dGi", share.Deserved*128)}
		objects = append(objects, Object{"/apis/scheduling.volcano.sh/v1beta1/queues", map[string]any{
			"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": metadata("", share.Name),
			"spec":   map[string]any{"weight": 1, "reclaimable": true, "deserved": amount},
			"status": map[string]any{"state": "Open"}}})
	}
	return objects
}
