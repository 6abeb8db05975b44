/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/archive/tests/folder.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "init/content.h"

#define GOOD "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n"

static const struct {
    const char *blueprint;
    bool is_good;
} blueprints[] = {
    {GOOD, true},
    {"{}", true}, /* apiVersion and kind are defaulted */
    {"kind: Installation\n", false},
    {"apiVersion: landscaper.gardener.cloud/v2\nkind: Blueprint\n", false},
    {"kind: [Blueprint]\n", false},
    {"- a\n", false},
    {"a: [", false},
    {"", false},
    {NULL, false},
};

static void only_a_blueprint_is_published(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(blueprints); i++) {
        struct folder folder = {0};
        struct content_counts counts = {0};
        struct error err = {0};
        cleanup_json json_t *tree = json_object();

        if (blueprints[i].blueprint)
            (void)json_object_set_new(tree, "blueprint.yaml", json_string(blueprints[i].blueprint));
        folder_make(&folder);
        assert_int_equal(mkdirat(folder.fd, "content", 0755), 0);
        assert_int_equal(content_from_tree(tree, folder.fd, &counts, &err), 0);
        assert_int_equal(content_publish(folder.fd, "content", &err),
                         blueprints[i].is_good ? 0 : -1);
        content_discard(folder.fd);
        assert_int_equal(folder_count(&folder, "."), 1);
        assert_int_equal(folder_count(&folder, "content"), blueprints[i].is_good ? 1 : 0);
        folder_remove(&folder);
    }
}

static void content_of_an_earlier_run_is_replaced(void **state)
{
    struct folder folder = {0};
    struct content_counts counts = {0};
    struct error err = {0};
    cleanup_json json_t *tree = json_pack("{s:s}", "blueprint.yaml", GOOD);

    (void)state;
    folder_make(&folder);
    folder_write_text(&folder, "content/old", "x");
    assert_int_equal(content_from_tree(tree, folder.fd, &counts, &err), 0);
    assert_int_equal(content_publish(folder.fd, "content", &err), 0);
    assert_int_equal(folder_count(&folder, "content"), 1);
    assert_null(folder_read(&folder, "content/old"));
    assert_int_equal(folder_count(&folder, "."), 1);
    folder_remove(&folder);
}

static void a_directory_is_copied_unless_it_has_symlinks(void **state)
{
    for (int with_link = 0; with_link <= 1; with_link++) {
        struct folder folder = {0};
        struct content_counts counts = {0};
        struct error err = {0};
        struct blob blob = {.form = BLOB_DIRECTORY};
        cleanup_free char *text = NULL;

        (void)state;
        folder_make(&folder);
        folder_write_text(&folder, "blob/blueprint.yaml", GOOD);
        folder_write_text(&folder, "blob/data/test", "hello");
        if (with_link)
            assert_int_equal(symlinkat("/etc/hostname", folder.fd, "blob/data/link"), 0);
        blob.fd = openat(folder.fd, "blob", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(content_from_blob(&blob, folder.fd, &counts, &err), with_link ? -1 : 0);
        if (!with_link) {
            assert_int_equal(content_publish(folder.fd, "content", &err), 0);
            text = folder_read(&folder, "content/data/test");
            assert_string_equal(text, "hello");
        }
        blob_done(&blob);
        folder_remove(&folder);
    }
}

static void a_packed_blob_is_unpacked(void **state)
{
    struct folder folder = {0};
    struct content_counts counts = {0};
    struct error err = {0};
    struct blob blob = {.form = BLOB_PACKED};
    size_t size = 0;
    cleanup_free char *tar = folder_tar(&size, "blueprint.yaml", GOOD, "d/f", "x", (char *)NULL);
    cleanup_free char *text = NULL;

    (void)state;
    folder_make(&folder);
    folder_write(&folder, "blob", tar, size);
    blob.fd = openat(folder.fd, "blob", O_RDONLY | O_CLOEXEC);
    assert_int_equal(content_from_blob(&blob, folder.fd, &counts, &err), 0);
    assert_int_equal(content_publish(folder.fd, "content", &err), 0);
    text = folder_read(&folder, "content/d/f");
    assert_string_equal(text, "x");
    blob_done(&blob);
    folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_blueprint_is_published),
        cmocka_unit_test(content_of_an_earlier_run_is_replaced),
        cmocka_unit_test(a_directory_is_copied_unless_it_has_symlinks),
        cmocka_unit_test(a_packed_blob_is_unpacked),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
