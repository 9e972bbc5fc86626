{{/* The command line of the manager. */}}
{{- define "hostler.arguments" -}}
- run
{{- if include "hostler.kubernetes" . }}
- --kubernetes
- --namespace={{ include "hostler.home" . }}
{{- if .Values.watch.all }}
- --all-namespaces
{{- else }}
{{- range without .Values.watch.namespaces (include "hostler.home" .) | uniq }}
- --namespace={{ . }}
{{- end }}
{{- end }}
{{- end }}
- --log={{ .Values.logLevel }}
- --json
- /var/lib/hostler/fleet.toml
{{- end -}}

{{/* Where a pod may stand: apart from its siblings, and never on what it may switch off. */}}
{{- define "hostler.placement" -}}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
affinity:
  {{- $avoid := .Values.affinity.avoidNodesWithLabels }}
  {{- if .Values.affinity.avoidControlPlane }}
  {{- $avoid = append $avoid "node-role.kubernetes.io/control-plane" }}
  {{- end }}
  {{- with $avoid }}
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        - matchExpressions:
            {{- range . }}
            - {key: {{ . }}, operator: DoesNotExist}
            {{- end }}
  {{- end }}
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "hostler.selector" . | nindent 14 }}
{{- end -}}

{{/* Annotations of a hook before installations and upgrades; the argument is its weight. */}}
{{- define "hostler.hook" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
