// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// MainspringOptions say how the scheduler under test is started.
type MainspringOptions struct {
	// Name distinguishes several replicas: of logs and configuration files. "mainspring" if empty.
	Name string
	// Config is the text of its configuration file.
	Config string
	// Manifests are files or folders that are applied with all rights before it starts: roles,
	// bindings and the service account of the deployment.
	Manifests []string
	// Namespace and ServiceAccount are whom it acts as; "mainspring" each if empty.
	Namespace, ServiceAccount string
	// Kubeconfig overrides the account: credentials of another kind.
	Kubeconfig string
	// Args are further flags.
	Args []string
	// Environment are further variables, NAME=value.
	Environment []string
	// NoWait returns without waiting for /readyz.
	NoWait bool
}

// Mainspring is a running scheduler under test.
type Mainspring struct {
	*Process
	Address    string // of its own server, 127.0.0.1:PORT
	Kubeconfig string
	User       string // as the audit log names it
}

// MainspringProgram is MAINSPRING_BIN or the release build.
func MainspringProgram() (string, error) {
	if path := os.Getenv("MAINSPRING_BIN"); path != "" {
		return filepath.Abs(path)
	}
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "build/release/mainspring"), nil
}

// StartMainspring runs the scheduler with the rights of its service account only, until the test
// ends, and shows the end of its log if the test fails.
func StartMainspring(t testing.TB, c *Cluster, options MainspringOptions) *Mainspring {
	t.Helper()
	m, err := c.NewMainspring(t.Context(), options)
	if err != nil {
		t.Fatalf("start mainspring: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("end of the log of %s:\n%s", m.Name, m.LogTail(30))
		}
		_ = m.Stop(10 * time.Second)
	})
	return m
}

// NewMainspring is StartMainspring for callers that are no test.
func (c *Cluster) NewMainspring(ctx context.Context, options MainspringOptions) (*Mainspring, error) {
	program, err := MainspringProgram()
	if err != nil {
		return nil, err
	}
	if options.Name == "" {
		options.Name = "mainspring"
	}
	if options.Namespace == "" {
		options.Namespace = "mainspring"
	}
	if options.ServiceAccount == "" {
		options.ServiceAccount = "mainspring"
	}
	if err := c.CreateNamespace(ctx, options.Namespace, nil); err != nil {
		return nil, err
	}
	for _, manifest := range options.Manifests {
		if _, err := c.Kubectl("apply", "-f", manifest); err != nil {
			return nil, err
		}
	}
	m := &Mainspring{
		Address: fmt.Sprintf("127.0.0.1:%d", FreePort()), Kubeconfig: options.Kubeconfig,
		User: "system:serviceaccount:" + options.Namespace + ":" + options.ServiceAccount,
	}
	if m.Kubeconfig == "" {
		m.Kubeconfig, err = c.ServiceAccountKubeconfig(ctx, options.Namespace, options.ServiceAccount)
		if err != nil {
			return nil, err
		}
	}
	config := filepath.Join(c.Folder, options.Name+".yaml")
	if err := os.WriteFile(config, []byte(options.Config), 0o600); err != nil {
		return nil, err
	}
	args := append([]string{
		"scheduler", "--kubeconfig", m.Kubeconfig, "--config", config, "--listen", m.Address,
	}, options.Args...)
	m.Process, err = StartProcess(options.Name, c.Folder, program, args, options.Environment)
	if err != nil || options.NoWait {
		return m, err
	}
	if err := m.WaitReady(ctx, time.Minute); err != nil {
		m.Kill()
		return nil, fmt.Errorf("%w; its log:\n%s", err, m.LogTail(20))
	}
	return m, nil
}

// WaitReady waits for /readyz, or for the end of the process.
func (m *Mainspring) WaitReady(ctx context.Context, limit time.Duration) error {
	return Poll(ctx, limit, func() error {
		if !m.Alive() {
			return Stop(fmt.Errorf("%s ended with status %d", m.Name, m.ExitCode()))
		}
		answer, err := http.Get("http://" + m.Address + "/readyz")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("/readyz of %s answers %s", m.Name, answer.Status)
		}
		return nil
	})
}
