/* SPDX-License-Identifier: Apache-2.0 */
#include "wait/thrift.h"

#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { LARGE_BYTES = 128 * 1024 };

void thrift_set_up(void)
{
#ifdef __GLIBC__
    /* Once set, glibc no longer raises it to the size of what was freed last: chunks of a state
     * would stay in the heap from the second one on. */
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, LARGE_BYTES);
    (void)mallopt(M_ARENA_MAX, 1);
#endif
}

static int let_go(struct dl_phdr_info *object, size_t size, void *data)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    (void)size;
    (void)data;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t start = ((uintptr_t)object->dlpi_addr + segment->p_vaddr) & ~(page - 1);
        uintptr_t end = (uintptr_t)object->dlpi_addr + segment->p_vaddr + segment->p_memsz;

        /* Never what is writable, or was until it was relocated: those pages are like no file. */
        if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W))
            (void)madvise((void *)start, end - start, MADV_DONTNEED); /* NOLINT: an address */
    }
    return 0;
}

void thrift_give_back(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
    (void)dl_iterate_phdr(let_go, NULL);
}
