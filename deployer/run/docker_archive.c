/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/docker_archive.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/data/digest.h"
#include "common/data/doc.h"

enum { DOCUMENT_MAX = 4 * 1024 * 1024, LAYERS_MAX = 512 };

static int read_text(int directory_fd, const char *path, struct buffer *text, struct error *err)
{
    char bytes[8192];
    ssize_t size = 0;
    cleanup_close int fd = beneath_open_file(directory_fd, path, &(struct stat){0}, err);

    if (fd < 0)
        return -1;
    while ((size = read(fd, bytes, sizeof(bytes))) > 0) {
        if (buffer_append(text, bytes, (size_t)size, err) < 0)
            return error_wrap(err, "'%s'", path);
    }
    return size < 0 ? error_set_errno(err, errno, "read '%s'", path) : 0;
}

static int read_document(int directory_fd, const char *path, char ret_hex[DIGEST_HEX_MAX],
                         json_t **ret_document, struct error *err)
{
    cleanup_buffer struct buffer text = {0};

    buffer_init(&text, DOCUMENT_MAX);
    if (read_text(directory_fd, path, &text, err) < 0)
        return -1;
    digest_sha256_hex(text.data ? text.data : "", text.size, ret_hex);
    if (doc_parse_json(text.data ? text.data : "", text.size, DOCUMENT_MAX, ret_document, err) < 0)
        return error_wrap(err, "'%s'", path);
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
    (void)error_set(
        err, ERROR_NOT_FOUND, "it holds %zu images%s%s%s; name one as docker-archive:FILE:NAME:TAG",
        json_array_size(images), name ? ", none of them '" : "", name ? name : "", name ? "'" : "");
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
        return -1;
    image = choose(images, name, err);
    if (!image || doc_want_text_required(image, "Config", &config, err) < 0 ||
        read_document(directory_fd, config, hex, &ret_archive->config, err) < 0)
        return -1;
    (void)snprintf(ret_archive->digest, sizeof(ret_archive->digest), "sha256:%.64s", hex);
    layers = doc_get(image, "Layers");
    if (json_array_size(layers) > LAYERS_MAX)
        return error_set(err, ERROR_TOO_LARGE, "more than %d layers", LAYERS_MAX);
    ret_archive->layers = xcalloc(json_array_size(layers) + 1, sizeof(char *));
    for (size_t i = 0; i < json_array_size(layers); i++) {
        const char *path = json_string_value(json_array_get(layers, i));

        if (!path)
            return error_set(err, ERROR_INVALID, "'manifest.json': Layers[%zu] is no path", i);
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
    const char *wanted =
        json_string_value(json_array_get(doc_get(archive->config, "rootfs.diff_ids"), index));
    cleanup_digest struct digest *digest = digest_new(DIGEST_SHA256);
    cleanup_close int fd =
        beneath_open_file(directory_fd, archive->layers[index], &(struct stat){0}, err);
    char bytes[16384];
    ssize_t size = 0;

    if (fd < 0)
        return -1;
    while ((size = read(fd, bytes, sizeof(bytes))) > 0)
        digest_update(digest, bytes, (size_t)size);
    if (size < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return error_set_errno(err, errno, "read '%s'", archive->layers[index]);
    if (!wanted || !digest_matches(digest, wanted))
        return error_set(err, ERROR_INVALID,
                         "layer '%s' has other bytes than the configuration says",
                         archive->layers[index]);
    return steal_fd(&fd);
}
