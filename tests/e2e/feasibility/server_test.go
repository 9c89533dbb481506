// SPDX-License-Identifier: Apache-2.0

package feasibility

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mainspring.dev/e2e/cluster"
)

// A world that no API server would let anybody make proves nothing.
func TestWorldsAreAcceptedByAnAPIServer(t *testing.T) {
	ctx := t.Context()
	c := cluster.Start(t, cluster.Options{NoPlayer: true})
	for _, name := range []string{"team-a", "team-b", "team-c"} {
		if err := c.CreateNamespace(ctx, name, nil); err != nil {
			t.Fatal(err)
		}
	}
	sandboxed := &nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "sandboxed"}, Handler: "sandboxed",
		Overhead: &nodev1.Overhead{PodFixed: corev1.ResourceList{
			corev1.ResourceCPU: milli(250), corev1.ResourceMemory: resource.MustParse("256Mi")}},
	}
	if _, err := c.Admin.NodeV1().RuntimeClasses().Create(ctx, sandboxed, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	err := cluster.ForEach(60, func(i int) error {
		world := Generate(1, i)
		for _, object := range world.Nodes {
			if _, err := c.Admin.CoreV1().Nodes().Create(ctx, object, dryRun); err != nil {
				return fmt.Errorf("%s, node: %w", world.Name, err)
			}
		}
		for _, object := range append(world.Pods, world.Pod) {
			object.Spec.Priority = nil // admission computes it, from a class
			if _, err := c.Admin.CoreV1().Pods(object.Namespace).Create(ctx, object, dryRun); err != nil {
				return fmt.Errorf("%s, pod: %w", world.Name, err)
			}
		}
		for _, object := range world.PVs {
			if _, err := c.Admin.CoreV1().PersistentVolumes().Create(ctx, object, dryRun); err != nil {
				return fmt.Errorf("%s, volume: %w", world.Name, err)
			}
		}
		for _, object := range world.PVCs {
			claims := c.Admin.CoreV1().PersistentVolumeClaims(object.Namespace)
			if _, err := claims.Create(ctx, object, dryRun); err != nil {
				return fmt.Errorf("%s, claim: %w", world.Name, err)
			}
		}
		for _, object := range world.StorageClasses {
			if _, err := c.Admin.StorageV1().StorageClasses().Create(ctx, object, dryRun); err != nil {
				return fmt.Errorf("%s, class: %w", world.Name, err)
			}
		}
		for _, object := range world.CSINodes {
			if _, err := c.Admin.StorageV1().CSINodes().Create(ctx, object, dryRun); err != nil {
				return fmt.Errorf("%s, CSI node: %w", world.Name, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
