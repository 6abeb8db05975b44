/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the specification of a repository. Property: an accepted one has a text for messages and
 * what its kind requires; host and path of a registry form a URL with the same host and path. */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/component/repository.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_registry(const struct repository *repository)
{
    cleanup_free char *url = xasprintf("%s://%s/%s", repository->is_plain_http ? "http" : "https",
                                       repository->host, repository->sub_path);
    cleanup_json json_t *spec = json_pack("{s:s, s:s}", "type", "ociRegistry", "baseUrl", url);
    cleanup_repository struct repository *again = NULL;
    cleanup_free char *path = repository_component_path(repository, "example.com/a");
    size_t length = strlen(repository->sub_path);
    struct error err = {0};

    must(*repository->host && !strchr(repository->host, '/') && !strchr(repository->host, '@'));
    must(length == 0 ||
         (repository->sub_path[0] != '/' && repository->sub_path[length - 1] != '/'));
    must(strncmp(path, repository->sub_path, length) == 0 && path[0] != '/');
    must(repository_parse(spec, &again, &err) == 0);
    must(strcmp(again->host, repository->host) == 0);
    must(strcmp(again->sub_path, repository->sub_path) == 0);
    must(again->is_plain_http == repository->is_plain_http);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_json json_t *doc = NULL;
    cleanup_repository struct repository *repository = NULL;
    struct error err = {0};

    doc_setup();
    if (doc_parse_json((const char *)data, size, 1 << 20, &doc, &err) < 0)
        return 0;
    if (repository_parse(doc, &repository, &err) < 0) {
        must(!repository && err.kind == ERROR_INVALID && err.text[0]);
        return 0;
    }
    must(repository->text && *repository->text && repository->directory_fd == -1);
    must(repository->kind != REPOSITORY_DESCRIPTORS);
    if (repository->kind == REPOSITORY_REGISTRY)
        check_registry(repository);
    else if (repository->kind == REPOSITORY_INLINE)
        must(repository->tree && repository->blob_tree);
    else if (repository->kind != REPOSITORY_UNSUPPORTED)
        must(*repository->path && repository->sub_path);
    return 0;
}
