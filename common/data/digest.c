/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <string.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/data/base64.h"

struct digest {
    enum digest_algorithm algorithm;
    EVP_MD_CTX *context;
};

static const struct {
    const char *prefix;
    size_t hex_length;
} algorithms[] = {
    [DIGEST_SHA256] = {"sha256:", 64},
    [DIGEST_SHA512] = {"sha512:", 128},
};

/* libcrypto fails here only if it is out of memory or lacks an algorithm. There is no way to go on
 * without a hash. */
static void must_succeed(int result)
{
    if (result != 1) {
        (void)fputs("libcrypto cannot compute a hash\n", stderr);
        abort();
    }
}

struct digest *digest_new(enum digest_algorithm algorithm)
{
    struct digest *digest = xcalloc(1, sizeof(*digest));

    digest->algorithm = algorithm;
    digest->context = EVP_MD_CTX_new();
    must_succeed(digest->context != NULL);
    must_succeed(EVP_DigestInit_ex(digest->context,
                                   algorithm == DIGEST_SHA512 ? EVP_sha512() : EVP_sha256(), NULL));
    return digest;
}

void digest_free(struct digest *digest)
{
    if (!digest)
        return;
    EVP_MD_CTX_free(digest->context);
    free(digest);
}

void digest_update(struct digest *digest, const void *data, size_t size)
{
    must_succeed(EVP_DigestUpdate(digest->context, data, size));
}

static void write_hex(const unsigned char *bytes, size_t size, char *ret_hex)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        ret_hex[2 * i] = digits[bytes[i] >> 4];
        ret_hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    ret_hex[2 * size] = '\0';
}

void digest_hex(const struct digest *digest, char ret_hex[DIGEST_HEX_MAX])
{
    unsigned char bytes[EVP_MAX_MD_SIZE] = {0};
    unsigned int size = 0;
    EVP_MD_CTX *copy = EVP_MD_CTX_new();

    /* Finishing ends a context, but the caller may continue with his. */
    must_succeed(copy != NULL);
    must_succeed(EVP_MD_CTX_copy_ex(copy, digest->context));
    must_succeed(EVP_DigestFinal_ex(copy, bytes, &size));
    EVP_MD_CTX_free(copy);
    write_hex(bytes, size, ret_hex);
}

void digest_sha256_hex(const void *data, size_t size, char ret_hex[DIGEST_HEX_MAX])
{
    cleanup_digest struct digest *digest = digest_new(DIGEST_SHA256);

    digest_update(digest, data, size);
    digest_hex(digest, ret_hex);
}

char *digest_sha256_base64(const void *data, size_t size)
{
    unsigned char bytes[EVP_MAX_MD_SIZE] = {0};
    unsigned int length = 0;

    must_succeed(EVP_Digest(data, size, bytes, &length, EVP_sha256(), NULL));
    return base64_encode(bytes, length);
}

int digest_parse(const char *text, enum digest_algorithm *ret_algorithm, const char **ret_hex,
                 struct error *err)
{
    for (size_t i = 0; i < array_length(algorithms); i++) {
        size_t prefix = strlen(algorithms[i].prefix);
        size_t length = algorithms[i].hex_length;

        if (strncmp(text, algorithms[i].prefix, prefix) != 0)
            continue;
        if (strspn(text + prefix, "0123456789abcdef") != length || text[prefix + length])
            return error_set(
                err, ERROR_INVALID,
                "invalid digest \"%.200s\": expected \"%s\" and %zu lower-case hex digits", text,
                algorithms[i].prefix, length);
        *ret_algorithm = (enum digest_algorithm)i;
        *ret_hex = text + prefix;
        return 0;
    }
    return error_set(err, ERROR_INVALID,
                     "invalid digest \"%.200s\": expected 'sha256:' or 'sha512:'", text);
}

bool digest_matches(const struct digest *digest, const char *text)
{
    enum digest_algorithm algorithm = DIGEST_SHA256;
    const char *wanted = "";
    char hex[DIGEST_HEX_MAX] = {0};
    struct error ignored = {0};

    if (digest_parse(text, &algorithm, &wanted, &ignored) < 0 || algorithm != digest->algorithm)
        return false;
    digest_hex(digest, hex);
    return strcmp(hex, wanted) == 0;
}

static int feed(void *data, const char *bytes, size_t size, struct error *err)
{
    (void)err;
    digest_update(data, bytes, size);
    return 0;
}

int digest_check_file(int fd, const char *name, const char *text, struct error *err)
{
    cleanup_digest struct digest *digest = NULL;
    enum digest_algorithm algorithm = DIGEST_SHA256;
    const char *hex = NULL;

    if (digest_parse(text, &algorithm, &hex, err) < 0)
        return -1;
    digest = digest_new(algorithm);
    if (lseek(fd, 0, SEEK_SET) < 0)
        return error_set_errno(err, errno, "seek in \"%s\"", name);
    if (file_read_pieces(fd, name, feed, digest, err) < 0)
        return -1;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return error_set_errno(err, errno, "seek in \"%s\"", name);
    if (!digest_matches(digest, text))
        return error_set(err, ERROR_INVALID, "content of \"%s\" does not match its digest %s", name,
                         text);
    return 0;
}
