/* SPDX-License-Identifier: Apache-2.0 */
/* The oldest versions of functions that glibc 2.34 gave a new one. A file that calls one of these
   includes this, so that the helper runs with glibc 2.28, too. */
#ifndef NCCL_INIT_TRY_OLD_GLIBC_H
#define NCCL_INIT_TRY_OLD_GLIBC_H

#ifdef __aarch64__
#define NI_OLD_GLIBC "GLIBC_2.17"
#else
#define NI_OLD_GLIBC "GLIBC_2.2.5"
#endif

#define NI_OLD(name) __asm__(".symver " #name ", " #name "@" NI_OLD_GLIBC)

NI_OLD(dladdr);
NI_OLD(dlerror);
NI_OLD(dlopen);
NI_OLD(dlsym);

#endif
