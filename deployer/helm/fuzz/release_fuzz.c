/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes a release as it is stored in a Secret: the input is what helm stores, before base64.
 * Properties: no message contains a part of it, and every object is a workload with a name. */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"
#include "deployer/helm/release.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const json_t *release)
{
    cleanup_inventory struct inventory objects = {0};
    cleanup_json json_t *values = helm_release_values(release);
    struct error err = {0};

    must(json_is_object(doc_member(values, "Values")));
    if (helm_release_objects(release, &objects, &err) < 0) {
        must(err.text[0] != '\0');
        return;
    }
    for (size_t i = 0; i < objects.count; i++)
        must(objects.entries[i].ref.kind && objects.entries[i].ref.namespace_name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *once = base64_encode((const char *)data, size);
    cleanup_free char *twice = base64_encode(once, strlen(once));
    cleanup_json json_t *secret = NULL;
    cleanup_json json_t *release = NULL;
    struct error err = {0};

    doc_setup();
    secret = json_pack("{s:{s:s},s:{s:s}}", "metadata", "name", "r", "data", "release", twice);
    if (helm_release_parse(secret, &release, &err) < 0) {
        must(strstr(err.text, "release Secret \"r\"") != NULL);
        return 0;
    }
    check(release);
    return 0;
}
