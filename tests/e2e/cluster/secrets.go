// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// authority signs the certificate of the API server and those of clients.
type authority struct {
	folder      string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newSerial() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
}

func writePEM(path, kind string, content []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	content, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(path, "EC PRIVATE KEY", content)
}

func newAuthority(folder string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "test-authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	content, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(content)
	if err != nil {
		return nil, err
	}
	a := &authority{folder: folder, certificate: certificate, key: key}
	return a, writePEM(a.certificateFile(), "CERTIFICATE", content)
}

func (a *authority) certificateFile() string { return filepath.Join(a.folder, "ca.crt") }

// issue writes NAME.crt and NAME.key and returns their paths.
func (a *authority) issue(name string, template *x509.Certificate) (string, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	if template.SerialNumber, err = newSerial(); err != nil {
		return "", "", err
	}
	template.NotBefore = time.Now().Add(-time.Hour)
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(24 * time.Hour)
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	content, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return "", "", err
	}
	certificateFile := filepath.Join(a.folder, name+".crt")
	keyFile := filepath.Join(a.folder, name+".key")
	if err := writePEM(certificateFile, "CERTIFICATE", content); err != nil {
		return "", "", err
	}
	return certificateFile, keyFile, writeKey(keyFile, key)
}

// serving is the certificate of the API server.
func (a *authority) serving() (string, string, error) {
	return a.issue("apiserver", &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 1)},
		DNSNames:    []string{"localhost", "kubernetes.default.svc"},
	})
}

// client is a certificate for a user and its groups.
func (a *authority) client(user string, groups []string, until time.Time) (string, string, error) {
	name := "client-" + strings.NewReplacer(":", "-", "/", "-").Replace(user)
	return a.issue(name, &x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotAfter:    until,
	})
}

// writeSigningKeys makes the pair with which service account tokens are signed.
func writeSigningKeys(folder string) (private, public string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	content, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return "", "", err
	}
	private, public = filepath.Join(folder, "sa.key"), filepath.Join(folder, "sa.pub")
	if err := writePEM(public, "PUBLIC KEY", content); err != nil {
		return "", "", err
	}
	return private, public, writeKey(private, key)
}

func randomToken() (string, error) {
	content := make([]byte, 16)
	if _, err := rand.Read(content); err != nil {
		return "", err
	}
	return hex.EncodeToString(content), nil
}

// writeKubeconfig names a token or, when that is empty, a client certificate and its key.
func writeKubeconfig(path, server, authorityFile, token, certificateFile, keyFile string) error {
	user := fmt.Sprintf("token: %q", token)
	if token == "" {
		user = fmt.Sprintf("client-certificate: %q, client-key: %q", certificateFile, keyFile)
	}
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: test
  cluster: {server: %q, certificate-authority: %q}
users:
- name: user
  user: {%s}
contexts:
- name: test
  context: {cluster: test, user: user}
current-context: test
`, server, authorityFile, user)
	return os.WriteFile(path, []byte(text), 0o600)
}
