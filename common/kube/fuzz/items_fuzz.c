/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: a list gives the same items however its bytes are split (the first byte of the input
 * selects where). If the input is valid JSON with an array of objects "items", the items are those
 * objects, and the envelope is the rest. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"
#include "common/kube/split.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_MAX = 1 << 20 };

struct seen {
    struct buffer text; /* all items, each with a NUL after it */
    size_t count;
};

static int note(void *data, const char *text, size_t size)
{
    struct seen *seen = data;
    struct error err = {0};

    must(text && size >= 2 && text[0] == '{');
    must(buffer_append(&seen->text, text, size, &err) == 0);
    must(buffer_append(&seen->text, "", 1, &err) == 0);
    seen->count++;
    return 0;
}

static int feed(const char *bytes, size_t size, size_t chunk, struct seen *seen,
                struct item_split *split)
{
    struct error err = {0};
    int result = 0;

    buffer_init(&seen->text, TEXT_MAX * 2);
    item_split_init(split, TEXT_MAX);
    for (size_t at = 0; at < size && result == 0; at += chunk) {
        size_t length = size - at < chunk ? size - at : chunk;
        cleanup_free char *piece = xmemdup(bytes + at, length);

        result = item_split_feed(split, piece, length, note, seen, &err);
    }
    return result;
}

static bool are_objects(const json_t *items)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach(items, i, item)
    {
        if (!json_is_object(item))
            return false;
    }
    return true;
}

static void compare(const json_t *list, const struct seen *seen, const struct item_split *split)
{
    cleanup_json json_t *envelope = NULL;
    cleanup_json json_t *rest = json_copy((json_t *)(uintptr_t)list);
    const json_t *items = doc_member(list, "items");
    const char *at = seen->text.data;
    struct error err = {0};

    must(seen->count == json_array_size(items));
    for (size_t i = 0; i < seen->count; i++, at += strlen(at) + 1) {
        cleanup_json json_t *item = NULL;

        must(doc_parse_json(at, strlen(at), TEXT_MAX, &item, &err) == 0);
        must(json_equal(item, json_array_get(items, i)));
    }
    (void)json_object_set_new(rest, "items", json_array());
    must(doc_parse_json(split->envelope.data, split->envelope.size, TEXT_MAX, &envelope, &err) ==
         0);
    must(json_equal(envelope, rest));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + 1;
    struct seen whole = {0};
    struct seen cut = {0};
    struct item_split first = {0};
    struct item_split second = {0};
    cleanup_json json_t *list = NULL;
    struct error err = {0};

    doc_setup();
    if (size < 2 || size > ITEM_SPLIT_ENVELOPE_MAX)
        return 0;
    must(feed(text, size - 1, size, &whole, &first) == 0);
    must(feed(text, size - 1, (size_t)data[0] + 1, &cut, &second) == 0);
    must(whole.count == cut.count && whole.text.size == cut.text.size);
    must(whole.text.size == 0 || memcmp(whole.text.data, cut.text.data, whole.text.size) == 0);
    must(first.envelope.size == second.envelope.size);
    /* A key that is written with escapes is not recognised. */
    if (!memchr(text, '\\', size - 1) &&
        doc_parse_json(text, size - 1, TEXT_MAX, &list, &err) == 0 &&
        json_is_array(doc_member(list, "items")) && are_objects(doc_member(list, "items")))
        compare(list, &whole, &first);
    buffer_done(&whole.text);
    buffer_done(&cut.text);
    item_split_done(&first);
    item_split_done(&second);
    return 0;
}
