/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up a component version in a transport archive. Property: the result is the requested
 * version, every blob matches its digest, and no file outside is opened.
 *
 * The input is index, manifest, config and layer, separated by NUL; "$1", "$2" and "$3" stand for
 * the digests of the parts that follow, so that the fuzzer gets past the digest checks. */
#include <stdint.h>
#include <string.h>

#include "common/archive/fuzz/place.h"
#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/component/file_repository.h"
#include "common/data/digest.h"
#include "common/data/doc.h"

#define COMPONENT "example.com/a"

enum { PARTS = 4, PART_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct part {
    struct buffer bytes;
    char digest[DIGEST_TEXT_MAX];
};

static void append(struct buffer *buffer, const void *bytes, size_t size)
{
    struct error err = {0};

    require(buffer_append(buffer, bytes, size, &err) == 0);
}

/* Writes the part with digests for "$<number>". Takes the part over. */
static void fill(struct part parts[PARTS], int number, const uint8_t *bytes, size_t size)
{
    struct buffer *into = &parts[number].bytes;
    char hex[DIGEST_HEX_MAX];

    buffer_init(into, PART_MAX + (size_t)PART_MAX * DIGEST_TEXT_MAX);
    for (size_t i = 0; i < size; i++) {
        int other = i + 1 < size && bytes[i] == '$' ? bytes[i + 1] - '0' : 0;

        if (other > number && other < PARTS) {
            append(into, parts[other].digest, strlen(parts[other].digest));
            i++;
        } else {
            append(into, bytes + i, 1);
        }
    }
    digest_sha256_hex(into->data ? into->data : "", into->size, hex);
    (void)snprintf(parts[number].digest, sizeof(parts[number].digest), "sha256:%s", hex);
}

static void take_parts(struct part parts[PARTS], const uint8_t *data, size_t size)
{
    const uint8_t *starts[PARTS];
    size_t sizes[PARTS] = {0};

    for (int i = 0; i < PARTS; i++) {
        const uint8_t *end = size && i < PARTS - 1 ? memchr(data, '\0', size) : NULL;

        starts[i] = data;
        sizes[i] = end ? (size_t)(end - data) : size;
        data += sizes[i] + (end ? 1 : 0);
        size -= sizes[i] + (end ? 1 : 0);
    }
    for (int i = PARTS - 1; i >= 0; i--)
        fill(parts, i, starts[i], sizes[i]);
}

static void write_parts(int directory_fd, const struct part parts[PARTS])
{
    for (int i = 0; i < PARTS; i++) {
        const struct buffer *bytes = &parts[i].bytes;
        cleanup_free char *path =
            i == 0 ? xstrdup("artifact-index.json")
                   : xasprintf("blobs/sha256.%s", strchr(parts[i].digest, ':') + 1);
        struct error err = {0};

        require(beneath_write_file(directory_fd, path, bytes->data ? bytes->data : "", bytes->size,
                                   0600, &err) == 0);
    }
    require(symlinkat("../../outside/secret", directory_fd, "blobs/secret") == 0);
}

static void try_archive(int directory_fd, const struct part parts[PARTS])
{
    static const char *const blobs[] = {"secret", "..", "../artifact-index.json", "/etc/passwd"};
    char path[] = "/transport", sub_path[] = "";
    struct repository repository = {.kind = REPOSITORY_TRANSPORT,
                                    .path = path,
                                    .sub_path = sub_path,
                                    .directory_fd = directory_fd};
    cleanup_descriptor struct descriptor *descriptor = NULL;
    cleanup_manifest struct manifest manifest = {0};
    bool is_directory = false;
    struct error err = {0};
    int fd = -1;

    if (file_repository_find_descriptor(&repository, COMPONENT, "1.0.0", &descriptor, &manifest,
                                        &err) < 0)
        require(!descriptor && err.kind != ERROR_NONE && err.text[0]);
    else
        require(strcmp(descriptor_name(descriptor), COMPONENT) == 0);
    for (size_t i = 0; i < array_length(blobs); i++)
        require(file_repository_open_blob(&repository, blobs[i], &is_directory, &err) < 0);
    fd = file_repository_open_blob(&repository, parts[PARTS - 1].digest, &is_directory, &err);
    require(fd >= 0 && !is_directory);
    (void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct part parts[PARTS] = {0};
    cleanup_close int directory_fd = -1;
    struct error err = {0};

    if (size > PART_MAX)
        return 0;
    doc_setup();
    take_parts(parts, data, size);
    directory_fd = beneath_make_directories(place(), "transport", &err);
    require(directory_fd >= 0);
    write_parts(directory_fd, parts);
    try_archive(directory_fd, parts);
    place_check();
    require(beneath_remove_tree(place(), "transport", &err) == 0);
    for (int i = 0; i < PARTS; i++)
        buffer_done(&parts[i].bytes);
    return 0;
}
