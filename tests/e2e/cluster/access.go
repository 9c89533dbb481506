// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (c *Cluster) kubeconfigForToken(path, token string) error {
	return writeKubeconfig(path, c.Server, c.authority.certificateFile(), token, "", "")
}

// AuthorityFile is the certificate that clients trust.
func (c *Cluster) AuthorityFile() string { return c.authority.certificateFile() }

// CreateNamespace also waits for its default service account, where controllers make one.
func (c *Cluster) CreateNamespace(ctx context.Context, name string, labels map[string]string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	_, err := c.Admin.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if !c.options.ControllerManager {
		return nil
	}
	return c.WaitForServiceAccount(ctx, name, "default")
}

// ServiceAccountToken makes the account if there is none, and returns a token for it.
func (c *Cluster) ServiceAccountToken(ctx context.Context, namespace, name string) (string, error) {
	accounts := c.Admin.CoreV1().ServiceAccounts(namespace)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := accounts.Create(ctx, account, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return "", err
	}
	seconds := int64(24 * 3600)
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
	}
	answer, err := accounts.CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return answer.Status.Token, nil
}

// ServiceAccountKubeconfig is a file with which a program acts as that account and nobody else.
func (c *Cluster) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	token, err := c.ServiceAccountToken(ctx, namespace, name)
	if err != nil {
		return "", err
	}
	path := filepath.Join(c.Folder, namespace+"-"+name+".kubeconfig")
	return path, c.kubeconfigForToken(path, token)
}

// CertificateKubeconfig is a file with a client certificate for a user, who has only the rights
// that roles give to the user and its groups.
func (c *Cluster) CertificateKubeconfig(user string, groups []string, until time.Time) (string, error) {
	certificate, key, err := c.authority.client(user, groups, until)
	if err != nil {
		return "", err
	}
	path := strings.TrimSuffix(certificate, ".crt") + ".kubeconfig"
	return path, writeKubeconfig(path, c.Server, c.authority.certificateFile(), "", certificate, key)
}

// Kubectl runs the release's own kubectl with all rights and returns what it printed.
func (c *Cluster) Kubectl(arguments ...string) (string, error) {
	return c.KubectlWithInput("", arguments...)
}

// KubectlWithInput is Kubectl with a text on standard input, for `apply -f -`.
func (c *Cluster) KubectlWithInput(input string, arguments ...string) (string, error) {
	return c.kubectl(c.AdminKubeconfig, input, arguments...)
}

// KubectlAs is Kubectl with the rights of another kubeconfig.
func (c *Cluster) KubectlAs(kubeconfig string, arguments ...string) (string, error) {
	return c.kubectl(kubeconfig, "", arguments...)
}

func (c *Cluster) kubectl(kubeconfig, input string, arguments ...string) (string, error) {
	path, err := Program("kubectl")
	if err != nil {
		return "", err
	}
	command := exec.Command(path, append([]string{"--kubeconfig", kubeconfig}, arguments...)...)
	command.Stdin = strings.NewReader(input)
	// Its cache of discovered kinds would outlive this server, whose port another may get.
	command.Env = append(os.Environ(), "KUBECACHEDIR="+filepath.Join(c.Folder, "kubectl-cache"))
	output, err := command.CombinedOutput()
	if err != nil {
		return string(output), fmt.Errorf("kubectl %s: %w\n%s", strings.Join(arguments, " "), err, output)
	}
	return string(output), nil
}

func (c *Cluster) auditLog() string { return filepath.Join(c.Folder, "audit.log") }

func (c *Cluster) writeAuditPolicy() (string, error) {
	others := ""
	if !c.options.AuditAll {
		others = fmt.Sprintf(`- level: None
  users: [%q, %q, %q, "system:apiserver", "system:anonymous"]
- level: None
  userGroups: ["system:serviceaccounts:kube-system"]
`, adminUser, controllerManagerUser, schedulerUser)
	}
	text := `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
` + others + `- level: Metadata
`
	path := filepath.Join(c.Folder, "audit-policy.yaml")
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// Request is a kind of request, as roles know it.
type Request struct {
	Verb, Group, Resource, Subresource string
	Path                               string // of requests that are about no resource
	Denied                             bool   // 401 or 403
}

func (r Request) String() string {
	what := r.Path
	if r.Resource != "" {
		what = r.Resource
		if r.Subresource != "" {
			what += "/" + r.Subresource
		}
		if r.Group != "" {
			what += "." + r.Group
		}
	}
	if r.Denied {
		what += " (denied)"
	}
	return r.Verb + " " + what
}

// Audit counts the requests of a user so far. Watches that are still open count as well.
// The admin, the controllers and kube-scheduler are there only with Options.AuditAll.
func (c *Cluster) Audit(user string) (map[Request]int, error) {
	text, err := os.ReadFile(c.auditLog())
	if err != nil {
		return nil, err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1] // the last line may still be under way
	counts := map[Request]int{}
	seen := map[string]bool{}
	for line := range bytes.Lines(text) {
		var event struct {
			AuditID, Verb, RequestURI string
			User                      struct{ Username string }
			ObjectRef                 *struct{ APIGroup, Resource, Subresource string }
			ResponseStatus            struct{ Code int }
		}
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
		if event.User.Username != user || seen[event.AuditID] {
			continue
		}
		seen[event.AuditID] = true // a watch is told of when it starts and when it ends
		code := event.ResponseStatus.Code
		request := Request{Verb: event.Verb, Denied: code == 401 || code == 403}
		if ref := event.ObjectRef; ref != nil {
			request.Group, request.Resource, request.Subresource = ref.APIGroup, ref.Resource, ref.Subresource
		} else {
			request.Path, _, _ = strings.Cut(event.RequestURI, "?")
		}
		counts[request]++
	}
	return counts, nil
}

// AuditLines is Audit as sorted text, for messages and comparisons.
func (c *Cluster) AuditLines(user string) ([]string, error) {
	counts, err := c.Audit(user)
	if err != nil {
		return nil, err
	}
	var lines []string
	for request := range counts {
		lines = append(lines, request.String())
	}
	sort.Strings(lines)
	return lines, nil
}
