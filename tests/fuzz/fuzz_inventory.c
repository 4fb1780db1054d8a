/* SPDX-License-Identifier: Apache-2.0 */
/* An inventory drawn from the bytes of the input, as the tests of decide/ draw theirs from random
   numbers: what no tree brings about is decided and written as well. */
#include "lib/check.h"
#include "lib/readers.h"

#include "../unit/lib/rules_draw.h"
#include "doctor/checks.h"
#include "nccl_init/env.h"
#include "print/words.h"
#include "rules/decide.h"

static struct fuzz_input source;

static unsigned next(unsigned below)
{
    unsigned byte = 0;

    if (source.n > 0) {
        byte = (unsigned char)*source.p++;
        source.n--;
    }
    return byte % below;
}

static void check_reports(const struct ni_work *w)
{
    static struct ni_diagnosis diagnosis;
    const struct ni_view view = {
        .inv = &node.inv, .plan = &node.plan, .findings = &node.findings, .root = "drawn"};

    node.inv.for_doctor = true;
    diagnosis.n = 0;
    ni_diagnose(w, &diagnosis);
    check_findings(&node.findings);
    reader_check_env(&view);
    reader_check_reports(&view, &diagnosis);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct ni_env env = {node.entry};
    const struct ni_work work = {&node.inv, &env, &node.policy, &node.plan, &node.findings};

    source = (struct fuzz_input){(const char *)data, size};
    random_node();
    node_decide();
    check_findings(&node.findings);
    check_decided(&work);
    check_command_env(&env, &node.plan);
    check_reports(&work);
    return 0;
}
