/* SPDX-License-Identifier: Apache-2.0 */
/* The entry of the helper. That of the C library (crt1.o) would ask for the version of
   __libc_start_main that glibc 2.34 brought; glibc has the old one, too. */
#include <stddef.h>

#include "try/old_glibc.h"

int main(int argc, char *argv[]);

/* Starts the C library: glibc 2.28 csu/libc-start.c. No function of this program runs before main,
   so init and fini are NULL; glibc 2.34 and newer runs those of the libraries by itself. */
int ni_libc_start(int (*start)(int argc, char *argv[]), int argc, char *argv[], void (*init)(void),
                  void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
_Noreturn void ni_try_start(long *stack, void (*rtld_fini)(void));

__asm__(".symver ni_libc_start, __libc_start_main@" NI_OLD_GLIBC);

/* The kernel gives the arguments on the stack, and the loader a function to be run at the end in a
   register (the psABI of each processor, process initialization). */
#ifdef __aarch64__
__asm__(".text\n"
        ".globl _start\n"
        ".type _start, %function\n"
        "_start:\n"
        "    mov x29, #0\n"
        "    mov x30, #0\n"
        "    mov x1, x0\n"
        "    mov x0, sp\n"
        "    b ni_try_start\n"
        ".size _start, . - _start\n");
#else
__asm__(".text\n"
        ".globl _start\n"
        ".type _start, @function\n"
        "_start:\n"
        "    xorl %ebp, %ebp\n"
        "    movq %rsp, %rdi\n"
        "    movq %rdx, %rsi\n"
        "    andq $-16, %rsp\n"
        "    call ni_try_start\n"
        "    hlt\n"
        ".size _start, . - _start\n");
#endif

_Noreturn void ni_try_start(long *stack, void (*rtld_fini)(void))
{
    (void)ni_libc_start(main, (int)stack[0], (char **)(stack + 1), NULL, NULL, rtld_fini, stack);
    __builtin_trap();
}
