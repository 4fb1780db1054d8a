# Reads a description of a cluster and prints it as assignments of the shell; k8s/new and k8s/deploy.sh evaluate them.
# usage: SETTINGS=KEY=VALUE... COMMAND=WORD... awk -f cluster.awk cluster.schema.json FILE   (SETTINGS, COMMAND: a line each)
# Keys, types and bounds are those of the schema, which has a line for each key. The YAML is a part of YAML that awk can
# read and every YAML parser reads alike; what is beyond it is refused with its line. For any awk of POSIX: mawk of Debian
# 12 knows no intervals in patterns.
# SPDX-License-Identifier: Apache-2.0

function fail(where, what) {
    if (where ~ /^[0-9]+$/) where = shown ":" where
    print where ": " what | "cat >&2"
    bad = 1
}

# ---- the schema ------------------------------------------------------------------------------------------

function member(line, name) { # of a key's line: a string or a number
    if (!match(line, "\"" name "\": (\"[^\"]*\"|[0-9]+)")) return ""
    line = substr(line, RSTART + length(name) + 4, RLENGTH - length(name) - 4)
    gsub(/"/, "", line)
    return line
}
FNR == NR {
    if (/^  "required"/) demanded = $0
    if (match($0, /^ +"[a-z-]+": [{]"type": /)) {
        split($0, part, "\"")
        key = (/^        /) ? "rails." part[2] : part[2]
        keys[++key_count] = key
        type[key] = substr($0, index($0, "{\"type\": ") + 9)
        sub(/, "[a-z][A-Za-z]*": .*/, "", type[key])
        pattern[key] = member($0, "pattern")
        longest[key] = member($0, "maxLength")
        least[key] = member($0, "minimum")
        most[key] = member($0, "maximum")
        value[key] = member($0, "default")
        about[key] = member($0, "description")
        if (match($0, /"enum": \[[^]]*/)) {
            allowed[key] = substr($0, RSTART + 9, RLENGTH - 9)
            gsub(/"/, "", allowed[key])
        }
    }
    next
}

# ---- values ----------------------------------------------------------------------------------------------

# A scalar of YAML; QUOTED says whether it was quoted. FLOW: it stands in brackets, and REST is what follows it.
function scalar(text, where, flow, out, c, i, n) {
    quoted = 0
    c = substr(text, 1, 1)
    if (c == "\"" || c == "'") {
        quoted = 1
        out = ""
        n = length(text)
        for (i = 2; i <= n; i++) {
            if (substr(text, i, 1) == "\\" && c == "\"") {
                if (substr(text, ++i, 1) !~ /["\\]/) {
                    fail(where, "of escapes only \\\" and \\\\ are read")
                    return ""
                }
            } else if (substr(text, i, 1) == c) {
                if (c != "'" || substr(text, i + 1, 1) != "'") break
                i++
            }
            out = out substr(text, i, 1)
        }
        if (i > n) {
            fail(where, "a quote is not closed")
            return ""
        }
        rest = substr(text, i + 1)
        if (!flow && rest !~ /^ *( #.*)?$/) fail(where, "something follows the closing quote")
        return out
    }
    if (c ~ /[]&*!|>%@`{}[,]/ || text ~ /^[-?:] /) {
        fail(where, "'" text "' is no value that is read here; put it into quotes if it is text")
        return ""
    }
    rest = ""
    if (flow && match(text, /[],[{}]/)) {
        rest = substr(text, RSTART)
        text = substr(text, 1, RSTART - 1)
    }
    sub(/ #.*/, "", text)
    sub(/ +$/, "", text)
    if (text ~ /: |:$/) fail(where, "'" text "' has a colon; put it into quotes")
    return text
}

# [a, "b"] as lines; the brackets may not nest
function flow_list(text, where, out, one, count) {
    text = substr(text, 2)
    sub(/^ +/, "", text)
    while (text !~ /^\]/) {
        one = scalar(text, where, 1)
        if (bad) return ""
        sub(/^ +/, "", rest)
        if (rest !~ /^[],]/) {
            fail(where, "the list does not end in ']', or an entry needs quotes")
            return ""
        }
        if (one == "" && !quoted) fail(where, "an entry is empty")
        out = out (count++ ? "\n" : "") one
        text = rest
        if (sub(/^, */, "", text) && text ~ /^\]/) fail(where, "an entry is empty")
    }
    if (text !~ /^\] *( *#.*)?$/) fail(where, "something follows the list")
    return out
}

function looks_typed(text) {
    return text ~ /^[-+]?[0-9][0-9_]*([.][0-9]*)?([eE][-+]?[0-9]+)?$/ || text ~ /^[-+]?[0-9]+(:[0-9]+)+$/ || text ~ /^0[xo][0-9a-fA-F]+$/ ||
        text == "" || tolower(text) ~ /^(~|null|true|false|yes|no|on|off|y|n|[.]nan|[-+]?[.]inf)$/
}

function judge(key, text, where, plain) { # one value against the schema's line of its key
    if (key != "script" && text ~ /[^ -~]/) fail(where, key ": only letters, digits and signs of ASCII")
    else if (allowed[key] != "") {
        if (index(", " allowed[key] ", ", ", " text ", ") == 0 || text ~ /,/) fail(where, key " is one of: " allowed[key] "; not '" text "'")
    } else if (type[key] == "\"integer\"") {
        if (text !~ /^(0|[1-9][0-9]*)$/ || length(text) > 10 || text + 0 < least[key] + 0 || text + 0 > most[key] + 0 || !plain)
            fail(where, key " is a number from " least[key] " to " most[key] ", not '" text "'")
    } else if (type[key] == "\"boolean\"") {
        if ((text != "true" && text != "false") || !plain) fail(where, key " is true or false, not '" text "'")
    } else if (key ~ /^(name|network)$/ && looks_typed(text)) fail(where, key ": YAML reads '" text "' as no text; take another")
    else if (plain && type[key] !~ /integer/ && looks_typed(text)) fail(where, key ": YAML reads '" text "' as no text; put it into quotes")
    else if (pattern[key] != "" && text !~ pattern[key]) fail(where, key ": '" text "' does not fit: " about[key])
    else if (longest[key] && length(text) > longest[key] + 0) fail(where, key " has at most " longest[key] " characters")
}

function take(key, text, where, lines, i, n, one) { # KEY: TEXT, as it stands in the file
    if (!(key in type) || key == "rails") {
        if (key == "rails") fail(where, "rails is a list: a line '- pf: NAME' for each")
        else {
            text = known(key)
            sub(/^rails[.]/, "", key)
            fail(where, "'" key "' is not a key; the keys here: " text)
        }
        return
    }
    if (key ~ /^rails[.]/) store = key SUBSEP rail_count
    else store = key
    if (store in line_of) {
        fail(where, key " stands on line " line_of[store] " too")
        return
    }
    line_of[store] = where
    open_list = open_map = ""
    if (text == "" || text ~ /^#/) {
        if (type[key] ~ /array/) open_list = key
        else if (type[key] ~ /object/) open_map = key
        else fail(where, key " has no value")
        value[store] = ""
        return
    }
    if (type[key] ~ /object/) {
        fail(where, key ": a line 'NAME: VALUE' for each, below it")
        return
    }
    if (type[key] ~ /array/ && text ~ /^\[/) {
        lines = flow_list(text, where)
        n = split(lines, one, "\n")
        for (i = 1; i <= n; i++) judge(key, one[i], where, 0)
        value[store] = lines
        return
    }
    if (type[key] == "\"array\"") {
        fail(where, key " is a list: [a, b], or a line '- a' for each")
        return
    }
    value[store] = scalar(text, where, 0)
    if (!bad || value[store] != "") judge(key, value[store], where, !quoted)
}

function known(key, i, out) {
    for (i = 1; i <= key_count; i++)
        if ((keys[i] ~ /^rails[.]/) == (key ~ /^rails[.]/)) out = out (out == "" ? "" : ", ") keys[i]
    gsub(/rails[.]/, "", out)
    return out
}

function entry(text, where, name) { # NAME: VALUE below env
    name = text
    sub(/:.*/, "", name)
    if (text !~ /^[A-Za-z_][A-Za-z0-9_]*:( |$)/) {
        fail(where, "env: a line 'NAME: VALUE' for each variable")
        return
    }
    sub(/^[^:]*: */, "", text)
    variable(name, scalar(text, where, 0), where)
}

function variable(name, text, where) {
    if (text ~ /[^ -~]/) fail(where, name ": only letters, digits and signs of ASCII")
    if (name in env_line) fail(where, name " stands on line " env_line[name] " too")
    if (!(name in env)) env_name[++env_count] = name
    env_line[name] = where
    env[name] = text
}

# ---- lines -----------------------------------------------------------------------------------------------

{
    sub(/\r$/, "")
    if (FNR == 1) sub(/^\357\273\277/, "")
    text = $0
    if (text ~ /^ *(#.*)?$/) next
    if (text ~ /^---( *#.*)?$/ && !begun) { begun = 1; next }
    begun = 1
    if (length(text) > 4096) { fail(FNR, "the line is too long"); next }
    if (text ~ /^ *\t/) { fail(FNR, "wrong indentation: a tab; YAML takes blanks only"); next }
    match(text, /[^ ]/)
    indent = RSTART - 1
    text = substr(text, RSTART)
    bad_before = bad
    bad = 0
    handle(text, indent, FNR)
    bad = bad || bad_before
}

function split_key(text, indent, where, prefix, key) {
    key = text
    sub(/:.*/, "", key)
    if (text !~ /^[A-Za-z_-]+:( |$)/) {
        fail(where, "'" text "' is not of the form 'KEY: VALUE'")
        return
    }
    sub(/^[^:]*: */, "", text)
    take(prefix key, text, where)
}

function handle(text, indent, where, column) {
    if (text ~ /^-( |$)/) {
        # an entry of a list: of the one that is open, or of the rails
        if (open_list != "" && (indent > list_above || (indent == list_above && open_list !~ /^rails/))) {
            if (list_indent == "") list_indent = indent
            if (indent != list_indent) { fail(where, "wrong indentation: the entry before begins in another column"); return }
            sub(/^- */, "", text)
            column = scalar(text, where, 0)
            if (column == "" && !quoted) fail(where, "an entry is empty")
            judge(open_list, column, where, !quoted)
            value[store] = value[store] (value[store] == "" ? "" : "\n") column
            return
        }
        if (top != "rails") { fail(where, "'- ' begins an entry of a list, and there is no list here"); return }
        if (rail_indent == "") rail_indent = indent
        if (indent != rail_indent) fail(where, "wrong indentation: the entry before begins in another column")
        if (++rail_count > 64) { if (rail_count == 65) fail(where, "more than 64 rails"); return }
        rail_line[rail_count] = where
        match(text, /^-( *)/)
        rail_column = indent + RLENGTH
        text = substr(text, RLENGTH + 1)
        open_list = ""
        if (text == "" || text ~ /^#/) { fail(where, "an entry is empty; '- pf: NAME'"); return }
        if (text ~ /^[{]/) { rail_in_braces(text, where); return }
        list_above = rail_column
        list_indent = ""
        split_key(text, rail_column, where, "rails.")
        return
    }
    if (indent == 0) {
        top = text
        sub(/:.*/, "", top)
        rail_column = map_indent = list_indent = open_list = open_map = ""
        list_above = 0
        if (top == "rails") {
            if (rails_line) fail(where, "rails stands on line " rails_line " too")
            rails_line = where
            if (text !~ /^rails: *(#.*)?$/) fail(where, "rails is a list: a line '- pf: NAME' for each")
            return
        }
        split_key(text, 0, where, "")
    } else if (top == "rails" && rail_column != "" && indent == rail_column) {
        list_above = rail_column
        list_indent = ""
        split_key(text, indent, where, "rails.")
    } else if (open_map != "" && (map_indent == "" || indent == map_indent)) {
        map_indent = indent
        entry(text, where)
    } else fail(where, "wrong indentation: this line belongs to no key above it")
}

function rail_in_braces(text, where, key) { # - {pf: eno5np0, subnet: 10.0.103.0/24}
    text = substr(text, 2)
    do {
        sub(/^ +/, "", text)
        if (!match(text, /^[a-z-]+: +/)) { fail(where, "'" text "' is not of the form 'KEY: VALUE'"); return }
        key = substr(text, 1, index(text, ":") - 1)
        text = substr(text, RLENGTH + 1)
        key_value = scalar(text, where, 1)
        if (rest !~ /^ *[,}]/) { fail(where, "the braces do not end, or a value needs quotes"); return }
        text = rest
        sub(/^ +/, "", text)
        take("rails." key, quoted || looks_typed(key_value) ? "\"" key_value "\"" : key_value, where)
    } while (sub(/^,/, "", text))
    if (text !~ /^[}] *( #.*)?$/) fail(where, "something follows the braces")
}

# ---- what it means ---------------------------------------------------------------------------------------

function number_of(address, part, i, n) { # of an IPv4 address; -1: none
    if (split(address, part, ".") != 4) return -1
    for (i = 1; i <= 4; i++) {
        if (part[i] !~ /^(0|[1-9][0-9]?[0-9]?)$/ || part[i] > 255) return -1
        n = n * 256 + part[i]
    }
    return n
}
function address_of(n) { return int(n / 16777216) % 256 "." int(n / 65536) % 256 "." int(n / 256) % 256 "." n % 256 }

# The names that a pattern stands for, one after another in OUT; how many.
function expand(text, out, where, depth, before, after, inner, low, high, count, i, n, one, more, j, width) {
    if (!match(text, /\[[0-9]+-[0-9]+\]|[{][A-Za-z0-9._,-]+[}]/)) {
        if (text !~ /^[A-Za-z0-9._-]+$/) fail(where, "'" text "' is no name or pattern: [5-8] are numbers, {a,b} are words")
        else if (length(text) > 15) fail(where, text " has more than the 15 characters that an interface's name can have")
        out[1] = text
        return 1
    }
    before = substr(text, 1, RSTART - 1)
    inner = substr(text, RSTART + 1, RLENGTH - 2)
    i = substr(text, RSTART, 1)
    after = substr(text, RSTART + RLENGTH)
    if (i == "[") {
        low = inner
        sub(/-.*/, "", low)
        high = inner
        sub(/.*-/, "", high)
        if (low + 0 > high + 0 || high - low > 63 || length(high) > 4) {
            fail(where, "[" inner "] is no range of at most 64 numbers")
            return 0
        }
        width = low ~ /^0./ ? length(low) : 1
        for (n = low + 0; n <= high + 0; n++) one[++count] = sprintf("%0" width "d", n)
    } else count = split(inner, one, ",")
    n = 0
    for (i = 1; i <= count; i++) {
        if (one[i] == "") fail(where, "{" inner "}: a word is empty")
        high = expand(before one[i] after, more, where)
        for (j = 1; j <= high && n < 64; j++) out[++n] = more[j]
    }
    return n
}

function subnets(r, count, where, text, part, base, size, i, low, high, a) { # of a rail's entry: COUNT of them, into first, bits, start, end
    text = value["rails.subnet", r]
    where = line_of["rails.subnet", r]
    split(text, part, "/")
    base = number_of(part[1])
    if (base < 0 || part[2] !~ /^[0-9][0-9]?$/ || part[2] < 8 || part[2] > 30) {
        fail(where, "'" text "' is no IPv4 subnet of 8 to 30 bits")
        return 0
    }
    size = 1 # not by ^, which busybox of Debian does not have
    for (i = part[2]; i < 32; i++) size *= 2
    if (base % size) { fail(where, "the subnet " text " begins at " address_of(base - base % size)); return 0 }
    if (base + count * size > 4294967296) { fail(where, count " subnets do not fit from " text " on"); return 0 }
    low = 1
    high = size - 2
    if (("rails.range", r) in value) {
        where = line_of["rails.range", r]
        split(value["rails.range", r], a, "-")
        low = number_of(a[1]) - base
        high = number_of(a[2]) - base
        if (number_of(a[1]) < 0 || number_of(a[2]) < 0 || low < 1 || high > size - 2 || low > high) {
            fail(where, value["rails.range", r] " is no range of addresses in " text)
            return 0
        }
    }
    fit = high - low + 1
    if (fewest == "" || fit < fewest) { fewest = fit; fewest_where = where }
    for (i = 0; i < count; i++) {
        cidr[i] = address_of(base + i * size) "/" part[2]
        begin[i] = base + i * size
        ending[i] = begin[i] + size - 1
        start[i] = ("rails.range", r) in value ? address_of(begin[i] + low) : ""
        end[i] = ("rails.range", r) in value ? address_of(begin[i] + high) : ""
    }
    return 1
}

function named(template, pf, k) {
    while ((k = index(template, "{pf}"))) template = substr(template, 1, k - 1) pf substr(template, k + 4)
    return template
}

function rails(r, i, j, n, k, pfs, names, width, one, nic, resource, network, text, where, seen, from, to, total) {
    for (r = 1; r <= rail_count; r++) {
        where = line_of["rails.pf", r]
        if (!(("rails.pf", r) in value) || value["rails.pf", r] == "") { fail(rail_line[r], "a rail without pf"); continue }
        n = split(value["rails.pf", r], pfs, "\n")
        width = 0
        for (i = 1; i <= n; i++) {
            if (pfs[i] ~ /^mlx[45]_/) fail(where, "pf is a NIC's network interface, such as eno5np0; " pfs[i] " is an RDMA device")
            k = expand(pfs[i], one, where)
            if (i > 1 && k != width) fail(where, pfs[1] " is " width " names, " pfs[i] " is " k)
            width = k
            for (j = 1; j <= k; j++) names[j, i] = one[j]
        }
        if (bad) return
        if (needs_subnet && !(("rails.subnet", r) in value)) { fail(rail_line[r], "a rail without subnet"); continue }
        if (!needs_subnet && ("rails.subnet", r) in value) { fail(line_of["rails.subnet", r], "networks: existing: their addresses are theirs"); continue }
        if (("rails.range", r) in value && !(("rails.subnet", r) in value)) { fail(line_of["rails.range", r], "a range without subnet"); continue }
        if (needs_subnet && !subnets(r, width * n)) continue
        for (j = 1; j <= width; j++)
            for (i = 1; i <= n; i++) {
                nic = names[j, i]
                if (nic in seen) { fail(where, nic " is on line " seen[nic] " too"); continue }
                seen[nic] = where
                k = (j - 1) * n + i - 1
                text = nic
                gsub(/[^A-Za-z0-9_]/, "_", text)
                resource = named(value["resource"], text)
                text = tolower(nic)
                gsub(/[^a-z0-9.-]/, "-", text)
                network = named(value["network"], text)
                if (network in of_network) fail(where, nic " and " of_network[network] " have one network, " network ": network: needs {pf}")
                of_network[network] = nic
                if (value["fabric"] ~ /^(openshift-sriov|sriov-device-plugin)$/) {
                    if (resource in of_resource) fail(where, nic " and " of_resource[resource] " have one resource, " resource ": resource: needs {pf}, else a pod can get two VFs of one NIC")
                    of_resource[resource] = nic
                    if (substr(resource, index(resource, "/") + 1) !~ /^[A-Za-z0-9_]+$/) fail(line_of["resource"], "the resource " resource ": behind the slash only letters, digits and _")
                    if (length(resource) - index(resource, "/") > 63) fail(where, "the resource " resource " has more than 63 characters")
                }
                if (needs_subnet)
                    for (from = 1; from <= total; from++)
                        if (begin[k] <= to_of[from] && ending[k] >= from_of[from]) {
                            fail(where, "the subnet " cidr[k] " of " nic " is also that of " nic_of[from] "; interfaces of one subnet answer for each other")
                            break
                        }
                total++
                from_of[total] = begin[k]
                to_of[total] = ending[k]
                nic_of[total] = nic
                if (value["fabric"] == "dra") resource = "-" # devices are claimed, not counted
                table = table total " " nic " " resource " " network " " (needs_subnet ? cidr[k] " " start[k] " " end[k] : "") "\n"
            }
    }
    nics = total
    if (total > 32) fail(rails_line, total " NICs; NCCL uses at most 32")
}

function only(key, fabrics) {
    if (index(" " fabrics " ", " " value["fabric"] " ")) return 1
    if (key in line_of) fail(line_of[key], key " is not for fabric: " value["fabric"])
    return 0
}
function needs(key) { if (value[key] == "" && !(key in line_of)) fail(shown, key " is missing: " about[key]) }

function meaning(i, part, n, seen, f) {
    n = split(demanded, part, "\"")
    for (i = 4; i <= n; i += 2) needs(part[i])
    if (bad) return
    f = value["fabric"]
    if (("user" in line_of) && (f == "none" && line_of["fabric"] != "--set" || value["memlock"] == "node"))
        fail(line_of["user"], "user is for memlock: caps; otherwise it is the image's, or the namespace's on OpenShift")
    if (f == "none" && line_of["fabric"] == "--set") { # without the rails, whatever the file says of them
        value["inject"] = value["inject"] == "env-file" ? "entrypoint" : value["inject"]
        return
    }
    if (f == "none") {
        if (rail_count) fail(rails_line, "rails are not for fabric: none")
        for (i = 1; i <= key_count; i++)
            if (keys[i] ~ /^(resource|network|networks|policies|vfs|shares|mtu|device|nodes|unavailable|memlock|require)$/) only(keys[i], "")
        if (value["inject"] == "env-file") fail(line_of["inject"], "inject: env-file is not for fabric: none")
        return
    }
    if (!rail_count) { fail(rails_line ? rails_line : shown, "rails is missing or empty: " about["rails"]); return }
    only("networks", "openshift-sriov sriov-device-plugin shared-device-plugin")
    if (value["networks"] == "operator") only("networks", "openshift-sriov")
    if (value["policies"] == "write" && only("vfs", "openshift-sriov")) needs("vfs")
    if (value["policies"] == "write" && only("shares", "shared-device-plugin")) needs("shares")
    only("nodes", "openshift-sriov")
    only("unavailable", "openshift-sriov")
    only("mtu", "openshift-sriov shared-device-plugin")
    only("resource", "openshift-sriov sriov-device-plugin shared-device-plugin")
    if (value["policies"] == "existing")
        for (i = 1; i <= key_count; i++)
            if (keys[i] ~ /^(vfs|shares|device|nodes|unavailable)$/ && keys[i] in line_of) fail(line_of[keys[i]], keys[i] " is not for policies: existing")
    needs_subnet = value["networks"] != "existing"
    if (value["resource"] == "") value["resource"] = f == "shared-device-plugin" ? "hca_shared_rails" : "{pf}rdma"
    if (value["resource"] !~ /\//)
        value["resource"] = (f == "openshift-sriov" ? "openshift.io/" : f == "sriov-device-plugin" ? "nvidia.com/" : "rdma/") value["resource"]
    if (f == "openshift-sriov" && value["policies"] == "write" && value["resource"] !~ /^openshift[.]io\//)
        fail(line_of["resource"], "the SR-IOV operator's resources begin with openshift.io/")
    if (f == "shared-device-plugin" && value["resource"] ~ /[{}]/) fail(line_of["resource"], "one resource stands for all NICs; no {pf}")
    if (value["network"] == "") value["network"] = "{pf}-network"
    if (value["network"] ~ /\// && needs_subnet) fail(line_of["network"], "a network of another namespace is not written here: networks: existing")
    rails()
    if (bad) return
    if (needs_subnet && value["pods"] + 0 > fewest) fail(fewest_where, "too few addresses: " fewest " for " value["pods"] " pods")
    if (value["require"] == "") value["require"] = "rails=" nics (value["gpus"] > 0 ? ",gdr" : "") ",memlock"
}

function shell(name, text) {
    gsub(/'/, "'\\''", text)
    gsub(/-/, "_", name)
    print name "='" text "'"
}
function json(text) {
    gsub(/\\/, "&&", text)
    gsub(/"/, "\\\"", text)
    return "\"" text "\""
}

END {
    # the command line wins over the file; its values are as they are, not YAML
    n = split(ENVIRON["SETTINGS"], one, "\n")
    for (i = 1; i <= n; i++) {
        if (one[i] == "") continue
        key = one[i]
        sub(/=.*/, "", key)
        text = substr(one[i], length(key) + 2)
        if (one[i] !~ /=/) fail("--set", "KEY=VALUE, not '" one[i] "'")
        else if (sub(/^env[.]/, "", key)) {
            if (key !~ /^[A-Za-z_][A-Za-z0-9_]*$/) fail("--set", "'" key "' is no variable's name")
            delete env_line[key]
            variable(key, text, "--set")
        } else if (!(key in type) || key ~ /^rails/ || type[key] ~ /object/ || key == "command") fail("--set", "'" key "' cannot be set; there are: " known("namespace"))
        else {
            gsub(/,/, "\n", text)
            if (type[key] !~ /array/) text = substr(one[i], length(key) + 2)
            m = split(text, word, "\n")
            if (text == "") fail("--set", key " has no value")
            for (j = 1; j <= m; j++) judge(key, word[j], "--set", type[key] ~ /integer|boolean/)
            value[key] = text
            line_of[key] = "--set"
        }
    }
    if (ENVIRON["COMMAND"] != "") {
        value["command"] = ENVIRON["COMMAND"]
        line_of["command"] = "--"
        if (value["command"] ~ /[^ -~\n]/) fail("--", "the command: only letters, digits and signs of ASCII")
    }
    if (!begun) fail(shown, "the file is empty")
    for (i = 1; i <= key_count; i++)
        if (type[keys[i]] ~ /array/ && keys[i] in line_of && value[keys[i]] == "") fail(line_of[keys[i]], keys[i] " is empty")
    n = split(value["hosts"], word, "\n")
    for (i = 1; i <= n; i++) {
        if (word[i] in host) fail(line_of["hosts"], "hosts: " word[i] " stands twice; each pod has a node of its own")
        host[word[i]] = 1
    }
    if (n && (!("pods" in line_of) || (line_of["hosts"] == "--set" && line_of["pods"] != "--set"))) value["pods"] = n
    if (n && value["pods"] + 0 > n) fail(line_of["pods"], value["pods"] " pods, but hosts names " n " nodes")
    if (!bad) meaning()
    close("cat >&2")
    if (bad) exit 1
    for (i = 1; i <= key_count; i++)
        if (keys[i] !~ /^(rails[.]|env$|rails$|command$)/) shell(keys[i], value[keys[i]])
    n = split(value["command"], word, "\n")
    text = ""
    for (i = 1; i <= n; i++) text = text (i > 1 ? ", " : "") json(word[i])
    shell("command", n ? "[" text "]" : "")
    text = ""
    for (i = 1; i <= env_count; i++) text = text (i > 1 ? "\n" : "") "- name: " env_name[i] "\n  value: " json(env[env_name[i]])
    shell("env", text)
    sub(/\n$/, "", table)
    shell("rails", table)
    shell("nics", nics)
    shell("fit", needs_subnet ? fewest : "")
}
