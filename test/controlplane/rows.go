package controlplane

import (
	"context"
	"fmt"
	"slices"

	"github.com/kruise-rollout/kruise-rollout/test/controlplane/process"
)

// The programs of a plane.
const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	kwok              = "kwok"
)

// More files in the data folder.
const (
	tokensFile = "tokens.csv"
	policyFile = "audit-policy.yaml"
	stagesFile = "stages.yaml"
)

// auditLog is the log of the API server's requests.
const auditLog = "audit"

// auditPolicy records who asked what, not what was in it.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// row is one program of a plane: its flags, and the path that tells whether it is ready.
type row struct {
	name   string
	flags  func(*Plane) []string
	health string
}

// rows are in the order in which they start; a program needs those above it.
func rows() []row {
	return []row{
		{etcd, etcdFlags, "/readyz"},
		{apiServer, apiServerFlags, "/readyz"},
		{controllerManager, controllerManagerFlags, "/healthz"},
		{scheduler, schedulerFlags, "/healthz"},
		{kwok, kwokFlags, ""}, // serves nothing; the nodes tell
	}
}

func (p *Plane) spec(r row) process.Spec {
	spec := process.Spec{
		Name: r.name,
		Path: p.paths[r.name],
		Args: slices.Concat(r.flags(p), p.options.Flags[r.name]),
		Log:  p.folder.log(r.name),
	}
	if r.health != "" {
		spec.Ready = process.Answers(p.authority.client, p.url(r.name)+r.health)
	}
	return spec
}

func (p *Plane) url(name string) string { return "https://" + address(p.ports[name]) }

// choosePorts gives every program that listens a port.
func choosePorts(ctx context.Context) (map[string]int, error) {
	names := []string{etcd, etcdPeer, apiServer, controllerManager, scheduler}
	free, err := FreePorts(ctx, len(names))
	if err != nil {
		return nil, err
	}
	ports := make(map[string]int, len(names))
	for i, name := range names {
		ports[name] = free[i]
	}
	return ports, nil
}

const etcdPeer = "etcd-peer"

func etcdFlags(p *Plane) []string {
	peer := "http://" + address(p.ports[etcdPeer])
	return []string{
		"--name=plane",
		"--data-dir=" + p.folder.data(etcd),
		"--listen-client-urls=" + p.url(etcd),
		"--advertise-client-urls=" + p.url(etcd),
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=plane=" + peer,
		"--client-cert-auth",
		"--trusted-ca-file=" + p.folder.data(authorityFile),
		"--cert-file=" + p.folder.data(certFile),
		"--key-file=" + p.folder.data(keyFile),
		"--unsafe-no-fsync",
		"--quota-backend-bytes=4294967296",
		"--log-level=warn",
	}
}

func apiServerFlags(p *Plane) []string {
	return slices.Concat(p.serving(apiServer), []string{
		"--etcd-servers=" + p.url(etcd),
		"--etcd-cafile=" + p.folder.data(authorityFile),
		"--etcd-certfile=" + p.folder.data(certFile),
		"--etcd-keyfile=" + p.folder.data(keyFile),
		"--advertise-address=" + loopback,
		"--endpoint-reconciler-type=none", // loopback is no address an Endpoints may have
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + p.folder.data(signingFile),
		"--service-account-signing-key-file=" + p.folder.data(signingFile),
		"--service-cluster-ip-range=10.96.0.0/16",
		"--authorization-mode=RBAC",
		"--token-auth-file=" + p.folder.data(tokensFile),
		"--allow-privileged",
		"--audit-policy-file=" + p.folder.data(policyFile),
		"--audit-log-path=" + p.AuditLog(),
	})
}

func controllerManagerFlags(p *Plane) []string {
	return slices.Concat(p.serving(controllerManager), p.client("system:kube-controller-manager"), []string{
		"--service-account-private-key-file=" + p.folder.data(signingFile),
		"--root-ca-file=" + p.folder.data(authorityFile),
		// A busy machine must not make nodes look dead: that takes pods away under a test.
		"--node-monitor-grace-period=1h",
	})
}

func schedulerFlags(p *Plane) []string {
	return slices.Concat(p.serving(scheduler), p.client("system:kube-scheduler"))
}

func kwokFlags(p *Plane) []string {
	return []string{
		"--kubeconfig=" + p.users[kwok].kubeconfig,
		"--config=" + p.folder.data(stagesFile),
		"--manage-all-nodes",
		"--cidr=10.244.0.0/16",
		"--node-ip=10.0.0.1",
	}
}

// serving are the flags by which the Kubernetes programs listen.
func (p *Plane) serving(name string) []string {
	return []string{
		"--bind-address=" + loopback,
		fmt.Sprintf("--secure-port=%d", p.ports[name]),
		"--tls-cert-file=" + p.folder.data(certFile),
		"--tls-private-key-file=" + p.folder.data(keyFile),
	}
}

// client are the flags by which the native controllers talk to the API server. There is one of each, so
// none is elected; and their default limits would make a large release wait for them, not for ours.
func (p *Plane) client(name string) []string {
	return []string{
		"--kubeconfig=" + p.users[name].kubeconfig,
		"--leader-elect=false",
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	}
}
