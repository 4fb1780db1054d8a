/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor looks at beyond what decisions need. Each fact is a file through the door; nothing
   here is a finding: what is not there stays unknown. */
#include "probe.h"

void ni_probe_health(struct ni_probe *p)
{
    p->inv->health.asked = true;
    ni_health_hcas(p);
    ni_health_links(p);
    ni_health_iommu(p);
    ni_health_drivers(p);
    ni_health_process(p);
}
