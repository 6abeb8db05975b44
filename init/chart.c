/* SPDX-License-Identifier: Apache-2.0 */
#include "init/chart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/archive/leading_file.h"
#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/component/chart_repository.h"
#include "common/component/scratch_file.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/digest.h"
#include "common/data/doc.h"
#include "init/chart_check.h"
#include "init/chart_index.h"
#include "init/download.h"

enum { INDEX_BYTES_MAX = 256 * 1024 * 1024 };

/* Credentials of a chart repository. */
struct chart_auth {
    const char *url;       /* the address that they are for */
    char *user, *password; /* wiped when freed */
};

static void auth_done(struct chart_auth *auth)
{
    wipe_free(auth->user);
    wipe_free(auth->password);
}
#define cleanup_auth __attribute__((cleanup(auth_done)))

/* ---- Files ---- */

static int append(void *data, const char *bytes, size_t size, struct error *err)
{
    return file_write_all(*(const int *)data, "the chart on the shared volume", bytes, size, err);
}

static int restart(void *data, struct error *err)
{
    const int *fd = data;

    if (ftruncate(*fd, 0) < 0 || lseek(*fd, 0, SEEK_SET) < 0)
        return error_set_errno(err, errno, "write the chart to the shared volume");
    return 0;
}

static int decode_raw(const char *text, int fd, struct error *err)
{
    cleanup_buffer struct buffer bytes = {0};

    buffer_init(&bytes, CHART_PACKED_MAX);
    if (base64_decode(text, strlen(text), &bytes, err) < 0)
        return error_set(err, ERROR_INVALID, "chart.archive.raw is not valid base64");
    return append(&fd, bytes.data ? bytes.data : "", bytes.size, err);
}

/* ---- HTTP ---- */

/* The scheme, host and port of a URL: everything before its path. */
static size_t origin_length(const char *url)
{
    const char *host = strstr(url, "://");

    return host ? (size_t)(host + 3 - url) + strcspn(host + 3, "/?#") : 0;
}

static bool is_same_origin(const char *a, const char *b)
{
    size_t length = origin_length(a);

    return length > 0 && length == origin_length(b) && strncasecmp(a, b, length) == 0;
}

static struct download_options download_of(const struct chart_env *env, const char *url,
                                           const struct chart_auth *auth)
{
    bool is_authenticated = auth && auth->user && is_same_origin(auth->url, url);

    return (struct download_options){
        .url = url,
        .user = is_authenticated ? auth->user : NULL,
        .password = is_authenticated ? auth->password : NULL,
        .tls = &env->setup->chart_tls,
        .is_plain_http_allowed = env->options->is_plain_http_allowed,
        .deadline_ms = env->options->deadline_ms,
        .on_retry = env->on_retry,
        .on_retry_data = env->data,
    };
}

static int download_archive(const struct chart_env *env, const char *url,
                            const struct chart_auth *auth, int fd, struct error *err)
{
    struct download_options options = download_of(env, url, auth);

    options.max_bytes = CHART_PACKED_MAX;
    options.on_bytes = append;
    options.on_restart = restart;
    options.data = &fd;
    return download_file(env->setup->loop, env->setup->http, &options, err);
}

/* ---- Registries ---- */

static int fetch_blob(const struct chart_env *env, const struct access *access, int fd,
                      struct error *err)
{
    struct setup *setup = env->setup;
    const struct resolved_root root =
        env->resolution ? resolution_root(env->resolution) : (struct resolved_root){0};
    const struct blob_env blob_env = {.loop = setup->loop,
                                      .components = setup->component_registry,
                                      .artifacts = setup->artifact_registry,
                                      .workspace_fd = setup->volume.work_fd,
                                      .on_progress = env->on_progress,
                                      .data = env->data};
    cleanup_blob struct blob blob = {.fd = -1};

    if (blob_fetch(&blob_env, access, &root, &blob, err) < 0)
        return -1;
    if (blob.form != BLOB_PACKED)
        return error_set(err, ERROR_INVALID, "the resource is a directory, not a chart archive");
    if (blob.bytes > CHART_PACKED_MAX)
        return error_set(err, ERROR_TOO_LARGE, "the chart is larger than %d bytes",
                         CHART_PACKED_MAX);
    return file_copy(blob.fd, fd, "chart", err);
}

static int fetch_reference(const struct chart_env *env, const char *reference, int fd,
                           struct error *err)
{
    cleanup_access struct access access = {0};

    if (access_of_chart(reference, &access, err) < 0)
        return error_wrap(err, "chart.ref");
    return fetch_blob(env, &access, fd, err);
}

static bool is_registry_url(const char *url)
{
    return strncasecmp(url, "oci://", 6) == 0;
}

/* An entry of an index whose archive is in a registry. helm replaces the "+" of a version, which a
 * tag cannot contain. */
static int fetch_registry_url(const struct chart_env *env, const char *url, int fd,
                              struct error *err)
{
    cleanup_access struct access access = {0};
    cleanup_free char *reference = xstrdup(url);

    for (char *plus = strchr(reference, '+'); plus; plus = strchr(plus, '+'))
        *plus = '_';
    if (access_of_chart(reference, &access, err) < 0)
        return error_wrap(err, "index.yaml");
    return fetch_blob(env, &access, fd, err);
}

/* ---- Chart repositories ---- */

struct index_reading {
    const char *name;
    struct chart_index *index;
};

static int add_to_index(void *data, const char *bytes, size_t size, struct error *err)
{
    return chart_index_add(((struct index_reading *)data)->index, bytes, size, err);
}

static int restart_index(void *data, struct error *err)
{
    struct index_reading *reading = data;

    (void)err;
    chart_index_free(reading->index);
    reading->index = chart_index_new(reading->name);
    return 0;
}

static int find_in_index(const struct chart_env *env, const json_t *repository,
                         const struct chart_auth *auth, json_t **ret_entry, struct error *err)
{
    const char *base = doc_text_or(repository, "url", "");
    cleanup_free char *url =
        xasprintf("%s%sindex.yaml", base, *base && base[strlen(base) - 1] == '/' ? "" : "/");
    struct index_reading reading = {.name = doc_text_or(repository, "name", "")};
    struct download_options options = download_of(env, url, auth);
    int result = 0;

    options.max_bytes = INDEX_BYTES_MAX;
    options.on_bytes = add_to_index;
    options.on_restart = restart_index;
    options.data = &reading;
    result = download_file(env->setup->loop, env->setup->http, &options, err);
    if (result == 0)
        result =
            chart_index_find(reading.index, doc_text_or(repository, "version", ""), ret_entry, err);
    chart_index_free(reading.index);
    return result;
}

/* "Basic <base64 of user:password>", the only scheme that the Go deployer accepts. No message
 * contains a part of it. */
static int parse_header(const char *header, struct chart_auth *auth, struct error *err)
{
    cleanup_buffer struct buffer text = {0};
    const char *colon = NULL;
    int result = -1;

    buffer_init(&text, SECRET_MAX_BYTES);
    if (strncasecmp(header, "Basic ", 6) == 0 &&
        base64_decode(header + 6, strlen(header + 6), &text, err) == 0 && text.data)
        colon = strchr(text.data, ':');
    if (colon) {
        auth->user = xstrndup(text.data, (size_t)(colon - text.data));
        auth->password = xstrdup(colon + 1);
        result = 0;
    }
    if (text.data)
        explicit_bzero(text.data, text.capacity);
    return result == 0 ? 0
                       : error_set(err, ERROR_INVALID,
                                   "the authorization header of the chart repository must be "
                                   "\"Basic\" and base64 of user:password");
}

/* An address in the index may be relative to the repository. */
static char *resolve_url(const char *base, const char *url)
{
    size_t origin = origin_length(base);

    if (strstr(url, "://"))
        return xstrdup(url);
    if (*url == '/')
        return xasprintf("%.*s%s", (int)origin, base, url);
    return xasprintf("%s%s%s", base, *base && base[strlen(base) - 1] == '/' ? "" : "/", url);
}

static int check_digest(const json_t *entry, int fd, struct error *err)
{
    const char *given = doc_text(entry, "digest");
    cleanup_free char *digest = NULL;

    if (!given || !*given)
        return 0;
    digest = strncmp(given, "sha256:", 7) == 0 ? xstrdup(given) : xasprintf("sha256:%s", given);
    if (digest_check_file(fd, "chart", digest, err) < 0)
        return error_wrap(err, "digest of the index");
    return 0;
}

/* The credentials for a repository, if there are any. *ret_auth borrows from the configuration. */
static int find_auth(const struct chart_env *env, const char *repository,
                     struct chart_auth *ret_auth, struct error *err)
{
    const json_t *entry = chart_repository_entry(
        doc_member(env->setup->configuration.chart, CHART_AUTHORIZATIONS), repository);
    const char *header = doc_text(entry, "header");
    const char *problem = doc_text(entry, "problem");
    const char *ca = doc_text_or(entry, "ca", "");

    if (problem)
        return error_set(err, ERROR_DENIED, "%s", problem);
    ret_auth->url = doc_text_or(entry, "url", "");
    if (header && parse_header(header, ret_auth, err) < 0)
        return -1;
    if (*ca && !env->setup->chart_tls.ca_pem)
        env->setup->chart_tls.ca_pem = xstrdup(ca);
    return 0;
}

static int fetch_from_repository(const struct chart_env *env, const json_t *repository, int fd,
                                 struct error *err)
{
    const char *base = doc_text_or(repository, "url", "");
    cleanup_auth struct chart_auth auth = {.url = ""};
    cleanup_json json_t *entry = NULL;
    cleanup_free char *url = NULL;

    if (find_auth(env, base, &auth, err) < 0 ||
        find_in_index(env, repository, &auth, &entry, err) < 0)
        return -1;
    url = resolve_url(base, json_string_value(json_array_get(doc_member(entry, "urls"), 0)));
    if (is_registry_url(url) ? fetch_registry_url(env, url, fd, err) < 0
                             : download_archive(env, url, &auth, fd, err) < 0)
        return -1;
    return check_digest(entry, fd, err);
}

/* ---- Resources of components ---- */

static int fetch_resource(const struct chart_env *env, int fd, struct error *err)
{
    cleanup_access struct access access = {0};

    if (!env->resolution)
        return error_set(err, ERROR_INVALID,
                         "chart.resourceRef: the context names no component repository, and the "
                         "OCM configuration has no resolvers");
    if (access_parse(resolution_root(env->resolution).resource, ACCESS_CHART, &access, err) < 0)
        return -1;
    if (access.kind != ACCESS_CHART_REPOSITORY)
        return fetch_blob(env, &access, fd, err);
    if (fetch_from_repository(env, access.chart, fd, err) < 0)
        return -1;
    return access.blob_digest
               ? digest_check_file(fd, "chart of the resource", access.blob_digest, err)
               : 0;
}

/* ---- The chart ---- */

static int fetch(const struct chart_env *env, int fd, struct error *err)
{
    const json_t *chart = env->setup->configuration.chart;
    const char *raw = doc_text(chart, "raw");
    const char *url = doc_text(chart, "url");
    const char *reference = doc_text(chart, "ref");
    const json_t *repository = doc_member(chart, "repository");

    if (raw)
        return decode_raw(raw, fd, err);
    if (url)
        return download_archive(env, url, NULL, fd, err);
    if (reference)
        return fetch_reference(env, reference, fd, err);
    return repository ? fetch_from_repository(env, repository, fd, err)
                      : fetch_resource(env, fd, err);
}

/* "<parent of the content>/chart/chart.tgz". Belongs to the caller. */
static char *chart_path(const struct options *options)
{
    const char *slash = strrchr(options->content_path, '/');

    return xasprintf("%.*s/" DIR_HELM_CHART "/" FILE_CHART, (int)(slash - options->content_path),
                     options->content_path);
}

static int write_front(void *data, const void *bytes, size_t size, struct error *err)
{
    return append(data, bytes, size, err);
}

/* helm alone knows what values a template sees: those of the chart, of its subcharts, and of the
 * item. So a template tells it. The archive itself is not changed. */
static int add_values_template(const char *top, int fd, struct error *err)
{
    static const char text[] =
        MEMBER_HELM_SEEN ": {{ dict \"Values\" .Values \"Chart\" .Chart \"Release\" .Release "
                         "\"Capabilities\" .Capabilities | toJson | b64enc }}\n";
    cleanup_free char *name = xasprintf("%s/" FILE_HELM_SEEN, top);

    return leading_file_pack(name, text, write_front, &fd, err);
}

static int publish(const struct chart_env *env, const char *top, int fd, struct error *err)
{
    bool is_template_wanted =
        doc_bool_or(env->setup->configuration.chart, CHART_IS_SEEN_WANTED, false);
    cleanup_free char *path = chart_path(env->options);
    cleanup_volume_file struct volume_file file = {.fd = -1, .parent_fd = -1};

    if (volume_file_begin(&env->setup->volume, path, &file, err) < 0 ||
        (is_template_wanted && add_values_template(top, file.fd, err) < 0) ||
        file_copy(fd, file.fd, "chart", err) < 0)
        return -1;
    return volume_file_publish(&file, err);
}

int chart_fetch(const struct chart_env *env, struct chart_counts *ret_counts, struct error *err)
{
    struct setup *setup = env->setup;
    cleanup_close int fd = scratch_file_open(setup->volume.work_fd, err);
    cleanup_chart_summary struct chart_summary summary = {0};
    off_t size = 0;

    setup->chart_tls.is_system_trusted = true;
    setup->chart_tls.is_insecure = env->options->is_insecure;
    if (fd < 0 || fetch(env, fd, err) < 0)
        return -1;
    size = lseek(fd, 0, SEEK_END);
    if (chart_check(fd, setup->volume.work_fd, &summary, err) < 0)
        return error_wrap(err, "chart archive");
    if (publish(env, summary.top, fd, err) < 0)
        return -1;
    *ret_counts = (struct chart_counts){
        .files = summary.files, .bytes = summary.bytes, .packed = (uint64_t)size};
    return 0;
}
