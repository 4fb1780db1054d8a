{{/*
What the values mean, as JSON, for all templates: pools, and of each rail name, PFs by pool, resource, network, IPAM.
All that is wrong is told at once, each with its key.
*/}}
{{- define "rails.plan" -}}
{{- $v := .Values -}}
{{- $wrong := list -}}
{{- $operator := eq $v.fabric "sriov-operator" -}}
{{- $plugin := eq $v.fabric "device-plugin" -}}
{{- $shared := eq $v.fabric "shared-device-plugin" -}}
{{- $dra := eq $v.fabric "dra" -}}
{{- $writePolicies := eq $v.policies "write" -}}
{{- $writeNetworks := ne $v.networks "existing" -}}
{{- $namespaces := $v.namespaces | default (list .Release.Namespace) -}}
{{- $prefix := $v.resourcePrefix | default (get (dict "sriov-operator" "openshift.io" "device-plugin" "nvidia.com" "shared-device-plugin" "rdma") $v.fabric) -}}
{{- $sbr := false -}}
{{- range $v.metaPlugins }}{{ if eq .type "sbr" }}{{ $sbr = true }}{{ end }}{{ end -}}

{{- /* ---- keys that do not go together ---- */ -}}
{{- if and (eq $v.networks "sriovnetwork") (not $operator) -}}
  {{- $wrong = append $wrong (printf "networks: sriovnetwork is for fabric: sriov-operator, whose operator reads it; with %s say nad" $v.fabric) -}}
{{- end -}}
{{- if and (eq $v.networks "sriovnetwork") (gt (len $namespaces) 1) -}}
  {{- $wrong = append $wrong "namespaces: a SriovNetwork serves one namespace; networks: nad serves several, or each has a release" -}}
{{- end -}}
{{- if and $v.mtu (or $plugin $dra) -}}
  {{- $wrong = append $wrong (printf "mtu: with fabric: %s what configures the nodes sets the MTU; leave it out" $v.fabric) -}}
{{- end -}}
{{- if and $v.vlan $shared -}}
  {{- $wrong = append $wrong "vlan: a macvlan has no VLAN of its own; name the VLAN's interface as pf" -}}
{{- end -}}
{{- if and $v.maxUnavailable (not $operator) -}}
  {{- $wrong = append $wrong "maxUnavailable: only the SR-IOV operator drains nodes; leave it out" -}}
{{- end -}}
{{- if and (eq $v.ipam "static") $dra -}}
  {{- $wrong = append $wrong "ipam: with fabric: dra a pod cannot say its addresses; whereabouts gives them" -}}
{{- end -}}
{{- if and $shared $v.pools -}}
  {{- $wrong = append $wrong "pools: a macvlan network names one interface, and so all nodes need the same names" -}}
{{- end -}}
{{- if and $v.pools $v.nodeSelector -}}
  {{- $wrong = append $wrong "nodeSelector: each of the pools has its own; leave it out" -}}
{{- end -}}
{{- if and (or $plugin $shared) $v.nodeSelector -}}
  {{- $wrong = append $wrong (printf "nodeSelector: with fabric: %s one configuration is for all nodes; leave it out" $v.fabric) -}}
{{- end -}}
{{- if and $dra $v.metaPlugins -}}
  {{- $wrong = append $wrong "metaPlugins: with fabric: dra the driver runs one CNI plugin, and refuses a chain; leave them out" -}}
{{- end -}}
{{- if and $dra $v.resourcePrefix -}}
  {{- $wrong = append $wrong "resourcePrefix: with fabric: dra devices are claimed, not counted; leave it out" -}}
{{- end -}}

{{- /* ---- pools ---- */ -}}
{{- $pools := list -}}
{{- $nfd := dict "feature.node.kubernetes.io/network-sriov.capable" "true" -}}
{{- range $name, $pool := $v.pools -}}
  {{- $pools = append $pools (dict "name" $name "nodeSelector" $pool.nodeSelector "device" ($pool.device | default $v.device)) -}}
{{- else -}}
  {{- $pools = list (dict "name" "" "nodeSelector" ($v.nodeSelector | default (ternary $nfd dict $operator)) "device" $v.device) -}}
{{- end -}}

{{- /* ---- rails ---- */ -}}
{{- $rails := list -}}
{{- $names := dict -}}
{{- $resources := dict -}}
{{- $networks := dict -}}
{{- $seen := dict -}}
{{- $taken := list -}}
{{- $reached := dict -}}
{{- range $at, $rail := $v.rails -}}
  {{- $key := printf "rails[%d]" $at -}}
  {{- $several := not (kindIs "string" $rail.pf) -}}

  {{- /* PFs by pool */ -}}
  {{- $pfs := dict -}}
  {{- if kindIs "map" $rail.pf -}}
    {{- range $pool, $names := $rail.pf -}}
      {{- if hasKey $v.pools $pool -}}
        {{- $_ := set $pfs $pool (kindIs "string" $names | ternary (list $names) $names) -}}
      {{- else -}}
        {{- $wrong = append $wrong (printf "%s.pf: %s is none of the pools: %s" $key $pool (keys $v.pools | sortAlpha | join ", " | default "there are none")) -}}
      {{- end -}}
    {{- end -}}
  {{- else -}}
    {{- range $pools -}}
      {{- $_ := set $pfs .name (kindIs "string" $rail.pf | ternary (list $rail.pf) $rail.pf) -}}
    {{- end -}}
  {{- end -}}
  {{- $all := list -}}
  {{- range $pool, $list := $pfs -}}
    {{- range $pf := $list -}}
      {{- $all = append $all $pf | uniq -}}
      {{- $nic := first (splitList "#" $pf) -}}
      {{- if regexMatch "^mlx[45]_" $pf -}}
        {{- $wrong = append $wrong (printf "%s.pf: %s is an RDMA device; pf is a NIC's network interface, such as eno5np0" $key $pf) -}}
      {{- end -}}
      {{- if and (contains "#" $pf) (or $shared $dra) -}}
        {{- $wrong = append $wrong (printf "%s.pf: %s: with fabric: %s a rail has no range of VFs; name the PF alone" $key $pf $v.fabric) -}}
      {{- end -}}
      {{- $place := printf "%s/%s" (ternary $pool "" $operator) $nic -}}
      {{- if and (hasKey $seen $place) (ne (get $seen $place) (toString $at)) -}}
        {{- $wrong = append $wrong (printf "%s.pf: %s is rails[%s].pf, too%s" $key $nic (get $seen $place) (ternary "" ", perhaps in another pool: only the SR-IOV operator can tell pools apart" $operator)) -}}
      {{- end -}}
      {{- $_ := set $seen $place (toString $at) -}}
    {{- end -}}
  {{- end -}}
  {{- if and $shared (gt (len $all) 1) -}}
    {{- $wrong = append $wrong (printf "%s.pf: a macvlan network names one interface; a line for each of %s" $key (join ", " $all)) -}}
  {{- end -}}

  {{- /* names */ -}}
  {{- $name := $rail.name | default "" -}}
  {{- if and $several (not $name) -}}
    {{- $wrong = append $wrong (printf "%s.name: pf is more than one interface; give the rail a name" $key) -}}
    {{- $name = printf "rail%d" $at -}}
  {{- else if not $name -}}
    {{- $name = regexReplaceAll "[^a-z0-9]+" (lower $rail.pf) "-" | trimAll "-" -}}
  {{- end -}}
  {{- if not $name -}}
    {{- $wrong = append $wrong (printf "%s.name: that of the PF has no letter or digit; give the rail a name" $key) -}}
  {{- end -}}
  {{- if hasKey $names $name -}}
    {{- $wrong = append $wrong (printf "%s.name: rails[%s] is called %s, too" $key (get $names $name) $name) -}}
  {{- end -}}
  {{- $_ := set $names $name (toString $at) -}}
  {{- if and $dra (eq $v.dra.claimTemplate (printf "%s-%s" $.Release.Name $name)) -}}
    {{- $wrong = append $wrong (printf "dra.claimTemplate: %s is that of rails[%d] alone; another name" $v.dra.claimTemplate $at) -}}
  {{- end -}}

  {{- $resource := "" -}}
  {{- if $dra -}}
    {{- if $rail.resource }}{{ $wrong = append $wrong (printf "%s.resource: with fabric: dra devices are claimed, not counted; leave it out" $key) }}{{ end -}}
  {{- else if $shared -}}
    {{- if $rail.resource }}{{ $wrong = append $wrong (printf "%s.resource: shared-device-plugin has one for all rails: shared.resource" $key) }}{{ end -}}
    {{- $resource = contains "/" $v.shared.resource | ternary $v.shared.resource (printf "%s/%s" $prefix $v.shared.resource) -}}
  {{- else -}}
    {{- $resource = $rail.resource | default (printf "%srdma" (replace "-" "_" $name)) -}}
    {{- if not (contains "/" $resource) }}{{ $resource = printf "%s/%s" $prefix $resource }}{{ end -}}
    {{- if not $writePolicies -}}
      {{- if not $rail.resource }}{{ $wrong = append $wrong (printf "%s.resource: policies: existing needs the resource that is there" $key) }}{{ end -}}
    {{- else -}}
      {{- if and $operator (ne (first (splitList "/" $resource)) $prefix) -}}
        {{- $wrong = append $wrong (printf "%s.resource: the SR-IOV operator's resources begin with %s/, its resourcePrefix; not %s" $key $prefix $resource) -}}
      {{- end -}}
      {{- if not (regexMatch "^[A-Za-z0-9_]{1,63}$" (last (splitList "/" $resource))) -}}
        {{- $wrong = append $wrong (printf "%s.resource: %s: behind the slash up to 63 letters, digits and _" $key $resource) -}}
      {{- end -}}
      {{- if hasKey $resources $resource -}}
        {{- $wrong = append $wrong (printf "%s.resource: %s is that of rails[%s], too, and a pod could get two VFs of one NIC; for one resource of several NICs let pf be a list" $key $resource (get $resources $resource)) -}}
      {{- end -}}
      {{- $_ := set $resources $resource (toString $at) -}}
    {{- end -}}
  {{- end -}}
  {{- if and $rail.vfs (not (and $operator $writePolicies)) -}}
    {{- $wrong = append $wrong (printf "%s.vfs: only policies that are written here for the SR-IOV operator make VFs; leave it out" $key) -}}
  {{- end -}}
  {{- if and $rail.mtu (or $plugin $dra) -}}
    {{- $wrong = append $wrong (printf "%s.mtu: with fabric: %s what configures the nodes sets the MTU; leave it out" $key $v.fabric) -}}
  {{- end -}}
  {{- if and $rail.vlan $shared -}}
    {{- $wrong = append $wrong (printf "%s.vlan: a macvlan has no VLAN of its own; name the VLAN's interface as pf" $key) -}}
  {{- end -}}

  {{- $network := $rail.network | default (printf "%s-network" $name) -}}
  {{- if not $writeNetworks -}}
    {{- if not $rail.network }}{{ $wrong = append $wrong (printf "%s.network: networks: existing needs the name of the network that is there" $key) }}{{ end -}}
    {{- range list "subnet" "subnet6" "range" "range6" "gateway" "gateway6" "routes" "vlan" -}}
      {{- if get $rail . }}{{ $wrong = append $wrong (printf "%s.%s: with networks: existing the network has its own; leave it out" $key .) }}{{ end -}}
    {{- end -}}
  {{- else if contains "/" $network -}}
    {{- $wrong = append $wrong (printf "%s.network: %s: a network that is written here is in `namespaces`; a name alone" $key $network) -}}
  {{- end -}}
  {{- if and $dra (eq $v.networks "existing") (contains "/" $network) -}}
    {{- $wrong = append $wrong (printf "%s.network: %s: with fabric: dra the driver looks for it in the claim's namespace; a name alone" $key $network) -}}
  {{- end -}}
  {{- if hasKey $networks $network -}}
    {{- $wrong = append $wrong (printf "%s.network: %s is that of rails[%s], too" $key $network (get $networks $network)) -}}
  {{- end -}}
  {{- $_ := set $networks $network (toString $at) -}}

  {{- /* addresses */ -}}
  {{- $ranges := list -}}
  {{- $routes := list -}}
  {{- $gateways := dict -}}
  {{- if $writeNetworks -}}
    {{- range list "" "6" -}}
      {{- $six := eq . "6" -}}
      {{- $subnetKey := printf "subnet%s" . -}}
      {{- $rangeKey := printf "range%s" . -}}
      {{- $gatewayKey := printf "gateway%s" . -}}
      {{- $text := get $rail $subnetKey -}}
      {{- $subnet := dict -}}
      {{- if and $text (ne $v.ipam "whereabouts") -}}
        {{- $wrong = append $wrong (printf "%s.%s: with ipam: %s no address is given out of it; leave it out" $key $subnetKey $v.ipam) -}}
      {{- else if $text -}}
        {{- $subnet = include "rails.subnet" (dict "text" $text "six" $six) | fromJson -}}
        {{- with $subnet.wrong }}{{ $wrong = append $wrong (printf "%s.%s: %s" $key $subnetKey .) }}{{ end -}}
        {{- if and $subnet.bits (or (lt (int $subnet.length) 8) (gt (int $subnet.length) (ternary 126 30 $six))) -}}
          {{- $wrong = append $wrong (printf "%s.%s: %s: a rail has 8 to %d bits, to have room for pods" $key $subnetKey $text (ternary 126 30 $six)) -}}
        {{- else if $subnet.bits -}}
          {{- range $taken -}}
            {{- if and (eq (int .total) (int $subnet.total)) (or (hasPrefix .bits $subnet.bits) (hasPrefix $subnet.bits .bits)) -}}
              {{- $wrong = append $wrong (printf "%s.%s: %s overlaps %s of %s; interfaces of one subnet answer for each other" $key $subnetKey $text .text .key) -}}
            {{- end -}}
          {{- end -}}
          {{- $taken = append $taken (merge (dict "text" $text "key" $key) $subnet) -}}
        {{- end -}}
      {{- end -}}
      {{- $range := dict "range" $text -}}
      {{- $low := "" -}}
      {{- $high := "" -}}
      {{- with get $rail $rangeKey -}}
        {{- $ends := splitList "-" . -}}
        {{- $low = include "rails.bits" (first $ends) -}}
        {{- $high = include "rails.bits" (last $ends) -}}
        {{- if not $text -}}
          {{- $wrong = append $wrong (printf "%s.%s: a range of which subnet? %s is missing" $key $rangeKey $subnetKey) -}}
        {{- else if and $subnet.bits (or (ne (len $ends) 2) (ne (len $low) (int $subnet.total)) (ne (len $high) (int $subnet.total)) (not (hasPrefix $subnet.bits $low)) (not (hasPrefix $subnet.bits $high)) (gt $low $high) (not (contains "1" (substr (int $subnet.length) (int $subnet.total) $low)))) -}}
          {{- $wrong = append $wrong (printf "%s.%s: %s is not FIRST-LAST, two addresses of %s" $key $rangeKey . $text) -}}
        {{- end -}}
        {{- $_ := set $range "range_start" (first $ends) -}}
        {{- $_ := set $range "range_end" (last $ends) -}}
      {{- end -}}
      {{- with get $rail $gatewayKey -}}
        {{- $bits := include "rails.bits" . -}}
        {{- if ne (len $bits) (ternary 128 32 $six) -}}
          {{- $wrong = append $wrong (printf "%s.%s: %s is no %s address" $key $gatewayKey . (ternary "IPv6" "IPv4" $six)) -}}
        {{- else if eq $v.ipam "none" -}}
          {{- $wrong = append $wrong (printf "%s.%s: with ipam: none there are no routes; leave it out" $key $gatewayKey) -}}
        {{- else if and (eq $v.ipam "whereabouts") (not $subnet.bits) -}}
          {{- if not $text }}{{ $wrong = append $wrong (printf "%s.%s: a gateway of which subnet? %s is missing" $key $gatewayKey $subnetKey) }}{{ end -}}
        {{- else if and $subnet.bits (not (hasPrefix $subnet.bits $bits)) -}}
          {{- $wrong = append $wrong (printf "%s.%s: %s is not in %s, and nobody on the rail reaches it" $key $gatewayKey . $text) -}}
        {{- else if not (or $rail.routes $sbr) -}}
          {{- $wrong = append $wrong (printf "%s.%s: no packet goes there without `routes`" $key $gatewayKey) -}}
        {{- end -}}
        {{- $_ := set $gateways (ternary "6" "4" $six) . -}}
        {{- /* whereabouts would give the gateway's address to a pod */ -}}
        {{- if or (not $low) (and (le $low $bits) (le $bits $high)) -}}
          {{- $_ := set $range "exclude" (list (printf "%s/%d" . (ternary 128 32 $six))) -}}
        {{- end -}}
      {{- end -}}
      {{- if $text }}{{ $ranges = append $ranges $range }}{{ end -}}
    {{- end -}}
    {{- if and (eq $v.ipam "whereabouts") (not (or $rail.subnet $rail.subnet6)) -}}
      {{- $wrong = append $wrong (printf "%s.subnet: whereabouts needs one, or subnet6; ipam: none gives no addresses" $key) -}}
    {{- end -}}
    {{- range $number, $route := $rail.routes -}}
      {{- $six := contains ":" $route -}}
      {{- $subnet := include "rails.subnet" (dict "text" $route "six" $six) | fromJson -}}
      {{- $gateway := get $gateways (ternary "6" "4" $six) -}}
      {{- if $subnet.wrong -}}
        {{- $wrong = append $wrong (printf "%s.routes: %s" $key $subnet.wrong) -}}
      {{- else if not $gateway -}}
        {{- $wrong = append $wrong (printf "%s.routes: %s goes through %s, which is missing" $key $route (ternary "gateway6" "gateway" $six)) -}}
      {{- else if and (hasKey $reached $route) (not $sbr) -}}
        {{- $wrong = append $wrong (printf "%s.routes: %s is a route of rails[%s], too, and one interface would carry both; metaPlugins: [{type: sbr}] gives each a table" $key $route (get $reached $route)) -}}
      {{- end -}}
      {{- $_ := set $reached $route (toString $at) -}}
      {{- $routes = append $routes (dict "dst" $route "gw" $gateway) -}}
    {{- end -}}
  {{- end -}}
  {{- $ipam := dict -}}
  {{- if ne $v.ipam "none" -}}
    {{- $_ := set $ipam "type" $v.ipam -}}
    {{- if gt (len $ranges) 1 }}{{ $_ := set $ipam "ipRanges" $ranges }}{{ else if $ranges }}{{ $ipam = merge $ipam (first $ranges) }}{{ end -}}
    {{- if $routes }}{{ $_ := set $ipam "routes" $routes }}{{ end -}}
    {{- /* sbr takes an address's gateway; whereabouts has one for all addresses */ -}}
    {{- with get $gateways "4" | default (get $gateways "6") }}{{ if and $sbr (eq $v.ipam "whereabouts") }}{{ $_ := set $ipam "gateway" . }}{{ end }}{{ end -}}
  {{- end -}}
  {{- $rails = append $rails (dict "name" $name "pfs" $pfs "all" $all "resource" $resource "network" $network "ipam" $ipam
      "vfs" (int (hasKey $rail "vfs" | ternary $rail.vfs $v.vfs)) "mtu" (int (hasKey $rail "mtu" | ternary $rail.mtu $v.mtu))
      "vlan" (int (hasKey $rail "vlan" | ternary $rail.vlan $v.vlan))) -}}
{{- end -}}

{{- if $wrong -}}
  {{- fail (printf "%s: the values cannot be:\n  %s" .Chart.Name (join "\n  " ($wrong | uniq))) -}}
{{- end -}}
{{- dict "rails" $rails "pools" $pools "namespaces" $namespaces | toJson -}}
{{- end }}

{{- define "rails.labels" -}}
app.kubernetes.io/name: rails
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: nccl-init
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
