/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/imported_state.h"

#include <string.h>

#include "common/archive/beneath.h"
#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"

static int write_chunk(const json_t *secret, int state_fd, struct error *err)
{
    const char *name = doc_text_or(secret, "metadata.name", "");
    const char *data = json_string_value(doc_member(doc_get(secret, "data"), SECRET_KEY_CONFIG));
    cleanup_free char *bytes_path = xasprintf("%s/" SECRET_KEY_CONFIG, name);
    cleanup_free char *metadata_path = xasprintf("%s/" FILE_STATE_METADATA, name);
    cleanup_json json_t *metadata =
        json_pack("{s:O?, s:s}", "annotations", doc_get(secret, "metadata.annotations"),
                  "creationTimestamp", doc_text_or(secret, "metadata.creationTimestamp", ""));
    cleanup_free char *text = doc_dump(metadata);
    cleanup_buffer struct buffer bytes = {0};

    if (!data)
        return error_set(err, ERROR_INVALID, "state Secret \"%s\" has no data", name);
    buffer_init(&bytes, SECRET_MAX_BYTES + 1);
    if (base64_decode(data, strlen(data), &bytes, err) < 0)
        return error_wrap(err, "state Secret \"%s\"", name);
    if (beneath_write_file(state_fd, metadata_path, text, strlen(text), 0644, err) < 0)
        return -1;
    return beneath_write_file(state_fd, bytes_path, bytes.data ? bytes.data : "", bytes.size, 0644,
                              err);
}

int imported_state_write(const json_t *secrets, int state_fd, struct error *err)
{
    const json_t *secret = NULL;
    size_t index = 0;

    json_array_foreach(secrets, index, secret)
    {
        if (write_chunk(secret, state_fd, err) < 0)
            return -1;
    }
    return 0;
}
