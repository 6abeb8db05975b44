/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/archive/beneath.h"
#include "common/archive/tests/folder.h"
#include "common/base/memory.h"
#include "common/base/tests/fault.h"
#include "common/data/doc.h"
#include "init/content.h"

#define BLUEPRINT "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n"

struct world {
    struct folder folder;
    struct blob blob;
};

/* content/ has a file of an earlier run, so that publishing has to exchange the directories. */
static void lay_earlier_content(void *data)
{
    struct world *world = data;
    struct error err = {0};

    assert_int_equal(beneath_remove_tree(world->folder.fd, "content", &err), 0);
    folder_write_text(&world->folder, "content/old", "old");
}

static int publish(void *data, struct error *err)
{
    struct world *world = data;
    struct content_counts counts = {0};

    if (content_from_blob(&world->blob, world->folder.fd, &counts, err) < 0)
        return -1;
    return content_publish(world->folder.fd, "content", err);
}

static void check_whole(void *data, int result)
{
    struct world *world = data;
    cleanup_free char *old = folder_read(&world->folder, "content/old");
    cleanup_free char *blueprint = folder_read(&world->folder, "content/blueprint.yaml");
    cleanup_free char *nested = folder_read(&world->folder, "content/data/nested");

    content_discard(world->folder.fd);
    if (result == 0)
        assert_non_null(blueprint);
    if (blueprint) {
        assert_null(old);
        assert_string_equal(nested, "hello");
    } else {
        assert_string_equal(old, "old");
        assert_null(nested);
    }
}

static void content_is_the_old_or_the_new_whichever_call_fails(void **state)
{
    struct world world = {.blob = {.form = BLOB_DIRECTORY}};
    const struct fault_scenario scenario = {.name = "content",
                                            .prepare = lay_earlier_content,
                                            .run = publish,
                                            .check = check_whole,
                                            .data = &world};

    (void)state;
    folder_make(&world.folder);
    folder_write_text(&world.folder, "blob/blueprint.yaml", BLUEPRINT);
    folder_write_text(&world.folder, "blob/data/nested", "hello");
    world.blob.fd = openat(world.folder.fd, "blob", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fault_sweep(&scenario) >= 40);
    blob_done(&world.blob);
    folder_remove(&world.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_is_the_old_or_the_new_whichever_call_fails),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
