/* SPDX-License-Identifier: Apache-2.0 */
/* Meanings: errors whose words are alike and whose causes are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "findings/log.h"
#include "findings/pod.h"
#include "log/meaning.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include <cmocka.h>

/* An error, words of its cause, and the finding about it. */
static const struct {
    const char *text, *cause;
    ni_finding_number about;
} errors[] = {
    /* memory of the GPU and of the host */
    {"torch.cuda.OutOfMemoryError: Allocation on device 0 would exceed allowed memory.",
     "the GPU has too little memory", NI_F_LOG_CUDA_MEMORY},
    {"cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,000,000,000 bytes",
     "the GPU has too little memory", NI_F_LOG_CUDA_MEMORY},
    {"ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
     "no more memory of the host", NI_F_LOG_MEMORY},
    {"numpy.core._exceptions._ArrayMemoryError: Unable to allocate 8.00 GiB for an array",
     "no more memory of the host", NI_F_LOG_MEMORY},
    /* /dev/shm is full; the process has too many mappings */
    {"RuntimeError: unable to allocate shared memory(shm) for file </torch_7_1>: Resource "
     "temporarily unavailable (11)",
     "no room in /dev/shm", NI_F_SHM_DEFAULT},
    {"RuntimeError: unable to mmap 4096 bytes from file </torch_7_1>: Cannot allocate memory (12)",
     "vm.max_map_count", NI_F_NONE},
    /* errno 11: a lock that another process holds; a process that could not be started */
    {"BlockingIOError: [Errno 11] Unable to open file (unable to lock file, errno = 11, error "
     "message = 'Resource temporarily unavailable')",
     "lock of this HDF5 file", NI_F_NONE},
    {"OpenBLAS blas_thread_init: pthread_create failed for thread 5 of 64: Resource temporarily "
     "unavailable",
     "could not start another thread", NI_F_NONE},
    {"bash: fork: retry: Resource temporarily unavailable", "could not start another thread",
     NI_F_NONE},
    {"BlockingIOError: [Errno 11] Resource temporarily unavailable", "another one holds a lock",
     NI_F_NONE},
    /* a server of the internet, and one of the cluster */
    {"requests.exceptions.ConnectionError: HTTPSConnectionPool(host='huggingface.co', port=443): "
     "Max retries exceeded",
     "internet", NI_F_NONE},
    {"requests.exceptions.ConnectionError: HTTPConnectionPool(host='reward-model', port=8000): Max "
     "retries exceeded",
     "HTTP server that the line names", NI_F_NONE},
    {"requests.exceptions.SSLError: HTTPSConnectionPool(host='huggingface.co', port=443): Max "
     "retries exceeded (Caused by SSLError(SSLCertVerificationError(1, '[SSL: "
     "CERTIFICATE_VERIFY_FAILED] certificate verify failed')))",
     "does not trust", NI_F_NONE},
    {"huggingface_hub.errors.GatedRepoError: 401 Client Error. Cannot access gated repo for url "
     "https://huggingface.co/a/b",
     "whom its owner allows", NI_F_NONE},
};

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < NI_COUNT(errors); i++) {
        const struct ni_log_meaning is = ni_log_meaning(errors[i].text);

        if (!is.cause || !strstr(is.cause, errors[i].cause) || is.about != errors[i].about)
            fail_msg("%s: %s (%s)", errors[i].text, is.cause ? is.cause : "no cause",
                     ni_finding_id(is.about));
    }
}

static void test_unknown(void **state)
{
    (void)state;
    assert_null(ni_log_meaning("RuntimeError: loss is nan").cause);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
