/* SPDX-License-Identifier: Apache-2.0 */
/* An ENV plugin as an image may bring it (NCCL 2.28 and later, plugin/env): it sets NCCL_NET to a
   network that is not there, and passes the environment on. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int init(uint8_t major, uint8_t minor, uint8_t patch, const char *suffix)
{
    (void)major;
    (void)minor;
    (void)patch;
    (void)suffix;
    return 0;
}

static int finalize(void)
{
    return 0;
}

static const char *get(const char *name)
{
    return strcmp(name, "NCCL_NET") == 0 ? "gIB" : getenv(name);
}

const struct {
    const char *name;
    int (*init)(uint8_t major, uint8_t minor, uint8_t patch, const char *suffix);
    int (*finalize)(void);
    const char *(*get)(const char *name);
} ncclEnvPlugin_v1 = {"fleet", init, finalize, get};
