{{- define "job.labels" -}}
app.kubernetes.io/name: nccl-job
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "job.selector" -}}
app.kubernetes.io/name: nccl-job
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* What is wrong in several values together; a single one the schema refuses. */}}
{{- define "job.judge" -}}
{{- if gt (len .Release.Name) 52 }}{{ fail (printf "the name %s is too long for the names of its pods: at most 52 letters" .Release.Name) }}{{ end }}
{{- if and (eq .Values.workload "idle") (ne .Values.preflight "off") }}{{ fail "preflight: idle pods start nothing that a preflight could come before; run `nccl-init preflight` in them, or set workload=job" }}{{ end }}
{{- if and (not .Values.inject) (ne .Values.preflight "off") }}{{ fail "preflight: with inject=false nothing of nccl-init is in the pods" }}{{ end }}
{{- if and (not .Values.inject) .Values.require }}{{ fail "require: with inject=false nothing of nccl-init is in the pods" }}{{ end }}
{{- if and (eq .Values.mode "tcp") (or .Values.rails.networks .Values.rails.resources .Values.rails.claims) }}{{ fail "rails: with mode=tcp the pods have none; leave rails out, or set mode=rdma" }}{{ end }}
{{- if and (eq .Values.mode "tcp") (regexMatch "(^|,)(rdma|gdr|roce-v2|rails=[0-9]+)(,|$)" .Values.require) }}{{ fail (printf "require: %s cannot hold with mode=tcp" .Values.require) }}{{ end }}
{{- end }}

{{/* nccl-init stands in front as the policy would put it there. So a cluster without the policy is told at once, and not by a
slow job. */}}
{{- define "job.command" -}}
{{- if .Values.inject }}
- /nccl-init/nccl-init
- --mode={{ .Values.mode }}
{{- with .Values.require }}
- --require={{ . }}
{{- end }}
{{- if ne .Values.preflight "off" }}
- --preflight={{ .Values.preflight }}
- --within={{ int .Values.within }}
{{- end }}
{{- if include "job.secret" . }}
- --job-secret=/job-secret/secret
{{- end }}
- --
{{- end }}
{{- if eq .Values.workload "idle" }}
- sleep
- infinity
{{- else }}
{{ toYaml (.Values.command | default (list "torchrun" "/workspace/script/script.py")) }}
{{- end }}
{{- end }}

{{/* The name of the Secret of the preflight; empty without a preflight, or with preflightSecret=false. */}}
{{- define "job.secret" -}}
{{- if and (ne .Values.preflight "off") .Values.preflightSecret }}{{ .Release.Name }}-preflight{{ end }}
{{- end }}

{{/* The text of script.py; none where another command stands. */}}
{{- define "job.script" -}}
{{- if eq .Values.workload "job" }}
{{- if .Values.script }}{{ .Values.script }}{{ else if not .Values.command }}{{ .Files.Get "allreduce.py" }}{{ end }}
{{- end }}
{{- end }}

{{- define "job.pod" -}}
metadata:
  labels: {{- include "job.selector" . | nindent 4 }}
    {{- if .Values.inject }}
    nccl-init.io/inject: wrap
    {{- end }}
  annotations:
    kubectl.kubernetes.io/default-container: main
    {{- with .Values.rails.networks }}
    k8s.v1.cni.cncf.io/networks: {{ join "," . | quote }}
    {{- end }}
    {{- with .Values.requiredSCC }}
    openshift.io/required-scc: {{ . }}
    {{- end }}
spec:
  restartPolicy: {{ ternary "Always" "Never" (eq .Values.workload "idle") }}
  automountServiceAccountToken: false
  {{- with .Values.serviceAccountName }}
  serviceAccountName: {{ . }}
  {{- end }}
  subdomain: {{ .Release.Name }}
  securityContext:
    seccompProfile:
      type: RuntimeDefault
  affinity:
    # one pod a node: two on one would share its rails
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        - topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels: {{- include "job.selector" . | nindent 14 }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.rails.claims }}
  resourceClaims:
    {{- range . }}
    - name: {{ . }}
      resourceClaimTemplateName: {{ . }}
    {{- end }}
  {{- end }}
  containers:
    - name: main
      image: {{ .Values.image }}
      command: {{- include "job.command" . | trim | nindent 8 }}
      {{- if ne .Values.workload "idle" }}
      {{- with .Values.args }}
      args: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- end }}
      env:
        - name: PET_NNODES
          value: {{ int .Values.pods | quote }}
        - name: PET_NPROC_PER_NODE
          value: {{ ternary (int .Values.gpus | toString) "1" (gt (int .Values.gpus) 0) | quote }}
        - name: PET_MASTER_ADDR
          value: {{ printf "%s-0.%s" .Release.Name .Release.Name }}
        - name: PET_MASTER_PORT
          value: "29500"
        - name: PET_NODE_RANK
          valueFrom:
            fieldRef:
              fieldPath: metadata.labels['{{ ternary "apps.kubernetes.io/pod-index" "batch.kubernetes.io/job-completion-index" (eq .Values.workload "idle") }}']
        {{- if not (hasKey .Values.env "NODE_NAME") }}
        # preflight names pods with their nodes
        - name: NODE_NAME
          valueFrom:
            fieldRef:
              fieldPath: spec.nodeName
        {{- end }}
        {{- if not (hasKey .Values.env "POD_NAMESPACE") }}
        # commands that it prints have the namespace; without a token no file tells it
        - name: POD_NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
        {{- end }}
        {{- range $name, $value := .Values.env }}
        - name: {{ $name }}
          value: {{ toString $value | quote }}
        {{- end }}
      resources:
        requests:
          cpu: {{ .Values.cpu | quote }}
          memory: {{ .Values.memory }}
        limits:
          memory: {{ .Values.memory }}
          {{- if .Values.gpus }}
          {{ .Values.gpuResource }}: {{ int .Values.gpus }}
          {{- end }}
          {{- range $name, $count := .Values.rails.resources }}
          {{ $name }}: {{ int $count }}
          {{- end }}
        {{- with .Values.rails.claims }}
        claims:
          {{- range . }}
          - name: {{ . }}
          {{- end }}
        {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        capabilities:
          drop: [ALL]
          {{- if eq .Values.memlock "caps" }}
          add: [IPC_LOCK, SYS_RESOURCE]
          {{- end }}
      terminationMessagePolicy: FallbackToLogsOnError
      volumeMounts:
        - name: shm
          mountPath: /dev/shm
        - name: podinfo
          mountPath: /etc/podinfo
          readOnly: true
        {{- if include "job.script" . }}
        - name: script
          mountPath: /workspace/script
          readOnly: true
        {{- end }}
        {{- if include "job.secret" . }}
        - name: job-secret
          mountPath: /job-secret
          readOnly: true
        {{- end }}
        {{- with .Values.volumeMounts }}{{ toYaml . | nindent 8 }}{{ end }}
  volumes:
    - name: shm
      emptyDir:
        medium: Memory
        sizeLimit: {{ .Values.shm }}
    # what Multus says of the pod's interfaces
    - name: podinfo
      downwardAPI:
        items:
          - path: network-status
            fieldRef:
              fieldPath: metadata.annotations['k8s.v1.cni.cncf.io/network-status']
    {{- if include "job.script" . }}
    - name: script
      configMap:
        name: {{ .Release.Name }}
    {{- end }}
    {{- with include "job.secret" . }}
    - name: job-secret
      secret:
        secretName: {{ . }}
    {{- end }}
    {{- with .Values.volumes }}{{ toYaml . | nindent 4 }}{{ end }}
{{- end }}
