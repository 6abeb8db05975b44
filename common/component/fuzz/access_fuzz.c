/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the access of a resource. Property: an accepted access has what its kind requires, and
 * everything that becomes part of a URL follows the grammar of references. */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/component/access.h"
#include "common/data/doc.h"
#include "common/data/reference.h"
#include "common/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The parts form a reference that parses to the same parts. */
static void check_place(const struct access *access)
{
    const char *host = access->host ? access->host : "registry.invalid";
    cleanup_reference struct reference *reference = NULL;
    cleanup_free char *text = NULL;
    struct error err = {0};

    text = xasprintf("%s/%s%s%s", host, access->repository, strchr(access->object, ':') ? "@" : ":",
                     access->object);
    must(reference_parse(text, &reference, &err) == 0);
    must(strcmp(reference_host(reference), host) == 0);
    must(strcmp(reference_repository(reference), access->repository) == 0);
    must(strcmp(reference_object(reference), access->object) == 0);
}

static void check(const struct access *access)
{
    static const char *const chart_members[] = {"url", "name", "version"};
    bool is_local = access->kind == ACCESS_LOCAL_BLOB || access->kind == ACCESS_LOCAL_OCI_BLOB;
    bool is_blob = is_local || access->kind == ACCESS_BLOB;
    bool is_chart = access->kind == ACCESS_CHART_REPOSITORY;

    must(access->media_type && access->size >= -1);
    must(is_blob == (access->reference_count > 0));
    must(access->reference_count <= ACCESS_REFERENCES_MAX);
    for (size_t i = 0; i < access->reference_count; i++)
        must(access->references[i][0] != '\0');
    must((is_local || is_chart) == !access->repository);
    must(!access->host == (is_local || is_chart || access->kind == ACCESS_RELATIVE));
    must(is_chart == (access->chart != NULL));
    for (size_t i = 0; is_chart && i < array_length(chart_members); i++)
        must(*doc_text_or(access->chart, chart_members[i], "") != '\0');
    must(!access->blob_digest || strncmp(access->blob_digest, "sha", 3) == 0);
    must(!access->artifact_digest || strncmp(access->artifact_digest, "sha", 3) == 0);
    if (!is_local && !is_chart)
        check_place(access);
}

static void parse(const json_t *resource, enum access_content content)
{
    cleanup_access struct access access = {0};
    struct error err = {0};

    if (access_parse(resource, content, &access, &err) < 0)
        must(err.text[0] && (err.kind == ERROR_INVALID || err.kind == ERROR_TOO_LARGE));
    else
        check(&access);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_json json_t *resource = NULL;
    struct error err = {0};

    doc_setup();
    if (doc_parse_yaml((const char *)data, size, 1 << 16, &resource, &err) < 0)
        return 0;
    parse(resource, ACCESS_BLUEPRINT);
    parse(resource, ACCESS_CHART);
    return 0;
}
