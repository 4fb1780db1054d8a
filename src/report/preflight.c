/* SPDX-License-Identifier: Apache-2.0 */
/* What a preflight found, for people. */
#include "findings.h"
#include "nccl_init/report.h"
#include "out.h"

int ni_write_preflight(int fd, const struct ni_job_view *view)
{
    struct ni_out o;
    struct ni_text *out = ni_out_on(&o, fd);
    ni_put(out, "preflight: ");
    ni_put_verdict(out, view->job, view->verdicts, view->findings, view->bad);
    ni_put(out, "\n");
    ni_put_findings(out, view->findings, NI_WARNING, true, view->colour);
    return ni_out_end(&o);
}

int ni_write_preflight_json(int fd, const struct ni_job_view *view)
{
    return ni_write_preflight(fd, view);
}

int ni_write_preflight_svg(int fd, const struct ni_job_view *view)
{
    return ni_write_preflight(fd, view);
}
