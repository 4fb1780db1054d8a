#!/usr/bin/env python3
"""Make labrxe of Debian's rxe: a SoftRoCE provider whose sysfs has the shape of a mlx5 VF's.

usage: labrxe.py DIR    edits the driver's sources in DIR, made for Linux 6.1

Everything is off until a module parameter asks for it, but that it works in network namespaces:
  lab_pci_parent=1    the device hangs below the PCI function of its netdev
  lab_roce_v1=1       a RoCE v1 entry before each RoCE v2 entry of the GID table, as real NICs have it
  lab_gid_tbl_len=N   length of the GID table
  lab_stays=1         the device stays when its netdev goes to another network namespace, as a mlx5 device does
  lab_port_data=1     counters/port_xmit_data and port_rcv_data count the bytes of RDMA, in units of 4, as mlx5's do

ib_core, ib_uverbs and the accounting of locked memory stay Debian's. An edit that does not find its place stops:
then the kernel has changed, and somebody has to look.
"""

# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys

directory = pathlib.Path(sys.argv[1])


def edit(name, *changes):
    path = directory / name
    text = path.read_text()
    for old, new in changes:
        if text.count(old) != 1:
            sys.exit(f"labrxe: {name}: not once but {text.count(old)} times: {old!r}")
        text = text.replace(old, new)
    path.write_text(text)


def replace_rest(name, start, new):
    path = directory / name
    text = path.read_text()
    if text.count(start) != 1:
        sys.exit(f"labrxe: {name}: not once but {text.count(start)} times: {start!r}")
    path.write_text(text[: text.index(start)] + new)


PARAMETERS = """\
static bool lab_pci_parent;
module_param(lab_pci_parent, bool, 0644);
MODULE_PARM_DESC(lab_pci_parent, "hang the device below its netdev's PCI function");
static bool lab_roce_v1;
module_param(lab_roce_v1, bool, 0644);
MODULE_PARM_DESC(lab_roce_v1, "list RoCE v1 GIDs besides RoCE v2");
static int lab_gid_tbl_len;
module_param(lab_gid_tbl_len, int, 0644);
MODULE_PARM_DESC(lab_gid_tbl_len, "length of the GID table");

"""

# The kernel tells a driver that a netdev is gone both when it goes for good and when it only changes its network namespace
# (__dev_change_net_namespace in net/core/dev.c). Only in the first case is it being unregistered.
MOVED = """\
	case NETDEV_UNREGISTER:
		if (lab_stays && ndev->reg_state != NETREG_UNREGISTERING)
			break;
"""

STAYS = """\
static bool lab_stays;
module_param(lab_stays, bool, 0644);
MODULE_PARM_DESC(lab_stays, "stay when the netdev changes its network namespace");

"""

# The kernel reads what is in counters/ by management datagrams, which rxe does not answer (get_perf_mad in
# drivers/infiniband/core/sysfs.c). mlx5 answers as here (pma_cnt_ext_assign in its mad.c).
PORT_DATA = """\
static bool lab_port_data;
module_param(lab_port_data, bool, 0644);
MODULE_PARM_DESC(lab_port_data, "count the bytes of a port");

static int lab_process_mad(struct ib_device *dev, int flags, u32 port, const struct ib_wc *wc, const struct ib_grh *grh,
			   const struct ib_mad *in, struct ib_mad *out, size_t *size, u16 *pkey_index)
{
	enum { ANSWERED = IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY, AT = 40 };
	struct rxe_dev *rxe = to_rdev(dev);
	struct ib_class_port_info info = {.capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH};
	struct ib_pma_portcounters_ext data = {
		.port_xmit_data = cpu_to_be64(atomic64_read(&rxe->lab_out) >> 2),
		.port_rcv_data = cpu_to_be64(atomic64_read(&rxe->lab_in) >> 2),
	};

	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT || in->mad_hdr.method != IB_MGMT_METHOD_GET)
		return IB_MAD_RESULT_SUCCESS;
	memset(out->data, 0, sizeof(out->data));
	if (in->mad_hdr.attr_id == IB_PMA_CLASS_PORT_INFO)
		memcpy(out->data + AT, &info, sizeof(info));
	else if (in->mad_hdr.attr_id == IB_PMA_PORT_COUNTERS_EXT)
		memcpy(out->data + AT, &data, sizeof(data));
	else if (in->mad_hdr.attr_id != IB_PMA_PORT_COUNTERS)
		return IB_MAD_RESULT_SUCCESS;
	return ANSWERED;
}

static const struct ib_device_ops lab_port_data_ops = {
	.process_mad = lab_process_mad,
};

"""

# rxe never forgets its queue pair 1, so that ib_mad gets none when a device has changed its network namespace, and rdma_cm
# has no port there.
FORGET_QP1 = """\
	if (qp_type(qp) == IB_QPT_GSI)
		to_rdev(qp->ibqp.device)->port.qp_gsi_index = 0;
"""

# `rdma dev set NAME netns` wants it
DISASSOCIATE = """\
static void lab_disassociate(struct ib_ucontext *context)
{
}

"""

IMMUTABLE = """\
	if (lab_roce_v1)
		immutable->core_cap_flags |= RDMA_CORE_PORT_IBA_ROCE;
	if (lab_gid_tbl_len > 0)
		to_rdev(dev)->port.attr.gid_tbl_len = lab_gid_tbl_len;
"""

REGISTER = """\
	if (lab_port_data)
		ib_set_device_ops(dev, &lab_port_data_ops);
	write_pnet(&dev->coredev.rdma_net, dev_net(rxe->ndev));
	if (lab_pci_parent) {
		struct device *parent = rxe->ndev->dev.parent;

		while (parent && !dev_is_pci(parent))
			parent = parent->parent;
		if (parent)
			dev->dev.parent = parent;
	}
"""

# rxe routes and listens in the initial network namespace only; here each has a pair of UDP sockets
PERNET = """\
static int __net_init lab_pernet_init(struct net *net)
{
	struct rxe_recv_sockets *sockets = net_generic(net, lab_pernet_id);
	struct socket *sk;

	sk = rxe_setup_udp_tunnel(net, htons(ROCE_V2_UDP_DPORT), false);
	if (IS_ERR(sk))
		return PTR_ERR(sk);
	sockets->sk4 = sk;
	sk = rxe_setup_udp_tunnel(net, htons(ROCE_V2_UDP_DPORT), true);
	if (IS_ERR(sk)) {
		rxe_release_udp_tunnel(sockets->sk4);
		sockets->sk4 = NULL;
		return PTR_ERR(sk);
	}
	sockets->sk6 = sk;
	return 0;
}

static void __net_exit lab_pernet_exit(struct net *net)
{
	struct rxe_recv_sockets *sockets = net_generic(net, lab_pernet_id);

	rxe_release_udp_tunnel(sockets->sk6);
	rxe_release_udp_tunnel(sockets->sk4);
}

static struct pernet_operations lab_pernet_ops = {
	.init = lab_pernet_init,
	.exit = lab_pernet_exit,
	.id = &lab_pernet_id,
	.size = sizeof(struct rxe_recv_sockets),
};

void rxe_net_exit(void)
{
	unregister_netdevice_notifier(&rxe_net_notifier);
	unregister_pernet_subsys(&lab_pernet_ops);
}

int rxe_net_init(void)
{
	int err = register_pernet_subsys(&lab_pernet_ops);

	if (err)
		return err;
	err = register_netdevice_notifier(&rxe_net_notifier);
	if (err)
		unregister_pernet_subsys(&lab_pernet_ops);
	return err;
}
"""


def after(text, addition):
    return text, text + addition


def before(text, addition):
    return text, addition + text


edit(
    "rxe_verbs.c",
    before('#include "rxe.h"', "#include <linux/pci.h>\n#include <rdma/ib_mad.h>\n#include <rdma/ib_pma.h>\n"),
    before("static int rxe_port_immutable(", PARAMETERS + PORT_DATA),
    after("	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;\n", IMMUTABLE),
    after("	ib_set_device_ops(dev, &rxe_dev_ops);\n", REGISTER),
    (
        "static const struct ib_device_ops rxe_dev_ops = {\n",
        DISASSOCIATE
        + "static const struct ib_device_ops rxe_dev_ops = {\n"
        + "	.disassociate_ucontext = lab_disassociate,\n",
    ),
)
edit(
    "rxe_net.c",
    (
        "static struct rxe_recv_sockets recv_sockets;",
        "#include <net/netns/generic.h>\n\nstatic unsigned int lab_pernet_id;",
    ),
    ("ip_route_output_key(&init_net, &fl)", "ip_route_output_key(dev_net(ndev), &fl)"),
    ("sock_net(recv_sockets.sk6->sk)", "dev_net(ndev)"),
    (
        "recv_sockets.sk6->sk, &fl6,",
        "((struct rxe_recv_sockets *)net_generic(dev_net(ndev), lab_pernet_id))->sk6->sk, &fl6,",
    ),
)
edit(
    "rxe_net.c",
    ("	case NETDEV_UNREGISTER:\n", MOVED),
    before("static int rxe_notify(", STAYS),
)
replace_rest("rxe_net.c", "static int rxe_net_ipv4_init(void)", PERNET)
edit(
    "rxe_verbs.h",
    after("	atomic64_t		stats_counters[RXE_NUM_OF_COUNTERS];\n", "	atomic64_t		lab_out, lab_in;\n"),
)
edit(
    "rxe_net.c",
    after("	rxe_counter_inc(rxe, RXE_CNT_SENT_PKTS);\n", "	atomic64_add(pkt->paylen, &rxe->lab_out);\n"),
)
edit(
    "rxe_recv.c",
    after("	rxe_counter_inc(rxe, RXE_CNT_RCVD_PKTS);\n", "	atomic64_add(pkt->paylen, &rxe->lab_in);\n"),
)
edit(
    "rxe_qp.c",
    ("sock_create_kern(&init_net,", "sock_create_kern(dev_net(rxe->ndev),"),
    after("	qp->valid = 0;\n	qp->qp_timeout_jiffies = 0;\n", FORGET_QP1),
)
