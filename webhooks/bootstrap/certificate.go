package bootstrap

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	year = 365 * 24 * time.Hour
	// validity is long because the CA is private to one installation and renewed without anybody's help.
	validity = 10 * year
	// renewal is how long before its end a certificate is replaced.
	renewal = year / 2
	// authorityLeft is how long a CA must still be valid to sign another certificate.
	authorityLeft = year
	// skew is how far the clock of an API server may be behind ours.
	skew = time.Hour

	keyBits       = 2048
	authorityName = "webhook-cert-ca"
)

// Material is a serving certificate with its CA, all PEM.
type Material struct {
	CAKey, CACert, Key, Cert []byte
}

// Equal reports whether both hold the same bytes.
func (m Material) Equal(o Material) bool {
	return bytes.Equal(m.CAKey, o.CAKey) && bytes.Equal(m.CACert, o.CACert) &&
		bytes.Equal(m.Key, o.Key) && bytes.Equal(m.Cert, o.Cert)
}

// Unfit says why m must be replaced; "" means it serves host until its RenewAt.
func (m Material) Unfit(host string, now time.Time) string {
	if len(m.Cert) == 0 {
		return "there is no certificate yet"
	}
	leaf, err := m.leaf()
	if err != nil {
		return fmt.Sprintf("certificate and key do not belong together: %v", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(m.CACert) {
		return "the CA certificate is missing or unreadable"
	}
	// Looking half a year ahead also replaces a CA in time.
	_, err = leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: now.Add(renewal)})
	if err != nil {
		return err.Error()
	}
	return ""
}

// RenewAt returns when m will no longer be fit although nobody touches it; the zero time if it isn't now.
func (m Material) RenewAt() time.Time {
	leaf, err := m.leaf()
	if err != nil {
		return time.Time{}
	}
	end := leaf.NotAfter
	authorities, err := cert.ParseCertsPEM(m.CACert)
	if err != nil {
		return time.Time{}
	}
	for _, a := range authorities {
		if a.NotAfter.Before(end) {
			end = a.NotAfter
		}
	}
	return end.Add(-renewal)
}

func (m Material) leaf() (*x509.Certificate, error) {
	pair, err := tls.X509KeyPair(m.Cert, m.Key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(pair.Certificate[0])
}

// Issue returns a new certificate for host. It is signed by old's CA when that lasts, so that API
// servers which hold the old bundle go on trusting us.
func Issue(old Material, host string, now time.Time) (Material, error) {
	a, err := readAuthority(old)
	if err != nil || now.Add(authorityLeft).After(a.cert.NotAfter) {
		if a, err = newAuthority(now); err != nil {
			return Material{}, fmt.Errorf("making a CA: %w", err)
		}
	}
	m, err := a.sign(host, now)
	if err != nil {
		return Material{}, fmt.Errorf("making a certificate for %s: %w", host, err)
	}
	return m, nil
}

// authority is a CA that can sign.
type authority struct {
	cert            *x509.Certificate
	key             crypto.Signer
	certPEM, keyPEM []byte
}

func readAuthority(m Material) (authority, error) {
	pair, err := tls.X509KeyPair(m.CACert, m.CAKey)
	if err != nil {
		return authority{}, err
	}
	c, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return authority{}, err
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || !c.IsCA {
		return authority{}, errors.New("the stored CA can not sign certificates")
	}
	return authority{cert: c, key: key, certPEM: m.CACert, keyPEM: m.CAKey}, nil
}

func newAuthority(now time.Time) (authority, error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return authority{}, err
	}
	f, err := form(authorityName, now)
	if err != nil {
		return authority{}, err
	}
	f.IsCA = true
	f.KeyUsage |= x509.KeyUsageCertSign
	c, certPEM, err := create(f, f, key.Public(), key)
	if err != nil {
		return authority{}, err
	}
	return authority{cert: c, key: key, certPEM: certPEM, keyPEM: keyPEM}, nil
}

func (a authority) sign(host string, now time.Time) (Material, error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return Material{}, err
	}
	f, err := form(host, now)
	if err != nil {
		return Material{}, err
	}
	f.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	f.DNSNames = []string{"localhost"}
	if ip := net.ParseIP(host); ip != nil {
		f.IPAddresses = []net.IP{ip}
	} else {
		f.DNSNames = append(f.DNSNames, host)
	}
	// A certificate that outlives its CA would only look valid.
	if f.NotAfter.After(a.cert.NotAfter) {
		f.NotAfter = a.cert.NotAfter
	}
	_, certPEM, err := create(f, a.cert, key.Public(), a.key)
	if err != nil {
		return Material{}, err
	}
	return Material{CAKey: a.keyPEM, CACert: a.certPEM, Key: keyPEM, Cert: certPEM}, nil
}

// form is what CA and serving certificates have in common.
func form(name string, now time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{
		SerialNumber:          serial.Add(serial, big.NewInt(1)),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             now.Add(-skew).UTC(),
		NotAfter:              now.Add(validity).UTC(),
		KeyUsage:              x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
	}, nil
}

func newKey() (*rsa.PrivateKey, []byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, nil, err
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	return key, keyPEM, err
}

func create(form, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer) (*x509.Certificate, []byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, form, parent, public, signer)
	if err != nil {
		return nil, nil, err
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, err
	}
	certPEM, err := cert.EncodeCertificates(c)
	return c, certPEM, err
}
