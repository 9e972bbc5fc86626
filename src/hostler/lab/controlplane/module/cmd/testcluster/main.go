// Command testcluster is a Kubernetes control plane in one file: called as
// "testcluster etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kwok|kubectl ARGS..."
// (or through a link of that name) it is that program.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/component-base/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	kwoksignals "sigs.k8s.io/kwok/pkg/utils/signals"
)

func main() {
	name := filepath.Base(os.Args[0])
	if !run(name) {
		if len(os.Args) > 1 {
			os.Args = os.Args[1:]
			if run(os.Args[0]) {
				return
			}
		}
		fmt.Fprintln(os.Stderr, "usage: testcluster etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kwok|kubectl ARGS...")
		fmt.Fprintln(os.Stderr, version.Get().GitVersion)
		os.Exit(2)
	}
}

func run(name string) bool {
	switch name {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(controllers.NewControllerManagerCommand()))
	case "kube-scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	case "kubectl":
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			kubectlutil.CheckErr(err)
		}
	case "kwok":
		// Kubernetes registers a global --version of its own type, which cobra would hand to kwok's command.
		pflag.CommandLine = pflag.NewFlagSet(os.Args[0], pflag.ExitOnError)
		flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
		flags.ParseErrorsAllowlist.UnknownFlags = true
		flags.Usage = func() {}
		ctx := kwoksignals.SetupSignalContext()
		ctx, logger := kwoklog.InitFlags(ctx, flags)
		ctx, err := kwokconfig.InitFlags(ctx, flags)
		if err != nil {
			logger.Error("Init config flags", "err", err)
			os.Exit(1)
		}
		command := kwok.NewCommand(ctx)
		command.PersistentFlags().AddFlagSet(flags)
		if err := command.ExecuteContext(ctx); err != nil {
			logger.Error("Execute exit", "err", err)
			os.Exit(1)
		}
	default:
		return false
	}
	return true
}
