/* SPDX-License-Identifier: Apache-2.0 */
#include "common/archive/sorted_names.h"

#include <errno.h>
#include <string.h>

#include "common/base/memory.h"

/* Overhead of malloc and the array per name. */
enum { NAME_OVERHEAD = 32 };

void sorted_names_init(struct sorted_names *names, size_t bytes_max)
{
    *names = (struct sorted_names){.bytes_max = bytes_max};
}

static void clear(struct sorted_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->names[i]);
    names->count = names->place = names->bytes = 0;
}

void sorted_names_done(struct sorted_names *names)
{
    clear(names);
    free(names->names);
    free(names->last);
    *names = (struct sorted_names){0};
}

static size_t cost_of(const char *name)
{
    return strlen(name) + NAME_OVERHEAD;
}

static void swap(char **a, char **b)
{
    char *kept = *a;

    *a = *b;
    *b = kept;
}

/* While the directory is read, the array is a heap with the largest name on top. */
static void push(struct sorted_names *names, const char *name)
{
    size_t place = names->count;

    if (names->count == names->capacity) {
        names->capacity = names->capacity ? names->capacity * 2 : 64;
        names->names = xreallocarray(names->names, names->capacity, sizeof(*names->names));
    }
    names->names[names->count++] = xstrdup(name);
    names->bytes += cost_of(name);
    while (place) {
        size_t parent = (place - 1) / 2;

        if (strcmp(names->names[place], names->names[parent]) <= 0)
            break;
        swap(&names->names[place], &names->names[parent]);
        place = parent;
    }
}

static void pop(struct sorted_names *names)
{
    size_t place = 0;

    names->bytes -= cost_of(names->names[0]);
    free(names->names[0]);
    names->names[0] = names->names[--names->count];
    for (;;) {
        size_t child = 2 * place + 1;

        if (child >= names->count)
            break;
        if (child + 1 < names->count && strcmp(names->names[child + 1], names->names[child]) > 0)
            child++;
        if (strcmp(names->names[place], names->names[child]) >= 0)
            break;
        swap(&names->names[place], &names->names[child]);
        place = child;
    }
}

static int compare(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static int read_batch(struct sorted_names *names, DIR *directory, struct error *err)
{
    const struct dirent *entry = NULL;

    clear(names);
    names->is_whole = true;
    rewinddir(directory);
    while ((errno = 0, entry = readdir(directory))) {
        const char *name = entry->d_name;

        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            (names->last && strcmp(name, names->last) <= 0))
            continue;
        if (!names->is_whole && strcmp(name, names->names[0]) > 0)
            continue;
        push(names, name);
        while (names->bytes > names->bytes_max && names->count > 1) {
            pop(names);
            names->is_whole = false;
        }
    }
    if (errno)
        return error_set_errno(err, errno, "read a directory");
    if (names->count)
        qsort(names->names, names->count, sizeof(*names->names), compare);
    return 0;
}

int sorted_names_next(struct sorted_names *names, DIR *directory, const char **ret_name,
                      struct error *err)
{
    *ret_name = NULL;
    if (names->place == names->count) {
        if (names->is_whole)
            return 0;
        if (read_batch(names, directory, err) < 0)
            return -1;
        if (!names->count)
            return 0;
    }
    free(names->last);
    names->last = xstrdup(names->names[names->place++]);
    *ret_name = names->last;
    return 0;
}
