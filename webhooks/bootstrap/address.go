package bootstrap

import (
	"net"
	"net/url"
	"strconv"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const servicePort int32 = 443

// Address is where API servers reach the operator, and the CA by which they know it.
type Address struct {
	// Namespace and Service name the Service in front of the replicas.
	Namespace, Service string
	// Host and Port are used instead when Host is set: the operator then runs outside the cluster's
	// network, such as on a developer's machine.
	Host string
	Port int
	// CA is the PEM bundle that signed the serving certificate.
	CA []byte
}

// Name is what the serving certificate must be issued for.
func (a Address) Name() string {
	if a.Host != "" {
		return a.Host
	}
	return a.Service + "." + a.Namespace + ".svc"
}

// url is the address of path on Host; nil without a Host.
func (a Address) url(path string) *string {
	if a.Host == "" {
		return nil
	}
	return new("https://" + net.JoinHostPort(a.Host, strconv.Itoa(a.Port)) + path)
}

// admission returns the client configuration that reaches path, keeping the port the manifest chose.
func (a Address) admission(path string, manifest admissionregistrationv1.WebhookClientConfig) admissionregistrationv1.WebhookClientConfig {
	c := admissionregistrationv1.WebhookClientConfig{CABundle: a.CA, URL: a.url(path)}
	if c.URL != nil {
		return c
	}
	c.Service = &admissionregistrationv1.ServiceReference{Namespace: a.Namespace, Name: a.Service, Path: &path, Port: new(servicePort)}
	if manifest.Service != nil && manifest.Service.Port != nil {
		c.Service.Port = manifest.Service.Port
	}
	return c
}

// conversion returns the client configuration of a CRD that is converted at path.
func (a Address) conversion(path string) *apiextensionsv1.WebhookClientConfig {
	c := &apiextensionsv1.WebhookClientConfig{CABundle: a.CA, URL: a.url(path)}
	if c.URL == nil {
		c.Service = &apiextensionsv1.ServiceReference{Namespace: a.Namespace, Name: a.Service, Path: &path, Port: new(servicePort)}
	}
	return c
}

// pathOf returns the path an entry asks for, however it is addressed.
func pathOf(c admissionregistrationv1.WebhookClientConfig) string {
	switch {
	case c.Service != nil && c.Service.Path != nil:
		return *c.Service.Path
	case c.URL != nil:
		u, err := url.Parse(*c.URL)
		if err == nil {
			return u.Path
		}
	}
	return ""
}
