/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "common/archive/tests/folder.h"
#include "common/base/memory.h"
#include "common/base/tests/fault.h"
#include "common/component/file_repository.h"
#include "common/data/doc.h"

#define NAME "example.com/acme/app"

struct world {
    struct folder folder;
    struct repository *repository;
};

static void write_descriptor(const struct folder *folder, const char *file, const char *version)
{
    cleanup_free char *text =
        xasprintf("meta: {schemaVersion: v2}\n"
                  "component: {name: %s, version: %s, provider: acme, sources: [], resources: [],\n"
                  "  componentReferences: [], repositoryContexts: [{type: ociRegistry, "
                  "baseUrl: example.com}]}\n",
                  NAME, version);

    folder_write_text(folder, file, text);
}

static void nothing(void *data)
{
    (void)data;
}

static int find(void *data, struct error *err)
{
    struct world *world = data;
    cleanup_descriptor struct descriptor *descriptor = NULL;
    struct manifest manifest = {0};

    if (file_repository_find_descriptor(world->repository, NAME, "1.0.0", &descriptor, &manifest,
                                        err) < 0) {
        /* "not found" would make the caller ask the next repository. */
        if (err->kind == ERROR_NOT_FOUND)
            fail_msg("a failed call is reported as \"%s\"", err->text);
        return -1;
    }
    assert_string_equal(descriptor_version(descriptor), "1.0.0");
    return 0;
}

static void check(void *data, int result)
{
    (void)data;
    (void)result;
}

static void a_directory_is_searched_or_the_failure_is_reported(void **state)
{
    struct world world = {0};
    cleanup_json json_t *spec = NULL;
    struct error err = {0};
    const struct fault_scenario scenario = {
        .name = "directory", .prepare = nothing, .run = find, .check = check, .data = &world};

    (void)state;
    folder_make(&world.folder);
    write_descriptor(&world.folder, "a.yaml", "0.1.0");
    write_descriptor(&world.folder, "b.yaml", "1.0.0");
    spec = json_pack("{s:s, s:s}", "type", "local", "filePath", world.folder.path);
    assert_int_equal(repository_parse(spec, &world.repository, &err), 0);
    assert_int_equal(file_repository_open(world.repository, world.folder.fd, "unused", &err), 0);
    assert_true(fault_sweep(&scenario) >= 10);
    repository_free(world.repository);
    folder_remove(&world.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_is_searched_or_the_failure_is_reported),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
