/* SPDX-License-Identifier: Apache-2.0 */
/* judge LIBNCCL NAME=SYMBOL...: lets a released NCCL say what it takes on a recorded node, without a
   GPU and without an HCA. The library is loaded once. For each line of standard input, ROOT FOLDER, a
   child has these for its machine and writes what NCCL found, a line each:

     conf NAME=VALUE      a variable of NCCL's after its reader of nccl.conf
     number NAME VALUE    what ncclLoadParam makes of it; VALUE `default`: its default
     interface NAME       of ncclFindInterfaces, in its order; room for as many as NET/Socket has
     first NAME           the same with room for one, as the bootstrap and IB ask
     ib RESULT            of the init of NCCL's network IB
     port NAME:NUMBER     of an HCA that it took, as its log says
     gid NAME:NUMBER INDEX (RESULT) of ncclIbGetGidIndex there
     end

   ROOT has sys, proc, dev, etc. FOLDER has env (NAME=VALUE, each ended by NUL), numbers (names),
   addresses (NAME FLAGS ADDRESS SCOPE a line, in getifaddrs' order), errors (ERRNO PATH), closed
   (devices that do not open), home; and may have `changed`, a command that changes the tables of GIDs.
   A device tells NCCL that it has, and NCCL says in its log what it makes of it:

     refreshed OLD NEW    the index that it had of that device's port, and has

   NCCL's calls go to the functions of the same names here, because a program comes before its
   libraries: files below /sys, /proc, /dev and /etc, getifaddrs, getpwuid, dlopen of libibverbs. */
#define _GNU_SOURCE
#include <infiniband/verbs.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <limits.h>
#include <link.h>
#include <net/if.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_get_device_list

enum { MOST = 256, NAMES = 64 };

extern char **environ;

/* The longest path is longer than the parts of which one is made. */
enum { PART = 1024 };

static char root[PART], folder[PART]; /* empty: calls go to the C library */

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    fprintf(stderr, "judge: ");
    vfprintf(stderr, format, list);
    fprintf(stderr, "\n");
    va_end(list);
    _exit(2);
}

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vdprintf(STDOUT_FILENO, format, list);
    va_end(list);
}

/* The C library's own function. */
static void *real(const char *name)
{
    void *at = dlsym(RTLD_NEXT, name);

    if (!at)
        fail("no %s in the C library", name);
    return at;
}

/* ---- files ---- */

/* Cuts the first line off a text and returns it; NULL: there is no more. */
static char *next_line(char **rest)
{
    char *line = strsep(rest, "\n");

    return line && *line ? line : NULL;
}

/* What the recording says of files that cannot be read, by their names. */
struct error {
    const char *name;
    int number;
};
static struct error *errors;
static size_t n_errors;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct error *)a)->name, ((const struct error *)b)->name);
}

/* Takes the lines ERRNO PATH. */
static void take_errors(char *text)
{
    size_t lines = 1;

    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    errors = calloc(lines, sizeof *errors);
    if (!errors)
        fail("%s", strerror(errno));
    for (char *line = next_line(&text); line; line = next_line(&text)) {
        errors[n_errors].number = (int)strtol(line, &line, 10);
        errors[n_errors].name = line + 1;
        n_errors++;
    }
    qsort(errors, n_errors, sizeof *errors, by_name);
}

/* Returns what the file answers by the recording, or 0. */
static int error_of(const char *path)
{
    const struct error wanted = {path, 0};
    const struct error *found =
        n_errors ? bsearch(&wanted, errors, n_errors, sizeof *errors, by_name) : NULL;

    return found ? found->number : 0;
}

static bool begins(const char *path, const char *with)
{
    return strncmp(path, with, strlen(with)) == 0;
}

/* Writes where that path of the node lies; false: it is none of the node's. The recording's links
   are relative, but for those to /proc and the like, which nothing here follows. */
static bool place(const char *path, char at[PATH_MAX])
{
    if (!*folder || *path != '/' || begins(path, root) || begins(path, folder))
        return false;
    snprintf(at, PATH_MAX, "%s%.2048s", root, path);
    return true;
}

/* Returns the path below the root that a place has without links, or NULL. */
static const char *without_root(const char *at)
{
    const size_t n = strlen(root);

    return strncmp(at, root, n) == 0 && at[n] == '/' ? at + n : NULL;
}

char *realpath(const char *path, char *resolved)
{
    char *(*const next)(const char *, char *) = (char *(*)(const char *, char *))real("realpath");
    char at[PATH_MAX], found[PATH_MAX];

    if (!place(path, at))
        return next(path, resolved);
    if (!next(at, found))
        return NULL;
    const char *name = without_root(found);

    if (!name) {
        errno = ENOENT;
        return NULL;
    }
    return resolved ? strcpy(resolved, name) : strdup(name);
}

/* Returns the error that the recording has of the file at that place, or 0. */
static int recorded_error(const char *at)
{
    char *(*const next)(const char *, char *) = (char *(*)(const char *, char *))real("realpath");
    static _Thread_local char last[PATH_MAX], last_found[PATH_MAX]; /* many are of one folder */
    char copy[PATH_MAX], found[PATH_MAX + NAME_MAX + 2];

    if (n_errors == 0)
        return 0;
    snprintf(copy, sizeof copy, "%s", at);
    char *slash = strrchr(copy, '/');
    if (!slash)
        return 0;
    *slash = '\0';
    if (strcmp(copy, last) != 0) {
        *last = '\0';
        if (!next(copy, last_found))
            return 0;
        strcpy(last, copy);
    }
    strcpy(found, last_found);
    const size_t n = strlen(found);

    snprintf(found + n, sizeof found - n, "/%s", slash + 1);
    const char *name = without_root(found);
    return name ? error_of(name) : 0;
}

/* Of files that open and cannot be read: the descriptor's error. */
static int read_error[1024];

static int open_node(const char *at, int flags)
{
    int (*const next)(const char *, int, ...) = (int (*)(const char *, int, ...))real("open");
    const int error = recorded_error(at);
    const bool opens = error == EINVAL || error == EIO || error == ENODEV || error == EOPNOTSUPP;

    if (error && !opens) {
        errno = error;
        return -1;
    }
    const int fd = next(opens ? "/dev/null" : at, flags, 0);

    if (fd >= 0 && fd < (int)(sizeof read_error / sizeof *read_error))
        read_error[fd] = error;
    return fd;
}

int open(const char *path, int flags, ...)
{
    int (*const next)(const char *, int, ...) = (int (*)(const char *, int, ...))real("open");
    char at[PATH_MAX];
    va_list list;

    if (place(path, at))
        return open_node(at, flags);
    va_start(list, flags);
    const unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, unsigned) : 0;
    va_end(list);
    return next(path, flags, mode);
}

ssize_t read(int fd, void *into, size_t size)
{
    ssize_t (*const next)(int, void *, size_t) = (ssize_t(*)(int, void *, size_t))real("read");

    if (*folder && fd >= 0 && fd < (int)(sizeof read_error / sizeof *read_error) &&
        read_error[fd]) {
        errno = read_error[fd];
        return -1;
    }
    return next(fd, into, size);
}

FILE *fopen(const char *path, const char *mode)
{
    FILE *(*const next)(const char *, const char *) =
        (FILE * (*)(const char *, const char *)) real("fopen");
    char at[PATH_MAX];

    if (!place(path, at))
        return next(path, mode);
    const int error = recorded_error(at);

    if (error) {
        errno = error;
        return NULL;
    }
    return next(at, mode);
}

int access(const char *path, int how)
{
    int (*const next)(const char *, int) = (int (*)(const char *, int))real("access");
    char at[PATH_MAX];

    return next(place(path, at) ? at : path, how);
}

DIR *opendir(const char *path)
{
    DIR *(*const next)(const char *) = (DIR * (*)(const char *)) real("opendir");
    char at[PATH_MAX];

    return next(place(path, at) ? at : path);
}

ssize_t readlink(const char *path, char *into, size_t size)
{
    ssize_t (*const next)(const char *, char *, size_t) =
        (ssize_t(*)(const char *, char *, size_t))real("readlink");
    char at[PATH_MAX];

    return next(place(path, at) ? at : path, into, size);
}

/* The whole file, ended by NUL; empty if there is none. */
static char *contents(const char *at, size_t *ret_size)
{
    int (*const next)(const char *, int, ...) = (int (*)(const char *, int, ...))real("open");
    ssize_t (*const take)(int, void *, size_t) = (ssize_t(*)(int, void *, size_t))real("read");
    const int fd = next(at, O_RDONLY | O_CLOEXEC);
    struct stat s = {0};

    if (fd >= 0 && fstat(fd, &s) < 0)
        fail("%s: %s", at, strerror(errno));
    char *text = calloc(1, (size_t)s.st_size + 1);
    const ssize_t n = fd >= 0 && text ? take(fd, text, (size_t)s.st_size) : 0;

    if (!text || n < 0)
        fail("%s: %s", at, strerror(errno));
    if (fd >= 0)
        close(fd);
    if (ret_size)
        *ret_size = (size_t)n;
    return text;
}

static char *of_folder(const char *name, size_t *ret_size)
{
    char at[PATH_MAX];

    snprintf(at, sizeof at, "%s/%.64s", folder, name);
    return contents(at, ret_size);
}

/* ---- the pod's interfaces, its user ---- */

int getifaddrs(struct ifaddrs **ret)
{
    static struct ifaddrs all[MOST];
    static struct sockaddr_in6 address[MOST]; /* the larger of both */
    char *text = of_folder("addresses", NULL);
    char *rest = text;
    unsigned n = 0;

    memset(all, 0, sizeof all);
    memset(address, 0, sizeof address);
    *ret = NULL;
    for (char *line = next_line(&rest); line && n < MOST; line = next_line(&rest)) {
        char name[IF_NAMESIZE], ip[64];
        unsigned flags, scope;

        if (sscanf(line, "%15s %x %63s %u", name, &flags, ip, &scope) != 4)
            fail("addresses: %s", line);
        struct sockaddr_in *v4 = (struct sockaddr_in *)&address[n];

        if (inet_pton(AF_INET, ip, &v4->sin_addr) == 1) {
            v4->sin_family = AF_INET;
        } else if (inet_pton(AF_INET6, ip, &address[n].sin6_addr) == 1) {
            address[n].sin6_family = AF_INET6;
            address[n].sin6_scope_id = scope;
        } else {
            fail("addresses: %s", line);
        }
        all[n].ifa_name = strdup(name);
        all[n].ifa_flags = flags;
        all[n].ifa_addr = (struct sockaddr *)&address[n];
        all[n].ifa_netmask = all[n].ifa_addr;
        if (n > 0)
            all[n - 1].ifa_next = &all[n];
        n++;
    }
    free(text);
    if (n > 0)
        *ret = all;
    return 0;
}

void freeifaddrs(struct ifaddrs *all)
{
    (void)all;
}

struct passwd *getpwuid(uid_t uid)
{
    static struct passwd entry;
    static char text[1024], *home;

    (void)uid;
    char *all = of_folder("home", NULL);
    snprintf(text, sizeof text, "%s", all);
    free(all);
    home = text;
    entry = (struct passwd){.pw_name = home, .pw_dir = home};
    return *home ? &entry : NULL;
}

/* ---- libibverbs ---- */

static struct ibv_device devices[MOST];
static int n_devices;

/* Returns the text of a file of the device's directory, or NULL. */
static const char *attribute(const struct ibv_device *device, const char *name)
{
    static char text[256];
    char at[PATH_MAX];

    snprintf(at, sizeof at, "%s/sys/class/infiniband/%s/%.64s", root, device->name, name);
    if (recorded_error(at))
        return NULL;
    int (*const next)(const char *, int) = (int (*)(const char *, int))real("access");
    if (next(at, F_OK) != 0)
        return NULL;
    char *all = contents(at, NULL);

    snprintf(text, sizeof text, "%s", all);
    free(all);
    return text;
}

static void list_devices(void)
{
    char at[PATH_MAX];
    struct dirent **names;

    snprintf(at, sizeof at, "%s/sys/class/infiniband", root);
    const int n = scandir(at, &names, NULL, versionsort);

    for (int i = 0; i < n && n_devices < MOST; i++) {
        struct ibv_device *d = &devices[n_devices];

        if (*names[i]->d_name == '.')
            continue;
        snprintf(d->name, sizeof d->name, "%.63s", names[i]->d_name);
        snprintf(d->dev_name, sizeof d->dev_name, "uverbs%d", n_devices);
        d->node_type = IBV_NODE_CA;
        d->transport_type = IBV_TRANSPORT_IB;
        n_devices++;
    }
}

struct ibv_device **ibv_get_device_list(int *ret)
{
    struct ibv_device **all = calloc(MOST + 1, sizeof *all);

    if (n_devices == 0)
        list_devices();
    for (int i = 0; all && i < n_devices; i++)
        all[i] = &devices[i];
    *ret = n_devices;
    return all;
}

void ibv_free_device_list(struct ibv_device **all)
{
    free(all);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

/* A device opens if the recording does not say that its node is missing or denied: `closed` lists
   these. */
struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    char *closed = of_folder("closed", NULL);
    char *rest = closed;
    bool opens = true;

    for (const char *name = next_line(&rest); name; name = next_line(&rest))
        opens = opens && strcmp(name, device->name) != 0;
    free(closed);
    struct ibv_context *context = opens ? calloc(1, sizeof *context) : NULL;

    if (context)
        context->device = device;
    else
        errno = ENOENT;
    return context;
}

int ibv_close_device(struct ibv_context *context)
{
    (void)context; /* its thread of asynchronous events still waits */
    return 0;
}

/* The first device to ask waits until NCCL's start is over, changes the machine, and tells it. */
int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
    static int turn;
    char at[PATH_MAX];
    int (*const next)(const char *, int) = (int (*)(const char *, int))real("access");

    (void)context;
    snprintf(at, sizeof at, "%s/changed", folder);
    if (next(at, F_OK) == 0 && __atomic_fetch_add(&turn, 1, __ATOMIC_SEQ_CST) == 0) {
        usleep(200 * 1000); /* NCCL's init is over */
        if (system(at) != 0)
            fail("%s failed", at);
        *event =
            (struct ibv_async_event){.element.port_num = 1, .event_type = IBV_EVENT_GID_CHANGE};
        return 0;
    }
    for (;;)
        pause();
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    (void)event;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    char name[32];

    memset(attr, 0, sizeof *attr);
    attr->sys_image_guid = 0x1000u + (unsigned)(context->device - devices);
    attr->max_qp = 1 << 16;
    for (unsigned port = 1; port < 255; port++) {
        snprintf(name, sizeof name, "ports/%u/state", port);
        if (attribute(context->device, name))
            attr->phys_port_cnt = (uint8_t)port;
    }
    return 0;
}

/* Returns how many rows the table of GIDs has: it ends where there is no file. */
static int table_length(const struct ibv_device *device, unsigned port)
{
    char at[PATH_MAX];
    int n = 0;
    int (*const next)(const char *, int) = (int (*)(const char *, int))real("access");

    for (;;) {
        snprintf(at, sizeof at, "%s/sys/class/infiniband/%s/ports/%u/gids/%d", root, device->name,
                 port, n);
        if (next(at, F_OK) != 0 && !recorded_error(at))
            return n;
        n++;
    }
}

/* The symbol is declared with the old, shorter struct; NCCL passes the whole one of its day. */
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *old)
{
    char name[32];
    struct ibv_port_attr attr = {.max_mtu = IBV_MTU_4096,
                                 .active_mtu = IBV_MTU_4096,
                                 .max_msg_sz = 1u << 30,
                                 .active_width = 2,    /* 4X */
                                 .active_speed = 128}; /* NDR */

    snprintf(name, sizeof name, "ports/%u/state", port);
    const char *text = attribute(context->device, name);
    if (!text)
        return EINVAL;
    attr.state = (enum ibv_port_state)atoi(text);
    snprintf(name, sizeof name, "ports/%u/link_layer", port);
    text = attribute(context->device, name);
    if (text && strncmp(text, "Ethernet", 8) == 0)
        attr.link_layer = IBV_LINK_LAYER_ETHERNET;
    else if (text && strncmp(text, "InfiniBand", 10) == 0)
        attr.link_layer = IBV_LINK_LAYER_INFINIBAND;
    const int rows = table_length(context->device, port);
    attr.gid_tbl_len = rows > 0 ? rows : 1; /* that of another pod's port is not recorded */
    attr.pkey_tbl_len = 1;
    memcpy((void *)old, &attr, sizeof attr);
    return 0;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
    char name[64];

    snprintf(name, sizeof name, "ports/%u/gids/%d", port, index);
    const char *text = attribute(context->device, name);

    memset(gid, 0, sizeof *gid);
    if (!text && index == 0 && table_length(context->device, port) == 0)
        return 0;
    if (!text || inet_pton(AF_INET6, strtok((char *)(uintptr_t)text, "\n"), gid->raw) != 1) {
        errno = EINVAL;
        return -1;
    }
    return 0;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
    (void)context;
    (void)port;
    *pkey = index == 0 ? 0xffff : 0;
    return 0;
}

int ibv_fork_init(void)
{
    return 0;
}

const char *ibv_event_type_str(enum ibv_event_type type)
{
    (void)type;
    return "event";
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *at, size_t length, uint64_t iova,
                                unsigned access)
{
    (void)pd;
    (void)at;
    (void)length;
    (void)iova;
    (void)access;
    return NULL; /* without a domain NCCL only looks whether it is there */
}

/* NCCL asks with these whether DMA-BUF is there. */
struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    static struct ibv_pd pd;

    pd.context = context;
    return &pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
    (void)pd;
    return 0;
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
                                 int fd, int access)
{
    (void)pd;
    (void)offset;
    (void)length;
    (void)iova;
    (void)fd;
    (void)access;
    errno = EOPNOTSUPP;
    return NULL;
}

/* What NCCL asks for and never calls here. */
static int unused(void)
{
    fail("NCCL called a function of libibverbs for which there is no answer");
}

/* The libraries that NCCL opens: libibverbs is this program; no libmlx5, no plugins, no libcuda. */
static char verbs;

void *dlopen(const char *path, int mode)
{
    void *(*const next)(const char *, int) = (void *(*)(const char *, int))real("dlopen");

    if (!*folder || !path)
        return next(path, mode);
    return strncmp(path, "libibverbs.so", 13) == 0 ? &verbs : NULL;
}

char *dlerror(void)
{
    static char text[] = "no such library";

    return text; /* 2.28.9 copies it without a look */
}

int dlclose(void *handle)
{
    (void)handle;
    return 0;
}

void *dlvsym(void *handle, const char *name, const char *version)
{
    static const char *const absent[] = {"ibv_query_ece", "ibv_set_ece", "ibv_query_port_speed"};
    void *(*const next)(void *, const char *, const char *) =
        (void *(*)(void *, const char *, const char *))real("dlvsym");

    if (handle != &verbs)
        return next(handle, name, version);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        if (strcmp(name, absent[i]) == 0)
            return NULL;
    }
    void *at = dlsym(RTLD_DEFAULT, name);

    return at ? at : (void *)unused;
}

/* ---- NCCL's own functions ---- */

/* What is called, by the names of the table; the symbols are arguments. */
enum called { CONF, NUMBER, INTERFACES, NETWORK, GID, N_CALLED };

static const char *const words[N_CALLED] = {"conf", "number", "interfaces", "network", "gid"};
static void *called[N_CALLED];
static int api; /* of ncclNetIb: 10, 11, ... */

/* Finds the symbols in the library's whole table: most are local. */
static void find_symbols(const char *path, uintptr_t base, char *const symbols[N_CALLED])
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat s;

    if (fd < 0 || fstat(fd, &s) < 0)
        fail("%s: %s", path, strerror(errno));
    const char *file = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED)
        fail("%s: %s", path, strerror(errno));
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)file;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(file + head->e_shoff);

    for (unsigned i = 0; i < head->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB)
            continue;
        const Elf64_Sym *table = (const Elf64_Sym *)(file + sections[i].sh_offset);
        const char *names = file + sections[sections[i].sh_link].sh_offset;

        for (size_t k = 0; k < sections[i].sh_size / sizeof *table; k++) {
            for (int c = 0; c < N_CALLED; c++) {
                if (symbols[c] && table[k].st_shndx != SHN_UNDEF &&
                    strcmp(names + table[k].st_name, symbols[c]) == 0)
                    called[c] = (void *)(base + table[k].st_value);
            }
        }
    }
    for (int c = 0; c < N_CALLED; c++) {
        if (!called[c])
            fail("%s has no symbol %s (%s)", path, symbols[c] ? symbols[c] : "?", words[c]);
    }
    munmap((void *)(uintptr_t)file, (size_t)s.st_size);
    close(fd);
}

/* ncclNet, from 2.27 on: name, init, devices, ... */
struct network {
    const char *name;
    int (*init)(void);
};

static void nothing_logged(int level, unsigned long flags, const char *file, int line,
                           const char *format, ...)
{
    (void)level;
    (void)flags;
    (void)file;
    (void)line;
    (void)format;
}

static void tell_conf(void)
{
    ((void (*)(void))called[CONF])();
    for (char **e = environ; e && *e; e++) {
        if (strncmp(*e, "NCCL_", 5) == 0 && strncmp(*e, "NCCL_DEBUG", 10) != 0)
            tell("conf %s\n", *e);
    }
}

static void tell_numbers(void)
{
    enum { DEFAULT = -77 };
    char *text = of_folder("numbers", NULL);
    char *rest = text;

    for (const char *name = next_line(&rest); name; name = next_line(&rest)) {
        int64_t value = INT64_MIN; /* not read yet */
        int8_t no_cache = 0;

        /* ncclLoadParam(name, default, the mark of a variable that was not read, where it goes);
           from 2.30.7 on also whether it must not be kept */
        ((void (*)(const char *, int64_t, int64_t, int64_t *, int8_t *))called[NUMBER])(
            name, DEFAULT, INT64_MIN, &value, &no_cache);
        if (value == DEFAULT)
            tell("number %s default\n", name);
        else
            tell("number %s %lld\n", name, (long long)value);
    }
    free(text);
}

static void tell_interfaces(void)
{
    enum { MAX_IFS = 16, NAME = 16 };
    static char names[MAX_IFS * (NAME + 1)];
    static struct sockaddr_in6 addresses[MAX_IFS];
    int n = 0;
    int (*const find)(char *, void *, int, int, int *) =
        (int (*)(char *, void *, int, int, int *))called[INTERFACES];

    if (find(names, addresses, NAME, MAX_IFS, &n) == 0) {
        for (int i = 0; i < n; i++)
            tell("interface %s\n", names + (size_t)i * NAME);
    }
    if (find(names, addresses, NAME, 1, &n) == 0 && n == 1)
        tell("first %s\n", names);
}

/* Calls the init of NCCL's network IB. */
static int start_network(void)
{
    const struct network *net = (const struct network *)called[NETWORK];
    void *context = NULL;
    int config[16] = {-1};

    if (api < 11)
        return ((int (*)(void *, void *))net->init)((void *)nothing_logged, NULL);
    return ((int (*)(void **, uint64_t, void *, void *, void *))net->init)(
        &context, 1, config, (void *)nothing_logged, NULL);
}

/* Tells what NCCL's own search says of a port. */
static void tell_gid(const char *name, unsigned port)
{
    struct ibv_device *device = NULL;
    struct ibv_port_attr attr = {0};
    int index = -1;

    for (int d = 0; d < n_devices; d++) {
        if (strcmp(devices[d].name, name) == 0)
            device = &devices[d];
    }
    struct ibv_context *context = device ? ibv_open_device(device) : NULL;
    if (!context)
        fail("%s: no such device", name);
    (void)ibv_query_port(context, (uint8_t)port, (struct _compat_ibv_port_attr *)(void *)&attr);
    const int r = ((int (*)(void *, uint8_t, void *, int *))called[GID])(context, (uint8_t)port,
                                                                         &attr, &index);
    if (r == 0)
        tell("gid %s:%u %d\n", name, port, index);
    else
        tell("gid %s:%u failed %d\n", name, port, r);
}

/* Tells the ports that NCCL took. Its log has them in one line:
   `NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:...`; the name may have any
   letter but '['. (The port of ncclIbGetPhysProperties is no port of the HCA, but counts those of
   one place.) */
static void tell_ports(void)
{
    char *text = of_folder("log", NULL);
    char *at = strstr(text, "NET/IB : Using [");

    if (at)
        at[strcspn(at, "\n")] = '\0';
    for (at = at ? strchr(at, '[') : NULL; at; at = strchr(at, '[')) {
        char name[64];
        unsigned number, port;

        if (sscanf(at, "[%u]%63[^:]:%u", &number, name, &port) == 3) {
            tell("port %s:%u\n", name, port);
            tell_gid(name, port);
        }
        at++;
    }
    free(text);
}

/* Waits for what NCCL says of a changed table; it may say nothing. */
static void tell_refreshed(void)
{
    static const char words[] = " GID refreshed: idx ";

    for (int turn = 0; turn < 30; turn++) {
        char *text = of_folder("log", NULL);
        const char *at = strstr(text, words);
        int old, new;

        if (at && sscanf(at + strlen(words), "%d -> %d", &old, &new) == 2)
            tell("refreshed %d %d\n", old, new);
        free(text);
        if (at)
            return;
        usleep(100 * 1000);
    }
}

static void judge(const char *line)
{
    size_t size;

    if (sscanf(line, "%1023s %1023s", root, folder) != 2)
        fail("%s", line);
    char *text = of_folder("env", &size);

    clearenv();
    for (char *at = text; at < text + size; at += strlen(at) + 1)
        putenv(at);
    static char log[PATH_MAX];
    snprintf(log, sizeof log, "%s/log", folder);
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_SUBSYS", "INIT,NET", 1);
    setenv("NCCL_DEBUG_FILE", log, 1);
    take_errors(of_folder("errors", NULL));
    tell_conf();
    tell_numbers();
    tell_interfaces();
    const int r = start_network();
    tell("ib %d\n", r);
    if (r == 0)
        tell_ports();
    char at[PATH_MAX];
    snprintf(at, sizeof at, "%s/changed", folder);
    int (*const next)(const char *, int) = (int (*)(const char *, int))real("access");
    if (next(at, F_OK) == 0)
        tell_refreshed();
}

int main(int argc, char **argv)
{
    char line[PATH_MAX];
    char *symbols[N_CALLED] = {0};

    if (argc < 3)
        fail("usage: judge LIBNCCL api=N NAME=SYMBOL...");
    for (int i = 2; i < argc; i++) {
        char *equals = strchr(argv[i], '=');

        if (!equals)
            fail("%s", argv[i]);
        *equals = '\0';
        if (strcmp(argv[i], "api") == 0)
            api = atoi(equals + 1);
        for (int c = 0; c < N_CALLED; c++) {
            if (strcmp(argv[i], words[c]) == 0)
                symbols[c] = equals + 1;
        }
    }
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    struct link_map *map;

    if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
        fail("%s", dlerror());
    find_symbols(argv[1], map->l_addr, symbols);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        const pid_t child = fork();
        int status;

        if (child == 0) {
            alarm(60);
            judge(line);
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) < 0)
            fail("fork: %s", strerror(errno));
        if (status == 0)
            tell("end\n");
        else
            tell("died %s %d\n", WIFSIGNALED(status) ? "signal" : "status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    return 0;
}
