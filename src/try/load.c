/* SPDX-License-Identifier: Apache-2.0 */
/* Entry points of a library, by their names. */
#include <dlfcn.h>
#include <string.h>

#include "try/old_glibc.h"
#include "try/try.h"

bool ni_try_find(void *library, const struct ni_try_entry *entry)
{
    void *at = dlsym(library, entry->name);

    /* a pointer to data is not converted to one to a function */
    memcpy(entry->function, &at, sizeof(at));
    return at != NULL;
}

bool ni_try_find_all(void *library, const char *file, const struct ni_try_entry *entry, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (!ni_try_find(library, &entry[i])) {
            (void)ni_try_say("unloaded %s: no function %s", file, entry[i].name);
            return false;
        }
    }
    return true;
}
