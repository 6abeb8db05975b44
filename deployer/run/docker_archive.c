/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/docker_archive.h"

#include <string.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/base/buffer.h"
#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/data/digest.h"
#include "common/data/doc.h"
#include "common/oci/manifest.h"

enum { DOCUMENT_MAX = 4 * 1024 * 1024 };

static int read_document(int directory_fd, const char *path, char ret_hex[DIGEST_HEX_MAX],
                         json_t **ret_document, struct error *err)
{
    cleanup_buffer struct buffer text = {0};
    cleanup_close int fd = beneath_open_file(directory_fd, path, &(struct stat){0}, err);

    if (fd < 0)
        return -1;
    buffer_init(&text, DOCUMENT_MAX);
    if (file_read_all(fd, path, &text, err) < 0)
        return -1;
    digest_sha256_hex(text.data ? text.data : "", text.size, ret_hex);
    if (doc_parse_json(text.data ? text.data : "", text.size, DOCUMENT_MAX, ret_document, err) < 0)
        return error_wrap(err, "read \"%s\"", path);
    return 0;
}

static bool has_name(const json_t *image, const char *name)
{
    const json_t *tag = NULL;
    size_t index = 0;

    json_array_foreach(doc_get(image, "RepoTags"), index, tag)
    {
        if (json_is_string(tag) && strcmp(json_string_value(tag), name) == 0)
            return true;
    }
    return false;
}

static const json_t *choose(const json_t *images, const char *name, struct error *err)
{
    const json_t *image = NULL;
    size_t index = 0;

    if (!name && json_array_size(images) == 1)
        return json_array_get(images, 0);
    json_array_foreach(images, index, image)
    {
        if (name && has_name(image, name))
            return image;
    }
    (void)error_set(err, ERROR_NOT_FOUND,
                    "it contains %zu images%s%s%s; select one with docker-archive:FILE:NAME:TAG",
                    json_array_size(images), name ? ", none of them \"" : "", name ? name : "",
                    name ? "\"" : "");
    return NULL;
}

int docker_archive_open(int directory_fd, const char *name, struct docker_archive *ret_archive,
                        struct error *err)
{
    cleanup_json json_t *images = NULL;
    char hex[DIGEST_HEX_MAX] = {0};
    const json_t *image = NULL;
    const json_t *layers = NULL;
    const char *config = NULL;

    if (read_document(directory_fd, "manifest.json", hex, &images, err) < 0)
        return err->kind != ERROR_NOT_FOUND
                   ? -1
                   : error_set(err, ERROR_INVALID,
                               "not a docker archive: there is no \"manifest.json\" "
                               "(oci-archive:FILE is for OCI archives)");
    image = choose(images, name, err);
    if (!image || doc_want_text_required(image, "Config", &config, err) < 0 ||
        read_document(directory_fd, config, hex, &ret_archive->config, err) < 0)
        return -1;
    (void)snprintf(ret_archive->digest, sizeof(ret_archive->digest), "sha256:%.64s", hex);
    layers = doc_get(image, "Layers");
    if (json_array_size(layers) > MANIFEST_DESCRIPTORS_MAX)
        return error_set(err, ERROR_TOO_LARGE, "it has %zu layers; the limit is %d",
                         json_array_size(layers), MANIFEST_DESCRIPTORS_MAX);
    ret_archive->layers = xcalloc(json_array_size(layers) + 1, sizeof(char *));
    for (size_t i = 0; i < json_array_size(layers); i++) {
        const char *path = json_string_value(json_array_get(layers, i));

        if (!path)
            return error_set(err, ERROR_INVALID, "manifest.json: Layers[%zu]: expected a path", i);
        ret_archive->layers[ret_archive->layer_count++] = xstrdup(path);
    }
    return 0;
}

void docker_archive_done(struct docker_archive *archive)
{
    for (size_t i = 0; i < archive->layer_count; i++)
        free(archive->layers[i]);
    free(archive->layers);
    json_decref(archive->config);
    *archive = (struct docker_archive){0};
}

int docker_archive_open_layer(int directory_fd, const struct docker_archive *archive, size_t index,
                              struct error *err)
{
    const char *path = archive->layers[index];
    const char *digest =
        json_string_value(json_array_get(doc_get(archive->config, "rootfs.diff_ids"), index));
    cleanup_close int fd = beneath_open_file(directory_fd, path, &(struct stat){0}, err);

    if (fd < 0)
        return -1;
    if (!digest)
        return error_set(err, ERROR_INVALID, "the configuration has no digest for layer \"%s\"",
                         path);
    if (digest_check_file(fd, path, digest, err) < 0)
        return -1;
    return steal_fd(&fd);
}
