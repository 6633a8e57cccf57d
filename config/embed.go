// Package config carries the manifests of an installation, so that a plane can be set up from the
// very files that users apply.
package config

import "embed"

// Files are the manifests, with the kustomizations that join them.
//
//go:embed crd/*.yaml rbac/*.yaml webhook/*.yaml samples/*.yaml
var Files embed.FS
