/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: an accepted manifest is within the limits, has only well-formed digests, and each of
 * its entries is found by digest. */
#include <stdint.h>
#include <string.h>

#include "common/data/digest.h"
#include "common/fuzz/must.h"
#include "common/oci/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct content *content)
{
    enum digest_algorithm algorithm = DIGEST_SHA256;
    const char *hex = NULL;
    struct error err = {0};

    must(digest_parse(content->digest, &algorithm, &hex, &err) == 0);
    must(content->size >= -1);
    must(content->media_type);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_manifest struct manifest manifest = {0};
    struct error err = {0};

    if (manifest_parse((const char *)data, size, NULL, &manifest, &err) < 0) {
        must(err.kind == ERROR_INVALID || err.kind == ERROR_TOO_LARGE);
        return 0;
    }
    must(manifest.entry_count <= MANIFEST_DESCRIPTORS_MAX);
    must(manifest.is_index == !manifest.config.digest);
    if (manifest.config.digest)
        check(&manifest.config);
    for (size_t i = 0; i < manifest.entry_count; i++) {
        check(&manifest.entries[i]);
        must(strcmp(manifest_find(&manifest, manifest.entries[i].digest)->digest,
                    manifest.entries[i].digest) == 0);
    }
    return 0;
}
