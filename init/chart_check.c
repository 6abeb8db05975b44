/* SPDX-License-Identifier: Apache-2.0 */
#include "init/chart_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/archive/beneath.h"
#include "common/archive/unpack.h"
#include "common/base/buffer.h"
#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/component/directory.h"
#include "common/contract.h"
#include "common/data/doc.h"

#define DIRECTORY_CHART "chart-check"

/* helm itself refuses more than 100 MiB. */
static const struct archive_limits limits = {
    .bytes_max = 100 * 1024 * 1024,
    .file_max = CHART_FILE_MAX,
    .entries_max = 10000,
    .depth_max = 64,
    .ratio_max = 200,
};

void chart_summary_done(struct chart_summary *summary)
{
    free(summary->top);
}

/* ---- The top directory ---- */

struct top {
    char *name;
    bool is_several;
};

/* Files beside the directory, such as those that macOS adds, are ignored by helm, too. */
static int note_directory(void *data, const char *name, const struct stat *status,
                          struct error *err)
{
    struct top *top = data;

    (void)err;
    if (!S_ISDIR(status->st_mode))
        return 0;
    top->is_several = top->name != NULL;
    if (!top->name)
        top->name = xstrdup(name);
    return 0;
}

static int find_top(int root_fd, char **ret_name, struct error *err)
{
    struct top top = {0};

    if (directory_read(root_fd, "chart", note_directory, &top, err) < 0) {
        free(top.name);
        return -1;
    }
    if (!top.name || top.is_several) {
        free(top.name);
        return error_set(err, ERROR_INVALID,
                         "the archive of a chart must contain exactly one directory");
    }
    *ret_name = top.name;
    return 0;
}

/* ---- Files ---- */

static int check_metadata(int root_fd, const char *top, struct error *err)
{
    cleanup_free char *path = xasprintf("%s/Chart.yaml", top);
    cleanup_buffer struct buffer text = {0};
    cleanup_json json_t *doc = NULL;
    struct stat status;
    cleanup_close int fd = beneath_open_file(root_fd, path, &status, err);

    if (fd < 0)
        return err->kind == ERROR_NOT_FOUND
                   ? error_set(err, ERROR_INVALID, "Chart.yaml not found in the archive")
                   : -1;
    buffer_init(&text, CHART_FILE_MAX);
    if (file_read_all(fd, "Chart.yaml", &text, err) < 0)
        return -1;
    if (doc_parse_yaml(text.data ? text.data : "", text.size, CHART_FILE_MAX, &doc, err) < 0)
        return error_wrap(err, "Chart.yaml");
    if (!doc_text(doc, "name") || !doc_text(doc, "version"))
        return error_set(err, ERROR_INVALID, "Chart.yaml: name and version are required");
    return 0;
}

/* Its output would be taken for that of init's own template. */
static int check_reserved(int root_fd, const char *top, struct error *err)
{
    cleanup_free char *path = xasprintf("%s/" FILE_HELM_SEEN, top);
    struct error missing = {0};
    struct stat status;
    cleanup_close int fd = beneath_open_file(root_fd, path, &status, &missing);

    return fd < 0 ? 0
                  : error_set(err, ERROR_INVALID,
                              "the name " FILE_HELM_SEEN " is reserved: rename the file");
}

static int check_files(int root_fd, struct chart_summary *summary, struct error *err)
{
    if (find_top(root_fd, &summary->top, err) < 0 || check_metadata(root_fd, summary->top, err) < 0)
        return -1;
    return check_reserved(root_fd, summary->top, err);
}

int chart_check(int packed_fd, int directory_fd, struct chart_summary *ret_summary,
                struct error *err)
{
    static const struct unpack_options options = {.policy = UNPACK_BLUEPRINT, .limits = &limits};
    cleanup_close int root_fd = -1;
    struct unpack_counts counts = {0};
    struct error removal = {0};
    int result = 0;

    if (lseek(packed_fd, 0, SEEK_SET) < 0)
        return error_set_errno(err, errno, "read the chart");
    root_fd = beneath_make_directories(directory_fd, DIRECTORY_CHART, err);
    if (root_fd < 0)
        return -1;
    result = unpack_fd(root_fd, &options, packed_fd, &counts, err);
    if (result == 0)
        result = check_files(root_fd, ret_summary, err);
    ret_summary->files = counts.entries;
    ret_summary->bytes = counts.bytes;
    if (beneath_remove_tree(directory_fd, DIRECTORY_CHART, &removal) < 0 && result == 0) {
        *err = removal;
        return -1;
    }
    if (result == 0 && lseek(packed_fd, 0, SEEK_SET) < 0)
        return error_set_errno(err, errno, "read the chart");
    return result;
}
