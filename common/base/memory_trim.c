/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/memory_trim.h"

#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { LARGE_BYTES = 128 * 1024 };

void memory_trim_set_up(void)
{
#ifdef __GLIBC__
    /* By default glibc raises the threshold to the size of the largest block freed, so that all
     * chunks of a state but the first would stay in the heap. */
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, LARGE_BYTES);
    (void)mallopt(M_ARENA_MAX, 1);
#endif
}

static int unmap_code(struct dl_phdr_info *object, size_t size, void *data)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    (void)size;
    (void)data;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t start = ((uintptr_t)object->dlpi_addr + segment->p_vaddr) & ~(page - 1);
        uintptr_t end = (uintptr_t)object->dlpi_addr + segment->p_vaddr + segment->p_memsz;

        /* Writable segments, relocated ones included, can't be loaded from the file again. */
        if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W))
            (void)madvise((void *)start, end - start, MADV_DONTNEED); /* NOLINT: an address */
    }
    return 0;
}

void memory_trim(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
    (void)dl_iterate_phdr(unmap_code, NULL);
}
