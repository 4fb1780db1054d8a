/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the helper. */
#ifndef NCCL_INIT_TRY_TRY_H
#define NCCL_INIT_TRY_TRY_H

#include <stdbool.h>
#include <sys/types.h>

/* Where lines are said: standard output is for what libraries print. */
extern int ni_try_words;
/* Says one line, at once: what follows it may hang or crash. false: nobody listens. */
__attribute__((format(printf, 1, 2))) bool ni_try_say(const char *fmt, ...);

/* Lets this process, a child, die with its parent. */
void ni_try_die_with(pid_t parent);

/* The name of a function, and the pointer that is to point to it. */
struct ni_try_entry {
    const char *name;
    void *function;
};
/* Finds a function of a library that dlopen(3) has loaded. false: it has none, and the pointer is
   NULL. */
bool ni_try_find(void *library, const struct ni_try_entry *entry);
/* Finds all of them. false: one is missing, and "unloaded FILE: no function NAME" was said. */
bool ni_try_find_all(void *library, const char *file, const struct ni_try_entry *entry, unsigned n);

/* Loads libibverbs as NCCL does, and finds, opens and asks each HCA of the list. */
void ni_try_image(int n, char *const hcas[]);
/* Asks NVML about the GPUs at these PCI addresses. */
void ni_try_gpus(int n, char *const buses[]);
/* Lets the image's NCCL sum data of two ranks on each GPU: LIBRARY, MILLISECONDS, then for each GPU
   its PCI address and, behind "=", its NCCL_IB_HCA. */
void ni_try_nccl(int n, char *const what[]);
/* Tries pairs of GPUs and ports: see gpu.c. */
void ni_try_gpu(int n, char *const args[]);

#endif
