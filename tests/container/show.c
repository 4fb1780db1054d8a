/* SPDX-License-Identifier: Apache-2.0 */
/* The command of the container tests, the only program in those images beside nccl-init: who it is, its capabilities,
   its limit of locked memory, its NCCL variables. `show as UID COMMAND...` becomes another user first, who keeps
   nothing but the bounding set. */
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void put_limit(const char *name, rlim_t limit)
{
    if (limit == RLIM_INFINITY)
        printf("%s unlimited\n", name);
    else
        printf("%s %llu\n", name, (unsigned long long)limit);
}

static int become(const char *user, char *const command[])
{
    const unsigned id = (unsigned)strtoul(user, NULL, 10);

    if (setgroups(0, NULL) < 0 || setgid(id) < 0 || setuid(id) < 0)
        return 1;
    (void)execvp(command[0], command);
    return 1;
}

int main(int argc, char *argv[])
{
    struct rlimit memlock;
    char line[256];
    FILE *status = fopen("/proc/self/status", "re");

    if (argc > 3 && strcmp(argv[1], "as") == 0)
        return become(argv[2], argv + 3);
    printf("uid %u\n", (unsigned)getuid());
    printf("pid %d\n", (int)getpid());
    while (status && fgets(line, sizeof(line), status))
        if (strncmp(line, "Cap", 3) == 0 || strncmp(line, "NoNewPrivs", 10) == 0)
            printf("%s", line);
    if (getrlimit(RLIMIT_MEMLOCK, &memlock) == 0) {
        put_limit("soft", memlock.rlim_cur);
        put_limit("hard", memlock.rlim_max);
    }
    for (char *const *e = environ; *e; e++)
        if (strncmp(*e, "NCCL", 4) == 0)
            printf("%s\n", *e);
    return 0;
}
