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
#include "init/inputs.h"
#include "init/volume.h"

struct paths {
    struct folder folder;
    char *imports, *exports, *descriptor, *target, *content, *state, *source;
    struct options options;
};

static void make_paths(struct paths *paths)
{
    folder_make(&paths->folder);
    paths->imports = xasprintf("%s/v/shared/imports/import.json", paths->folder.path);
    paths->exports = xasprintf("%s/v/shared/exports/values", paths->folder.path);
    paths->descriptor = xasprintf("%s/v/shared/descriptor.json", paths->folder.path);
    paths->target = xasprintf("%s/v/shared/targets/target.json", paths->folder.path);
    paths->content = xasprintf("%s/v/shared/content", paths->folder.path);
    paths->state = xasprintf("%s/v/shared/state", paths->folder.path);
    paths->source = xasprintf("%s/target.json", paths->folder.path);
    paths->options = (struct options){.imports_path = paths->imports,
                                      .exports_path = paths->exports,
                                      .component_descriptor_path = paths->descriptor,
                                      .target_path = paths->target,
                                      .content_path = paths->content,
                                      .state_path = paths->state};
}

static void remove_paths(struct paths *paths)
{
    folder_remove(&paths->folder);
    free(paths->imports);
    free(paths->exports);
    free(paths->descriptor);
    free(paths->target);
    free(paths->content);
    free(paths->state);
    free(paths->source);
}

static void the_directories_of_the_contract_are_made(void **state)
{
    static const char *const directories[] = {"imports", "exports", "targets", "content", "state"};
    struct paths paths = {0};
    struct volume volume = {.root_fd = -1, .work_fd = -1};
    struct error err = {0};

    (void)state;
    make_paths(&paths);
    assert_int_equal(volume_open(&paths.options, &volume, &err), 0);
    assert_string_equal(volume.root + strlen(paths.folder.path), "/v/shared");
    for (size_t i = 0; i < array_length(directories); i++) {
        cleanup_free char *name = xasprintf("v/shared/%s", directories[i]);

        assert_int_equal(folder_count(&paths.folder, name), 0);
    }
    volume_done(&volume);
    /* The directory for temporary files has been removed. */
    assert_int_equal(folder_count(&paths.folder, "v/shared"), (int)array_length(directories));
    remove_paths(&paths);
}

static void symlinks_in_the_volume_are_not_followed(void **state)
{
    struct paths paths = {0};
    struct volume volume = {.root_fd = -1, .work_fd = -1};
    struct error err = {0};

    (void)state;
    make_paths(&paths);
    folder_write_text(&paths.folder, "v/shared/x", "");
    assert_int_equal(mkdirat(paths.folder.fd, "outside", 0755), 0);
    assert_int_equal(symlinkat("../../outside", paths.folder.fd, "v/shared/imports"), 0);
    assert_int_equal(volume_open(&paths.options, &volume, &err), -1);
    assert_non_null(strstr(err.text, "imports"));
    assert_int_equal(folder_count(&paths.folder, "outside"), 0);
    remove_paths(&paths);
}

static void a_file_is_visible_only_when_it_is_complete(void **state)
{
    for (int is_published = 0; is_published <= 1; is_published++) {
        struct paths paths = {0};
        struct volume volume = {.root_fd = -1, .work_fd = -1};
        struct volume_file file = {.fd = -1, .parent_fd = -1};
        struct error err = {0};
        cleanup_free char *text = NULL;

        (void)state;
        make_paths(&paths);
        folder_write_text(&paths.folder, "v/shared/descriptor.json", "old");
        assert_int_equal(volume_open(&paths.options, &volume, &err), 0);
        assert_int_equal(volume_file_begin(&volume, paths.descriptor, &file, &err), 0);
        assert_int_equal(write(file.fd, "new", 3), 3);
        if (is_published)
            assert_int_equal(volume_file_publish(&file, &err), 0);
        volume_file_done(&file);
        volume_done(&volume);
        text = folder_read(&paths.folder, "v/shared/descriptor.json");
        assert_string_equal(text, is_published ? "new" : "old");
        assert_int_equal(folder_count(&paths.folder, "v/shared"), 6);
        remove_paths(&paths);
    }
}

static void outputs_without_a_common_directory_are_rejected(void **state)
{
    struct paths paths = {0};
    struct volume volume = {.root_fd = -1, .work_fd = -1};
    struct error err = {0};

    (void)state;
    make_paths(&paths);
    paths.options.state_path = "/elsewhere";
    assert_int_equal(volume_open(&paths.options, &volume, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    remove_paths(&paths);
}

static const struct {
    const char *given, *written;
} targets[] = {
    {"null", "null"},
    {"{\"target\":{\"metadata\":{\"name\":\"t\"}},\"content\":\"c\"}",
     "{\"target\":{\"metadata\":{\"name\":\"t\"},\"apiVersion\":\"landscaper.gardener.cloud/"
     "v1alpha1\",\"kind\":\"Target\"},\"content\":\"c\"}"},
    {"{\"target\": {\"apiVersion\": \"a\", \"kind\": \"b\"}}",
     "{\"target\": {\"apiVersion\": \"a\", \"kind\": \"b\"}}"},
    {"{\"target\": null}", "{\"target\": null}"},
    {"not JSON", "not JSON"},
};

static void the_target_is_passed_on_in_the_documented_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(targets); i++) {
        struct paths paths = {0};
        struct volume volume = {.root_fd = -1, .work_fd = -1};
        struct error err = {0};
        cleanup_free char *text = NULL;
        size_t size = 0;

        make_paths(&paths);
        folder_write_text(&paths.folder, "target.json", targets[i].given);
        assert_int_equal(volume_open(&paths.options, &volume, &err), 0);
        assert_int_equal(inputs_write_target(&volume, paths.target, paths.source, &size, &err), 0);
        text = folder_read(&paths.folder, "v/shared/targets/target.json");
        assert_string_equal(text, targets[i].written);
        assert_int_equal(size, strlen(targets[i].written));
        volume_done(&volume);
        remove_paths(&paths);
    }
}

static void imports_are_written_only_if_there_are_some(void **state)
{
    struct paths paths = {0};
    struct volume volume = {.root_fd = -1, .work_fd = -1};
    struct error err = {0};
    cleanup_free char *text = NULL;

    (void)state;
    make_paths(&paths);
    assert_int_equal(volume_open(&paths.options, &volume, &err), 0);
    assert_int_equal(inputs_write_imports(&volume, paths.imports, NULL, &err), 0);
    assert_int_equal(folder_count(&paths.folder, "v/shared/imports"), 0);
    assert_int_equal(inputs_write_imports(&volume, paths.imports, "\"abc\"", &err), 0);
    text = folder_read(&paths.folder, "v/shared/imports/import.json");
    assert_string_equal(text, "\"abc\"");
    volume_done(&volume);
    remove_paths(&paths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_directories_of_the_contract_are_made),
        cmocka_unit_test(symlinks_in_the_volume_are_not_followed),
        cmocka_unit_test(a_file_is_visible_only_when_it_is_complete),
        cmocka_unit_test(outputs_without_a_common_directory_are_rejected),
        cmocka_unit_test(the_target_is_passed_on_in_the_documented_form),
        cmocka_unit_test(imports_are_written_only_if_there_are_some),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
