/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/digest.h"

#include <openssl/evp.h>
#include <string.h>

#include "common/base/memory.h"

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

/* libcrypto fails here only without memory or without its own algorithms; neither can be mended. */
static void insist(int is_done)
{
    if (is_done != 1) {
        (void)fputs("libcrypto can't hash\n", stderr);
        abort();
    }
}

struct digest *digest_new(enum digest_algorithm algorithm)
{
    struct digest *digest = xcalloc(1, sizeof(*digest));

    digest->algorithm = algorithm;
    digest->context = EVP_MD_CTX_new();
    insist(digest->context != NULL);
    insist(EVP_DigestInit_ex(digest->context,
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
    insist(EVP_DigestUpdate(digest->context, data, size));
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

    /* Finishing spends a context, and the caller's hash goes on. */
    insist(copy != NULL);
    insist(EVP_MD_CTX_copy_ex(copy, digest->context));
    insist(EVP_DigestFinal_ex(copy, bytes, &size));
    EVP_MD_CTX_free(copy);
    write_hex(bytes, size, ret_hex);
}

void digest_text(const struct digest *digest, char ret_text[DIGEST_TEXT_MAX])
{
    char hex[DIGEST_HEX_MAX] = {0};

    digest_hex(digest, hex);
    (void)snprintf(ret_text, DIGEST_TEXT_MAX, "%s%s", algorithms[digest->algorithm].prefix, hex);
}

void digest_sha256_hex(const void *data, size_t size, char ret_hex[DIGEST_HEX_MAX])
{
    cleanup_digest struct digest *digest = digest_new(DIGEST_SHA256);

    digest_update(digest, data, size);
    digest_hex(digest, ret_hex);
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
            return error_set(err, ERROR_INVALID,
                             "digest '%.200s' is not '%s' and %zu lower-case hex digits", text,
                             algorithms[i].prefix, length);
        *ret_algorithm = (enum digest_algorithm)i;
        *ret_hex = text + prefix;
        return 0;
    }
    return error_set(err, ERROR_INVALID, "digest '%.200s' is neither 'sha256:' nor 'sha512:'",
                     text);
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
