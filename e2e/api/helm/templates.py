# SPDX-License-Identifier: Apache-2.0
"""Templates and the schema of the charts that several tests use."""

from bench.charts import chart_archive

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  replicas: 1
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: a, image: "example.com/a:1"}]}
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: {color: {{ .Values.color | quote }}}\n"
HOOK = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hook, annotations: {helm.sh/hook: pre-install}}\ndata: {a: b}\n"
TEST = CONFIG.replace("{name: config}", "{name: check, annotations: {helm.sh/hook: test}}")
# A duplicate key, which helm accepts.
REPEATED = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: repeated
  labels: {app: a, tier: b}
  labels: {app: c}
data: {a: b}
"""
STUCK = """{{ if .Values.stuck }}
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: never-bound}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
{{ end }}"""
SCHEMA = '{"type": "object", "properties": {"color": {"type": "string"}}}'
# 2.4 MB of objects. Without a text they cannot be compressed to less than a Secret can hold.
BIG = chart_archive({"templates/big.yaml": """{{- range $i := until 40 }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ $.Release.Name }}-{{ $i }}"}
data: {text: {{ $.Values.text | default (randAlphaNum 60000) }}}
{{- end }}
"""})
