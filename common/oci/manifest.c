/* SPDX-License-Identifier: Apache-2.0 */
#include "common/oci/manifest.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/digest.h"
#include "common/data/doc.h"
#include "common/oci/registry.h"

#define ANNOTATION_DESCRIPTOR "software.ocm.descriptor"
#define ANNOTATION_REF_NAME "org.opencontainers.image.ref.name"

static void content_done(struct content *content)
{
    free(content->media_type);
    free(content->digest);
    free(content->architecture);
    free(content->os);
    free(content->ref_name);
}

void manifest_done(struct manifest *manifest)
{
    content_done(&manifest->config);
    for (size_t i = 0; i < manifest->entry_count; i++)
        content_done(&manifest->entries[i]);
    free(manifest->entries);
    *manifest = (struct manifest){0};
}

static int parse_content(const json_t *doc, struct content *content, struct error *err)
{
    enum digest_algorithm algorithm = DIGEST_SHA256;
    const char *hex = NULL;
    const char *digest = NULL;
    const char *media_type = "";
    const json_t *annotations = doc_member(doc, "annotations");
    const char *marked = json_string_value(doc_member(annotations, ANNOTATION_DESCRIPTOR));

    if (!json_is_object(doc))
        return error_set(err, ERROR_INVALID, "expected an object");
    content->size = -1;
    if (doc_want_text_required(doc, "digest", &digest, err) < 0 ||
        digest_parse(digest, &algorithm, &hex, err) < 0 ||
        doc_want_text(doc, "mediaType", &media_type, err) < 0 ||
        doc_want_integer(doc, "size", &content->size, err) < 0)
        return -1;
    if (content->size < -1)
        return error_set(err, ERROR_INVALID, "size: must not be negative");
    content->digest = xstrdup(digest);
    content->media_type = xstrdup(media_type);
    content->architecture = xstrdup_or_null(doc_text(doc, "platform.architecture"));
    content->os = xstrdup_or_null(doc_text(doc, "platform.os"));
    content->ref_name =
        xstrdup_or_null(json_string_value(doc_member(annotations, ANNOTATION_REF_NAME)));
    content->is_component = marked && strcmp(marked, "true") == 0;
    return 0;
}

static int parse_entries(const json_t *list, const char *name, struct manifest *manifest,
                         struct error *err)
{
    size_t count = json_array_size(list);

    if (list && !json_is_array(list) && !json_is_null(list))
        return error_set(err, ERROR_INVALID, "%s: expected an array", name);
    if (count > MANIFEST_DESCRIPTORS_MAX)
        return error_set(err, ERROR_TOO_LARGE, "%s: %zu entries exceed the limit of %d", name,
                         count, MANIFEST_DESCRIPTORS_MAX);
    manifest->entries = xcalloc(count + 1, sizeof(*manifest->entries));
    manifest->entry_count = count;
    for (size_t i = 0; i < count; i++) {
        if (parse_content(json_array_get(list, i), &manifest->entries[i], err) < 0)
            return error_wrap(err, "%s[%zu]", name, i);
    }
    return 0;
}

static bool is_index_type(const char *media_type)
{
    return strncmp(media_type, MEDIA_TYPE_OCI_INDEX, strlen(MEDIA_TYPE_OCI_INDEX)) == 0 ||
           strncmp(media_type, MEDIA_TYPE_DOCKER_LIST, strlen(MEDIA_TYPE_DOCKER_LIST)) == 0;
}

static bool is_manifest_type(const char *media_type)
{
    return strncmp(media_type, MEDIA_TYPE_OCI_MANIFEST, strlen(MEDIA_TYPE_OCI_MANIFEST)) == 0 ||
           strncmp(media_type, MEDIA_TYPE_DOCKER_MANIFEST, strlen(MEDIA_TYPE_DOCKER_MANIFEST)) == 0;
}

/* Otherwise readers that go by media type would see another kind of document. */
static int check_type(const char *media_type, bool is_index, struct error *err)
{
    if (!media_type || !*media_type)
        return 0;
    if ((is_index && is_manifest_type(media_type)) || (!is_index && is_index_type(media_type)))
        return error_set(err, ERROR_INVALID, "content does not match its media type \"%.100s\"",
                         media_type);
    return 0;
}

int manifest_from_doc(const json_t *doc, const char *media_type, struct manifest *ret_manifest,
                      struct error *err)
{
    cleanup_manifest struct manifest manifest = {0};
    const json_t *manifests = doc_member(doc, "manifests");
    const json_t *config = doc_member(doc, "config");

    if ((manifests != NULL) == (config != NULL))
        return error_set(err, ERROR_INVALID, "neither an image manifest nor an index");
    manifest.is_index = manifests != NULL;
    if (check_type(media_type, manifest.is_index, err) < 0 ||
        check_type(doc_text(doc, "mediaType"), manifest.is_index, err) < 0)
        return -1;
    if (config && parse_content(config, &manifest.config, err) < 0)
        return error_wrap(err, "config");
    if (manifests ? parse_entries(manifests, "manifests", &manifest, err) < 0
                  : parse_entries(doc_member(doc, "layers"), "layers", &manifest, err) < 0)
        return -1;
    *ret_manifest = manifest;
    manifest = (struct manifest){0};
    return 0;
}

int manifest_parse(const char *bytes, size_t size, const char *media_type,
                   struct manifest *ret_manifest, struct error *err)
{
    cleanup_json json_t *doc = NULL;

    if (doc_parse_json(bytes, size, REGISTRY_MANIFEST_MAX, &doc, err) < 0)
        return -1;
    return manifest_from_doc(doc, media_type, ret_manifest, err);
}

const struct content *manifest_find(const struct manifest *manifest, const char *digest)
{
    for (size_t i = 0; i < manifest->entry_count; i++) {
        if (strcmp(manifest->entries[i].digest, digest) == 0)
            return &manifest->entries[i];
    }
    if (manifest->config.digest && strcmp(manifest->config.digest, digest) == 0)
        return &manifest->config;
    return NULL;
}
