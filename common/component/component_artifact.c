/* SPDX-License-Identifier: Apache-2.0 */
#include "common/component/component_artifact.h"

#include <string.h>

#include "common/archive/unpack.h"
#include "common/base/memory.h"
#include "common/component/typed.h"
#include "common/data/digest.h"
#include "common/data/doc.h"

#define OCM "application/vnd.ocm.software.component"
#define CNUDIE "application/vnd.gardener.cloud.cnudie.component"
#define OLDEST "application/vnd.oci.gardener.cloud.cnudie.component-descriptor"
#define DESCRIPTOR_FILE "component-descriptor.yaml"

static const char *const config_types[] = {
    OCM ".config.v1+json",
    CNUDIE ".config.v1+json",
    OLDEST "-metadata.config.v2+json",
};

static const char *const tar_types[] = {
    OCM "-descriptor.v2+yaml+tar",
    CNUDIE "-descriptor.v2+yaml+tar",
    OLDEST ".config.v2+yaml+tar",
};

static const char *const plain_types[] = {
    OCM "-descriptor.v2+yaml",
    OCM "-descriptor.v2+json",
    CNUDIE "-descriptor.v2+yaml",
    CNUDIE "-descriptor.v2+json",
};

int component_artifact_check_manifest(const struct manifest *manifest, struct error *err)
{
    if (manifest->is_index)
        return error_set(err, ERROR_INVALID, "index inside an index: not a component version");
    if (!text_is_one_of(manifest->config.media_type, config_types, array_length(config_types)))
        return error_set(err, ERROR_INVALID,
                         "artifact is not a component version (media type of its config is "
                         "\"%.150s\")",
                         manifest->config.media_type);
    return 0;
}

int component_artifact_pick_manifest(const struct manifest *index, const struct content **ret_entry,
                                     struct error *err)
{
    const struct content *marked = NULL;

    for (size_t i = 0; i < index->entry_count; i++) {
        if (!index->entries[i].is_component)
            continue;
        if (marked)
            return error_set(err, ERROR_INVALID,
                             "index marks more than one manifest as the component version");
        marked = &index->entries[i];
    }
    if (index->entry_count == 0)
        return error_set(err, ERROR_INVALID, "index is empty");
    *ret_entry = marked ? marked : &index->entries[0];
    return 0;
}

int component_artifact_read_config(const char *bytes, size_t size,
                                   struct component_artifact_layer *ret_layer, struct error *err)
{
    cleanup_json json_t *config = NULL;
    const json_t *layer = NULL;
    const char *digest = NULL;
    const char *media_type = NULL;
    const char *hex = NULL;
    enum digest_algorithm algorithm = DIGEST_SHA256;
    int64_t layer_size = -1;

    if (doc_parse_json(bytes, size, COMPONENT_CONFIG_MAX_BYTES, &config, err) < 0)
        return error_wrap(err, "component config");
    layer = doc_member(config, "componentDescriptorLayer");
    if (!json_is_object(layer))
        return error_set(err, ERROR_INVALID, "component config: componentDescriptorLayer: missing");
    if (doc_want_text_required(layer, "digest", &digest, err) < 0 ||
        digest_parse(digest, &algorithm, &hex, err) < 0 ||
        doc_want_text_required(layer, "mediaType", &media_type, err) < 0 ||
        doc_want_integer(layer, "size", &layer_size, err) < 0)
        return error_wrap(err, "component config: componentDescriptorLayer");
    if (!text_is_one_of(media_type, tar_types, array_length(tar_types)) &&
        !text_is_one_of(media_type, plain_types, array_length(plain_types)))
        return error_set(
            err, ERROR_INVALID,
            "component config: componentDescriptorLayer: unsupported media type \"%.150s\"",
            media_type);
    ret_layer->digest = xstrdup(digest);
    ret_layer->media_type = xstrdup(media_type);
    ret_layer->size = layer_size >= 0 ? layer_size : -1;
    return 0;
}

void component_artifact_layer_done(struct component_artifact_layer *layer)
{
    free(layer->digest);
    free(layer->media_type);
    *layer = (struct component_artifact_layer){0};
}

int component_artifact_take_layer(struct buffer *bytes, const char *media_type,
                                  struct descriptor **ret_descriptor, struct error *err)
{
    cleanup_free char *text = NULL;
    size_t size = bytes->size;

    if (!text_is_one_of(media_type, tar_types, array_length(tar_types))) {
        text = buffer_take(bytes);
    } else {
        if (unpack_find_file(bytes->data ? bytes->data : "", bytes->size, DESCRIPTOR_FILE,
                             DESCRIPTOR_MAX_BYTES, &text, &size, err) < 0)
            return error_wrap(err, "component descriptor layer");
        buffer_done(bytes);
    }
    return descriptor_parse(text, size, ret_descriptor, err);
}
