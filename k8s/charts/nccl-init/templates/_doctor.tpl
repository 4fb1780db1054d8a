{{/* A pod on each of doctor.nodes nodes: {top, name, container, command, env, subdomain, cpu, memory}. */}}
{{- define "nccl-init.everywhere" -}}
{{- $requests := .top.Values.doctor.resources.requests | default dict }}
{{- $limits := .top.Values.doctor.resources.limits | default dict }}
{{- $memory := $limits.memory | default $requests.memory | default .memory }}
# A Job, and not a DaemonSet: it ends, and keeps exit status and log of each node.
completionMode: Indexed
completions: {{ .top.Values.doctor.nodes }}
parallelism: {{ .top.Values.doctor.nodes }}
# Exit status 1 is a result: it is not tried again, and does not stop the others.
backoffLimitPerIndex: 0
ttlSecondsAfterFinished: 86400
template:
  metadata:
    labels:
      app.kubernetes.io/name: {{ .name }}
      app.kubernetes.io/instance: {{ .top.Release.Name }}
    annotations:
      kubectl.kubernetes.io/default-container: {{ .container }}
      {{- with .top.Values.doctor.networks }}
      k8s.v1.cni.cncf.io/networks: {{ . | quote }}
      {{- end }}
  spec:
    restartPolicy: Never
    automountServiceAccountToken: false
    {{- with .subdomain }}
    subdomain: {{ . }}
    {{- end }}
    securityContext:
      seccompProfile:
        type: RuntimeDefault
    affinity:
      podAntiAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          - topologyKey: kubernetes.io/hostname
            labelSelector:
              matchLabels:
                app.kubernetes.io/name: {{ .name }}
                app.kubernetes.io/instance: {{ .top.Release.Name }}
    {{- with .top.Values.doctor.nodeSelector }}
    nodeSelector: {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .top.Values.doctor.tolerations }}
    tolerations: {{- toYaml . | nindent 6 }}
    {{- end }}
    containers:
      - name: {{ .container }}
        image: {{ .top.Values.image }}
        command: {{- toYaml .command | nindent 10 }}
        {{- if eq .container "doctor" }}
        # A pod that has ended keeps no other from its node. So none ends before all are placed: the kubelet reports a
        # container after this hook, and what nccl-init said does not change by it.
        lifecycle:
          postStart:
            sleep:
              seconds: 30
        {{- end }}
        env:
          {{- with .env }}{{ toYaml . | nindent 10 }}{{ end }}
          - name: NODE_NAME
            valueFrom:
              fieldRef:
                fieldPath: spec.nodeName
        resources:
          requests: {{- merge (deepCopy $requests) (dict "cpu" .cpu "memory" $memory) | toYaml | nindent 12 }}
          limits: {{- merge (deepCopy $limits) (dict "memory" $memory) | toYaml | nindent 12 }}
        securityContext: {{- include "nccl-init.restricted" .top | nindent 10 }}
        volumeMounts:
          - name: podinfo
            mountPath: /etc/podinfo
            readOnly: true
    volumes:
      - name: podinfo
        downwardAPI:
          items:
            - path: network-status
              fieldRef:
                fieldPath: metadata.annotations['k8s.v1.cni.cncf.io/network-status']
{{- end }}

{{- define "nccl-init.doctor" -}}
{{- include "nccl-init.everywhere" (dict "top" . "name" "nccl-doctor" "container" "doctor"
      "command" (list "/nccl-init" "doctor" "--json")
      "cpu" "100m" "memory" "64Mi") }}
{{- end }}
