{{/* An IPv4 or IPv6 address as 32 or 128 binary digits, so that addresses compare as texts; nothing if it is none. */}}
{{- define "rails.bits" -}}
{{- if regexMatch "^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])([.]|$)){4}$" . -}}
  {{- range splitList "." . }}{{ printf "%08b" (int .) }}{{ end -}}
{{- else if contains ":" . -}}
  {{- $halves := splitList "::" (lower .) -}}
  {{- $head := list -}}
  {{- $tail := list -}}
  {{- with first $halves }}{{ $head = splitList ":" . }}{{ end -}}
  {{- if gt (len $halves) 1 }}{{ with last $halves }}{{ $tail = splitList ":" . }}{{ end }}{{ end -}}
  {{- $count := int (add (len $head) (len $tail)) -}}
  {{- $bad := or (gt (len $halves) 2) (and (eq (len $halves) 1) (ne $count 8)) (gt $count 8) -}}
  {{- range concat $head $tail }}{{ if not (regexMatch "^[0-9a-f]{1,4}$" .) }}{{ $bad = true }}{{ end }}{{ end -}}
  {{- if not $bad -}}
    {{- $zeros := list -}}
    {{- range until (int (sub 8 $count)) }}{{ $zeros = append $zeros "0" }}{{ end -}}
    {{- $digits := dict "0" "0000" "1" "0001" "2" "0010" "3" "0011" "4" "0100" "5" "0101" "6" "0110" "7" "0111" "8" "1000"
        "9" "1001" "a" "1010" "b" "1011" "c" "1100" "d" "1101" "e" "1110" "f" "1111" -}}
    {{- range $group := concat $head $zeros $tail -}}
      {{- range splitList "" (printf "%s%s" (repeat (int (sub 4 (len $group))) "0") $group) }}{{ index $digits . }}{{ end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- end }}

{{/* NUMBER/BITS as {bits, length}, or {wrong: what is wrong with it}. Of a dict: text, six (of IPv6). */}}
{{- define "rails.subnet" -}}
{{- $parts := splitList "/" .text -}}
{{- $bits := include "rails.bits" (first $parts) -}}
{{- $total := ternary 128 32 .six -}}
{{- $length := last $parts -}}
{{- if or (ne (len $parts) 2) (ne (len $bits) $total) (not (regexMatch "^(0|[1-9][0-9]{0,2})$" $length)) -}}
  {{- dict "wrong" (printf "%s is no %s subnet" .text (ternary "IPv6" "IPv4" .six)) | toJson -}}
{{- else if gt (int $length) $total -}}
  {{- dict "wrong" (printf "%s has more than %d bits" .text $total) | toJson -}}
{{- else if contains "1" (substr (int $length) $total $bits) -}}
  {{- dict "wrong" (printf "%s is no subnet: behind its %s bits the address is not 0" .text $length) | toJson -}}
{{- else -}}
  {{- dict "bits" (substr 0 (int $length) $bits) "length" (int $length) "total" $total | toJson -}}
{{- end -}}
{{- end }}
