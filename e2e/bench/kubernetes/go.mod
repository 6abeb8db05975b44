// SPDX-License-Identifier: Apache-2.0

// One multi-call binary with every Kubernetes program the bench starts. The requirements are in RELEASE.mod, one file for each
// release; `tools pin VERSION` writes it, and `go build -modfile` selects it. Go only needs this file to find the module.
//
// "go install k8s.io/kubernetes/cmd/..." is refused because of the replace lines in its go.mod. So RELEASE.mod has the require
// blocks of k8s.io/kubernetes, with the staging modules at their published versions instead of replaced by directories.
// k8s.io/sample-apiserver only takes part in the module graph.
module longshore.test/kubernetes
