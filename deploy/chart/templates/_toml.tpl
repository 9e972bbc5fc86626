{{/* A key, and a value, of TOML. Helm's own toToml writes whole numbers as fractions, which a fleet file refuses. */}}
{{- define "hostler.toml.key" -}}
{{- if regexMatch "^[A-Za-z0-9_-]+$" . }}{{ . }}{{ else }}{{ mustToRawJson . }}{{ end -}}
{{- end -}}

{{- define "hostler.toml.value" -}}
{{- if kindIs "map" . -}}
{ {{- $first := true -}}
{{- range $key, $value := . -}}
{{- if not $first }}, {{ end }}{{ include "hostler.toml.key" $key }} = {{ include "hostler.toml.value" $value -}}
{{- $first = false -}}
{{- end -}} }
{{- else if kindIs "slice" . -}}
[{{- range $index, $value := . -}}
{{- if $index }}, {{ end }}{{ include "hostler.toml.value" $value -}}
{{- end -}}]
{{- else if kindIs "float64" . -}}
{{- if eq (floor .) . }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- else if kindIs "invalid" . -}}
{{- fail "config: a key without a value (null) has no place in a fleet file: leave the key out" -}}
{{- else -}}
{{ mustToRawJson . }}
{{- end -}}
{{- end -}}

{{/* The fleet file: of each table [KIND.NAME] one section, with a line for each of its keys. */}}
{{- define "hostler.toml" -}}
store = {{ include "hostler.store" . | trim | mustToRawJson }}
reclaim = {{ .Values.orphanReclaim.activeReclaim }}
{{- range $kind, $tables := .Values.config }}
{{- if or (eq $kind "provider") (eq $kind "fleet") }}
{{- range $name, $table := $tables }}

[{{ $kind }}.{{ include "hostler.toml.key" $name }}]
{{- range $key, $value := $table }}
{{ include "hostler.toml.key" $key }} = {{ include "hostler.toml.value" $value }}
{{- end }}
{{- end }}
{{- else }}

[{{ $kind }}]
{{- range $key, $value := $tables }}
{{ include "hostler.toml.key" $key }} = {{ include "hostler.toml.value" $value }}
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.frontends.metrics.enabled }}

[metrics]
listen = "0.0.0.0:{{ .Values.frontends.metrics.port }}"
{{- end }}
{{- if or .Values.frontends.fleets.enabled .Values.allow.fleets }}

[frontend.kubernetes.allow]
images = {{ include "hostler.toml.value" (prepend .Values.allow.images (include "hostler.image" .)) }}
{{- range $key, $name := dict "service_accounts" "serviceAccounts" "secrets" "secrets" "namespaces" "namespaces" "labels" "labels" "webhooks" "webhooks" "fleets" "fleets" "nodes" "nodes" }}
{{- with index $.Values.allow $name }}
{{ $key }} = {{ include "hostler.toml.value" . }}
{{- end }}
{{- end }}
{{- if .Values.allow.hostNetwork }}
host_network = true
{{- end }}
{{- if .Values.allow.privileged }}
privileged = true
{{- end }}
{{- end }}
{{- if .Values.frontends.externalgrpc.enabled }}

[frontend.externalgrpc]
listen = "0.0.0.0:{{ .Values.frontends.externalgrpc.port }}"

[frontend.externalgrpc.tls]
certificate = "/etc/hostler/tls/tls.crt"
key = "/etc/hostler/tls/tls.key"
client_ca = "/etc/hostler/tls/ca.crt"
{{- end }}
{{ end -}}

{{- define "hostler.store" -}}
{{- if eq .Values.store.kind "sqlite" -}}
sqlite:///var/lib/hostler/hostler.db
{{- else -}}
kubernetes:{{ .Release.Namespace }}/{{ include "hostler.fullname" . }}
{{- end -}}
{{- end -}}

{{/* Does hostler speak to the API server at all? */}}
{{- define "hostler.kubernetes" -}}
{{- with .Values.frontends -}}
{{- if or .fleets.enabled .clusterApi.enabled .nodes.enabled -}}true{{- end -}}
{{- end -}}
{{- end -}}
