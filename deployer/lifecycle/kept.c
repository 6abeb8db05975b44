/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/kept.h"

#include <string.h>
#include <zlib.h>

#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/data/doc.h"

enum {
    KEPT_BYTES_MAX = 16 << 20,
    /* Parameters of deflateInit2(): 32 KB of working memory, since most objects have 2 to 8 KB. */
    LEVEL = 3,
    WINDOW_BITS = 12,
    MEMORY_LEVEL = 4,
};

/* Stores the text, compressed if that makes it smaller. */
static void pack(struct kept *kept, char *text)
{
    size_t length = strlen(text);
    cleanup_free char *packed = xmalloc(length + 1);
    z_stream stream = {0};

    *kept = (struct kept){.bytes = text, .size = (uint32_t)length, .length = (uint32_t)length};
    if (deflateInit2(&stream, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return;
    stream.next_in = (unsigned char *)text;
    stream.avail_in = (uInt)length;
    stream.next_out = (unsigned char *)packed;
    stream.avail_out = (uInt)(length > 0 ? length - 1 : 0);
    if (deflate(&stream, Z_FINISH) == Z_STREAM_END) {
        kept->size = (uint32_t)stream.total_out;
        kept->bytes = xmemdup(packed, kept->size);
        free(text);
    }
    (void)deflateEnd(&stream);
}

static json_t *unpack(const struct kept *kept)
{
    cleanup_free char *text = xmalloc(kept->length + 1);
    uLongf length = kept->length;
    json_t *object = NULL;
    struct error ignored = {0};

    if (kept->size == kept->length)
        memcpy(text, kept->bytes, kept->length);
    else if (uncompress((unsigned char *)text, &length, (const unsigned char *)kept->bytes,
                        kept->size) != Z_OK)
        out_of_memory(); /* nothing else can fail; without its object a cluster would be left */
    /* It was written by kept_set(), so it can be parsed. */
    (void)!doc_parse_json(text, kept->length, KEPT_BYTES_MAX, &object, &ignored);
    return object;
}

static uint64_t version_of(const json_t *object)
{
    uint64_t version = 0;

    (void)number_parse(doc_text_or(object, "metadata.resourceVersion", ""), UINT64_MAX, &version);
    return version;
}

void kept_done(struct kept *kept)
{
    free(kept->bytes);
    free(kept->uid);
    json_decref(kept->parsed);
    *kept = (struct kept){0};
}

void kept_set(struct kept *kept, const json_t *object)
{
    struct kept fresh = {0};

    if (object) {
        pack(&fresh, doc_dump(object));
        fresh.uid = xstrdup(doc_text_or(object, "metadata.uid", ""));
        fresh.version = version_of(object);
    }
    fresh.is_held = kept->is_held;
    kept_done(kept);
    *kept = fresh;
}

bool kept_is_there(const struct kept *kept)
{
    return kept->bytes != NULL;
}

json_t *kept_get(struct kept *kept)
{
    json_t *object = json_incref(kept->parsed);

    if (!object && kept->bytes)
        object = unpack(kept);
    if (kept->is_held && !kept->parsed)
        kept->parsed = json_incref(object);
    return object;
}

void kept_hold(struct kept *kept)
{
    kept->is_held = true;
}

void kept_release(struct kept *kept)
{
    json_decref(kept->parsed);
    kept->parsed = NULL;
    kept->is_held = false;
}

static bool is_same_object(const struct kept *kept, const json_t *object)
{
    return kept->bytes && strcmp(kept->uid, doc_text_or(object, "metadata.uid", "")) == 0;
}

bool kept_has(const struct kept *kept, const json_t *object)
{
    return is_same_object(kept, object) && kept->version > 0 && version_of(object) == kept->version;
}

bool kept_is_newer_than(const struct kept *kept, const json_t *object)
{
    return is_same_object(kept, object) && version_of(object) < kept->version;
}

void kept_take_answer(struct kept *kept, const json_t *object)
{
    if (is_same_object(kept, object) && !kept_is_newer_than(kept, object))
        kept_set(kept, object);
}
