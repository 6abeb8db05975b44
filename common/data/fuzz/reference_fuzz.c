/* SPDX-License-Identifier: Apache-2.0 */
/* Property: the parts of a reference, joined to its normal form, parse to the same parts. */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/digest.h"
#include "common/data/reference.h"
#include "common/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = xstrndup((const char *)data, size);
    cleanup_free char *joined = NULL;
    cleanup_reference struct reference *reference = NULL;
    cleanup_reference struct reference *again = NULL;
    struct error err = {0};

    if (reference_parse(text, &reference, &err) < 0)
        return 0;
    joined = xasprintf("%s/%s%s%s", reference_host(reference), reference_repository(reference),
                       reference_tag(reference) ? ":" : "@", reference_object(reference));
    /* Parts go into paths of URLs and files. */
    must(!strpbrk(joined, "%?#\\ \t\r\n") && !strstr(joined, "//"));
    must(!strstr(reference_host(reference), "..") &&
         !strstr(reference_repository(reference), ".."));
    must(reference_object(reference)[0] != '.');
    must(reference_parse(joined, &again, &err) == 0);
    must(strcmp(reference_object(again), reference_object(reference)) == 0);
    must(strcmp(reference_host(again), reference_host(reference)) == 0);
    must(strcmp(reference_repository(again), reference_repository(reference)) == 0);
    return 0;
}
