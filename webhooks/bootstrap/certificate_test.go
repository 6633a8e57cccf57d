package bootstrap

import (
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const host = "hook.ns.svc"

var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func issue(t *testing.T, old Material, host string, now time.Time) Material {
	t.Helper()
	m, err := Issue(old, host, now)
	require.NoError(t, err)
	return m
}

func parse(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(text)
	require.NotNil(t, block)
	c, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	return c
}

func TestCertificateIsReplacedOnlyWhenItHasTo(t *testing.T) {
	t.Parallel()
	good, other := issue(t, Material{}, host, epoch), issue(t, Material{}, host, epoch)
	mixed := func(change func(*Material)) Material {
		m := good
		change(&m)
		return m
	}
	cases := map[string]struct {
		m    Material
		host string
		now  time.Time
		want string // fragment; "" keeps
	}{
		"nothing stored":          {Material{}, host, epoch, "no certificate yet"},
		"fresh":                   {good, host, epoch, ""},
		"asked as localhost":      {good, "localhost", epoch, ""},
		"half a year and a day":   {good, host, epoch.Add(validity - renewal - 24*time.Hour), ""},
		"less than half a year":   {good, host, epoch.Add(validity - renewal + 24*time.Hour), "expired"},
		"another name":            {good, "hook.elsewhere.svc", epoch, "valid for"},
		"an address":              {good, "127.0.0.1", epoch, "127.0.0.1"},
		"key of another":          {mixed(func(m *Material) { m.Key = other.Key }), host, epoch, "do not belong together"},
		"key is no key":           {mixed(func(m *Material) { m.Key = []byte("?") }), host, epoch, "do not belong together"},
		"certificate is no PEM":   {mixed(func(m *Material) { m.Cert = []byte("?") }), host, epoch, "do not belong together"},
		"CA of another":           {mixed(func(m *Material) { m.CACert = other.CACert }), host, epoch, "signed by unknown authority"},
		"CA missing":              {mixed(func(m *Material) { m.CACert = nil }), host, epoch, "missing or unreadable"},
		"CA key missing: serves":  {mixed(func(m *Material) { m.CAKey = nil }), host, epoch, ""},
		"made by a faster clock":  {good, host, epoch.Add(-skew / 2), ""},
		"served at an IP address": {issue(t, Material{}, "127.0.0.1", epoch), "127.0.0.1", epoch, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := c.m.Unfit(c.host, c.now)
			if c.want == "" {
				assert.Empty(t, got)
				return
			}
			assert.Contains(t, got, c.want)
		})
	}
}

func TestAuthorityIsKeptWhileItLasts(t *testing.T) {
	t.Parallel()
	first := issue(t, Material{}, host, epoch)
	broken := first
	broken.CAKey = nil
	cases := map[string]struct {
		old  Material
		now  time.Time
		kept bool
	}{
		"new name, same CA":            {first, epoch.Add(year), true},
		"a year and a day left":        {first, epoch.Add(validity - authorityLeft - 24*time.Hour), true},
		"less than a year left":        {first, epoch.Add(validity - authorityLeft + 24*time.Hour), false},
		"the key is lost":              {broken, epoch, false},
		"a leaf poses as CA":           {Material{CACert: first.Cert, CAKey: first.Key}, epoch, false},
		"certificate of a foreign key": {Material{CACert: first.CACert, CAKey: first.Key}, epoch, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next := issue(t, c.old, "other", c.now)
			assert.Empty(t, next.Unfit("other", c.now), "what is issued must fit, or it is issued for ever")
			assert.Equal(t, c.kept, string(next.CACert) == string(c.old.CACert))
			assert.NotEqual(t, c.old.Cert, next.Cert)
			assert.False(t, parse(t, next.Cert).NotAfter.After(parse(t, next.CACert).NotAfter), "outlives its CA")
		})
	}
}

func TestCertificateLooksAsDocumented(t *testing.T) {
	t.Parallel()
	m := issue(t, Material{}, host, epoch)
	ca, leaf := parse(t, m.CACert), parse(t, m.Cert)
	assert.Equal(t, "webhook-cert-ca", ca.Subject.CommonName)
	assert.True(t, ca.IsCA)
	assert.Equal(t, host, leaf.Subject.CommonName)
	assert.ElementsMatch(t, []string{"localhost", host}, leaf.DNSNames)
	assert.Equal(t, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, leaf.ExtKeyUsage)
	assert.Equal(t, epoch.Add(10*year), leaf.NotAfter)
	assert.False(t, leaf.IsCA)
}

func TestRenewalIsKnownInAdvance(t *testing.T) {
	t.Parallel()
	m := issue(t, Material{}, host, epoch)
	at := m.RenewAt()
	assert.Empty(t, m.Unfit(host, at.Add(-time.Minute)))
	assert.NotEmpty(t, m.Unfit(host, at.Add(time.Minute)))
	assert.Zero(t, Material{}.RenewAt())
}
