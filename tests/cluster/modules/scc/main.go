// Ask OpenShift's own library which SecurityContextConstraints (SCCs) admit a pod.
// usage: scc FILE...
// The files have SCCs, the Namespace and Pods, in YAML. A line for each pod and each SCC: POD SCC: admitted | refused: WHY
// SPDX-License-Identifier: Apache-2.0
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	securityv1 "github.com/openshift/api/security/v1"
	"github.com/openshift/apiserver-library-go/pkg/securitycontextconstraints/sccmatching"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	core "k8s.io/kubernetes/pkg/apis/core"
	corev1conversion "k8s.io/kubernetes/pkg/apis/core/v1"
	"sigs.k8s.io/yaml"
)

type objects struct {
	constraints []*securityv1.SecurityContextConstraints
	namespace   *corev1.Namespace
	pods        []*corev1.Pod
}

func (all *objects) add(document []byte) error {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(document, &kind); err != nil {
		return err
	}
	switch kind.Kind {
	case "SecurityContextConstraints":
		scc := &securityv1.SecurityContextConstraints{}
		all.constraints = append(all.constraints, scc)
		return yaml.UnmarshalStrict(document, scc)
	case "Namespace":
		all.namespace = &corev1.Namespace{}
		return yaml.UnmarshalStrict(document, all.namespace)
	case "Pod":
		pod := &corev1.Pod{}
		all.pods = append(all.pods, pod)
		return yaml.UnmarshalStrict(document, pod)
	}
	return nil
}

func (all *objects) read(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := all.add(document); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
}

// The pod as the API server has it after its defaults.
func internal(pod *corev1.Pod) (*core.Pod, error) {
	copied := pod.DeepCopy()
	corev1conversion.SetObjectDefaults_Pod(copied)
	converted := &core.Pod{}
	err := corev1conversion.Convert_v1_Pod_To_core_Pod(copied, converted, nil)
	return converted, err
}

func judge(all *objects) error {
	for _, pod := range all.pods {
		for _, scc := range all.constraints {
			provider, err := sccmatching.CreateProviderFromConstraint(all.namespace, scc)
			if err != nil {
				return err
			}
			converted, err := internal(pod)
			if err != nil {
				return err
			}
			faults := sccmatching.AssignSecurityContext(provider, converted, field.NewPath("spec"))
			if len(faults) == 0 {
				fmt.Printf("%s %s: admitted\n", pod.Name, scc.Name)
				continue
			}
			fmt.Printf("%s %s: refused: %s\n", pod.Name, scc.Name, faults.ToAggregate().Error())
		}
	}
	return nil
}

func main() {
	all := &objects{}
	for _, path := range os.Args[1:] {
		if err := all.read(path); err != nil {
			fmt.Fprintln(os.Stderr, "scc:", err)
			os.Exit(1)
		}
	}
	if all.namespace == nil || len(all.constraints) == 0 || len(all.pods) == 0 {
		fmt.Fprintln(os.Stderr, "scc: there must be constraints, a namespace and a pod")
		os.Exit(1)
	}
	if err := judge(all); err != nil {
		fmt.Fprintln(os.Stderr, "scc:", err)
		os.Exit(1)
	}
}
