// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const adminToken = "loopback-admin"

// ControlPlane is a fresh etcd and kube-apiserver, bound to loopback only.
type ControlPlane struct {
	etcd, apiserver *Process
	dataDir, logDir string
	port            int
	Kubeconfig      string
	StartSeconds    float64
	certificate     string
}

// program is the path in a variable, or else in one of the folders that `make controlplane` names.
func program(variable, name string) string {
	if path := os.Getenv(variable); path != "" {
		return path
	}
	for _, folder := range filepath.SplitList(os.Getenv("MAINSPRING_CONTROLPLANE")) {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

func freePort() int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// startControlPlane returns once /readyz answers. extraArgs go to kube-apiserver. With its default
// flags the server limits and queues requests and runs all admission but for what nobody but a node
// controller could undo, and etcd waits for the disk; without them all that is off.
func startControlPlane(logDir string, extraArgs []string, defaults bool) (*ControlPlane, error) {
	began := time.Now()
	base := "/dev/shm"
	if defaults {
		base = logDir
	}
	dataDir, err := os.MkdirTemp(base, "kube-bench-")
	if err != nil {
		return nil, err
	}
	cp := &ControlPlane{dataDir: dataDir, logDir: logDir, port: freePort()}
	clientPort, peerPort := freePort(), freePort()
	clientURL := fmt.Sprintf("http://127.0.0.1:%d", clientPort)
	peerURL := fmt.Sprintf("http://127.0.0.1:%d", peerPort)
	etcdArgs := []string{
		"--data-dir", filepath.Join(dataDir, "etcd"),
		"--listen-client-urls", clientURL, "--advertise-client-urls", clientURL,
		"--listen-peer-urls", peerURL, "--initial-advertise-peer-urls", peerURL,
		"--initial-cluster", "default=" + peerURL,
		"--quota-backend-bytes", "8589934592", "--log-level", "warn",
	}
	if !defaults {
		etcdArgs = append(etcdArgs, "--unsafe-no-fsync")
	}
	cp.etcd, err = startProcess("etcd", logDir, program("ETCD", "etcd"), etcdArgs, nil)
	if err != nil {
		return cp, err
	}
	if err := cp.writeSecrets(); err != nil {
		return cp, err
	}
	args := []string{
		"--etcd-servers", clientURL,
		"--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1",
		"--secure-port", strconv.Itoa(cp.port),
		"--cert-dir", filepath.Join(dataDir, "tls"),
		"--service-cluster-ip-range", "10.0.0.0/24",
		"--service-account-issuer", "https://kubernetes.default.svc",
		"--service-account-key-file", filepath.Join(dataDir, "sa.pub"),
		"--service-account-signing-key-file", filepath.Join(dataDir, "sa.key"),
		"--token-auth-file", filepath.Join(dataDir, "tokens.csv"),
		"--authorization-mode", "AlwaysAllow",
		"--endpoint-reconciler-type", "none",
		"--v", "1",
	}
	if defaults {
		args = append(args, "--disable-admission-plugins", "TaintNodesByCondition")
	} else {
		args = append(args,
			// No controller creates service accounts, and none removes the not-ready taint.
			"--disable-admission-plugins", "ServiceAccount,TaintNodesByCondition",
			"--max-requests-inflight", "0", "--max-mutating-requests-inflight", "0",
			"--enable-priority-and-fairness=false")
	}
	cp.apiserver, err = startProcess("kube-apiserver", logDir, program("KUBE_APISERVER", "kube-apiserver"), append(args, extraArgs...), nil)
	if err != nil {
		return cp, err
	}
	if err := cp.waitReady(90 * time.Second); err != nil {
		return cp, err
	}
	cp.StartSeconds = time.Since(began).Seconds()
	return cp, cp.writeKubeconfig()
}

func (cp *ControlPlane) writeSecrets() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"sa.key":     pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
		"sa.pub":     pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}),
		"tokens.csv": []byte(adminToken + ",admin,admin,system:masters\n"),
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(cp.dataDir, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (cp *ControlPlane) waitReady(limit time.Duration) error {
	deadline := time.Now().Add(limit)
	cp.certificate = filepath.Join(cp.dataDir, "tls", "apiserver.crt")
	for time.Now().Before(deadline) {
		if !cp.apiserver.Alive() || !cp.etcd.Alive() {
			return fmt.Errorf("the control plane stopped while starting; see its logs in %s", cp.logDir)
		}
		if _, err := os.Stat(cp.certificate); err == nil {
			client, err := kubernetes.NewForConfig(cp.config(contentJSON))
			if err == nil {
				_, err = client.RESTClient().Get().AbsPath("/readyz").DoRaw(context.Background())
				if err == nil {
					return nil
				}
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("kube-apiserver was not ready within %s; see its log in %s", limit, cp.logDir)
}

const (
	contentJSON     = "application/json"
	contentProtobuf = "application/vnd.kubernetes.protobuf"
)

// config is a client configuration without a rate limit, on a connection of its own.
func (cp *ControlPlane) config(contentType string) *rest.Config {
	dialer := &net.Dialer{}
	return &rest.Config{
		Host:        fmt.Sprintf("https://127.0.0.1:%d", cp.port),
		BearerToken: adminToken,
		QPS:         -1,
		Dial:        dialer.DialContext, // a fresh dialer keeps client-go from sharing a transport
		ContentConfig: rest.ContentConfig{
			ContentType:        contentType,
			AcceptContentTypes: contentType,
		},
		TLSClientConfig: rest.TLSClientConfig{CAFile: cp.certificate},
	}
}

func (cp *ControlPlane) writeKubeconfig() error {
	cp.Kubeconfig = filepath.Join(cp.dataDir, "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: local
  cluster: {server: "https://127.0.0.1:%d", certificate-authority: %q}
users:
- name: admin
  user: {token: %q}
contexts:
- name: local
  context: {cluster: local, user: admin}
current-context: local
`, cp.port, cp.certificate, adminToken)
	return os.WriteFile(cp.Kubeconfig, []byte(text), 0o600)
}

// Stop ends both processes and removes their data.
func (cp *ControlPlane) Stop() {
	if cp.apiserver != nil {
		cp.apiserver.Stop()
	}
	if cp.etcd != nil {
		cp.etcd.Stop()
	}
	_ = os.RemoveAll(cp.dataDir)
}
