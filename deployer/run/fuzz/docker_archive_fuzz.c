/* SPDX-License-Identifier: Apache-2.0 */
/* Property: only files of the archive are opened as layers, and only if their digest is that in the
 * configuration. Input: manifest.json and the configuration, separated by a NUL. */
#include <stdint.h>
#include <string.h>

#include "common/archive/fuzz/place.h"
#include "common/data/digest.h"
#include "common/data/doc.h"
#include "deployer/run/docker_archive.h"

#define LAYER "the bytes of a layer"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The unpacked archive; its documents are replaced for each input. */
static int archive_directory(void)
{
    static int fd = -1;
    struct error err = {0};

    if (fd >= 0)
        return fd;
    fd = beneath_make_directories(place(), "archive", &err);
    require(fd >= 0);
    require(beneath_write_file(fd, "layer.tar", LAYER, strlen(LAYER), 0600, &err) == 0);
    require(beneath_write_file(fd, "sub/layer.tar", LAYER, strlen(LAYER), 0600, &err) == 0);
    require(symlinkat("../outside/secret", fd, "file-out") == 0);
    require(symlinkat("../outside", fd, "out") == 0 && symlinkat("sub", fd, "in") == 0);
    return fd;
}

static void check_layer(int fd)
{
    char text[64] = {0};
    ssize_t size = read(fd, text, sizeof(text));

    require(size == (ssize_t)strlen(LAYER) && memcmp(text, LAYER, strlen(LAYER)) == 0);
    (void)close(fd);
}

static void try_name(int directory_fd, const char *name)
{
    struct docker_archive archive = {0};
    struct error err = {0};

    if (docker_archive_open(directory_fd, name, &archive, &err) < 0)
        require(err.kind != ERROR_NONE && err.text[0]);
    for (size_t i = 0; err.kind == ERROR_NONE && i < archive.layer_count; i++) {
        int fd = docker_archive_open_layer(directory_fd, &archive, i, &err);

        if (fd >= 0)
            check_layer(fd);
        else
            require(err.kind != ERROR_NONE && err.text[0]);
    }
    docker_archive_done(&archive);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\0', size) : NULL;
    size_t first = end ? (size_t)(end - data) : size;
    size_t rest = end ? size - first - 1 : 0;
    int fd = archive_directory();
    struct error err = {0};

    doc_setup();
    require(beneath_write_file(fd, "manifest.json", data, first, 0600, &err) == 0);
    require(beneath_write_file(fd, "config.json", end ? end + 1 : data, rest, 0600, &err) == 0);
    try_name(fd, NULL);
    try_name(fd, "a:1");
    place_check();
    return 0;
}
