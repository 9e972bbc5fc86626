{{- define "hostler.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "hostler.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains (include "hostler.name" .) .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "hostler.name" .) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Names of what belongs to the whole cluster: two releases in two namespaces must not share them. */}}
{{- define "hostler.clusterName" -}}
{{- printf "%s-%s" .Release.Namespace (include "hostler.fullname" .) | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{/* The namespace with Leases, whose fleets have their own names. */}}
{{- define "hostler.home" -}}
{{- default .Release.Namespace .Values.watch.namespace -}}
{{- end -}}

{{- define "hostler.account" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "hostler.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "hostler.image" -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}

{{- define "hostler.selector" -}}
app.kubernetes.io/name: {{ include "hostler.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "hostler.labels" -}}
{{ include "hostler.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- if .Values.frontends.clusterApi.enabled }}
cluster.x-k8s.io/provider: infrastructure-hostler
{{- end }}
{{- end -}}

{{- define "hostler.container.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "hostler.pod.security" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end -}}
