/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor (v2 or v3alpha1) that is accepted comes out as v2 that is accepted again and does
 * not change any more; its lists are lists, its names are names. Read as one tree it is the same.
 */
#include <stdint.h>
#include <string.h>

#include "common/data/doc.h"
#include "common/fuzz/must.h"
#include "init/component/descriptor.h"
#include "init/component/names.h"

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

/* Element by element or as one tree: the same descriptor, or the same refusal. Only what does not
 * fit into memory is refused by one alone. */
static void compare_with_tree(const uint8_t *data, size_t size, const struct descriptor *streamed,
                              const struct error *streamed_err)
{
    cleanup_descriptor struct descriptor *descriptor = NULL;
    cleanup_json json_t *doc = NULL;
    cleanup_free char *once = NULL;
    cleanup_free char *twice = NULL;
    struct error err = {0};

    if (streamed_err->kind == ERROR_TOO_LARGE)
        return;
    if (doc_parse_yaml((const char *)data, size, DESCRIPTOR_MAX_BYTES, &doc, &err) < 0) {
        must(!streamed);
        return;
    }
    if (descriptor_from_doc(doc, &descriptor, &err) < 0) {
        must(!streamed && strcmp(err.text, streamed_err->text) == 0);
        return;
    }
    must(streamed != NULL);
    once = written(streamed);
    twice = written(descriptor);
    must(strcmp(once, twice) == 0);
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
        compare_with_tree(data, size, NULL, &err);
        return 0;
    }
    compare_with_tree(data, size, descriptor, &err);
    must(component_name_is_valid(descriptor_name(descriptor)));
    must(version_is_valid(descriptor_version(descriptor)));
    must(typed_text(descriptor_context(descriptor), "type") != NULL);
    check_references(descriptor);
    once = written(descriptor);
    if (descriptor_parse(once, strlen(once), &again, &err) < 0) {
        /* Aliases make much of little. */
        must(err.kind == ERROR_TOO_LARGE);
        return 0;
    }
    twice = written(again);
    must(strcmp(once, twice) == 0);
    return 0;
}
