/* SPDX-License-Identifier: Apache-2.0 */
#include "init/inputs.h"

#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"

enum { TARGET_MAX_BYTES = 4 * 1024 * 1024 };

int inputs_write_imports(const struct volume *volume, const char *path, const char *values,
                         struct error *err)
{
    return values ? volume_write(volume, path, values, strlen(values), err) : 0;
}

/* Returns text with apiVersion and kind, or NULL if it has them or is not a target. */
static char *add_kind(const char *text, size_t size)
{
    cleanup_json json_t *doc = NULL;
    struct error ignored = {0};
    json_t *target = NULL;

    if (doc_parse_json(text, size, TARGET_MAX_BYTES, &doc, &ignored) < 0)
        return NULL;
    target = json_object_get(doc, "target");
    if (!json_is_object(target) ||
        (json_object_get(target, "apiVersion") && json_object_get(target, "kind")))
        return NULL;
    (void)json_object_set_new(target, "apiVersion", json_string(LANDSCAPER_API_VERSION));
    (void)json_object_set_new(target, "kind", json_string(KIND_TARGET));
    return doc_dump(doc);
}

int inputs_write_target(const struct volume *volume, const char *path, const char *source,
                        size_t *ret_size, struct error *err)
{
    cleanup_buffer struct buffer text = {0};
    cleanup_free char *completed = NULL;

    buffer_init(&text, TARGET_MAX_BYTES);
    if (doc_read_file(source, TARGET_MAX_BYTES, &text, err) < 0)
        return error_wrap(err, "target");
    completed = text.data ? add_kind(text.data, text.size) : NULL;
    *ret_size = completed ? strlen(completed) : text.size;
    return volume_write(volume, path,
                        completed   ? completed
                        : text.data ? text.data
                                    : "",
                        *ret_size, err);
}
