// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GPU is the resource that fake nodes offer and pods ask for.
const GPU = corev1.ResourceName("nvidia.com/gpu")

// NodeName is the name of the i-th node of CreateGPUNodes.
func NodeName(i int) string { return fmt.Sprintf("node-%04d", i) }

// GPUNode is a Ready node with that many GPUs, 16 CPUs and 128 GiB for each, and the usual labels.
func GPUNode(name string, gpus int, labels map[string]string) *corev1.Node {
	size := int64(max(gpus, 1))
	amounts := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(16*size, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(size<<37, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(1<<40, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(250, resource.DecimalSI),
	}
	if gpus > 0 {
		amounts[GPU] = *resource.NewQuantity(int64(gpus), resource.DecimalSI)
	}
	all := map[string]string{
		corev1.LabelHostname:   name,
		corev1.LabelOSStable:   "linux",
		corev1.LabelArchStable: "amd64",
		"nvidia.com/gpu.count": fmt.Sprint(gpus),
	}
	maps.Copy(all, labels)
	now := metav1.Now()
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: all},
		Status: corev1.NodeStatus{
			Capacity: amounts, Allocatable: amounts.DeepCopy(),
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
				Message: "played", LastHeartbeatTime: now, LastTransitionTime: now,
			}},
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}},
			NodeInfo: corev1.NodeSystemInfo{
				OperatingSystem: "linux", Architecture: "amd64", KubeletVersion: "v" + Minor() + ".0",
			},
		},
	}
}

// TopologyLabels put node i into a rack of 16 and a zone of 128 nodes.
func TopologyLabels(i int) map[string]string {
	return map[string]string{
		corev1.LabelTopologyZone:    fmt.Sprintf("zone-%d", i/128),
		"topology.example.com/rack": fmt.Sprintf("rack-%02d", i/16),
	}
}

// CreateNodes posts nodes, several at a time. Their status counts from the start.
func (c *Cluster) CreateNodes(ctx context.Context, nodes ...*corev1.Node) error {
	return ForEach(len(nodes), func(i int) error {
		_, err := c.Admin.CoreV1().Nodes().Create(ctx, nodes[i], metav1.CreateOptions{})
		return err
	})
}

// CreateGPUNodes makes nodes 0..count-1, with racks and zones.
func (c *Cluster) CreateGPUNodes(ctx context.Context, count, gpusPerNode int) error {
	nodes := make([]*corev1.Node, count)
	for i := range nodes {
		nodes[i] = GPUNode(NodeName(i), gpusPerNode, TopologyLabels(i))
	}
	return c.CreateNodes(ctx, nodes...)
}

// ForEach runs work for 0..n-1 on sixteen goroutines and returns the first error.
func ForEach(n int, work func(i int) error) error {
	const workers = 16
	var next atomic.Int64
	var group sync.WaitGroup
	failures := make(chan error, workers)
	for range min(workers, n) {
		group.Go(func() {
			for {
				i := int(next.Add(1) - 1)
				if i >= n {
					return
				}
				if err := work(i); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(failures)
	return <-failures
}
