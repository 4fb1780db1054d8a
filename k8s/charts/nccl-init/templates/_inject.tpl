{{/* The table of options.yaml, as one list of CEL. */}}
{{- define "nccl-init.options" -}}
{{- $defaults := .Values.inject.defaults -}}
{{- range $i, $option := .Files.Get "options.yaml" | fromYamlArray }}
{{- if $i }},{{ "\n" }}{{ end -}}
{'name': {{ $option.name | toJson }}, 'value': {{ get $defaults $option.name | toString | toJson }}, 'wrap': {{ ternary "'yes'" "''" (hasKey $option "wrap") }}}
{{- end }}
{{- end }}

{{/* The table of keys.yaml, as one list of CEL. */}}
{{- define "nccl-init.keys" -}}
{{- range $i, $key := .Files.Get "keys.yaml" | fromYamlArray }}
{{- if $i }},{{ "\n" }}{{ end -}}
{'name': '{{ $key.name }}', 'for': ' {{ join " " $key.for }} '}
{{- end }}
{{- end }}

{{/* The modes that this cluster has, as one list of CEL: Kubernetes has fileKeyRef (KEP-3721) by itself since 1.35. */}}
{{- define "nccl-init.modes" -}}
{{- if semverCompare ">=1.35.0-0" .Capabilities.KubeVersion.Version -}}
['env', 'conf', 'wrap']
{{- else -}}
['conf', 'wrap']
{{- end }}
{{- end }}

{{/* The engine that this cluster cannot have is refused. */}}
{{- define "nccl-init.engine" -}}
{{- if and (ne .Values.inject.engine "kyverno") (not (semverCompare ">=1.34.0-0" .Capabilities.KubeVersion.Version)) }}
{{- fail (printf "inject.engine: Kubernetes %s has no MutatingAdmissionPolicy; use inject.engine: kyverno, if Kyverno is installed, or inject.enabled: false" .Capabilities.KubeVersion.Version) }}
{{- end }}
{{- end }}

{{/* The version of the API that has mutating policies: of Kubernetes' own v1 since 1.36. */}}
{{- define "nccl-init.policies" -}}
{{- if eq .Values.inject.engine "kyverno" -}}
policies.kyverno.io/v1
{{- else if and (.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1beta1/MutatingAdmissionPolicy") (not (.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy")) -}}
admissionregistration.k8s.io/v1beta1
{{- else -}}
admissionregistration.k8s.io/v1
{{- end }}
{{- end }}

{{- define "nccl-init.validatingPolicies" -}}
{{ ternary "policies.kyverno.io/v1" "admissionregistration.k8s.io/v1" (eq .Values.inject.engine "kyverno") }}
{{- end }}

{{/* Kyverno would also take the templates of workloads for pods, and judge pods that run: neither do Kubernetes' own policies. */}}
{{- define "nccl-init.kyverno" -}}
autogen:
  podControllers:
    controllers: []
evaluation:
  background:
    enabled: false
{{- end }}

{{/* CEL: whether this entry of an env is one that `env` added. */}}
{{- define "nccl-init.ours" -}}
{{ . }}.?valueFrom.?fileKeyRef.?volumeName.orValue('') == 'nccl-init-env'
{{- end }}

{{/* Which pods: those with the label, and no others, whatever fails. */}}
{{- define "nccl-init.match" -}}
resourceRules:
  - apiGroups: [""]
    apiVersions: [v1]
    operations: [CREATE]
    resources: [pods]
objectSelector:
  matchExpressions:
    - {key: nccl-init.io/inject, operator: Exists}
{{- if eq .Values.inject.engine "kyverno" }}{{/* it has no bindings */}}
{{- with .Values.inject.namespaceSelector }}
namespaceSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{/* What both policies see of a pod. Containers are known by their index. */}}
{{- define "nccl-init.facts" -}}
- name: mode
  expression: object.metadata.labels['nccl-init.io/inject']
- name: conf
  expression: variables.mode == 'conf'
# An init container writes a file; nccl-init does not start the command.
- name: file
  expression: variables.mode in ['env', 'conf']
- name: notes
  expression: object.metadata.?annotations.orValue({})
- name: containers
  expression: object.spec.containers
- name: inits
  expression: object.spec.?initContainers.orValue([])
# The table: name, the chart's default, and whether only a started command has a use for it.
- name: options
  expression: |-
    [
{{ include "nccl-init.options" . | indent 6 }}
    ]
# Containers that ask a device plugin for something: a resource with a group that is not Kubernetes' own.
- name: devices
  expression: >-
    variables.containers.transformList(i, c, c.?resources.?limits.orValue({}).exists(r,
    r.contains('/') && !r.startsWith('kubernetes.io/') && string(c.resources.limits[r]) != '0'), i)
- name: claims
  expression: variables.containers.transformList(i, c, size(c.?resources.?claims.orValue([])) > 0, i)
- name: named
  expression: >-
    'nccl-init.io/container' in variables.notes
    ? string(variables.notes['nccl-init.io/container']).split(',').map(n, n.trim()) : []
# The containers that get the settings: those that are named, else those with devices, else the first.
- name: targets
  expression: >-
    size(variables.named) > 0 ? variables.containers.transformList(i, c, c.name in variables.named, i)
    : size(variables.devices) + size(variables.claims) > 0
    ? variables.containers.transformList(i, c, i in variables.devices || i in variables.claims, i)
    : [0]
# An init container for each of them that writes a file for it; one installs the program for all.
- name: sources
  expression: "variables.file ? variables.targets : variables.targets.filter(t, t == variables.targets[0])"
- name: volume
  expression: "'nccl-init-' + variables.mode"
- name: path
  expression: "variables.conf ? '/etc/nccl.conf' : '/nccl-init'"
# What is there already, from an earlier call or from who copied the pod, is known by its name and its mount.
- name: others
  expression: >-
    variables.inits.filter(c, !(c.name.matches('^nccl-init-(env|conf|wrap)(-[0-9]+)?$')
    && c.?volumeMounts.orValue([]).exists(m, m.mountPath == '/run/nccl-init' && m.name.startsWith('nccl-init-'))))
- name: takenNames
  expression: >-
    (variables.others + variables.containers).filter(c, c.name.matches('^nccl-init-(env|conf|wrap)(-[0-9]+)?$')).map(c, c.name)
    + object.spec.?volumes.orValue([]).filter(v, v.name == variables.volume && !has(v.emptyDir)).map(v, v.name)
- name: takenPaths
  expression: >-
    variables.mode == 'env' ? [] : variables.containers.transformList(i, c, i in variables.targets && c.?volumeMounts.orValue([]).exists(m,
    m.mountPath == variables.path && m.name != variables.volume), c.name)
{{- end }}

{{/* Whether the install waits until pods are injected. Where not all namespaces are selected somebody has to name one that is. */}}
{{- define "nccl-init.trial" -}}
{{- with .Values.inject -}}
{{- if and .enabled .trial.enabled (or .trial.namespace (not .namespaceSelector)) }}yes{{ end }}
{{- end }}
{{- end }}

{{/* What the Job of the trial needs is there before it, and goes with it. */}}
{{- define "nccl-init.trialHook" -}}
helm.sh/hook: post-install,post-upgrade,post-rollback
helm.sh/hook-weight: "-1"
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{- define "nccl-init.trialContainer" -}}
image: {{ .Values.inject.trial.image }}
command: [kubectl, create, --dry-run=server, --filename=/trial/pod.yaml]
terminationMessagePolicy: FallbackToLogsOnError
securityContext:
  {{- include "nccl-init.restricted" . | nindent 2 }}
resources:
  requests: {cpu: 10m, memory: 64Mi}
  limits: {cpu: "1", memory: 256Mi}
volumeMounts:
  - {name: trial, mountPath: /trial, readOnly: true}
{{- end }}
