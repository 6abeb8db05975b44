/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/module_source.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/digest.h"
#include "common/data/doc.h"

#define RESOURCE_NAME "raw-manifest"
#define MEDIA_TYPE_TAR "application/x-tar"

void module_source_done(struct module_source *source)
{
    free(source->digest);
    json_decref(source->images);
    *source = (struct module_source){0};
}

/* Whether the type of an access is this one; a version like "/v1" may follow. */
static bool is_type(const json_t *resource, const char *type)
{
    const char *text = doc_text_or(resource, "access.type", "");
    size_t length = strlen(type);

    return strncmp(text, type, length) == 0 && (text[length] == '\0' || text[length] == '/');
}

static int find_layer(const json_t *resource, const struct manifest *manifest,
                      struct module_source *source, struct error *err)
{
    const char *digest = NULL, *media_type = doc_text_or(resource, "access.mediaType", "");
    const struct content *layer;
    enum digest_algorithm algorithm;
    const char *hex;

    if (is_type(resource, "localBlob"))
        digest = doc_text(resource, "access.localReference");
    else if (is_type(resource, "localOciBlob"))
        digest = doc_text(resource, "access.digest");
    else
        return error_set(err, ERROR_INVALID,
                         "the access type \"%.60s\" is not supported; the objects of a module must "
                         "be a local blob of its component",
                         doc_text_or(resource, "access.type", ""));
    if (digest_parse(digest ? digest : "", &algorithm, &hex, err) < 0)
        return error_wrap(err, "the digest of its layer");
    layer = manifest_find(manifest, digest);
    if (!*media_type && layer)
        media_type = layer->media_type;
    source->digest = xstrdup(digest);
    source->is_archive = strcmp(media_type, MEDIA_TYPE_TAR) == 0;
    return 0;
}

static void collect_images(const json_t *resources, struct module_source *source)
{
    static const char *const types[] = {"ociArtifact", "ociRegistry", "ociImage"};
    size_t i;
    json_t *resource;

    json_array_foreach(doc_writable(resources), i,
                       resource) for (size_t type = 0; type < array_length(types); type++)
    {
        const char *reference = doc_text(resource, "access.imageReference");

        if (!reference || !is_type(resource, types[type]))
            continue;
        if (!source->images)
            source->images = json_array();
        json_array_append_new(source->images, doc_new_text(reference));
    }
}

int module_source_find(const struct descriptor *descriptor, const struct manifest *manifest,
                       struct module_source *ret_source, struct error *err)
{
    cleanup_json json_t *resource = NULL;
    cleanup_module_source struct module_source source = {0};

    if (descriptor_resource(descriptor, RESOURCE_NAME, NULL, &resource, err) < 0) {
        err->kind = ERROR_INVALID; /* the component is there, but is not a module */
        return -1;
    }
    if (find_layer(resource, manifest, &source, err) < 0)
        return error_wrap(err, "component \"%s:%s\": resource \"%s\"", descriptor_name(descriptor),
                          descriptor_version(descriptor), RESOURCE_NAME);
    collect_images(descriptor_resources(descriptor), &source);
    *ret_source = source;
    source = (struct module_source){0};
    return 0;
}
