/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "common/archive/tests/folder.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "init/secrets.h"

#define ENTRY(user_) "{\"auths\": {\"h\": {\"username\": \"" user_ "\", \"password\": \"p\"}}}"

static void the_named_secret_comes_first(void **state)
{
    static const struct {
        const char *first, *user;
    } cases[] = {{"cd", "cd"}, {"bp", "bp"}, {NULL, "bp"}, {"gone", "bp"}};
    struct folder folder = {0};

    (void)state;
    folder_make(&folder);
    folder_write_text(&folder, "bp/.dockerconfigjson", ENTRY("bp"));
    folder_write_text(&folder, "cd/.dockerconfigjson", ENTRY("cd"));
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_keyring struct keyring *keyring = keyring_new();
        struct secrets_counts counts = {0};
        struct error err = {0};

        assert_int_equal(secrets_load(folder.path, cases[i].first, keyring, &counts, &err), 0);
        assert_string_equal(keyring_find(keyring, "h", "r")->username, cases[i].user);
        assert_int_equal(counts.files, 2);
    }
    folder_remove(&folder);
}

/* A volume of the kubelet: files are in "..<time>"; "..data" and the names are symlinks. */
static void a_secret_volume_is_read_once_despite_its_symlinks(void **state)
{
    struct folder folder = {0};
    cleanup_keyring struct keyring *keyring = keyring_new();
    struct secrets_counts counts = {0};
    struct error err = {0};

    (void)state;
    folder_make(&folder);
    folder_write_text(&folder, "s/..2024/.dockerconfigjson", ENTRY("u"));
    folder_write_text(&folder, "s/..2024/other", "no JSON");
    assert_int_equal(symlinkat("..2024", folder.fd, "s/..data"), 0);
    assert_int_equal(symlinkat("..data/.dockerconfigjson", folder.fd, "s/.dockerconfigjson"), 0);
    folder_write_text(&folder, "deep/er/.dockercfg", "{\"i\": {\"auth\": \"dTpw\"}}");
    /* For an item with a path in a subdirectory the symlink is to the subdirectory. */
    folder_write_text(&folder, "..2024/000/.dockerconfigjson",
                      "{\"auths\": {\"j\": {\"auth\": \"djpw\"}}}");
    assert_int_equal(symlinkat("..2024", folder.fd, "..data"), 0);
    assert_int_equal(symlinkat("..data/000", folder.fd, "000"), 0);
    assert_int_equal(secrets_load(folder.path, NULL, keyring, &counts, &err), 0);
    assert_int_equal(counts.files, 3);
    assert_int_equal(counts.entries, 3);
    assert_string_equal(keyring_find(keyring, "h", "r")->username, "u");
    assert_string_equal(keyring_find(keyring, "i", "r")->username, "u");
    assert_string_equal(keyring_find(keyring, "j", "r")->username, "v");
    folder_remove(&folder);
}

static void a_missing_directory_is_accepted_but_not_a_malformed_file(void **state)
{
    struct folder folder = {0};
    cleanup_keyring struct keyring *keyring = keyring_new();
    cleanup_free char *gone = NULL;
    struct secrets_counts counts = {0};
    struct error err = {0};

    (void)state;
    folder_make(&folder);
    gone = xasprintf("%s/gone", folder.path);
    assert_int_equal(secrets_load(gone, NULL, keyring, &counts, &err), 0);
    assert_int_equal(counts.files, 0);
    folder_write_text(&folder, "s/.dockerconfigjson", "{\"SECRET\"");
    assert_int_equal(secrets_load(folder.path, NULL, keyring, &counts, &err), -1);
    assert_non_null(strstr(err.text, ".dockerconfigjson"));
    assert_null(strstr(err.text, "SECRET"));
    folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_named_secret_comes_first),
        cmocka_unit_test(a_secret_volume_is_read_once_despite_its_symlinks),
        cmocka_unit_test(a_missing_directory_is_accepted_but_not_a_malformed_file),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
