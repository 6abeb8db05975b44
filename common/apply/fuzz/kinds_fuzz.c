/* SPDX-License-Identifier: Apache-2.0 */
/* The input is a CustomResourceDefinition or the response to a discovery request. Whatever is
 * learnt from it can be part of the path of a request. */
#include <stdint.h>
#include <string.h>

#include "common/apply/kinds.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"
#include "common/kube/request.h"

enum { SIZE_LIMIT = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_kind(const struct kind *kind)
{
    struct kube_resource resource = kind_resource(kind);
    cleanup_free char *path = NULL;
    struct error err = {0};

    must(kube_path_make("https://a", &resource, NULL, "name", NULL, &path, &err) == 0);
    must(strstr(path, "/..") == NULL);
}

static void check_crd(const json_t *crd)
{
    cleanup_kind_set struct kind_set *set = kind_set_new();
    const json_t *versions = doc_get(crd, "spec.versions");
    const char *group = doc_text_or(crd, "spec.group", "");
    const char *name = doc_text_or(crd, "spec.names.kind", "");

    kind_set_add_crd(set, crd);
    for (size_t i = 0; i < json_array_size(versions); i++) {
        const char *version = doc_text_or(json_array_get(versions, i), "name", "");
        char api_version[600] = "";
        const struct kind *kind = NULL;

        if (snprintf(api_version, sizeof(api_version), "%s/%s", group, version) >=
            (int)sizeof(api_version))
            continue;
        kind = kind_set_find(set, api_version, name);
        must(!kind_set_is_discovered(set, api_version));
        if (!kind)
            continue;
        check_kind(kind);
        must(strcmp(kind->group, group) == 0 && strcmp(kind->version, version) == 0);
        kind_set_forget(set, api_version);
        must(!kind_set_find(set, api_version, name));
    }
}

static void check_discovery(const json_t *list)
{
    static const char api_version[] = "e.com/v1";
    cleanup_kind_set struct kind_set *set = kind_set_new();
    const json_t *resources = doc_get(list, "resources");
    struct error err = {0};

    if (kind_set_add_discovery(set, api_version, list, &err) < 0) {
        must(err.kind == ERROR_INVALID && !kind_set_is_discovered(set, api_version));
        return;
    }
    must(kind_set_is_discovered(set, api_version));
    for (size_t i = 0; i < json_array_size(resources); i++) {
        const char *name = doc_text_or(json_array_get(resources, i), "kind", "");
        const struct kind *kind = kind_set_find(set, api_version, name);

        if (kind)
            check_kind(kind);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_json json_t *doc = NULL;
    struct error err = {0};

    doc_setup();
    if (doc_parse_json((const char *)data, size, SIZE_LIMIT, &doc, &err) < 0)
        return 0;
    check_crd(doc);
    check_discovery(doc);
    return 0;
}
