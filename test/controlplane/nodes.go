package controlplane

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

const (
	// nodePoll is how often the nodes are looked at while they become ready.
	nodePoll = 50 * time.Millisecond
	// nodePatience is how long the native controllers and kwok may take to accept the nodes.
	nodePatience = 2 * time.Minute
)

// Node returns a node that has room for every pod of a test. Creating it is all a test has to do.
func Node(name string) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("10k"),
		corev1.ResourceMemory: resource.MustParse("100Ti"),
		corev1.ResourcePods:   resource.MustParse("60k"), // as many as there are pod addresses
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname:   name,
			corev1.LabelOSStable:   "linux",
			corev1.LabelArchStable: "amd64",
		}},
		Status: corev1.NodeStatus{Allocatable: room, Capacity: room},
	}
}

// nodes makes the nodes and waits until pods can run: kwok has reported a node ready, the controller
// manager has taken the taint off that every new node has, and has made the account that pods need.
func (p *Plane) nodes(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(p.Config())
	if err != nil {
		return fmt.Errorf("making a client of the control plane: %w", err)
	}
	for i := range max(p.options.Nodes, 1) {
		node := Node(fmt.Sprintf("node-%d", i+1))
		if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("making node %s: %w", node.Name, err)
		}
	}
	var missing error
	err = wait.PollUntilContextTimeout(ctx, nodePoll, nodePatience, true, func(ctx context.Context) (bool, error) {
		missing = notYet(ctx, client)
		return missing == nil, p.Err()
	})
	if err == nil || p.Err() != nil {
		return p.Err()
	}
	return fmt.Errorf("waiting for the nodes (%w): %w; logs: %s", err, missing, p.folder.join(logsDir))
}

// notYet says what pods still lack.
func notYet(ctx context.Context, client kubernetes.Interface) error {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("reading nodes: %w", err)
	}
	for _, node := range nodes.Items {
		if !ready(node) {
			return fmt.Errorf("%s is not ready, which is the work of %s", node.Name, kwok)
		}
		if len(node.Spec.Taints) > 0 {
			return fmt.Errorf("%s still has its taints, which are the work of %s", node.Name, controllerManager)
		}
	}
	_, err = client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the default service account, which is the work of %s: %w", controllerManager, err)
	}
	return nil
}

func ready(node corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
