/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a component descriptor. Property: an accepted one is written as v2, which is accepted and
 * written unchanged; its names are valid. */
#include <stdint.h>
#include <string.h>

#include "common/component/component_name.h"
#include "common/component/descriptor.h"
#include "common/component/typed.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_references(const struct descriptor *descriptor)
{
    for (size_t i = 0; i < descriptor_reference_count(descriptor); i++) {
        cleanup_json json_t *reference = descriptor_reference(descriptor, i);

        must(component_name_is_valid(doc_text(reference, "componentName")));
        must(doc_text(reference, "version") != NULL);
    }
}

static int append(const char *text, size_t size, void *data)
{
    struct error err = {0};

    return buffer_append(data, text, size, &err);
}

static char *written(const struct descriptor *descriptor)
{
    struct buffer text = {0};

    buffer_init(&text, SIZE_MAX / 2);
    must(descriptor_write(descriptor, append, &text) == 0);
    return buffer_take(&text);
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
    once = written(descriptor);
    if (descriptor_parse(once, strlen(once), &again, &err) < 0) {
        /* Aliases can multiply the size. */
        must(err.kind == ERROR_TOO_LARGE);
        return 0;
    }
    twice = written(again);
    must(strcmp(once, twice) == 0);
    return 0;
}
