/* SPDX-License-Identifier: Apache-2.0 */
#include "init/secrets.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"

enum { SECRET_FILE_MAX_BYTES = 2 * 1024 * 1024, DEPTH_MAX = 8 };

struct walk {
    struct keyring *keyring;
    struct secrets_counts *counts;
    const char *only, *skipped; /* names of subdirectories at the top, or NULL */
};

int secrets_load_file(const char *path, struct keyring *keyring, struct secrets_counts *counts,
                      struct error *err)
{
    struct buffer text = {0};
    json_t *config = NULL;
    size_t helpers = 0;
    int result = -1;

    buffer_init(&text, SECRET_FILE_MAX_BYTES);
    if (doc_read_file(path, SECRET_FILE_MAX_BYTES, &text, err) < 0)
        goto out;
    if (doc_parse_json(text.data ? text.data : "", text.size, SECRET_FILE_MAX_BYTES, &config, err) <
        0) {
        (void)error_wrap(err, "Docker configuration \"%s\"", path);
        goto out;
    }
    result = keyring_add_docker_config(keyring, path, config, &helpers, err);
    if (result >= 0) {
        counts->files++;
        counts->entries += (size_t)result;
        counts->helpers += helpers;
        result = 0;
    }
out:
    if (text.data)
        explicit_bzero(text.data, text.capacity);
    buffer_done(&text);
    json_decref(config);
    return result;
}

static int walk_directory(const struct walk *walk, const char *path, unsigned depth,
                          struct error *err);

static int walk_entry(const struct walk *walk, const char *path, const char *name, unsigned depth,
                      struct error *err)
{
    cleanup_free char *child = xasprintf("%s/%s", path, name);
    struct stat status;

    /* The kubelet keeps the files of a volume in a directory "..<time>" and creates symlinks to
     * them. Following symlinks and skipping names with ".." reads every file once. */
    if (stat(child, &status) < 0)
        return error_set_errno(err, errno, "stat \"%s\"", child);
    if (S_ISDIR(status.st_mode)) {
        if (strncmp(name, "..", 2) == 0 || depth >= DEPTH_MAX ||
            (depth == 0 && walk->only && strcmp(walk->only, name) != 0) ||
            (depth == 0 && walk->skipped && strcmp(walk->skipped, name) == 0))
            return 0;
        return walk_directory(walk, child, depth + 1, err);
    }
    if ((depth == 0 && walk->only) ||
        (strcmp(name, FILE_DOCKER_CONFIG_JSON) != 0 && strcmp(name, FILE_DOCKER_CFG) != 0))
        return 0;
    return secrets_load_file(child, walk->keyring, walk->counts, err);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int walk_directory(const struct walk *walk, const char *path, unsigned depth,
                          struct error *err)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, by_name);
    int result = 0;

    if (count < 0 && errno == ENOENT && depth == 0)
        return 0;
    if (count < 0)
        return error_set_errno(err, errno, "read directory \"%s\"", path);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;

        if (result == 0 && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            result = walk_entry(walk, path, name, depth, err);
        free(entries[i]);
    }
    free(entries);
    return result;
}

int secrets_load(const char *directory, const char *first, struct keyring *keyring,
                 struct secrets_counts *ret_counts, struct error *err)
{
    struct walk walk = {.keyring = keyring, .counts = ret_counts, .only = first};

    if (first && walk_directory(&walk, directory, 0, err) < 0)
        return -1;
    walk.only = NULL;
    walk.skipped = first;
    return walk_directory(&walk, directory, 0, err);
}
