// SPDX-License-Identifier: Apache-2.0

// Package cluster starts a real Kubernetes control plane on loopback for a test: etcd and
// kube-apiserver, on request kube-controller-manager and kube-scheduler, with authorization by
// roles and an audit log. Nodes and the life of pods are played (see Player).
package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Options say what a cluster consists of. The zero value is etcd, kube-apiserver and a player.
type Options struct {
	// ControllerManager runs the stock controllers: Jobs make pods, disruption budgets count,
	// claims get volumes, namespaces get service accounts.
	ControllerManager bool
	// Scheduler runs kube-scheduler under the name default-scheduler.
	Scheduler bool
	// SchedulerConfig is appended to kube-scheduler's configuration file: profiles and so on.
	SchedulerConfig string
	// Gates are feature gates for all programs, for example {"GenericWorkload": true}.
	Gates map[string]bool
	// RuntimeConfig are APIs that are served besides the default, for example
	// "scheduling.k8s.io/v1alpha2=true".
	RuntimeConfig []string
	// NodeLifecycle lets the node controller judge nodes by the leases that the player renews, and
	// taint those that are not ready. Without it nodes stay as they were created.
	NodeLifecycle bool
	// AuditAll records all users in the audit log, not only service accounts and granted users.
	AuditAll bool
	// APIServerArgs are further flags; later ones win.
	APIServerArgs []string
	// Player says how the life of pods is played; nil is a player with default options.
	Player *PlayerOptions
	// NoPlayer leaves pods as they are once they are bound.
	NoPlayer bool
	// Folder is where logs and data go; a new temporary folder if empty.
	Folder string
}

// Cluster is a running control plane.
type Cluster struct {
	Folder            string
	Server            string // https://127.0.0.1:PORT
	AdminKubeconfig   string
	Admin             *kubernetes.Clientset // without a rate limit
	Player            *Player
	Etcd              *Process
	APIServer         *Process
	ControllerManager *Process
	Scheduler         *Process

	options   Options
	authority *authority
	tokens    map[string]string // of the fixed users, by name
	dataDir   string
	cancel    context.CancelFunc
}

const (
	adminUser             = "test-admin"
	controllerManagerUser = "system:kube-controller-manager"
	schedulerUser         = "system:kube-scheduler"
)

// FreePort is a port of loopback that nobody listened on a moment ago.
func FreePort() int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// Start brings up a cluster for the time of a test, and shows the ends of the logs if that fails.
func Start(t testing.TB, options Options) *Cluster {
	t.Helper()
	if options.Folder == "" {
		options.Folder = t.TempDir()
	}
	c, err := New(options)
	if err != nil {
		t.Fatalf("start a control plane: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, p := range c.processes() {
				t.Logf("end of the log of %s:\n%s", p.Name, p.LogTail(15))
			}
		}
		c.Close()
	})
	return c
}

// New returns once everything that was asked for is ready.
func New(options Options) (*Cluster, error) {
	c := &Cluster{Folder: options.Folder, options: options, tokens: map[string]string{}}
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	if err := c.start(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	var err error
	if c.Folder == "" {
		if c.Folder, err = os.MkdirTemp("", "mainspring-cluster-"); err != nil {
			return err
		}
	}
	// What is written with each request lies in memory where that is possible.
	if c.dataDir, err = os.MkdirTemp("/dev/shm", "mainspring-"); err != nil {
		if c.dataDir, err = os.MkdirTemp(c.Folder, "data-"); err != nil {
			return err
		}
	}
	if c.authority, err = newAuthority(c.Folder); err != nil {
		return err
	}
	etcdURL, err := c.startEtcd()
	if err != nil {
		return err
	}
	if err := c.startAPIServer(etcdURL); err != nil {
		return err
	}
	if err := c.waitReady(ctx); err != nil {
		return err
	}
	if c.options.ControllerManager {
		if err := c.startControllerManager(); err != nil {
			return err
		}
	}
	if c.options.Scheduler {
		if err := c.startScheduler(); err != nil {
			return err
		}
	}
	if !c.options.NoPlayer {
		if c.Player, err = newPlayer(ctx, c, c.options.Player); err != nil {
			return err
		}
	}
	if c.options.ControllerManager {
		return c.WaitForServiceAccount(ctx, "default", "default")
	}
	return nil
}

func (c *Cluster) launch(name string, args []string) (*Process, error) {
	path, err := Program(name)
	if err != nil {
		return nil, err
	}
	return StartProcess(name, c.Folder, path, args, nil)
}

func (c *Cluster) startEtcd() (string, error) {
	client := fmt.Sprintf("http://127.0.0.1:%d", FreePort())
	peer := fmt.Sprintf("http://127.0.0.1:%d", FreePort())
	var err error
	c.Etcd, err = c.launch("etcd", []string{
		"--data-dir", filepath.Join(c.dataDir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
		"--initial-cluster", "default=" + peer, "--log-level", "warn",
	})
	return client, err
}

func (c *Cluster) gateArgs() []string {
	var gates []string
	for name, on := range c.options.Gates {
		gates = append(gates, fmt.Sprintf("%s=%t", name, on))
	}
	if len(gates) == 0 {
		return nil
	}
	sort.Strings(gates)
	return []string{"--feature-gates=" + strings.Join(gates, ",")}
}

func (c *Cluster) writeTokens() (string, error) {
	var lines []string
	for user, group := range map[string]string{
		adminUser: "system:masters", controllerManagerUser: "", schedulerUser: "",
	} {
		token, err := randomToken()
		if err != nil {
			return "", err
		}
		c.tokens[user] = token
		line := strings.Join([]string{token, user, user}, ",")
		if group != "" {
			line += "," + group
		}
		lines = append(lines, line)
	}
	path := filepath.Join(c.Folder, "tokens.csv")
	return path, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

func (c *Cluster) startAPIServer(etcdURL string) error {
	signingKey, verifyingKey, err := writeSigningKeys(c.Folder)
	if err != nil {
		return err
	}
	certificate, key, err := c.authority.serving()
	if err != nil {
		return err
	}
	tokens, err := c.writeTokens()
	if err != nil {
		return err
	}
	policy, err := c.writeAuditPolicy()
	if err != nil {
		return err
	}
	port := FreePort()
	c.Server = fmt.Sprintf("https://127.0.0.1:%d", port)
	args := []string{
		"--etcd-servers", etcdURL,
		"--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1",
		"--secure-port", strconv.Itoa(port),
		"--tls-cert-file", certificate, "--tls-private-key-file", key,
		"--client-ca-file", c.authority.certificateFile(),
		"--service-cluster-ip-range", "10.0.0.0/24",
		"--service-account-issuer", "https://kubernetes.default.svc",
		"--service-account-key-file", verifyingKey,
		"--service-account-signing-key-file", signingKey,
		"--token-auth-file", tokens,
		"--authorization-mode", "RBAC",
		"--endpoint-reconciler-type", "none",
		"--audit-policy-file", policy, "--audit-log-path", c.auditLog(),
		"--audit-log-mode", "blocking",
		"--v", "1",
	}
	var off []string
	if !c.options.NodeLifecycle {
		off = append(off, "TaintNodesByCondition") // nobody would take away its taint again
	}
	if !c.options.ControllerManager {
		off = append(off, "ServiceAccount") // nobody makes the accounts that it asks for
	}
	if len(off) > 0 {
		args = append(args, "--disable-admission-plugins", strings.Join(off, ","))
	}
	if len(c.options.RuntimeConfig) > 0 {
		args = append(args, "--runtime-config", strings.Join(c.options.RuntimeConfig, ","))
	}
	args = append(append(args, c.gateArgs()...), c.options.APIServerArgs...)
	c.APIServer, err = c.launch("kube-apiserver", args)
	return err
}

func (c *Cluster) waitReady(ctx context.Context) error {
	config := c.AdminConfig()
	var err error
	if c.Admin, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	c.AdminKubeconfig = filepath.Join(c.Folder, "admin.kubeconfig")
	if err := c.kubeconfigForToken(c.AdminKubeconfig, c.tokens[adminUser]); err != nil {
		return err
	}
	return Poll(ctx, 2*time.Minute, func() error {
		for _, p := range c.processes() {
			if !p.Alive() {
				return Stop(fmt.Errorf("%s ended while starting:\n%s", p.Name, p.LogTail(10)))
			}
		}
		_, err := c.Admin.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err
	})
}

func (c *Cluster) userKubeconfig(user string) (string, error) {
	name := strings.ReplaceAll(user, ":", "-") + ".kubeconfig"
	path := filepath.Join(c.Folder, name)
	return path, c.kubeconfigForToken(path, c.tokens[user])
}

func (c *Cluster) startControllerManager() error {
	kubeconfig, err := c.userKubeconfig(controllerManagerUser)
	if err != nil {
		return err
	}
	controllers := []string{"*", "-node-ipam-controller", "-service-lb-controller"}
	if !c.options.NodeLifecycle {
		controllers = append(controllers, "-node-lifecycle-controller", "-taint-eviction-controller")
	}
	args := []string{
		"--kubeconfig", kubeconfig, "--leader-elect=false", "--use-service-account-credentials",
		"--service-account-private-key-file", filepath.Join(c.Folder, "sa.key"),
		"--root-ca-file", c.authority.certificateFile(),
		"--bind-address", "127.0.0.1", "--secure-port", strconv.Itoa(FreePort()),
		"--cert-dir", filepath.Join(c.Folder, "controller-manager"),
		"--controllers", strings.Join(controllers, ","),
		"--kube-api-qps", "500", "--kube-api-burst", "1000", "--v", "1",
	}
	c.ControllerManager, err = c.launch("kube-controller-manager", append(args, c.gateArgs()...))
	return err
}

func (c *Cluster) startScheduler() error {
	kubeconfig, err := c.userKubeconfig(schedulerUser)
	if err != nil {
		return err
	}
	config := filepath.Join(c.Folder, "kube-scheduler.yaml")
	text := fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %q, qps: 5000, burst: 10000}
%s
`, kubeconfig, c.options.SchedulerConfig)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	args := []string{
		"--config", config, "--bind-address", "127.0.0.1", "--secure-port", strconv.Itoa(FreePort()),
		"--cert-dir", filepath.Join(c.Folder, "scheduler"), "--v", "1",
		"--authentication-skip-lookup",
	}
	c.Scheduler, err = c.launch("kube-scheduler", append(args, c.gateArgs()...))
	return err
}

func (c *Cluster) processes() []*Process {
	var all []*Process
	for _, p := range []*Process{c.Scheduler, c.ControllerManager, c.APIServer, c.Etcd} {
		if p != nil {
			all = append(all, p)
		}
	}
	return all
}

// AdminConfig is a client configuration with all rights and no rate limit, for the test itself.
func (c *Cluster) AdminConfig() *rest.Config {
	return &rest.Config{
		Host: c.Server, BearerToken: c.tokens[adminUser], QPS: -1, WarningHandler: rest.NoWarnings{},
		TLSClientConfig: rest.TLSClientConfig{CAFile: c.authority.certificateFile()},
	}
}

// Close ends all processes and removes the data; the logs stay where the folder stays.
func (c *Cluster) Close() {
	c.cancel()
	for _, p := range c.processes() {
		if p == c.Etcd || p == c.APIServer {
			p.Kill() // nothing of theirs is kept, and an orderly end takes seconds
			continue
		}
		_ = p.Stop(5 * time.Second)
	}
	if c.dataDir != "" {
		_ = os.RemoveAll(c.dataDir)
	}
}

// final ends a Poll at once.
type final struct{ error }

// Stop marks an error that no further try can mend.
func Stop(err error) error { return final{err} }

// Poll calls until there is no error, and returns the last one when the limit has passed.
func Poll(ctx context.Context, limit time.Duration, try func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := try()
		var last final
		if err == nil || errors.As(err, &last) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %s: %w", limit, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// WaitForServiceAccount waits until the controllers have made an account and what its pods mount.
func (c *Cluster) WaitForServiceAccount(ctx context.Context, namespace, name string) error {
	return Poll(ctx, time.Minute, func() error {
		_, err := c.Admin.CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return Stop(err)
		}
		return err
	})
}
