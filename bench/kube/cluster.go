// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

const (
	gpuResource = corev1.ResourceName("nvidia.com/gpu")
	gpusPerNode = 8
	rackSize    = 16
	zoneSize    = 128
)

// Object is an API object in plain JSON form and the collection path it is posted to.
// A "status" in the body is written through the status subresource after creation.
type Object struct {
	Path string
	Body map[string]any
}

// Gang is a set of equal pods that belong together; Size 1 is a single pod.
type Gang struct {
	Namespace, Name, Queue string
	Size, GPUs             int
}

// Cluster is the harness's set of clients for one control plane.
type Cluster struct {
	clients []*kubernetes.Clientset // several connections; index by worker
	workers int
}

func newCluster(cp *ControlPlane, contentType string, connections, workers int) (*Cluster, error) {
	c := &Cluster{workers: workers}
	for range connections {
		client, err := kubernetes.NewForConfig(cp.config(contentType))
		if err != nil {
			return nil, err
		}
		c.clients = append(c.clients, client)
	}
	return c, nil
}

func (c *Cluster) client(worker int) *kubernetes.Clientset { return c.clients[worker%len(c.clients)] }

// forEach runs work for 0..n-1 on the cluster's workers and returns the first error.
func (c *Cluster) forEach(n int, work func(client *kubernetes.Clientset, i int) error) error {
	var next atomic.Int64
	var group sync.WaitGroup
	failures := make(chan error, c.workers)
	for w := range c.workers {
		group.Add(1)
		go func() {
			defer group.Done()
			for {
				i := int(next.Add(1) - 1)
				if i >= n {
					return
				}
				if err := work(c.client(w), i); err != nil {
					failures <- err
					return
				}
			}
		}()
	}
	group.Wait()
	close(failures)
	return <-failures
}

func (c *Cluster) post(client *kubernetes.Clientset, object Object) error {
	body, err := json.Marshal(object.Body)
	if err != nil {
		return err
	}
	err = client.RESTClient().Post().AbsPath(object.Path).
		SetHeader("Content-Type", contentJSON).SetHeader("Accept", contentJSON).
		Body(body).Do(context.Background()).Error()
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("post to %s: %w", object.Path, err)
	}
	status, ok := object.Body["status"]
	if !ok {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	name := object.Body["metadata"].(map[string]any)["name"].(string)
	return client.RESTClient().Patch(types.MergePatchType).AbsPath(object.Path, name, "status").
		SetHeader("Accept", contentJSON).Body(patch).Do(context.Background()).Error()
}

func (c *Cluster) delete(object Object) error {
	name := object.Body["metadata"].(map[string]any)["name"].(string)
	return c.client(0).RESTClient().Delete().AbsPath(object.Path, name).
		SetHeader("Accept", contentJSON).Do(context.Background()).Error()
}

// postAll posts in order, one after the other.
func (c *Cluster) postAll(objects []Object) error {
	for _, object := range objects {
		if err := c.post(c.client(0), object); err != nil {
			return err
		}
	}
	return nil
}

// applyDefinitions posts every CustomResourceDefinition in a folder and waits until all are served.
func (c *Cluster) applyDefinitions(folder string) error {
	if folder == "" {
		return errors.New("no folder of CustomResourceDefinitions given (see README.md)")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no *.yaml in %s", folder)
	}
	sort.Strings(files)
	const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	var names []string
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var body map[string]any
		if err := yaml.Unmarshal(raw, &body); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if body["kind"] != "CustomResourceDefinition" {
			continue
		}
		delete(body, "status")
		if err := c.post(c.client(0), Object{path, body}); err != nil {
			return err
		}
		names = append(names, body["metadata"].(map[string]any)["name"].(string))
	}
	for _, name := range names {
		if err := c.waitEstablished(path + "/" + name); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) waitEstablished(path string) error {
	for range 200 {
		raw, err := c.client(0).RESTClient().Get().AbsPath(path).SetHeader("Accept", contentJSON).DoRaw(context.Background())
		if err != nil {
			return err
		}
		var crd struct {
			Status struct{ Conditions []metav1.Condition }
		}
		if err := json.Unmarshal(raw, &crd); err != nil {
			return err
		}
		for _, condition := range crd.Status.Conditions {
			if condition.Type == "Established" && condition.Status == metav1.ConditionTrue {
				return nil
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("%s was not established within 10 s", path)
}

func nodeName(i int) string { return fmt.Sprintf("node-%04d", i) }

// createNodes posts Ready nodes. With no node controller running they stay Ready without leases.
func (c *Cluster) createNodes(count int) error {
	amounts := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("128"),
		corev1.ResourceMemory:           resource.MustParse("1Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("250"),
		gpuResource:                     *resource.NewQuantity(gpusPerNode, resource.DecimalSI),
	}
	return c.forEach(count, func(client *kubernetes.Clientset, i int) error {
		name := nodeName(i)
		now := metav1.Now()
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
				"kubernetes.io/hostname":      name,
				"kubernetes.io/os":            "linux",
				"kubernetes.io/arch":          "amd64",
				"topology.kubernetes.io/zone": fmt.Sprintf("zone-%d", i/zoneSize),
				"topology.example.com/rack":   fmt.Sprintf("rack-%02d", i/rackSize),
				"nvidia.com/gpu.count":        fmt.Sprint(gpusPerNode),
				"nvidia.com/gpu.memory":       "81920",
			}},
			Status: corev1.NodeStatus{
				Capacity: amounts, Allocatable: amounts, Phase: corev1.NodeRunning,
				Conditions: []corev1.NodeCondition{{
					Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
					Message: "fake node", LastHeartbeatTime: now, LastTransitionTime: now,
				}},
				NodeInfo: corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64", KubeletVersion: "v1.36.3"},
			},
		}
		_, err := client.CoreV1().Nodes().Create(context.Background(), node, metav1.CreateOptions{})
		return err
	})
}

func (c *Cluster) createNamespace(name string) error {
	ctx := context.Background()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := c.client(0).CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	// A controller would make the account that admission asks for.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, err = c.client(0).CoreV1().ServiceAccounts(name).Create(ctx, account, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// newPod is member number of a gang, before a system adds its own labels.
func newPod(gang Gang, number int) *corev1.Pod {
	needs := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("1"),
		corev1.ResourceMemory: resource.MustParse("1Gi"),
		gpuResource:           *resource.NewQuantity(int64(gang.GPUs), resource.DecimalSI),
	}
	noToken := false
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: gang.Namespace, Name: fmt.Sprintf("%s-%04d", gang.Name, number),
			Labels: map[string]string{"app": gang.Name}, Annotations: map[string]string{},
		},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: &noToken,
			Containers: []corev1.Container{{
				Name: "main", Image: "example.com/worker",
				Resources: corev1.ResourceRequirements{Requests: needs, Limits: needs},
			}},
		},
	}
}

// submit creates every gang's group objects first and then all pods, in parallel.
// It returns the moments at which the first pod was sent and the last one acknowledged.
func (c *Cluster) submit(system *System, gangs []Gang) (first, last time.Time, err error) {
	type member struct{ gang, number int }
	var groups []Object
	var members []member
	for g, gang := range gangs {
		groups = append(groups, system.Group(gang)...)
		for number := range gang.Size {
			members = append(members, member{g, number})
		}
	}
	if err = c.forEach(len(groups), func(client *kubernetes.Clientset, i int) error {
		return c.post(client, groups[i])
	}); err != nil {
		return
	}
	first = time.Now()
	err = c.forEach(len(members), func(client *kubernetes.Clientset, i int) error {
		gang := gangs[members[i].gang]
		pod := newPod(gang, members[i].number)
		pod.Spec.SchedulerName = system.SchedulerName
		system.Decorate(pod, gang)
		_, err := client.CoreV1().Pods(gang.Namespace).Create(context.Background(), pod, metav1.CreateOptions{})
		return err
	})
	last = time.Now()
	return
}

// bind posts one pods/binding subresource.
func bind(client *kubernetes.Clientset, namespace, pod, node string) error {
	return client.CoreV1().Pods(namespace).Bind(context.Background(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
}
