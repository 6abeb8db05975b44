/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: a watch gives the same events however its bytes are split (the first byte of the
 * input selects where). Every event has an object, and a reduced object has a name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"
#include "common/kube/object.h"
#include "common/kube/split.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINE_MAX_BYTES = 4096 };

/* Appends a description of the event, so that two runs can be compared. */
static int note(void *data, const char *text, size_t size)
{
    struct buffer *seen = data;
    cleanup_json json_t *object = NULL;
    cleanup_free char *dump = NULL;
    enum kube_line_type type = KUBE_LINE_UNKNOWN;
    struct error fault = {0};
    struct error err = {0};
    struct error ignored = {0};
    static const char *const skipped_members[] = {"status", "metadata.managedFields", NULL};

    must(!text || (size > 0 && size <= LINE_MAX_BYTES && !memchr(text, '\n', size)));
    if (!text || kube_line_parse(text, size, skipped_members, &type, &object, &fault, &err) < 0) {
        must(!object && (!text || err.kind != ERROR_NONE));
        return buffer_append_text(seen, &ignored, "bad\n");
    }
    must(json_is_object(object) && err.kind == ERROR_NONE);
    must(fault.kind == ERROR_NONE || doc_text(object, "metadata.name"));
    dump = doc_dump(object);
    return buffer_append_text(seen, &ignored, "%d %d %s\n", (int)type, (int)fault.kind, dump);
}

static void feed(const char *bytes, size_t size, size_t chunk, struct buffer *seen)
{
    struct line_split split = {0};

    buffer_init(seen, 1 << 24);
    line_split_init(&split, LINE_MAX_BYTES);
    for (size_t at = 0; at < size; at += chunk) {
        /* A copy of the exact size, so that ASan detects reading past the end. */
        size_t length = size - at < chunk ? size - at : chunk;
        cleanup_free char *piece = xmemdup(bytes + at, length);

        (void)line_split_feed(&split, piece, length, note, seen);
    }
    line_split_done(&split);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_buffer struct buffer whole = {0};
    cleanup_buffer struct buffer cut = {0};

    doc_setup();
    if (size < 2)
        return 0;
    feed((const char *)data + 1, size - 1, size, &whole);
    feed((const char *)data + 1, size - 1, (size_t)data[0] + 1, &cut);
    must(whole.size == cut.size &&
         (whole.size == 0 || memcmp(whole.data, cut.data, whole.size) == 0));
    return 0;
}
