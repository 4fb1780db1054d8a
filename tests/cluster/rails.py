#!/usr/bin/python3
"""Values of the chart k8s/charts/rails to try, as JSON files, which Helm reads as YAML.

usage: rails.py pairs FOLDER   two to five values of each key, also none; FOLDER/pair-N.json have each pair of values of
                               two keys that goes together. Says how many pairs and files, and which do not go together
       rails.py wrong FOLDER   FOLDER/wrong-N.json, each with one mistake, and FOLDER/wrong-N.key: what the answer
                               begins with
       rails.py judge FOLDER   what FOLDER/pair-N.yaml, rendered, has not as FOLDER/pair-N.json says: objects of each
                               kind, their PFs, resources, addresses, routes, VLAN, MTU; says how many objects it saw
       rails.py keys           what is in the schema without a description, or in values.yaml and the schema not alike
"""

# SPDX-License-Identifier: Apache-2.0
import itertools
import json
import os
import random
import sys

import yaml

CHART = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../k8s/charts/rails")
NONE = None  # the key is not there

# ---- keys, values ----------------------------------------------------------------------------------------------------

KEYS = {
    "fabric": [NONE, "sriov-operator", "device-plugin", "shared-device-plugin", "dra"],
    "policies": [NONE, "write", "existing"],
    "networks": [NONE, "nad", "sriovnetwork", "existing"],
    "namespaces": [NONE, [], ["ml"], ["ml", "team-b"]],
    "ipam": [NONE, "whereabouts", "static", "none"],
    "vfs": [NONE, 1, 127],
    "mtu": [NONE, 0, 9000, 9978],
    "vlan": [NONE, 0, 1, 4094],
    "device": [NONE, "15b3", "15b3:1021"],
    "metaPlugins": [NONE, [], [{"type": "rdma"}], [{"type": "sbr"}, {"type": "tuning", "mtu": 9000}]],
    "nodeSelector": [NONE, {}, {"gpu": "h100"}, {"gpu": "h100", "example.com/rdma": ""}],
    "pools": [NONE, {}, {"a": {"nodeSelector": {"gpu": "a"}}},
              {"a": {"nodeSelector": {"gpu": "a"}, "device": "15b3"},
               "b": {"nodeSelector": {"gpu": "b", "zone": "1"}, "device": "15b3:1023"}}],
    "maxUnavailable": [NONE, 0, 1, 1000],
    "resourcePrefix": [NONE, "", "nvidia.com"],
    "operatorNamespace": [NONE, "sriov-network-operator"],
    "devicePlugin.namespace": [NONE, "nvidia-network-operator"],
    "devicePlugin.configMap": [NONE, "", "plugin.config"],
    "shared.resource": [NONE, "hca_all", "example.com/hca"],
    "shared.containers": [NONE, 1, 1000],
    "dra.namespace": [NONE, "dra"],
    "dra.claimTemplate": [NONE, "", "all-rails"],
    "scc.create": [NONE, False, True],
    "scc.name": [NONE, "rdma"],
    "scc.accounts": [NONE, [], ["trainer"], ["trainer", "team-b/default"]],
    "global": [NONE, {}],
    "rails": [1, 2, 3],  # how many; all have the keys below
    "rails.pf": ["one", "some VFs", "list", "map", "map of lists"],
    "rails.name": [NONE, "name"],
    "rails.subnet": [NONE, 24, 30],
    "rails.subnet6": [NONE, 64, 126],
    "rails.range": [NONE, "range"],
    "rails.range6": [NONE, "range"],
    "rails.gateway": [NONE, "gateway"],
    "rails.gateway6": [NONE, "gateway"],
    "rails.routes": [NONE, [], "IPv4", "IPv6", "both"],
    "rails.resource": [NONE, "bare", "with prefix"],
    "rails.network": [NONE, "bare", "with namespace"],
    "rails.vfs": [NONE, 1, 127],
    "rails.vlan": [NONE, 0, 4094],
    "rails.mtu": [NONE, 0, 9978],
}

OPERATOR, PLUGIN, SHARED, DRA = "sriov-operator", "device-plugin", "shared-device-plugin", "dra"


def fabric(c):
    return c["fabric"] or OPERATOR


def wherever(c):
    return c["ipam"] in (NONE, "whereabouts")


def written(c):
    return c["networks"] != "existing"


def sbr(c):
    return bool(c["metaPlugins"]) and c["metaPlugins"][0]["type"] == "sbr"


def six(c):  # families of the routes
    return {"IPv4": "4", "IPv6": "6", "both": "46"}.get(c["rails.routes"] or "", "")


# What does not go together: how the answer's line begins, and when.
RULES = [
    ("networks: ", lambda c: c["networks"] == "sriovnetwork" and fabric(c) != OPERATOR),
    ("namespaces: ", lambda c: c["networks"] == "sriovnetwork" and len(c["namespaces"] or []) > 1),
    ("mtu: ", lambda c: c["mtu"] and fabric(c) in (PLUGIN, DRA)),
    ("vlan: ", lambda c: c["vlan"] and fabric(c) == SHARED),
    ("maxUnavailable: ", lambda c: c["maxUnavailable"] and fabric(c) != OPERATOR),
    ("ipam: ", lambda c: c["ipam"] == "static" and fabric(c) == DRA),
    ("pools: ", lambda c: c["pools"] and fabric(c) == SHARED),
    ("nodeSelector: ", lambda c: c["pools"] and c["nodeSelector"]),
    ("nodeSelector: ", lambda c: c["nodeSelector"] and fabric(c) in (PLUGIN, SHARED)),
    ("metaPlugins: ", lambda c: c["metaPlugins"] and fabric(c) == DRA),
    ("resourcePrefix: ", lambda c: c["resourcePrefix"] and fabric(c) == DRA),
    ("rails[0].pf: a is none of the pools", lambda c: c["rails.pf"].startswith("map") and not c["pools"]),
    ("rails[0].pf: p0#0-1: with fabric", lambda c: c["rails.pf"] == "some VFs" and fabric(c) in (SHARED, DRA)),
    ("rails[0].pf: a macvlan network", lambda c: c["rails.pf"] not in ("one", "some VFs") and fabric(c) == SHARED),
    ("rails[0].name: ", lambda c: c["rails.pf"] not in ("one", "some VFs") and not c["rails.name"]),
    ("rails[0].resource: with fabric: dra", lambda c: c["rails.resource"] and fabric(c) == DRA),
    ("rails[0].resource: shared-device-plugin", lambda c: c["rails.resource"] and fabric(c) == SHARED),
    ("rails[0].resource: policies: existing",
     lambda c: c["policies"] == "existing" and not c["rails.resource"] and fabric(c) in (OPERATOR, PLUGIN)),
    ("rails[0].resource: the SR-IOV operator's", lambda c: c["rails.resource"] == "with prefix"
     and fabric(c) == OPERATOR
     and c["policies"] != "existing" and c["resourcePrefix"] == "nvidia.com"),
    ("rails[0].vfs: ", lambda c: c["rails.vfs"] and (fabric(c) != OPERATOR or c["policies"] == "existing")),
    ("rails[0].mtu: ", lambda c: c["rails.mtu"] and fabric(c) in (PLUGIN, DRA)),
    ("rails[0].vlan: ", lambda c: c["rails.vlan"] and (fabric(c) == SHARED or not written(c))),
    ("rails[0].network: networks: existing", lambda c: not written(c) and not c["rails.network"]),
    ("rails[0].network: elsewhere/",
     lambda c: c["rails.network"] == "with namespace" and (written(c) or fabric(c) == DRA)),
    *((f"rails[0].{key}: with networks: existing", lambda c, key=key: not written(c) and c["rails." + key])
      for key in ("subnet", "subnet6", "range", "range6", "gateway", "gateway6", "routes")),
    *((f"rails[0].{key}: with ipam: ", lambda c, key=key: not wherever(c) and written(c) and c["rails." + key])
      for key in ("subnet", "subnet6")),
    ("rails[0].subnet: whereabouts needs one",
     lambda c: wherever(c) and written(c) and not c["rails.subnet"] and not c["rails.subnet6"]),
    ("rails[0].range: ", lambda c: c["rails.range"] and not c["rails.subnet"] and written(c)),
    ("rails[0].range6: ", lambda c: c["rails.range6"] and not c["rails.subnet6"] and written(c)),
    ("rails[0].gateway: ", lambda c: c["rails.gateway"] and written(c) and (
        c["ipam"] == "none" or wherever(c) and not c["rails.subnet"] or not c["rails.routes"] and not sbr(c))),
    ("rails[0].gateway6: ", lambda c: c["rails.gateway6"] and written(c) and (
        c["ipam"] == "none" or wherever(c) and not c["rails.subnet6"] or not c["rails.routes"] and not sbr(c))),
    ("rails[0].routes: 10", lambda c: "4" in six(c) and not c["rails.gateway"] and written(c)),
    ("rails[0].routes: fd", lambda c: "6" in six(c) and not c["rails.gateway6"] and written(c)),
]


FIRST = ("fabric", "policies", "networks", "ipam", "pools")  # on which most rules depend


class Partial(dict):
    """A key that has no value yet."""

    def __missing__(self, key):
        raise LookupError(key)


def broken(combination):
    """The rules that it breaks, as far as it has values for them."""
    for key, rule in RULES:
        try:
            if rule(combination):
                yield key
        except LookupError:
            pass


# ---- values files ----------------------------------------------------------------------------------------------------


def rail(c, n):
    one = {"pf": {"one": f"p{n}", "some VFs": f"p{n}#0-1", "list": [f"p{n}", f"q{n}"], "map": {"a": f"p{n}"},
                  "map of lists": {"a": [f"p{n}", f"q{n}"]}}[c["rails.pf"]]}
    if c["pools"] and len(c["pools"]) > 1 and c["rails.pf"].startswith("map"):
        one["pf"]["b"] = f"r{n}"
    v4, v6 = f"10.{n}.0.", f"fd00:{n}::"
    texts = {"name": f"rail-{n}", "range": f"{v4}2-{v4}3", "range6": f"{v6}2-{v6}3", "gateway": f"{v4}1",
             "gateway6": f"{v6}1",
             "resource": {"bare": f"rail_{n}", "with prefix": f"openshift.io/rail_{n}"}.get(c["rails.resource"]),
             "network": {"bare": f"rail-{n}", "with namespace": f"elsewhere/rail-{n}"}.get(c["rails.network"])}
    for key, text in texts.items():
        if c["rails." + key]:
            one[key] = text
    for key, text in (("subnet", v4 + "0"), ("subnet6", v6)):
        if c["rails." + key]:
            one[key] = f"{text}/{c['rails.' + key]}"
    if c["rails.routes"] is not NONE:
        one["routes"] = [f"10.{n + 100}.0.0/16"] * ("4" in six(c)) + [f"fd01:{n}::/32"] * ("6" in six(c))
    for key in ("vfs", "vlan", "mtu"):
        if c["rails." + key] is not NONE:
            one[key] = c["rails." + key]
    return one


def values(c):
    out = {"rails": [rail(c, n) for n in range(c["rails"])]}
    for key, value in c.items():
        above, _, below = key.partition(".")
        if value is not NONE and below and above != "rails":
            out.setdefault(above, {})[below] = value
        elif value is not NONE and above != "rails":
            out[above] = value
    return out


def pairs_of(c):
    items = [(key, index(key, c[key])) for key in KEYS if key in c]
    return set(itertools.combinations(items, 2))


def index(key, value):  # lists have no hash; and 0, False and None are not one value
    return next(n for n, one in enumerate(KEYS[key]) if one is value or type(one) is type(value) and one == value)


def complete(fixed, wanted, dice):
    """All keys, with this pair, and as many wanted pairs as a quick search finds; None: not this time."""
    c = Partial(fixed)
    if any(broken(c)):
        return None
    rest = [key for key in KEYS if key not in c]
    dice.shuffle(rest)
    rest.sort(key=lambda key: key not in FIRST)
    have = [(key, index(key, value)) for key, value in c.items()]
    order = {key: n for n, key in enumerate(KEYS)}
    for key in rest:
        found = []
        for n, value in enumerate(KEYS[key]):
            c[key] = value
            if not any(broken(c)):
                new = sum((((key, n), other) if order[key] < order[other[0]] else (other, (key, n))) in wanted
                          for other in have)
                found.append((new, dice.random(), n))
        if not found:
            return None
        n = dice.choice(found)[2] if key in FIRST else max(found)[2]
        c[key] = KEYS[key][n]
        have.append((key, n))
    return c


def pairs(folder):
    dice = random.Random(30)
    wanted = set()
    for (one, few), (two, more) in itertools.combinations(KEYS.items(), 2):
        wanted |= {((one, i), (two, j)) for i in range(len(few)) for j in range(len(more))}
    total, files, apart = len(wanted), 0, []
    while wanted:
        pair = min(wanted)
        fixed = {key: KEYS[key][n] for key, n in pair}
        c = next(filter(None, (complete(fixed, wanted, dice) for _ in range(100))), None)
        if c is None:
            apart.append(pair)
            wanted.discard(pair)
            continue
        wanted -= pairs_of(c)
        with open(f"{folder}/pair-{files}.json", "w", encoding="utf-8") as file:
            json.dump(values(c), file)
        files += 1
    print(f"{total} pairs, {total - len(apart)} of them in {files} files")
    for (one, i), (two, j) in apart:
        print(f"apart: {one}: {json.dumps(KEYS[one][i])}, {two}: {json.dumps(KEYS[two][j])}")


# ---- mistakes --------------------------------------------------------------------------------------------------------

RAIL = {"pf": "p0", "subnet": "10.0.0.0/24"}
GOOD = {"rails": [RAIL, {"pf": "p1", "subnet": "10.0.1.0/24"}]}


def first(**more):
    return {"rails": [{**RAIL, **more}, GOOD["rails"][1]]}


def six_only(subnet, **more):
    return {"rails": [{"pf": "p0", "subnet6": subnet, **more}]}


# What the answer begins with, and the values. Helm writes a key of the schema as a path.
WRONG = [
    ("- at '': additional properties 'fabrik'", {**GOOD, "fabrik": "dra"}),
    ("- at '/fabric': ", {**GOOD, "fabric": "openshift"}),
    ("- at '/policies': ", {**GOOD, "policies": "none"}),
    ("- at '/networks': ", {**GOOD, "networks": "pods"}),
    ("- at '/ipam': ", {**GOOD, "ipam": "dhcp"}),
    ("- at '/namespaces/0': ", {**GOOD, "namespaces": ["ML"]}),
    ("- at '/namespaces': ", {**GOOD, "namespaces": ["ml", "ml"]}),
    ("- at '/namespaces': ", {**GOOD, "namespaces": "ml"}),
    ("- at '/vfs': ", {**GOOD, "vfs": 0}),
    ("- at '/vfs': ", {**GOOD, "vfs": 128}),
    ("- at '/vfs': ", {**GOOD, "vfs": "4"}),
    ("- at '/mtu': ", {**GOOD, "mtu": 9979}),
    ("- at '/mtu': ", {**GOOD, "mtu": -1}),
    ("- at '/vlan': ", {**GOOD, "vlan": 4095}),
    ("- at '/device': ", {**GOOD, "device": "15B3"}),
    ("- at '/device': ", {**GOOD, "device": 1077}),
    ("- at '/metaPlugins/0': missing property 'type'", {**GOOD, "metaPlugins": [{"name": "rdma"}]}),
    ("- at '/nodeSelector/gpu': ", {**GOOD, "nodeSelector": {"gpu": True}}),
    ("- at '/pools/a': missing property 'nodeSelector'", {**GOOD, "pools": {"a": {}}}),
    ("- at '/pools/a/nodeSelector': ", {**GOOD, "pools": {"a": {"nodeSelector": {}}}}),
    ("- at '/pools/a': additional properties 'vfs'", {**GOOD, "pools": {"a": {"nodeSelector": {"x": "y"}, "vfs": 4}}}),
    ("- at '/pools'", {**GOOD, "pools": {"A_1": {"nodeSelector": {"x": "y"}}}}),
    ("- at '/maxUnavailable': ", {**GOOD, "maxUnavailable": 1001}),
    ("- at '/resourcePrefix': ", {**GOOD, "resourcePrefix": "nvidia.com/"}),
    ("- at '/operatorNamespace': ", {**GOOD, "operatorNamespace": ""}),
    ("- at '/devicePlugin': additional properties 'name'", {**GOOD, "devicePlugin": {"name": "x"}}),
    ("- at '/shared/containers': ", {**GOOD, "shared": {"containers": 0}}),
    ("- at '/dra/claimTemplate': ", {**GOOD, "dra": {"claimTemplate": "Rails"}}),
    ("- at '/scc/create': ", {**GOOD, "scc": {"create": "yes"}}),
    ("- at '/scc/accounts/0': ", {**GOOD, "scc": {"accounts": ["a/b/c"]}}),
    ("- at '/rails': ", {"rails": {"pf": "p0"}}),
    ("- at '/rails': ", {"rails": [{"pf": f"p{n}", "subnet": f"10.0.{n}.0/24"} for n in range(33)]}),
    ("- at '/rails/0': missing property 'pf'", {"rails": [{"subnet": "10.0.0.0/24"}]}),
    ("- at '/rails/0': additional properties 'linkType'", first(linkType="eth")),
    ("- at '/rails/0/pf': ", first(pf="")),
    ("- at '/rails/0/pf': ", first(pf="enp1234567890123")),
    ("- at '/rails/0/pf': ", first(pf=[])),
    ("- at '/rails/0/pf/1': ", first(pf=["p0", "p 1"])),
    ("- at '/rails/0/resource': ", first(resource="a b")),
    ("- at '/rails/0/network': ", first(network="A")),
    ("- at '/rails/0/vlan': ", first(vlan="105")),
    ("dra.claimTemplate: rails-p1 is that of rails[1] alone",
     {**GOOD, "fabric": "dra", "dra": {"claimTemplate": "rails-p1"}}),
    ("rails[0].pf: mlx5_0 is an RDMA device", first(pf="mlx5_0")),
    ("rails[1].pf: p1 is rails[0].pf, too", first(pf="p1#0-1", name="other")),
    ("rails[1].pf: p1 is rails[0].pf, too, perhaps in another pool", {
        "fabric": "dra", "pools": {"a": {"nodeSelector": {"x": "a"}}, "b": {"nodeSelector": {"x": "b"}}},
        "rails": [{"name": "one", "pf": {"a": "p0", "b": "p1"}, "subnet": "10.0.0.0/24"},
                  {"name": "two", "pf": {"a": "p1", "b": "p2"}, "subnet": "10.0.1.0/24"}]}),
    ("rails[0].pf: c is none of the pools: a",
     {**first(pf={"c": "p0"}, name="x"), "pools": {"a": {"nodeSelector": {"x": "y"}}}}),
    ("rails[1].name: rails[0] is called p1, too", first(name="p1")),
    ("rails[0].name: that of the PF", first(pf="_")),
    ("rails[1].resource: openshift.io/p1rdma is that of rails[0], too", first(resource="p1rdma")),
    ("rails[0].resource: openshift.io/a-b: behind the slash", first(resource="a-b")),
    ("rails[1].network: p1-network is that of rails[0], too", first(network="p1-network")),
    ("rails[0].subnet: 10.0.0.0 is no IPv4 subnet", first(subnet="10.0.0.0")),
    ("rails[0].subnet: 10.0.0.1/24 is no subnet", first(subnet="10.0.0.1/24")),
    ("rails[0].subnet: 10.0.0.256/24 is no IPv4 subnet", first(subnet="10.0.0.256/24")),
    ("rails[0].subnet: 10.0.0.0./24 is no IPv4 subnet", first(subnet="10.0.0.0./24")),
    ("rails[0].subnet: 10.0.0.0/33 has more than 32 bits", first(subnet="10.0.0.0/33")),
    ("rails[0].subnet: 10.0.0.0/31: a rail has 8 to 30 bits", first(subnet="10.0.0.0/31")),
    ("rails[0].subnet: fd00::/64 is no IPv4 subnet", first(subnet="fd00::/64")),
    ("rails[1].subnet: 10.0.1.0/24 overlaps 10.0.0.0/16 of rails[0]", first(subnet="10.0.0.0/16")),
    ("rails[0].subnet6: 10.0.0.0/24 is no IPv6 subnet", six_only("10.0.0.0/24")),
    ("rails[0].subnet6: fd00::1::/64 is no IPv6 subnet", six_only("fd00::1::/64")),
    ("rails[0].subnet6: fd00:1:2:3:4:5:6:7:8/64 is no IPv6 subnet", six_only("fd00:1:2:3:4:5:6:7:8/64")),
    ("rails[0].subnet6: fd00:::/64 is no IPv6 subnet", six_only("fd00:::/64")),
    ("rails[0].subnet6: fd00::10/64 is no subnet", six_only("fd00::10/64")),
    ("rails[0].subnet6: fd00::/127: a rail has 8 to 126 bits", six_only("fd00::/127")),
    ("rails[0].range: 10.0.0.5 is not FIRST-LAST", first(range="10.0.0.5")),
    ("rails[0].range: 10.0.0.9-10.0.0.5 is not FIRST-LAST", first(range="10.0.0.9-10.0.0.5")),
    ("rails[0].range: 10.0.0.9-10.0.1.5 is not FIRST-LAST", first(range="10.0.0.9-10.0.1.5")),
    ("rails[0].range: 10.0.0.0-10.0.0.5 is not FIRST-LAST", first(range="10.0.0.0-10.0.0.5")),
    ("rails[0].range6: fd00::5-fd00:0:0:1::6 is not FIRST-LAST", six_only("fd00::/64", range6="fd00::5-fd00:0:0:1::6")),
    ("rails[0].gateway: 10.0.1.1 is not in 10.0.0.0/24", first(gateway="10.0.1.1", routes=["10.8.0.0/16"])),
    ("rails[0].gateway: here is no IPv4 address", first(gateway="here", routes=["10.8.0.0/16"])),
    ("rails[0].gateway: no packet goes there", first(gateway="10.0.0.1")),
    ("rails[0].routes: 10.8.0.1/16 is no subnet", first(gateway="10.0.0.1", routes=["10.8.0.1/16"])),
    ("rails[1].routes: 10.8.0.0/16 is a route of rails[0], too", {"rails": [
        {**RAIL, "gateway": "10.0.0.1", "routes": ["10.8.0.0/16"]},
        {"pf": "p1", "subnet": "10.0.1.0/24", "gateway": "10.0.1.1", "routes": ["10.8.0.0/16"]}]}),
]

# A combination that breaks no rule; a change that breaks each.
BASE = {**dict.fromkeys(KEYS), "rails": 1, "rails.pf": "one", "rails.subnet": 24}


def twins():
    """For each rule a combination that breaks it alone, or it and as few others as can be."""
    for key, rule in RULES:
        best = None
        for n in (1, 2, 3):
            for names in itertools.combinations(KEYS, n):
                for some in itertools.product(*(KEYS[name] for name in names)):
                    c = {**BASE, **dict(zip(names, some))}
                    if rule(c):
                        count = len(list(broken(c)))
                        if best is None or count < best[0]:
                            best = count, c
                        if count == 1:
                            break
                if best and best[0] == 1:
                    break
            if best:
                break
        yield key, values(best[1])


def wrong(folder):
    found = [*WRONG, *twins()]
    for n, (key, some) in enumerate([("", GOOD), *found]):
        with open(f"{folder}/wrong-{n}.json", "w", encoding="utf-8") as file:
            json.dump(some, file)
        with open(f"{folder}/wrong-{n}.key", "w", encoding="utf-8") as file:
            file.write(key + "\n")
    print(len(found))


# ---- what was rendered -----------------------------------------------------------------------------------------------

PLUGINS = {"shared-device-plugin": "macvlan"}


def expected(some):
    """How many objects of each kind."""
    made, nets = some.get("fabric", OPERATOR), some.get("networks", "nad")
    spaces, pools = len(some.get("namespaces") or [1]), some.get("pools") or {"": {}}
    write = some.get("policies", "write") == "write"
    in_pools = [(r, p) for r in some["rails"] for p in pools if not isinstance(r["pf"], dict) or p in r["pf"]]
    scc = some.get("scc", {})
    accounts = {a.rpartition("/")[0] for a in scc.get("accounts", [])}
    counts = {
        "NetworkAttachmentDefinition": len(some["rails"]) * spaces * (nets == "nad"),
        "SriovNetwork": len(some["rails"]) * (nets == "sriovnetwork"),
        "SriovNetworkNodePolicy": len(in_pools) * (write and made == OPERATOR),
        "SriovNetworkPoolConfig": len(pools) * (write and made == OPERATOR and bool(some.get("maxUnavailable"))),
        "SriovResourcePolicy": len({p for _, p in in_pools}) * (write and made == DRA),
        "ConfigMap": int(write and made in (PLUGIN, SHARED)),
        "DeviceClass": len(some["rails"]) * (made == DRA),
        "ResourceClaimTemplate": spaces * (made == DRA) * (len(some["rails"])
                                                           + bool(some.get("dra", {}).get("claimTemplate"))),
        "SecurityContextConstraints": int(bool(scc.get("create"))),
        "ClusterRole": int(bool(scc.get("create") or accounts)),
        "RoleBinding": len(accounts),
    }
    return {kind: count for kind, count in counts.items() if count}


def network_of(obj):
    """The plugin, its IPAM, those behind it; the VLAN."""
    spec = obj["spec"]
    if obj["kind"] == "SriovNetwork":
        behind = json.loads(f"[{spec.get('metaPlugins', '')}]")
        return "sriov", json.loads(spec.get("ipam", "{}")), behind, spec.get("vlan", 0), spec.get("capabilities")
    config = json.loads(spec["config"])
    if config["name"] != obj["metadata"]["name"]:
        yield f"{obj['metadata']['name']}: its configuration is called {config['name']}"
    plugin, *behind = config.get("plugins", [config])
    return plugin["type"], plugin.get("ipam", {}), behind, plugin.get("vlan", 0), plugin.get("capabilities")


def judge_network(some, rail_, obj):
    plugin, ipam, behind, vlan, able = yield from network_of(obj)
    kind = some.get("ipam", "whereabouts")
    ranges = ipam.get("ipRanges") or ([ipam] if "range" in ipam else [])
    shown = {
        "plugin": (PLUGINS.get(some.get("fabric"), "sriov"), plugin),
        "ipam": (None if kind == "none" else kind, ipam.get("type")),
        "subnets": ([rail_[k] for k in ("subnet", "subnet6") if k in rail_], [r["range"] for r in ranges]),
        "ranges": ([rail_[k] for k in ("range", "range6") if k in rail_],
                   [f"{r['range_start']}-{r['range_end']}" for r in ranges if "range_start" in r]),
        "routes": ([(r, rail_["gateway6" if ":" in r else "gateway"]) for r in rail_.get("routes", [])],
                   [(r["dst"], r["gw"]) for r in ipam.get("routes", [])]),
        "plugins behind": (some.get("metaPlugins", []), behind),
        "vlan": (rail_.get("vlan", some.get("vlan", 0)), vlan),
        "addresses of the pod's own": (kind == "static", able in ({"ips": True}, '{"ips": true}')),
        # a gateway in a range is left out of it
        "excluded": ([rail_[k] for k in ("gateway", "gateway6") if k in rail_
                      and k.replace("gateway", "range") not in rail_
                      and k.replace("gateway", "subnet") in rail_],
                      [e.split("/")[0] for r in ranges for e in r.get("exclude", [])]),
    }
    for what, (wanted, got) in shown.items():
        if wanted != got:
            yield f"{obj['metadata']['name']}: {what}: {got} instead of {wanted}"


def judge_one(some, objs):
    counts = {}
    for obj in objs:
        counts[obj["kind"]] = counts.get(obj["kind"], 0) + 1
    if counts != expected(some):
        yield f"{counts} instead of {expected(some)}"
    names = [json.dumps([obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"]]) for obj in objs]
    if len(names) != len(set(names)):
        yield f"two objects have one name: {names}"
    for at, rail_ in enumerate(some["rails"]):
        name = rail_.get("name") or "".join(c if c.isalnum() else "-" for c in rail_["pf"])
        for obj in objs:
            if obj["kind"] in ("NetworkAttachmentDefinition", "SriovNetwork") and \
                    obj["metadata"]["name"] == rail_.get("network", f"{name}-network"):
                yield from judge_network(some, rail_, obj)
            if obj["kind"] == "SriovNetworkNodePolicy" and obj["metadata"]["name"].startswith(name + "-"):
                spec = obj["spec"]
                selectors = [pool["nodeSelector"] for pool in (some.get("pools") or {}).values()] or [
                    some.get("nodeSelector") or {"feature.node.kubernetes.io/network-sriov.capable": "true"}]
                pfs = rail_["pf"].values() if isinstance(rail_["pf"], dict) else [rail_["pf"]]
                wanted = (rail_.get("vfs", some.get("vfs", 4)), rail_.get("mtu", some.get("mtu", 0)), True, False, True,
                          True)
                got = (spec["numVfs"], spec.get("mtu", 0), spec["isRdma"], "linkType" in spec,
                       spec["nodeSelector"] in selectors,
                       spec["nicSelector"]["pfNames"] in [[pf] if isinstance(pf, str) else pf for pf in pfs])
                if wanted != got:
                    yield f"{obj['metadata']['name']}: VFs, MTU, RDMA, link type, nodes, PFs: {got} instead of {wanted}"
            if obj["kind"] == "ResourceClaimTemplate" and obj["metadata"]["name"] in (f"rails-{name}", "all-rails"):
                one = obj["spec"]["spec"]["devices"]["requests"][at if obj["metadata"]["name"] == "all-rails" else 0]
                if one != {"name": name, "exactly": {"deviceClassName": f"rails-{name}"}}:
                    yield f"{obj['metadata']['name']}: {one} instead of the request of {name}"
            if obj["kind"] == "DeviceClass" and obj["metadata"]["name"] == f"rails-{name}":
                config = obj["spec"]["config"][0]["opaque"]["parameters"]
                wanted = (f"net{at + 1}", rail_.get("network", f"{name}-network"))
                got = (config["ifName"], config["netAttachDefName"])
                if wanted != got:
                    yield f"{obj['metadata']['name']}: interface, network: {got} instead of {wanted}"
    for obj in objs:
        if obj["kind"] == "ConfigMap":
            config = json.loads(obj["data"]["config.json"])
            if "resourceList" in config and len(config["resourceList"]) != len(some["rails"]) or \
                    "configList" in config and len(config["configList"][0]["selectors"]["ifNames"]) != len(some["rails"]):
                yield f"the plugin's configuration has not each rail: {config}"


def judge(folder):
    looked = 0
    for name in sorted(os.listdir(folder)):
        if name.startswith("pair-") and name.endswith(".yaml"):
            with open(f"{folder}/{name}", encoding="utf-8") as file:
                objs = [obj for obj in yaml.safe_load_all(file) if obj]
            with open(f"{folder}/{name[:-5]}.json", encoding="utf-8") as file:
                some = json.load(file)
            looked += len(objs)
            for why in judge_one(some, objs):
                print(f"{name}: {why}")
    print(f"{looked} objects")


# ---- schema ----------------------------------------------------------------------------------------------------------


def described(schema, path=""):
    for name, one in schema.get("properties", {}).items():
        here = f"{path}.{name}".lstrip(".")
        if not one.get("description"):
            print(f"{here}: no description")
        yield here
        yield from described(one, here)
    if schema.get("type") == "object" and "properties" in schema and schema.get("additionalProperties") is not False \
            and not path.startswith("metaPlugins"):
        print(f"{path or 'values'}: other keys are let in")


def keys():
    with open(CHART + "/values.schema.json", encoding="utf-8") as file:
        schema = json.load(file)
    with open(CHART + "/values.yaml", encoding="utf-8") as file:
        text = file.read()
    known = set(described(schema))
    for name in described(schema["definitions"]["rail"], "rails"):
        if name != "rails" and f"#   {name.split('.')[1]}" not in text and f" {name.split('.')[1]}" not in text:
            print(f"{name}: values.yaml does not name it")
        if name not in KEYS:
            print(f"{name}: is not tried")

    def walk(value, path=""):
        for name, one in value.items():
            here = f"{path}.{name}".lstrip(".")
            yield here
            if isinstance(one, dict):
                yield from walk(one, here)

    given = set(walk(yaml.safe_load(text)))
    for name in sorted(given ^ (known - {"global"})):
        print(f"{name}: is in values.yaml or in the schema alone")
    for name in known - set(KEYS) - {"devicePlugin", "shared", "dra", "scc"}:
        print(f"{name}: is not tried")
    for line, before in zip(text.split("\n")[1:], text.split("\n")):
        if line[:1].isalpha() and not before.startswith("#"):
            print(f"{line.split(':')[0]}: values.yaml has no comment on it")


if __name__ == "__main__":
    verbs = {"pairs": pairs, "wrong": wrong, "judge": judge, "keys": keys}
    if len(sys.argv) < 2 or sys.argv[1] not in verbs:
        sys.exit(__doc__)
    verbs[sys.argv[1]](*sys.argv[2:])
