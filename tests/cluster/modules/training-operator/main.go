// The training operator's controller and webhook of PyTorchJob. Its own main makes certificates in a folder of /tmp, which two
// of its kind would share.
// usage: training-operator --port=PORT, with KUBECONFIG; certificates are in $TMPDIR/k8s-webhook-server/serving-certs
// SPDX-License-Identifier: Apache-2.0
package main

import (
	"flag"
	"os"

	kubeflowv1 "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/config"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	"github.com/kubeflow/training-operator/pkg/controller.v1/pytorch"
	pytorchwebhook "github.com/kubeflow/training-operator/pkg/webhooks/pytorch"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	podgroups "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

func must(err error) {
	if err != nil {
		ctrl.Log.Error(err, "training-operator")
		os.Exit(1)
	}
}

func main() {
	port := flag.Int("port", 9443, "of the webhook")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, kubeflowv1.AddToScheme, podgroups.AddToScheme, volcano.AddToScheme,
	} {
		must(add(kinds))
	}
	config.Config.PyTorchInitContainerImage = config.PyTorchInitContainerImageDefault
	config.Config.PyTorchInitContainerTemplateFile = config.PyTorchInitContainerTemplateFileDefault
	config.Config.PyTorchInitContainerMaxTries = config.PyTorchInitContainerMaxTriesDefault
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:                 kinds,
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		WebhookServer:          webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: *port}),
	})
	must(err)
	must(pytorch.NewReconciler(manager, common.GenNonGangSchedulerSetupFunc()).SetupWithManager(manager, 1))
	must(pytorchwebhook.SetupWebhook(manager))
	must(manager.Start(ctrl.SetupSignalHandler()))
}
