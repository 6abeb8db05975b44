/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/docker_files.h"

#include <sys/stat.h>

#include "common/base/buffer.h"
#include "common/data/doc.h"
#include "deployer/pod/inputs.h"

enum { FILE_MAX_BYTES = 1 << 20 };

struct docker_file {
    const char *path;
    struct stat seen; /* as of the last reading; zeroed: never read */
    json_t *config;   /* the last usable content; NULL: none, or without credentials */
    bool is_reported; /* the present content was reported as unusable */
};

struct docker_files {
    struct docker_file *files;
    size_t count;
    json_t *configs; /* of all files */
};

struct docker_files *docker_files_new(char *const *paths)
{
    struct docker_files *files = xcalloc(1, sizeof(*files));

    for (; paths && *paths; paths++) {
        files->files = xreallocarray(files->files, files->count + 1, sizeof(*files->files));
        files->files[files->count++] = (struct docker_file){.path = *paths};
    }
    files->configs = json_array();
    return files;
}

void docker_files_free(struct docker_files *files)
{
    if (!files)
        return;
    for (size_t i = 0; i < files->count; i++)
        json_decref(files->files[i].config);
    free(files->files);
    json_decref(files->configs);
    free(files);
}

static bool is_unchanged(const struct stat *seen, const struct stat *now)
{
    return seen->st_dev == now->st_dev && seen->st_ino == now->st_ino &&
           seen->st_size == now->st_size && seen->st_mtim.tv_sec == now->st_mtim.tv_sec &&
           seen->st_mtim.tv_nsec == now->st_mtim.tv_nsec;
}

static void report_once(struct docker_file *file, const char *why, docker_config_report_fn *report,
                        void *data)
{
    cleanup_free char *text =
        xasprintf("%s%s", why, file->config ? "; the previous content is used" : "");
    const struct docker_config_problem problem = {.file = file->path, .why = text};

    if (!file->is_reported)
        report(data, &problem);
    file->is_reported = true;
}

static int read_config(const char *path, json_t **ret_config, struct error *err)
{
    cleanup_buffer struct buffer text = {0};
    cleanup_json json_t *config = NULL;

    buffer_init(&text, FILE_MAX_BYTES);
    if (doc_read_file(path, FILE_MAX_BYTES, &text, err) < 0)
        return -1;
    /* The message of the parser could quote a credential. */
    if (doc_parse_yaml(text.data ? text.data : "", text.size, FILE_MAX_BYTES, &config, err) < 0 ||
        !json_is_object(config))
        return error_set(err, ERROR_INVALID, "not a Docker configuration");
    *ret_config = steal(&config);
    return 0;
}

static void refresh(struct docker_file *file, docker_config_report_fn *report, void *data)
{
    cleanup_json json_t *config = NULL;
    struct error err = {0};
    struct stat now = {0};

    /* stat() before reading: a change in between is noticed the next time. */
    if (stat(file->path, &now) == 0 && is_unchanged(&file->seen, &now))
        return;
    if (read_config(file->path, &config, &err) < 0) {
        report_once(file, err.text, report, data);
        return;
    }
    file->seen = now;
    file->is_reported = false;
    json_decref(steal(&file->config));
    if (docker_config_clean(config, file->path, report, data) > 0)
        file->config = steal(&config);
}

const json_t *docker_files_now(struct docker_files *files, docker_config_report_fn *report,
                               void *data)
{
    (void)json_array_clear(files->configs);
    for (size_t i = 0; i < files->count; i++) {
        struct docker_file *file = &files->files[i];

        refresh(file, report, data);
        if (file->config)
            inputs_add_docker_config(files->configs, file->path, file->config);
    }
    return files->configs;
}
