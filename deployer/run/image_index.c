/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/layout.h"

#include <string.h>
#include <sys/utsname.h>

#include "common/data/digest.h"
#include "common/data/doc.h"

enum { LAYERS_MAX = 512 };

const char *layout_architecture(void)
{
    static const struct {
        const char *machine, *architecture;
    } names[] = {{"x86_64", "amd64"},
                 {"aarch64", "arm64"},
                 {"riscv64", "riscv64"},
                 {"ppc64le", "ppc64le"},
                 {"s390x", "s390x"}};
    struct utsname info = {0};

    (void)uname(&info);
    for (size_t i = 0; i < array_length(names); i++) {
        if (strcmp(info.machine, names[i].machine) == 0)
            return names[i].architecture;
    }
    return "amd64";
}

bool layout_is_index(const json_t *document)
{
    return json_is_array(doc_get(document, "manifests"));
}

static int read_descriptor(const json_t *descriptor, const char *what, struct layout_blob *ret_blob,
                           struct error *err)
{
    enum digest_algorithm algorithm = DIGEST_SHA256;
    const char *digest = doc_text(descriptor, "digest");
    const char *hex = NULL;

    if (!digest)
        return error_set(err, ERROR_INVALID, "the image names no digest of its %s", what);
    if (digest_parse(digest, &algorithm, &hex, err) < 0)
        return error_wrap(err, "the image's %s", what);
    *ret_blob =
        (struct layout_blob){.digest = digest, .size = doc_integer_or(descriptor, "size", -1)};
    return 0;
}

static bool is_for_this_machine(const json_t *descriptor)
{
    const char *architecture = doc_text(descriptor, "platform.architecture");
    const char *system = doc_text(descriptor, "platform.os");

    return (!architecture || strcmp(architecture, layout_architecture()) == 0) &&
           (!system || strcmp(system, "linux") == 0);
}

static bool has_tag(const json_t *descriptor, const char *tag)
{
    const char *name = json_string_value(
        json_object_get(doc_get(descriptor, "annotations"), "org.opencontainers.image.ref.name"));
    const char *last = name ? strrchr(name, ':') : NULL;

    return name && (strcmp(name, tag) == 0 || (last && strcmp(last + 1, tag) == 0));
}

int layout_pick(const json_t *index, const char *tag, struct layout_blob *ret_blob,
                struct error *err)
{
    const json_t *manifests = doc_get(index, "manifests");
    const json_t *descriptor = NULL;
    const json_t *chosen = NULL;
    size_t matches = 0;
    size_t position = 0;

    json_array_foreach(manifests, position, descriptor)
    {
        if (tag ? !has_tag(descriptor, tag) : !is_for_this_machine(descriptor))
            continue;
        if (!chosen)
            chosen = descriptor;
        matches++;
    }
    if (!chosen && tag)
        return error_set(err, ERROR_NOT_FOUND, "none of its %zu images has the tag '%s'",
                         json_array_size(manifests), tag);
    if (!chosen)
        return error_set(err, ERROR_NOT_FOUND, "none of its %zu images is for linux/%s",
                         json_array_size(manifests), layout_architecture());
    if (matches > 1 && !tag && !doc_get(chosen, "platform"))
        return error_set(err, ERROR_INVALID, "it holds %zu images; name one by its tag (PATH:TAG)",
                         matches);
    return read_descriptor(chosen, "manifest", ret_blob, err);
}

int layout_config(const json_t *manifest, struct layout_blob *ret_blob, struct error *err)
{
    return read_descriptor(doc_get(manifest, "config"), "configuration", ret_blob, err);
}

size_t layout_layer_count(const json_t *manifest)
{
    size_t count = json_array_size(doc_get(manifest, "layers"));

    return count > LAYERS_MAX ? LAYERS_MAX : count;
}

int layout_layer(const json_t *manifest, size_t index, struct layout_blob *ret_blob,
                 struct error *err)
{
    return read_descriptor(json_array_get(doc_get(manifest, "layers"), index), "layer", ret_blob,
                           err);
}
