// SPDX-License-Identifier: Apache-2.0

// Command kubernetes is every Kubernetes program of the test bench in one file: the name it is called by
// (a symbolic link) decides which one it is. One link step instead of six saves minutes and 600 MB.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// kubeletCommand calls NewKubeletCommand, which takes no context in Kubernetes 1.31 and takes one in 1.34 and later.
func kubeletCommand() *cobra.Command {
	switch create := any(kubelet.NewKubeletCommand).(type) {
	case func() *cobra.Command:
		return create()
	case func(context.Context) *cobra.Command:
		return create(context.Background())
	}
	panic("unknown type of NewKubeletCommand")
}

func main() {
	var command *cobra.Command
	switch name := filepath.Base(os.Args[0]); name {
	case "kube-apiserver":
		command = apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		command = controllermanager.NewControllerManagerCommand()
	case "kube-scheduler":
		command = scheduler.NewSchedulerCommand()
	case "kubelet":
		command = kubeletCommand()
	case "kube-proxy":
		command = proxy.NewProxyCommand()
	case "kubectl":
		// kubectl prints its own errors; cli.Run would print them twice.
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	default:
		fmt.Fprintf(os.Stderr, "%s: not the name of a Kubernetes program\n", name)
		os.Exit(2)
	}
	os.Exit(cli.Run(command))
}
