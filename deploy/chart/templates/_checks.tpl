{{/* What values must not be together; each message names the values and the cure. */}}
{{- define "hostler.checks" -}}
{{- $several := gt (int .Values.replicas) 1 -}}
{{- if and $several (eq .Values.store.kind "sqlite") -}}
{{- fail "replicas: a SQLite file has one writer: set replicas to 1, or store.kind to kubernetes" -}}
{{- end -}}
{{- if .Values.frontends.externalgrpc.enabled -}}
{{- if $several -}}
{{- fail "replicas: Cluster Autoscaler is answered from the memory of the replica that works: set replicas to 1" -}}
{{- end -}}
{{- if and (not .Values.frontends.externalgrpc.tlsSecret) (not .Values.existingConfig) -}}
{{- fail "frontends.externalgrpc.tlsSecret: name a Secret with tls.crt, tls.key and ca.crt; whoever reaches the port can make and delete machines" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.watch.all .Values.watch.namespaces -}}
{{- fail "watch.all and watch.namespaces exclude each other: leave one out" -}}
{{- end -}}
{{- if and .Values.existingConfig .Values.config -}}
{{- fail "existingConfig and config exclude each other: leave one out" -}}
{{- end -}}
{{- range $kind, $tables := .Values.config -}}
{{- if has $kind (list "metrics" "frontend" "store") -}}
{{- fail (printf "config.%s: the chart writes it, from store, frontends.metrics and frontends.externalgrpc: leave it out" $kind) -}}
{{- end -}}
{{- end -}}
{{- end -}}
