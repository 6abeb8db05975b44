/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of the objects of a file: each has a kind, none is a List, the data of Secrets is
 * valid base64, and they are the same when written out and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"
#include "deployer/item/bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const json_t *object)
{
    const char *kind = doc_text(object, "kind");

    must(kind && *kind && strcmp(kind, "List") != 0);
    must(strcmp(kind, "Secret") != 0 || !json_is_object(doc_member(object, "stringData")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_bundle struct bundle bundle = {0};
    cleanup_bundle struct bundle again = {0};
    cleanup_json json_t *list = NULL;
    cleanup_free char *text = NULL;
    struct error err = {0};

    doc_setup();
    bundle_init(&bundle);
    bundle_init(&again);
    if (bundle_add_text(&bundle, "f", (const char *)data, size, &err) < 0) {
        must(err.text[0] && strncmp(err.text, "\"f\"", 3) == 0);
        return 0;
    }
    for (size_t i = 0; i < json_array_size(bundle.objects); i++)
        check(json_array_get(bundle.objects, i));
    list = json_pack("{s:s, s:O}", "kind", "List", "items", bundle.objects);
    text = doc_dump(list);
    must(bundle_add_text(&again, "f", text, strlen(text), &err) == 0);
    must(json_equal(bundle.objects, again.objects));
    return 0;
}
