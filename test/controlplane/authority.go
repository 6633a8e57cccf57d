package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"time"

	"k8s.io/utils/clock"
)

// Files of the authority, in the data folder.
const (
	authorityFile = "ca.crt"
	certFile      = "plane.crt"
	keyFile       = "plane.key"
	signingFile   = "service-accounts.key"
)

const (
	// lifetime of the certificates; a plane that is left running must outlive nobody's patience.
	lifetime = 365 * 24 * time.Hour
	// skew covers the part of a second that certificates cannot express.
	skew = time.Hour
	// probeTimeout is how long one question to a starting program may take.
	probeTimeout = 2 * time.Second
)

// authority is what makes the programs of one plane know each other: they all show one certificate, and
// trust nothing but the authority that signed it, which no other plane has.
type authority struct {
	pem    []byte
	client *http.Client
}

func newAuthority(f *folder) (*authority, error) {
	root, rootKey, err := certificate(&x509.Certificate{
		Subject:               pkix.Name{CommonName: "kruise-rollout-plane"},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}, nil, nil)
	if err != nil {
		return nil, err
	}
	leaf, leafKey, err := certificate(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "plane"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.ParseIP(loopback)},
	}, root, rootKey)
	if err != nil {
		return nil, err
	}
	signing, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of service accounts: %w", err)
	}
	a := &authority{pem: certPEM(root)}
	if err := a.write(f, leaf, map[string]*ecdsa.PrivateKey{keyFile: leafKey, signingFile: signing}); err != nil {
		return nil, err
	}
	a.client = a.newClient(leaf, leafKey)
	return a, nil
}

// newClient returns a client for probes. It keeps no connection: one that is kept would still answer
// for a program that no longer listens.
func (a *authority) newClient(leaf *x509.Certificate, key *ecdsa.PrivateKey) *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.pem)
	return &http.Client{Timeout: probeTimeout, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{
			RootCAs:      roots,
			Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Raw}, PrivateKey: key}},
			MinVersion:   tls.VersionTLS12,
		},
	}}
}

func (a *authority) write(f *folder, leaf *x509.Certificate, keys map[string]*ecdsa.PrivateKey) error {
	if err := f.write(authorityFile, a.pem); err != nil {
		return err
	}
	if err := f.write(certFile, certPEM(leaf)); err != nil {
		return err
	}
	for name, key := range keys {
		der, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
		if err := f.write(name, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})); err != nil {
			return err
		}
	}
	return nil
}

// certificate signs the template with the parent, or with itself.
func certificate(template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	if parent == nil {
		parent, parentKey = template, key
	}
	now := clock.RealClock{}.Now()
	template.SerialNumber = big.NewInt(now.UnixNano())
	template.NotBefore, template.NotAfter = now.Add(-skew), now.Add(lifetime)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return nil, nil, fmt.Errorf("making a certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, fmt.Errorf("making a certificate: %w", err)
	}
	return cert, key, nil
}

func certPEM(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
}
