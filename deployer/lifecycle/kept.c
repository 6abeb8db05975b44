/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/kept.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/data/doc.h"

enum { KEPT_BYTES_MAX = 16 << 20 };

static uint64_t version_of(const json_t *object)
{
    uint64_t version = 0;

    (void)number_parse(doc_text_or(object, "metadata.resourceVersion", ""), UINT64_MAX, &version);
    return version;
}

void kept_done(struct kept *kept)
{
    free(kept->text);
    free(kept->uid);
    *kept = (struct kept){0};
}

void kept_set(struct kept *kept, const json_t *object)
{
    struct kept fresh = {0};

    if (object)
        fresh = (struct kept){
            .text = doc_dump(object),
            .uid = xstrdup(doc_text_or(object, "metadata.uid", "")),
            .version = version_of(object),
        };
    kept_done(kept);
    *kept = fresh;
}

bool kept_is_there(const struct kept *kept)
{
    return kept->text != NULL;
}

json_t *kept_get(const struct kept *kept)
{
    json_t *object = NULL;
    struct error ignored = {0};

    /* It was written by kept_set(), so it can be parsed. */
    if (kept->text)
        (void)!doc_parse_json(kept->text, strlen(kept->text), KEPT_BYTES_MAX, &object, &ignored);
    return object;
}

bool kept_is_newer_than(const struct kept *kept, const json_t *object)
{
    return kept->text && strcmp(kept->uid, doc_text_or(object, "metadata.uid", "")) == 0 &&
           version_of(object) < kept->version;
}

void kept_take_answer(struct kept *kept, const json_t *object)
{
    if (kept->text && strcmp(kept->uid, doc_text_or(object, "metadata.uid", "")) == 0 &&
        !kept_is_newer_than(kept, object))
        kept_set(kept, object);
}
