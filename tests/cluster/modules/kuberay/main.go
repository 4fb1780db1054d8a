// KubeRay's controller and webhook of RayCluster. The webhook of its own main has a fixed port.
// usage: kuberay --port=PORT, with KUBECONFIG; certificates are in $TMPDIR/k8s-webhook-server/serving-certs
// SPDX-License-Identifier: Apache-2.0
package main

import (
	"flag"
	"os"

	routev1 "github.com/openshift/api/route/v1"
	configapi "github.com/ray-project/kuberay/ray-operator/apis/config/v1alpha1"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/batchscheduler"
	webhooks "github.com/ray-project/kuberay/ray-operator/pkg/webhooks/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

func must(err error) {
	if err != nil {
		ctrl.Log.Error(err, "kuberay")
		os.Exit(1)
	}
}

func main() {
	port := flag.Int("port", 9443, "of the webhook")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, rayv1.AddToScheme, routev1.Install} {
		must(add(kinds))
	}
	config := ctrl.GetConfigOrDie()
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 kinds,
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		WebhookServer:          webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: *port}),
	})
	must(err)
	ctx := ctrl.SetupSignalHandler()
	batch, err := batchscheduler.NewSchedulerManager(ctx, configapi.Configuration{}, config, manager.GetClient())
	must(err)
	options := ray.RayClusterReconcilerOptions{BatchSchedulerManager: batch}
	must(ray.NewReconciler(ctx, manager, options).SetupWithManager(manager, 1))
	must(webhooks.SetupRayClusterWebhookWithManager(manager))
	must(manager.Start(ctx))
}
