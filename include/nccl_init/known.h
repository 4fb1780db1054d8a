/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a fact: known, absent, denied, malformed, or never read. */
#ifndef NCCL_INIT_KNOWN_H
#define NCCL_INIT_KNOWN_H

#include <stdint.h>

/* The state of a fact: absent, denied, malformed and zero are four different things. */
enum ni_known {
    NI_UNSET = 0, /* never looked at */
    NI_ABSENT,    /* looked at: there is no such file */
    NI_DENIED,    /* there, but not readable: EACCES, EPERM, EIO, ... */
    NI_BAD,       /* read, but not of the form the kernel writes */
    NI_KNOWN
};

struct ni_num {
    int64_t v; /* meaningful only if known == NI_KNOWN */
    enum ni_known known;
};

/* Returns the state for an answer of sysroot: -errno, or a number that is not negative. */
enum ni_known ni_known_of(int64_t answer);
/* Returns the word of a state: "unread", "absent", "denied", "malformed", "known". */
const char *ni_known_text(enum ni_known known);

#endif
