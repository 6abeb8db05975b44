/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/tests/child.h"
#include "common/base/tests/fault.h"
#include "common/data/digest.h"

#define SHA256_ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define SHA256_EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define SHA512_ABC                                                                                 \
    "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"                             \
    "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"

static const struct {
    enum digest_algorithm algorithm;
    const char *data, *text;
} known[] = {
    {DIGEST_SHA256, "", "sha256:" SHA256_EMPTY},
    {DIGEST_SHA256, "abc", "sha256:" SHA256_ABC},
    {DIGEST_SHA512, "abc", "sha512:" SHA512_ABC},
};

static void hashes_the_examples_of_the_standard(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(known); i++) {
        cleanup_digest struct digest *digest = digest_new(known[i].algorithm);
        char hex[DIGEST_HEX_MAX] = {0};

        digest_update(digest, known[i].data, strlen(known[i].data));
        digest_hex(digest, hex);
        assert_string_equal(hex, known[i].text + 7);
        assert_true(digest_matches(digest, known[i].text));
    }
}

static void hashing_continues_after_the_hash_was_read(void **state)
{
    cleanup_digest struct digest *digest = digest_new(DIGEST_SHA256);
    char hex[DIGEST_HEX_MAX] = {0};
    cleanup_free char *base64 = digest_sha256_base64("abc", 3);

    (void)state;
    assert_string_equal(base64, "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    digest_hex(digest, hex);
    assert_string_equal(hex, SHA256_EMPTY);
    digest_update(digest, "a", 1);
    digest_hex(digest, hex);
    digest_update(digest, "b", 1);
    digest_update(digest, "", 0);
    digest_update(digest, "c", 1);
    digest_hex(digest, hex);
    assert_string_equal(hex, SHA256_ABC);
    digest_sha256_hex("abc", 3, hex);
    assert_string_equal(hex, SHA256_ABC);
}

static void another_digest_or_algorithm_does_not_match(void **state)
{
    cleanup_digest struct digest *digest = digest_new(DIGEST_SHA256);

    (void)state;
    digest_update(digest, "abc", 3);
    assert_false(digest_matches(digest, "sha256:" SHA256_EMPTY));
    assert_false(digest_matches(digest, "sha512:" SHA512_ABC));
    assert_false(digest_matches(digest, SHA256_ABC));
    assert_false(digest_matches(digest, ""));
}

static void reads_both_algorithms(void **state)
{
    enum digest_algorithm algorithm = DIGEST_SHA512;
    const char *hex = NULL;
    struct error err = {0};

    (void)state;
    assert_int_equal(digest_parse("sha256:" SHA256_ABC, &algorithm, &hex, &err), 0);
    assert_int_equal(algorithm, DIGEST_SHA256);
    assert_string_equal(hex, SHA256_ABC);
    assert_int_equal(digest_parse("sha512:" SHA512_ABC, &algorithm, &hex, &err), 0);
    assert_int_equal(algorithm, DIGEST_SHA512);
    assert_string_equal(hex, SHA512_ABC);
}

static const char *const bad[] = {
    "",
    "sha256",
    "sha256:",
    SHA256_ABC,
    "SHA256:" SHA256_ABC,
    "sha384:" SHA256_ABC,
    "sha256:" SHA256_ABC "0",
    "sha256:ba7816bf",
    "sha256:BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD",
    "sha256:../../../../../../../../../../../../../../../../../../etc/passwd",
    "sha512:" SHA256_ABC,
    " sha256:" SHA256_ABC,
    "sha256:" SHA256_ABC " ",
};

static void refuses_invalid_digests_and_keeps_the_output(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(bad); i++) {
        enum digest_algorithm algorithm = DIGEST_SHA512;
        const char *hex = "before";
        struct error err = {0};

        assert_int_equal(digest_parse(bad[i], &algorithm, &hex, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_int_equal(algorithm, DIGEST_SHA512);
        assert_string_equal(hex, "before");
    }
}

static bool is_hash_broken;

/* NOLINTBEGIN(bugprone-reserved-identifier): the names are those of --wrap. */
int __real_EVP_DigestUpdate(EVP_MD_CTX *context, const void *data, size_t size);
int __wrap_EVP_DigestUpdate(EVP_MD_CTX *context, const void *data, size_t size);
int __wrap_EVP_DigestUpdate(EVP_MD_CTX *context, const void *data, size_t size)
{
    return is_hash_broken ? 0 : __real_EVP_DigestUpdate(context, data, size);
}
/* NOLINTEND(bugprone-reserved-identifier) */

static void hash_with_a_broken_library(void *data)
{
    char hex[DIGEST_HEX_MAX] = {0};

    (void)data;
    is_hash_broken = true;
    digest_sha256_hex("abc", 3, hex);
}

/* A wrong digest must not be used. */
static void a_failure_of_libcrypto_aborts(void **state)
{
    (void)state;
    child_must_abort(hash_with_a_broken_library, NULL, "libcrypto cannot compute a hash");
}

static int temporary_file(const char *content)
{
    char path[] = "/tmp/digest-test-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    return fd;
}

static void checks_a_whole_file_and_rewinds_it(void **state)
{
    int fd = temporary_file("abc"); /* the offset is at the end */
    struct error err = {0};

    (void)state;
    assert_int_equal(digest_check_file(fd, "abc.bin", "sha256:" SHA256_ABC, &err), 0);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
    assert_int_equal(digest_check_file(fd, "abc.bin", "sha256:" SHA256_EMPTY, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_string_equal(err.text, "content of \"abc.bin\" does not match its digest "
                                  "sha256:" SHA256_EMPTY);
    assert_int_equal(digest_check_file(fd, "abc.bin", "md5:1", &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    (void)close(fd);
}

static void a_file_that_cannot_be_read_is_an_error(void **state)
{
    static const char *const functions[] = {"lseek", "read"};
    int fd = temporary_file("abc");

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct error err = {0};

        /* The second lseek is the one that rewinds. */
        fault_arm(functions[i % 2], i / 2 + 1, EIO);
        assert_int_equal(digest_check_file(fd, "abc.bin", "sha256:" SHA256_ABC, &err), -1);
        assert_true(fault_disarm());
        assert_int_equal(err.os, EIO);
        assert_non_null(strstr(err.text, "abc.bin"));
    }
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_the_examples_of_the_standard),
        cmocka_unit_test(hashing_continues_after_the_hash_was_read),
        cmocka_unit_test(another_digest_or_algorithm_does_not_match),
        cmocka_unit_test(reads_both_algorithms),
        cmocka_unit_test(refuses_invalid_digests_and_keeps_the_output),
        cmocka_unit_test(checks_a_whole_file_and_rewinds_it),
        cmocka_unit_test(a_file_that_cannot_be_read_is_an_error),
        cmocka_unit_test(a_failure_of_libcrypto_aborts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
