// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mainspring.dev/e2e/cluster"
)

// granted says whether one of the rules allows a request.
func granted(rules []rbacv1.PolicyRule, request cluster.Request) bool {
	what := request.Resource
	if request.Subresource != "" {
		what += "/" + request.Subresource
	}
	return slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.APIGroups, request.Group) &&
			slices.Contains(rule.Resources, what) && slices.Contains(rule.Verbs, request.Verb)
	})
}

// missingLine is an error that names the first that is not there.
func missingLine(lines []string, wanted ...string) error {
	for _, line := range wanted {
		if !slices.Contains(lines, line) {
			return fmt.Errorf("it did not ask for %q: %v", line, lines)
		}
	}
	return nil
}

// Whatever it asks for, its roles allow; it does not live on what every account may do besides.
func TestMainspringAsksForWhatItsRolesAllow(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newNamespace(t, cluster.Options{}.WithGangs(), 1)
	m := startMainspring(t, c, `
queues:
  - {name: owner, gpu: {quota: 8}}
  - {name: borrower}
`)
	// Bindings, an eviction, an event and a condition.
	must(t, c.CreatePods(ctx, inQueue("borrower", singles("lent", 8))...))
	must(t, c.WaitForPods(ctx, "work", "gang=lent", 8, patience, cluster.Running))
	must(t, c.CreatePods(ctx, inQueue("owner", gang("mine", 2, 1))...))
	must(t, c.WaitForPods(ctx, "work", "gang=mine", 2, patience, cluster.Running))
	must(t, c.CreatePods(ctx, inQueue("owner", singles("too-many", 7))...))
	must(t, c.WaitForPods(ctx, "work", "gang=too-many", 1, patience, cluster.Unschedulable))

	role, err := c.Admin.RbacV1().ClusterRoles().Get(ctx, "mainspring", metav1.GetOptions{})
	must(t, err)
	leader, err := c.Admin.RbacV1().Roles("mainspring").Get(ctx, "mainspring-leader", metav1.GetOptions{})
	must(t, err)
	rules := append(role.Rules, leader.Rules...)
	for _, rule := range rules {
		if slices.Contains(rule.Verbs, "*") || slices.Contains(rule.Resources, "*") {
			t.Errorf("a rule allows everything: %v", rule)
		}
	}

	must(t, cluster.Poll(ctx, patience, func() error {
		lines, err := c.AuditLines(m.User)
		if err != nil {
			return err
		}
		return missingLine(lines, "create events.events.k8s.io", "create pods/binding",
			"create pods/eviction", "list nodes", "patch pods/status", "update leases.coordination.k8s.io",
			"watch pods")
	}))
	requests, err := c.Audit(m.User)
	must(t, err)
	for request := range requests {
		switch {
		case request.Denied:
			t.Errorf("it was denied: %s", request)
		case request.Path != "":
			if request.Path != "/version" {
				t.Errorf("it asked for %s", request.Path)
			}
		case !granted(rules, request):
			t.Errorf("no rule of its roles says: %s", request)
		}
	}
}
