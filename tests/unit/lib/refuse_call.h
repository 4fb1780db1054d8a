/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel, or a container's seccomp filter, that lacks a system call. */
#ifndef NCCL_INIT_TEST_REFUSE_CALL_H
#define NCCL_INIT_TEST_REFUSE_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>

/* linux/filter.h and linux/seccomp.h, which musl-gcc does not see. */
struct insn {
    uint16_t code;
    uint8_t jt, jf;
    uint32_t k;
};

/* From now on this process gets the error from system call `number`. false: it may have no filter. */
static bool refuse_call(uint32_t number, int err)
{
    enum { LOAD = 0x20, JUMP_EQUAL = 0x15, RETURN = 0x06, FILTER_MODE = 2 };
    struct insn code[] = {
        {LOAD, 0, 0, 0}, /* the number of the call */
        {JUMP_EQUAL, 0, 1, number},
        {RETURN, 0, 0, 0x00050000U | (uint32_t)err}, /* SECCOMP_RET_ERRNO */
        {RETURN, 0, 0, 0x7fff0000U},                 /* SECCOMP_RET_ALLOW */
    };
    struct {
        unsigned short len;
        struct insn *filter;
    } program = {sizeof(code) / sizeof(code[0]), code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, FILTER_MODE, &program) == 0;
}

#endif
