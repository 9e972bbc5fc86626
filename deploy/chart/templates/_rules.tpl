{{/* Rules in the namespaces that are watched: what each frontend that is enabled reads and writes, no more. */}}
{{- define "hostler.rules" -}}
{{- if include "hostler.kubernetes" . }}
- apiGroups: [hostler.dev]
  resources: [fleets, hosts, providers]
  verbs: [list, watch, patch]  # a patch of an object is of its finalizers, or of a lock on a Host
- apiGroups: [hostler.dev]
  resources: [fleets/status, hosts/status, providers/status]
  verbs: [patch]
{{- end }}
{{- with .Values.frontends }}
{{- if .clusterApi.enabled }}
- apiGroups: [infrastructure.cluster.x-k8s.io]
  resources: [hostlermachines]
  verbs: [get, list, watch, patch]
- apiGroups: [infrastructure.cluster.x-k8s.io]
  resources: [hostlerclusters, hostlermachinetemplates]
  verbs: [list, watch]
- apiGroups: [infrastructure.cluster.x-k8s.io]
  resources: [hostlerclusters/status, hostlermachines/status, hostlermachinetemplates/status]
  verbs: [patch]
- apiGroups: [controlplane.cluster.x-k8s.io]
  resources: [hostlerexternalcontrolplanes]
  verbs: [list, watch]
- apiGroups: [controlplane.cluster.x-k8s.io]
  resources: [hostlerexternalcontrolplanes/status]
  verbs: [patch]
- apiGroups: [cluster.x-k8s.io]
  resources: [clusters, machines]
  verbs: [list, watch]
{{- end }}
{{- end }}
{{- if include "hostler.kubernetes" . }}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
  {{- with .Values.rbac.secretNames }}
  resourceNames:
    {{- toYaml . | nindent 4 }}
  {{- end }}
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, get, patch]
{{- end }}
{{- end -}}

{{/* Rules in the home namespace alone. */}}
{{- define "hostler.rules.home" -}}
{{- if and (include "hostler.kubernetes" .) (ne .Values.store.kind "sqlite") }}
- apiGroups: [coordination.k8s.io]  # which of several replicas writes on objects
  resources: [leases]
  verbs: [get, create, update]
{{- end }}
{{- end -}}

{{/* Rules in the other namespaces that are named: a Host's Jobs are in its own. */}}
{{- define "hostler.rules.others" -}}
{{- if .Values.frontends.jobs.enabled }}
{{- include "hostler.rules.jobs" . }}
{{- end }}
{{- end -}}

{{- define "hostler.rules.jobs" }}
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, create, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
{{- end -}}

{{/* Rules in the release's own namespace: records, and Jobs that switch machines. */}}
{{- define "hostler.rules.own" -}}
{{- if eq .Values.store.kind "kubernetes" }}
- apiGroups: [hostler.dev]
  resources: [journals]
  verbs: [get, list, watch, create, update]
- apiGroups: [hostler.dev]
  resources: [journalparts]
  verbs: [get, list, create, delete]
{{- end }}
{{- if .Values.frontends.jobs.enabled }}
{{- include "hostler.rules.jobs" . }}
{{- end }}
{{- end -}}

{{/* Rules of the whole cluster: which one it is; Nodes, and the pods that stand on them. */}}
{{- define "hostler.rules.cluster" -}}
{{- if .Values.frontends.clusterApi.enabled }}
- apiGroups: [""]
  resources: [namespaces]
  resourceNames: [kube-system]  # its uid tells this cluster from others
  verbs: [get]
{{- end }}
{{- if .Values.frontends.nodes.enabled }}
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, list, patch{{ if .Values.frontends.nodes.remove }}, delete{{ end }}]
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
- apiGroups: [""]
  resources: [pods/eviction]
  verbs: [create]
{{- end }}
{{- end -}}
