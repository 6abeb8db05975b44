/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: every place lies in the text, documents are found in their order, and members without
 * aliases are found at or after the beginning of their document. */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/places.h"

enum { SIZE_LIMIT = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(bool is_true)
{
    if (!is_true)
        abort();
}

static bool is_before(struct place a, struct place b)
{
    return a.line < b.line || (a.line == b.line && a.column < b.column);
}

/* libyaml's line breaks: LF, CR, NEL, LS, PS; the last three begin with 0xc2 or 0xe2. */
static size_t lines_at_most(const uint8_t *data, size_t size)
{
    size_t lines = 1;

    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n' || data[i] == '\r' || data[i] == 0xc2 || data[i] == 0xe2;
    return lines;
}

static void check_document(const struct places *places, size_t index, const json_t *doc,
                           size_t lines)
{
    struct place start = places_get(places, index, "", false);
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(doc, key, value)
    {
        struct place name = places_get(places, index, key, true);
        struct place content = places_get(places, index, key, false);

        insist(name.line >= 1 && name.column >= 1 && name.line <= lines);
        insist(content.line >= 1 && content.column >= 1 && content.line <= lines);
        insist(!is_before(name, start) && !is_before(content, name));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_places struct places *places = places_new();
    cleanup_json json_t *docs = NULL;
    struct place last = {1, 1};
    struct error err = {0};

    doc_setup();
    /* Any text must be survived. */
    places_want(places, 3, "a.\"b.c\"[0].d");
    places_search(places, (const char *)data, size);
    if (doc_parse_yaml_stream((const char *)data, size, SIZE_LIMIT, &docs, &err) < 0)
        return 0;
    for (size_t i = 0; i < json_array_size(docs); i++) {
        const char *key = NULL;
        json_t *value = NULL;

        places_want(places, i, "");
        doc_foreach(json_array_get(docs, i), key, value)
        {
            places_want(places, i, key);
        }
    }
    places_search(places, (const char *)data, size);
    for (size_t i = 0; i < json_array_size(docs); i++) {
        struct place start = places_get(places, i, "", false);

        /* Text that only the JSON parser reads has no places. */
        if (start.line == 1 && start.column == 1 && i > 0)
            return 0;
        insist(!is_before(start, last));
        last = start;
        check_document(places, i, json_array_get(docs, i), lines_at_most(data, size));
    }
    return 0;
}
