/* SPDX-License-Identifier: Apache-2.0 */
#include "init/component/layout.h"

#include <string.h>

#include "common/archive/unpack.h"
#include "common/base/memory.h"
#include "common/data/digest.h"
#include "common/data/doc.h"
#include "init/component/names.h"

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

static bool is_one_of(const char *text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, list[i]) == 0)
            return true;
    }
    return false;
}

int layout_check_manifest(const struct manifest *manifest, struct error *err)
{
    if (manifest->is_index)
        return error_set(err, ERROR_INVALID, "an index inside an index is no component version");
    if (!is_one_of(manifest->config.media_type, config_types, array_length(config_types)))
        return error_set(err, ERROR_INVALID,
                         "the artifact is no component version (its config has media type "
                         "'%.150s')",
                         manifest->config.media_type);
    return 0;
}

int layout_pick_manifest(const struct manifest *index, const struct content **ret_entry,
                         struct error *err)
{
    const struct content *marked = NULL;

    for (size_t i = 0; i < index->entry_count; i++) {
        if (!index->entries[i].is_component)
            continue;
        if (marked)
            return error_set(err, ERROR_INVALID,
                             "the index marks more than one manifest as the component version");
        marked = &index->entries[i];
    }
    if (index->entry_count == 0)
        return error_set(err, ERROR_INVALID, "the index is empty");
    *ret_entry = marked ? marked : &index->entries[0];
    return 0;
}

int layout_read_config(const char *bytes, size_t size, struct layout_layer *ret_layer,
                       struct error *err)
{
    cleanup_json json_t *config = NULL;
    const json_t *layer = NULL;
    const char *digest = NULL;
    const char *media_type = NULL;
    const char *hex = NULL;
    enum digest_algorithm algorithm = DIGEST_SHA256;
    int64_t layer_size = -1;

    if (doc_parse_json(bytes, size, LAYOUT_CONFIG_MAX_BYTES, &config, err) < 0)
        return error_wrap(err, "component config");
    layer = doc_member(config, "componentDescriptorLayer");
    if (!json_is_object(layer))
        return error_set(err, ERROR_INVALID,
                         "component config: componentDescriptorLayer: is missing");
    if (doc_want_text_required(layer, "digest", &digest, err) < 0 ||
        digest_parse(digest, &algorithm, &hex, err) < 0 ||
        doc_want_text_required(layer, "mediaType", &media_type, err) < 0 ||
        doc_want_integer(layer, "size", &layer_size, err) < 0)
        return error_wrap(err, "component config: componentDescriptorLayer");
    if (!is_one_of(media_type, tar_types, array_length(tar_types)) &&
        !is_one_of(media_type, plain_types, array_length(plain_types)))
        return error_set(err, ERROR_INVALID,
                         "component config: '%.150s' is no media type of a component descriptor",
                         media_type);
    ret_layer->digest = xstrdup(digest);
    ret_layer->media_type = xstrdup(media_type);
    ret_layer->size = layer_size >= 0 ? layer_size : -1;
    return 0;
}

void layout_layer_done(struct layout_layer *layer)
{
    free(layer->digest);
    free(layer->media_type);
    *layer = (struct layout_layer){0};
}

int layout_take_layer(struct buffer *bytes, const char *media_type,
                      struct descriptor **ret_descriptor, struct error *err)
{
    cleanup_free char *text = NULL;
    size_t size = bytes->size;

    if (!is_one_of(media_type, tar_types, array_length(tar_types))) {
        text = buffer_take(bytes);
    } else {
        if (unpack_find_file(bytes->data ? bytes->data : "", bytes->size, DESCRIPTOR_FILE,
                             DESCRIPTOR_MAX_BYTES, &text, &size, err) < 0)
            return error_wrap(err, "component descriptor layer");
        buffer_done(bytes);
    }
    return descriptor_parse(text, size, ret_descriptor, err);
}

int layout_check_identity(const struct descriptor *descriptor, const char *component_name,
                          const char *version, struct error *err)
{
    cleanup_free char *wanted = version_tag(version);
    cleanup_free char *found = version_tag(descriptor_version(descriptor));

    if (strcmp(descriptor_name(descriptor), component_name) != 0 || strcmp(wanted, found) != 0)
        return error_set(err, ERROR_INVALID,
                         "what is stored as '%s:%s' is the descriptor of '%s:%s'", component_name,
                         version, descriptor_name(descriptor), descriptor_version(descriptor));
    return 0;
}
