/* SPDX-License-Identifier: Apache-2.0 */
/* The normal form of a reference is its own normal form, and is made of the parts. */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/digest.h"
#include "common/data/reference.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(bool is_true)
{
    if (!is_true)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = xstrndup((const char *)data, size);
    cleanup_free char *joined = NULL;
    cleanup_reference struct reference *reference = NULL;
    cleanup_reference struct reference *again = NULL;
    struct error err = {0};

    if (reference_parse(text, &reference, &err) < 0)
        return 0;
    insist(!reference_tag(reference) != !reference_digest(reference));
    joined = xasprintf("%s/%s%s%s", reference_host(reference), reference_repository(reference),
                       reference_tag(reference) ? ":" : "@", reference_object(reference));
    insist(strcmp(joined, reference_text(reference)) == 0);
    /* Parts go into paths of URLs and files. */
    insist(!strpbrk(joined, "%?#\\ \t\r\n") && !strstr(joined, "//"));
    insist(!strstr(reference_host(reference), "..") &&
           !strstr(reference_repository(reference), ".."));
    insist(reference_object(reference)[0] != '.');
    insist(reference_parse(joined, &again, &err) == 0);
    insist(strcmp(reference_text(again), joined) == 0);
    insist(strcmp(reference_host(again), reference_host(reference)) == 0);
    insist(strcmp(reference_repository(again), reference_repository(reference)) == 0);
    return 0;
}
