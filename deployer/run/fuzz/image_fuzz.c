/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: every digest of an accepted index or manifest is well-formed, and an image
 * configuration determines program, environment and directory of main, nothing else of the
 * container. */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/digest.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"
#include "deployer/run/image_index.h"
#include "deployer/run/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_digest(const struct content *content)
{
    enum digest_algorithm algorithm = DIGEST_SHA256;
    const char *hex = NULL;
    struct error ignored = {0};

    must(digest_parse(content->digest, &algorithm, &hex, &ignored) == 0);
}

static void try_manifest(const json_t *doc)
{
    static const char *const tags[] = {NULL, "v1"};
    cleanup_manifest struct manifest manifest = {0};
    struct error err = {0};

    if (manifest_from_doc(doc, NULL, &manifest, &err) < 0) {
        must(err.text[0] && (err.kind == ERROR_INVALID || err.kind == ERROR_TOO_LARGE));
        return;
    }
    for (size_t i = 0; manifest.is_index && i < array_length(tags); i++) {
        const struct content *chosen = NULL;

        if (image_index_choose(&manifest, tags[i], &chosen, &err) == 0)
            check_digest(chosen);
        else
            must(err.text[0] && (err.kind == ERROR_INVALID || err.kind == ERROR_NOT_FOUND));
    }
    for (size_t i = 0; i < manifest.entry_count; i++)
        check_digest(&manifest.entries[i]);
}

/* The specification without the fields that an image may determine. */
static char *shape(json_t *spec)
{
    static const char *const chosen[] = {"args", "env", "cwd"};

    for (size_t i = 0; i < array_length(chosen); i++)
        (void)json_object_del(json_object_get(spec, "process"), chosen[i]);
    return doc_dump_sorted(spec);
}

static char *shape_with(const json_t *config, const char *command, struct error *err)
{
    cleanup_json json_t *pod =
        json_pack("{s:{s:s,s:s},s:{s:[{s:s,s:[s*]}]}}", "metadata", "name", "a-pod", "namespace",
                  "ns", "spec", "containers", "name", CONTAINER_MAIN, "command", command);
    struct spec_request request = {.pod = pod, .image_config = config, .rootfs = "/r"};
    cleanup_json json_t *spec = NULL;

    return spec_make(&request, &spec, err) < 0 ? NULL : shape(spec);
}

static void try_config(const json_t *doc)
{
    struct error err = {0};
    cleanup_free char *plain = shape_with(NULL, "/c", &err);
    cleanup_free char *with_command = shape_with(doc, "/c", &err);
    cleanup_free char *without = shape_with(doc, NULL, &err);

    must(plain != NULL);
    must(with_command ? strcmp(plain, with_command) == 0 : err.kind == ERROR_INVALID);
    must(without ? strcmp(plain, without) == 0 : err.kind == ERROR_INVALID);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_json json_t *doc = NULL;
    struct error err = {0};

    doc_setup();
    if (doc_parse_json((const char *)data, size, 1 << 20, &doc, &err) < 0)
        return 0;
    try_manifest(doc);
    try_config(doc);
    return 0;
}
