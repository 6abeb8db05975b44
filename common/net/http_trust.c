/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl ignores SSL_CERT_FILE and SSL_CERT_DIR, which Go programs honour, and accepts either a CA
 * file or a CA blob. So if there are several sources, they are read into one blob here. */
#include "common/net/http_trust.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/buffer.h"
#include "common/base/file.h"
#include "common/base/memory.h"

enum { CA_MAX = 8 * 1024 * 1024 };

static const char *const system_files[] = {
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
};

static const char *non_empty_env(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] ? value : NULL;
}

static int append_file(struct buffer *text, int directory, const char *path, struct error *err)
{
    cleanup_close int fd = openat(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info = {0};

    if (fd < 0 || fstat(fd, &info) < 0)
        return error_set_errno(err, errno, "read certificates from \"%s\"", path);
    if (!S_ISREG(info.st_mode))
        return error_set(err, ERROR_INVALID, "read certificates from \"%s\": not a regular file",
                         path);
    if (file_read_all(fd, path, text, err) < 0)
        return error_wrap(err, "certificates");
    return buffer_append(text, "\n", 1, err);
}

/* Like Go, reads every file of the directory and skips unreadable ones. OpenSSL would expect file
 * names made of hashes, which a mounted ConfigMap does not have. */
static int append_folder(struct buffer *text, const char *path, struct error *err)
{
    DIR *folder = opendir(path);
    const struct dirent *entry = NULL;
    int result = 0;

    if (!folder)
        return 0;
    while (result == 0 && (entry = readdir(folder))) {
        if (entry->d_name[0] != '.' && append_file(text, dirfd(folder), entry->d_name, err) < 0 &&
            err->kind == ERROR_TOO_LARGE)
            result = -1;
    }
    (void)closedir(folder);
    return result;
}

static int append_environment(struct buffer *text, const char *file, const char *folders,
                              struct error *err)
{
    if (file && append_file(text, AT_FDCWD, file, err) < 0)
        return error_wrap(err, "SSL_CERT_FILE");
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        cleanup_free char *folder = xstrndup(folders, length);

        if (folder[0] && append_folder(text, folder, err) < 0)
            return -1;
        folders += length;
        folders += *folders == ':';
    }
    return 0;
}

static int append_system(struct buffer *text, struct error *err)
{
    const char *file = non_empty_env("SSL_CERT_FILE");
    const char *folders = non_empty_env("SSL_CERT_DIR");

    if (file || folders)
        return append_environment(text, file, folders, err);
    for (size_t i = 0; i < array_length(system_files); i++) {
        struct error ignored = {0};

        if (append_file(text, AT_FDCWD, system_files[i], &ignored) == 0)
            return 0;
    }
    return 0;
}

static int set_ca_blob(CURL *easy, const char *pem, size_t size, unsigned flags, struct error *err)
{
    struct curl_blob blob = {.len = size, .flags = flags};

    memcpy(&blob.data, &pem, sizeof(blob.data)); /* curl only reads, but its field is not const */
    if (curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob) != CURLE_OK ||
        /* Otherwise the CA directory of the distribution would be trusted as well. */
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL) != CURLE_OK)
        return error_set(err, ERROR_INTERNAL, "libcurl does not support CA blobs");
    return 0;
}

static bool has_own_authorities(const struct http_tls *tls)
{
    return tls && (tls->ca_file || tls->ca_pem);
}

int http_trust_read(const struct http_tls *tls, struct buffer *text, struct error *err)
{
    bool has_own = has_own_authorities(tls);
    bool has_system = !has_own || tls->is_system_trusted;

    buffer_init(text, CA_MAX);
    if ((has_system && append_system(text, err) < 0) ||
        (has_own && tls->ca_file && append_file(text, AT_FDCWD, tls->ca_file, err) < 0) ||
        (has_own && tls->ca_pem &&
         buffer_append(text, tls->ca_pem, strlen(tls->ca_pem), err) < 0)) {
        err->kind = ERROR_INVALID; /* NOT_FOUND would mean a 404 of the server */
        return -1;
    }
    return 0;
}

static int set_authorities(CURL *easy, const struct http_tls *tls, struct error *err)
{
    cleanup_buffer struct buffer text = {0};
    bool has_own = has_own_authorities(tls);

    if (has_own && !tls->is_system_trusted && !tls->ca_file)
        return set_ca_blob(easy, tls->ca_pem, strlen(tls->ca_pem), CURL_BLOB_NOCOPY, err);
    if (!has_own && !non_empty_env("SSL_CERT_FILE") && !non_empty_env("SSL_CERT_DIR"))
        return 0; /* the default of libcurl */
    if (http_trust_read(tls, &text, err) < 0)
        return -1;
    return set_ca_blob(easy, text.data ? text.data : "", text.size, CURL_BLOB_COPY, err);
}

static int set_identity(CURL *easy, const char *cert_pem, const char *key_pem, struct error *err)
{
    struct curl_blob cert = {.len = strlen(cert_pem), .flags = CURL_BLOB_NOCOPY};
    struct curl_blob key = {.len = strlen(key_pem), .flags = CURL_BLOB_NOCOPY};

    memcpy(&cert.data, &cert_pem, sizeof(cert.data));
    memcpy(&key.data, &key_pem, sizeof(key.data));
    if (curl_easy_setopt(easy, CURLOPT_SSLCERTTYPE, "PEM") != CURLE_OK ||
        curl_easy_setopt(easy, CURLOPT_SSLCERT_BLOB, &cert) != CURLE_OK ||
        curl_easy_setopt(easy, CURLOPT_SSLKEYTYPE, "PEM") != CURLE_OK ||
        curl_easy_setopt(easy, CURLOPT_SSLKEY_BLOB, &key) != CURLE_OK)
        return error_set(err, ERROR_INTERNAL,
                         "libcurl does not support client certificates as blobs");
    return 0;
}

int http_trust_set(CURL *easy, const struct http_tls *tls, struct error *err)
{
    if (tls && tls->is_insecure) {
        if (curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L) != CURLE_OK ||
            curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L) != CURLE_OK)
            return error_set(err, ERROR_INTERNAL,
                             "libcurl does not support TLS without verification");
    } else if (set_authorities(easy, tls, err) < 0) {
        return -1;
    }
    if (!tls || (!tls->cert_pem && !tls->key_pem))
        return 0;
    if (!tls->cert_pem || !tls->key_pem)
        return error_set(err, ERROR_INVALID, HTTP_TRUST_INCOMPLETE);
    return set_identity(easy, tls->cert_pem, tls->key_pem, err);
}
