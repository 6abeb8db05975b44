/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the config ('c') or the descriptor layer ('t': as tar, else as text) of a component
 * artifact. Property: an accepted config has a well-formed digest; an accepted layer gives the same
 * descriptor as its text. */
#include <stdint.h>
#include <string.h>

#include "common/archive/unpack.h"
#include "common/base/memory.h"
#include "common/component/component_artifact.h"
#include "common/data/digest.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"

#define LAYER_TYPE "application/vnd.ocm.software.component-descriptor.v2+yaml"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_config(const char *bytes, size_t size)
{
    cleanup_component_artifact_layer struct component_artifact_layer layer = {0};
    enum digest_algorithm algorithm = DIGEST_SHA256;
    const char *hex = NULL;
    struct error err = {0};

    if (component_artifact_read_config(bytes, size, &layer, &err) < 0) {
        must(!layer.digest && err.text[0]);
        return;
    }
    must(digest_parse(layer.digest, &algorithm, &hex, &err) == 0);
    must(layer.size >= -1 && strstr(layer.media_type, "component-descriptor") != NULL);
}

static struct descriptor *take(const void *bytes, size_t size, const char *media_type)
{
    cleanup_buffer struct buffer layer = {0};
    struct descriptor *descriptor = NULL;
    struct error err = {0};

    buffer_init(&layer, SIZE_MAX / 2);
    must(buffer_append(&layer, bytes, size, &err) == 0);
    if (component_artifact_take_layer(&layer, media_type, &descriptor, &err) < 0)
        must(!descriptor && err.text[0] && err.kind != ERROR_NONE);
    return descriptor;
}

static void try_tar(const char *bytes, size_t size)
{
    cleanup_descriptor struct descriptor *packed = take(bytes, size, LAYER_TYPE "+tar");
    cleanup_descriptor struct descriptor *plain = NULL;
    cleanup_free char *text = NULL;
    struct error err = {0};

    if (unpack_find_file(bytes, size, "component-descriptor.yaml", DESCRIPTOR_MAX_BYTES, &text,
                         &size, &err) < 0) {
        must(!packed);
        return;
    }
    plain = take(text, size, LAYER_TYPE);
    must(!packed == !plain);
    if (packed)
        must(strcmp(descriptor_name(packed), descriptor_name(plain)) == 0 &&
             descriptor_check_identity(packed, descriptor_name(plain), descriptor_version(plain),
                                       &err) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data + 1;

    doc_setup();
    if (size == 0)
        return 0;
    if (*data == 'c') {
        try_config(bytes, size - 1);
    } else if (*data == 't') {
        try_tar(bytes, size - 1);
    } else {
        cleanup_descriptor struct descriptor *plain = take(bytes, size - 1, LAYER_TYPE);

        must(!plain || descriptor_name(plain)[0] != '\0');
    }
    return 0;
}
