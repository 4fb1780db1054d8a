// The MPI operator's controller. Its own main wants port 8080, and a lease, which one that is alone does not need.
// usage: mpi-operator, with KUBECONFIG
// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/kubeflow/mpi-operator/cmd/mpi-operator/app/options"
	mpiclient "github.com/kubeflow/mpi-operator/pkg/client/clientset/versioned"
	mpischeme "github.com/kubeflow/mpi-operator/pkg/client/clientset/versioned/scheme"
	mpiinformers "github.com/kubeflow/mpi-operator/pkg/client/informers/externalversions"
	"github.com/kubeflow/mpi-operator/pkg/controller"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		klog.Fatal(err)
	}
	if err := mpischeme.AddToScheme(scheme.Scheme); err != nil {
		klog.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(config)
	jobs := mpiclient.NewForConfigOrDie(config)
	core := informers.NewSharedInformerFactory(client, 0)
	ours := mpiinformers.NewSharedInformerFactory(jobs, 0)
	operator, err := controller.NewMPIJobController(ctx, client, jobs, nil, nil, core.Core().V1().ConfigMaps(),
		core.Core().V1().Secrets(), core.Core().V1().Services(), core.Batch().V1().Jobs(), core.Core().V1().Pods(),
		core.Scheduling().V1().PriorityClasses(), ours.Kubeflow().V2beta1().MPIJobs(),
		&options.ServerOption{ControllerRateLimit: 10, ControllerBurst: 100})
	if err != nil {
		klog.Fatal(err)
	}
	core.Start(ctx.Done())
	ours.Start(ctx.Done())
	if err := operator.Run(2, ctx.Done()); err != nil {
		klog.Fatal(err)
	}
}
