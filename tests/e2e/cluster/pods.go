// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GPUPod asks for GPUs, one CPU and 1 GiB. Change what is returned before it is created.
func GPUPod(namespace, name, schedulerName string, gpus int) *corev1.Pod {
	needs := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("1"),
		corev1.ResourceMemory: resource.MustParse("1Gi"),
	}
	if gpus > 0 {
		needs[GPU] = *resource.NewQuantity(int64(gpus), resource.DecimalSI)
	}
	noToken := false
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			Labels: map[string]string{}, Annotations: map[string]string{},
		},
		Spec: corev1.PodSpec{
			SchedulerName: schedulerName, AutomountServiceAccountToken: &noToken,
			Containers: []corev1.Container{{
				Name: "main", Image: "example.com/worker",
				Resources: corev1.ResourceRequirements{Requests: needs, Limits: needs.DeepCopy()},
			}},
		},
	}
}

// CreatePods posts pods, several at a time.
func (c *Cluster) CreatePods(ctx context.Context, pods ...*corev1.Pod) error {
	return ForEach(len(pods), func(i int) error {
		_, err := c.Admin.CoreV1().Pods(pods[i].Namespace).Create(ctx, pods[i], metav1.CreateOptions{})
		return err
	})
}

// Bind is what a scheduler does; also useful to fill nodes past all schedulers.
func (c *Cluster) Bind(ctx context.Context, namespace, pod, node string) error {
	return c.Admin.CoreV1().Pods(namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
}

// Evict asks the eviction API, as a scheduler must; a disruption budget answers 429.
func (c *Cluster) Evict(ctx context.Context, namespace, pod string) error {
	return c.Admin.CoreV1().Pods(namespace).EvictV1(ctx, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod},
	})
}

// Pods lists a namespace; the selector may be empty.
func (c *Cluster) Pods(ctx context.Context, namespace, selector string) ([]corev1.Pod, error) {
	list, err := c.Admin.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// WaitForPods waits until at least count pods of a namespace satisfy a predicate.
func (c *Cluster) WaitForPods(
	ctx context.Context, namespace, selector string, count int, limit time.Duration,
	is func(*corev1.Pod) bool,
) error {
	return Poll(ctx, limit, func() error {
		pods, err := c.Pods(ctx, namespace, selector)
		if err != nil {
			return err
		}
		found := 0
		for i := range pods {
			if is(&pods[i]) {
				found++
			}
		}
		if found < count {
			return fmt.Errorf("%d of %d pods in namespace %s as wanted", found, count, namespace)
		}
		return nil
	})
}

// Bound, Running, Succeeded and Failed are predicates for WaitForPods.
func Bound(pod *corev1.Pod) bool     { return pod.Spec.NodeName != "" }
func Running(pod *corev1.Pod) bool   { return pod.Status.Phase == corev1.PodRunning }
func Succeeded(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded }
func Failed(pod *corev1.Pod) bool    { return pod.Status.Phase == corev1.PodFailed }

// Unschedulable says whether the pod carries PodScheduled=False/Unschedulable.
func Unschedulable(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse &&
			condition.Reason == corev1.PodReasonUnschedulable {
			return true
		}
	}
	return false
}
