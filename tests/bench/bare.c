/* SPDX-License-Identifier: Apache-2.0 */
/* bare [PREFIX]: a static program that does nothing, the least that a process costs. With PREFIX it writes the entries of its
   environment that begin so, for the bench to see what a command is given. */
#include <string.h>
#include <unistd.h>

int main(int argc, char *argv[])
{
    for (char **e = environ; argc > 1 && *e; e++) {
        if (strncmp(*e, argv[1], strlen(argv[1])) == 0 &&
            (write(STDOUT_FILENO, *e, strlen(*e)) < 0 || write(STDOUT_FILENO, "\n", 1) < 0))
            return 1;
    }
    return 0;
}
