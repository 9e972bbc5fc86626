{{/*
Alerts. Braces of Prometheus' own templates are written as strings. The first alarm of its sort begins a series
at one, which `increase` does not see: so a series that was not there an hour to a quarter before counts too.
*/}}
{{- define "hostler.alerts" -}}
- alert: HostlerOrphans
  expr: sum by (fleet, zone, class) (hostler_orphans{class!~"pending-fresh|scheduled-deletion"}) > 0
  for: {{ .Values.prometheusRule.strayFor }}
  labels: {severity: warning}
  annotations:
    summary: {{ `Something is on the bill in {{ $labels.zone }} that no record of fleet {{ $labels.fleet }} explains` | quote }}
    description: {{ `{{ $value }} of class {{ $labels.class }}. "hostler orphans" lists them with their cost; with orphanReclaim.activeReclaim they are taken back.` | quote }}
- alert: HostlerStrayHosts
  expr: max(scaleway_orphan_servers) > 0
  for: {{ .Values.prometheusRule.strayFor }}
  labels: {severity: warning}
  annotations:
    summary: {{ `{{ $value }} hosts are in no pool and in no record` | quote }}
    description: They are paid for, and the pool lacks them. "hostler orphans" says which they are and what blocks their return.
- alert: HostlerNoAvailableHost
  expr: max by (fleet) (hostler_no_available_host) > 0
  for: {{ .Values.prometheusRule.noHostFor }}
  labels: {severity: critical}
  annotations:
    summary: {{ `Fleet {{ $labels.fleet }} lacks {{ $value }} hosts, and its pool has none free` | quote }}
    description: Add hosts to the pool, let the fleet order some, or make it smaller. "hostler explain" of a machine that waits says more.
- alert: HostlerOrphanReportOld
  expr: time() - max by (fleet) (hostler_reclaim_last_success_timestamp_seconds > 0) > 3600
  for: 10m
  labels: {severity: warning}
  annotations:
    summary: {{ `The orphan report of fleet {{ $labels.fleet }} is more than an hour old` | quote }}
    description: Observations are not complete. Until they are, strays are not found.
- alert: HostlerNoOrphanReport
  expr: max by (fleet) (hostler_fleet_size) unless max by (fleet) (hostler_reclaim_last_success_timestamp_seconds > 0)
  for: 30m
  labels: {severity: warning}
  annotations:
    summary: {{ `Fleet {{ $labels.fleet }} has no orphan report` | quote }}
    description: No observation was complete since the start, as where credentials are wrong. Until one is, strays are not found.
- alert: HostlerBootstrapFailed
  expr: max by (fleet) (hostler_bootstrap_failed) > 0
  for: 5m
  labels: {severity: critical}
  annotations:
    summary: {{ `The commands of fleet {{ $labels.fleet }} failed on {{ $value }} hosts: nothing is claimed until they are changed` | quote }}
- alert: HostlerAlarm
  expr: sum by (fleet, reason) (increase(hostler_alarms_total[15m]) > 0 or hostler_alarms_total unless max_over_time(hostler_alarms_total[1h] offset 15m)) > 0
  labels: {severity: critical}
  annotations:
    summary: {{ `Fleet {{ $labels.fleet }}: {{ $labels.reason }}, which hostler cannot settle by itself` | quote }}
    description: The history of the machine or host says more.
- alert: HostlerAbsent
  expr: absent(up{job={{ include "hostler.fullname" . | quote }}, namespace={{ .Release.Namespace | quote }}} == 1)
  for: 10m
  labels: {severity: critical}
  annotations:
    summary: No replica of hostler answers
{{- end -}}
