/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor (v2 or v3alpha1) that is accepted comes out as v2 that is accepted again and does
 * not change any more; its lists are lists, its names are names. */
#include <stdint.h>
#include <string.h>

#include "common/data/doc.h"
#include "init/component/descriptor.h"
#include "init/component/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool is_true)
{
    if (!is_true)
        abort();
}

static void check_references(const struct descriptor *descriptor)
{
    const json_t *references = descriptor_references(descriptor);

    must(json_is_array(references));
    for (size_t i = 0; i < json_array_size(references); i++) {
        const json_t *reference = json_array_get(references, i);

        must(component_name_is_valid(doc_text(reference, "componentName")));
        must(doc_text(reference, "version") != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_descriptor struct descriptor *descriptor = NULL;
    cleanup_descriptor struct descriptor *again = NULL;
    cleanup_free char *once = NULL;
    cleanup_free char *twice = NULL;
    struct error err = {0};

    if (descriptor_parse((const char *)data, size, &descriptor, &err) < 0) {
        must(err.kind == ERROR_INVALID || err.kind == ERROR_TOO_LARGE);
        return 0;
    }
    must(component_name_is_valid(descriptor_name(descriptor)));
    must(version_is_valid(descriptor_version(descriptor)));
    must(typed_text(descriptor_context(descriptor), "type") != NULL);
    check_references(descriptor);
    once = doc_dump_sorted(descriptor_doc(descriptor));
    must(descriptor_from_doc(descriptor_doc(descriptor), &again, &err) == 0);
    twice = doc_dump_sorted(descriptor_doc(again));
    must(strcmp(once, twice) == 0);
    return 0;
}
