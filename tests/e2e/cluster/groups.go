// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// groupVersion is the version of scheduling.k8s.io that has PodGroups in the release under test.
func groupVersion() string {
	if Minor() == "1.36" {
		return "v1alpha2"
	}
	return "v1beta1"
}

// WithGangs switches on what PodGroups need in the release under test, for all programs. Without
// it the server knows no PodGroups, as a stock one does not.
func (o Options) WithGangs() Options {
	gates := map[string]bool{"GenericWorkload": true}
	if Minor() == "1.36" {
		gates["GangScheduling"] = true
	}
	maps.Copy(gates, o.Gates)
	o.Gates = gates
	o.RuntimeConfig = append([]string{"scheduling.k8s.io/" + groupVersion() + "=true"}, o.RuntimeConfig...)
	return o
}

// CreatePodGroup makes a gang: pods that name it run together, at least minCount of them.
func (c *Cluster) CreatePodGroup(ctx context.Context, namespace, name string, minCount int) error {
	version := "scheduling.k8s.io/" + groupVersion()
	body, err := json.Marshal(map[string]any{
		"apiVersion": version, "kind": "PodGroup",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{
			"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": minCount}}},
	})
	if err != nil {
		return err
	}
	return c.Admin.RESTClient().Post().AbsPath("/apis/"+version+"/namespaces/"+namespace+"/podgroups").
		Body(body).SetHeader("Content-Type", "application/json").Do(ctx).Error()
}

// InGroup makes a pod a member of a PodGroup.
func InGroup(pod *corev1.Pod, group string) *corev1.Pod {
	pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	return pod
}
