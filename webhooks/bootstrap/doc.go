// Package bootstrap makes the API server trust this operator: it keeps a serving certificate, puts
// its CA and the operator's address into the two webhook configurations and into the CRDs that are
// converted by webhook, and repairs them when somebody changes them.
//
// Every replica runs it, leader or not, because every replica serves. The first pass happens before
// the manager starts: neither the webhook server nor the caches (which need conversion) can work
// without it. Next to pkg/effect this is the only package that writes to the API server; its objects
// belong to the installation, not to any release.
//
// What is wanted is computed by pure functions of what is stored (certificate.go, template.go,
// conversion.go). The rest reads, compares and writes only differences, so replicas that agree
// leave no trace.
package bootstrap
