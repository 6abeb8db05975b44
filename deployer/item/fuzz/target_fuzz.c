/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: for any content of a target, target.json is valid JSON that contains it, and no
 * message quotes it. */
#include <stddef.h>
#include <stdint.h>

#include "deployer/item/target.h"
#include "deployer/tests/sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char canary[] = "canary-5d41402a";
    cleanup_json json_t *target = NULL;
    cleanup_json json_t *doc = NULL;
    cleanup_free char *file = NULL;
    cleanup_free char *content = NULL;
    struct error err = {0};

    doc_setup();
    target = sample_doc("{metadata: {name: t}, spec: {type: x}}");
    file = target_document(target, (const char *)data, size);
    /* JSON allows NUL, but our parser refuses it. */
    if (!memchr(data, '\0', size) &&
        doc_parse_json(file, strlen(file), size * 8 + 4096, &doc, &err) < 0)
        abort();
    content = xmalloc(size + sizeof(canary));
    memcpy(content, data, size);
    memcpy(content + size, canary, sizeof(canary));
    err = (struct error){0};
    if (target_validate(content, size + sizeof(canary) - 1, &err) < 0 && strstr(err.text, canary) &&
        !strstr(err.text, "user \"") && !strstr(err.text, "kind: \""))
        abort();
    return 0;
}
