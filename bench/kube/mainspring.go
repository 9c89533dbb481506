// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// mainspring runs our scheduler on the workload of another system, exactly as that system's users write it:
// objects, annotations and scheduler name stay theirs. Only the processes differ.
// MAINSPRING is the binary; MAINSPRING_CONFIG, if set, replaces the configuration that is written here.
func mainspring(dialect *System) *System {
	system := *dialect
	system.Name = "mainspring-" + dialect.Name
	system.Supports = func(string) bool { return true }
	system.Decorate = func(pod *corev1.Pod, gang Gang) {
		dialect.Decorate(pod, gang)
		if dialect.Queues(nil) == nil { // a dialect without queues: the pod names ours
			pod.Annotations["mainspring.dev/queue"] = gang.Queue
			pod.Annotations["mainspring.dev/preemptible"] = "true" // these pods have no controller
		}
	}
	system.Launch = func(cp *ControlPlane, folder string, _ bool, shares []QueueShare) ([]Launch, error) {
		config := os.Getenv("MAINSPRING_CONFIG")
		if config == "" {
			var err error
			config, err = writeFile(folder, "mainspring.yaml", mainspringConfig(dialect.SchedulerName, shares))
			if err != nil {
				return nil, err
			}
		}
		args := []string{"scheduler", "--kubeconfig", cp.Kubeconfig, "--config", config,
			"--listen", fmt.Sprintf("127.0.0.1:%d", freePort())}
		return []Launch{{"mainspring", os.Getenv("MAINSPRING"), append(args, extraArgs("MAINSPRING_ARGS")...)}}, nil
	}
	return &system
}

// mainspringConfig is a tree of queues of one level. A queue without a limit of what it deserves gets
// what it deserves as quota all the same: others may not reclaim that.
func mainspringConfig(schedulerName string, shares []QueueShare) string {
	var text strings.Builder
	fmt.Fprintf(&text, "schedulers: [%s]\nleader_election: {enabled: false}\nqueues:\n", schedulerName)
	for _, share := range shares {
		fmt.Fprintf(&text, "  - {name: %s, gpu: {quota: %d, weight: %d}}\n", share.Name, share.Deserved,
			max(1, share.Weight))
	}
	return text.String()
}
