/* SPDX-License-Identifier: Apache-2.0 */
/* The blocking call: runs the loop until its fetch has ended. */
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/oci/registry_internal.h"

struct reading {
    bool is_done;
    struct error err;
    json_t *manifest;
    char *media_type, *digest;
};

static int run_until_done(struct registry *registry, struct reading *reading, struct error *err)
{
    while (!reading->is_done) {
        if (loop_run_once(registry->loop, -1, err) < 0)
            return -1;
    }
    if (reading->err.kind != ERROR_NONE) {
        *err = reading->err;
        return -1;
    }
    return 0;
}

static void manifest_read(void *data, const struct buffer *bytes, const char *media_type,
                          const char *digest, const struct error *err)
{
    struct reading *reading = data;

    reading->is_done = true;
    reading->err = *err;
    if (err->kind != ERROR_NONE)
        return;
    if (doc_parse_json(bytes->data ? bytes->data : "", bytes->size, REGISTRY_MANIFEST_MAX,
                       &reading->manifest, &reading->err) < 0)
        return;
    reading->media_type = xstrdup(media_type);
    reading->digest = xstrdup(digest);
}

int registry_read_manifest(struct registry *registry, const struct registry_place *place,
                           const char *object, json_t **ret_manifest, char **ret_media_type,
                           char **ret_digest, struct error *err)
{
    struct reading reading = {0};
    struct registry_call *call = NULL;

    if (registry_get_manifest(registry, place, object, manifest_read, &reading, &call, err) < 0)
        return -1;
    if (run_until_done(registry, &reading, err) < 0) {
        if (!reading.is_done)
            registry_cancel(call);
        return -1;
    }
    *ret_manifest = reading.manifest;
    *ret_media_type = reading.media_type;
    *ret_digest = reading.digest;
    return 0;
}
