/* SPDX-License-Identifier: Apache-2.0 */
/* Resolution with a fake fetch: a table says which component refers to which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/archive/tests/folder.h"
#include "common/base/memory.h"
#include "common/component/resolve.h"
#include "common/data/doc.h"

/* Labels are "name:version" without this. */
#define ACME "example.com/acme/"

enum { LABEL_BYTES = 32 };

/* ---- the fake fetch ---- */

struct edge {
    char from[LABEL_BYTES], to[LABEL_BYTES];
};

static struct {
    const struct edge *edges;
    size_t edge_count;
    const char *failing; /* the label that can't be fetched, or NULL */

    unsigned started, cancelled, running, running_max;
} fake;

struct fetch {
    char label[LABEL_BYTES];
    fetch_fn *on_done;
    void *data;
    struct loop_timer timer;
};

static json_t *named(const char *label, const char *key)
{
    const char *colon = strchr(label, ':');

    return json_pack("{s:o, s:s}", key, json_sprintf(ACME "%.*s", (int)(colon - label), label),
                     "version", colon + 1);
}

static struct descriptor *describe(const char *label)
{
    json_t *component = named(label, "name");
    cleanup_json json_t *doc =
        json_pack("{s:{s:s}, s:o}", "meta", "schemaVersion", "v2", "component", component);
    json_t *references = json_array();
    json_t *resource =
        json_pack("{s:s, s:s, s:s, s:s, s:{s:s}}", "name", "of-root", "version", "1.0.0", "type",
                  "blueprint", "relation", "local", "access", "type", "none");
    struct descriptor *descriptor = NULL;
    struct error err = {0};

    for (size_t i = 0; i < fake.edge_count; i++) {
        json_t *reference = NULL;

        if (strcmp(fake.edges[i].from, label) != 0)
            continue;
        reference = named(fake.edges[i].to, "componentName");
        (void)json_object_set_new(reference, "name", json_sprintf("ref%zu", i));
        (void)json_array_append_new(references, reference);
    }
    (void)json_object_update_new(
        component, json_pack("{s:s, s:[], s:[o], s:o, s:[{s:s, s:s}]}", "provider", "acme",
                             "sources", "resources", resource, "componentReferences", references,
                             "repositoryContexts", "type", "ociRegistry", "baseUrl", "x.example"));
    if (descriptor_from_doc(doc, &descriptor, &err) < 0)
        fail_msg("%s", err.text);
    return descriptor;
}

static void end_fetch(struct fetch *fetch)
{
    loop_timer_stop(&fetch->timer);
    free(fetch);
    fake.running--;
}

static void deliver(void *data)
{
    struct fetch *fetch = data;
    struct fetch copy = *fetch;
    struct found found = {.bytes = 10};
    struct error err = {0};

    if (fake.failing && strcmp(fetch->label, fake.failing) == 0)
        (void)error_set(&err, ERROR_DENIED, "no entry to %s", fetch->label);
    else
        found.descriptor = describe(fetch->label);
    end_fetch(fetch);
    copy.on_done(copy.data, &found, &err);
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
struct fetch *__wrap_fetch_start(const struct lookup *lookup, const char *component_name,
                                 const char *version, fetch_fn *on_done, void *data);
void __wrap_fetch_cancel(struct fetch *fetch);

struct fetch *__wrap_fetch_start(const struct lookup *lookup, const char *component_name,
                                 const char *version, fetch_fn *on_done, void *data)
{
    struct fetch *fetch = xcalloc(1, sizeof(*fetch));

    (void)snprintf(fetch->label, sizeof(fetch->label), "%s:%s", component_name + strlen(ACME),
                   version);
    fetch->on_done = on_done;
    fetch->data = data;
    fake.started++;
    if (++fake.running > fake.running_max)
        fake.running_max = fake.running;
    loop_timer_init(&fetch->timer, lookup->loop, deliver, fetch);
    loop_timer_start(&fetch->timer, 0);
    return fetch;
}

void __wrap_fetch_cancel(struct fetch *fetch)
{
    if (!fetch)
        return;
    fake.cancelled++;
    end_fetch(fetch);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* ---- fixture ---- */

struct world {
    struct folder folder;
    struct loop *loop;
    int spool_fd;
    struct resolve_progress progress; /* the last */
    struct resolution *resolution;
    struct error err;
};

static int setup(void **state)
{
    struct world *world = xcalloc(1, sizeof(*world));

    memset(&fake, 0, sizeof(fake));
    folder_make(&world->folder);
    world->spool_fd = openat(world->folder.fd, "spool", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(loop_new(clock_system(), &world->loop, &world->err), 0);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    resolution_free(world->resolution);
    assert_int_equal(fake.running, 0);
    loop_free(world->loop);
    (void)close(world->spool_fd);
    folder_remove(&world->folder);
    free(world);
    return 0;
}

static void note_progress(void *data, const struct resolve_progress *progress)
{
    struct world *world = data;

    world->progress = *progress;
}

static int resolve(struct world *world, const char *root, const char *resource,
                   const struct edge *edges, size_t edge_count)
{
    const struct lookup lookup = {.loop = world->loop};
    const struct resolve_options options = {.spool_fd = world->spool_fd,
                                            .resource_name = resource,
                                            .on_progress = note_progress,
                                            .data = world};
    cleanup_free char *name = xasprintf(ACME "%s", root);
    char *colon = strchr(name, ':');

    *colon = '\0';
    fake.edges = edges;
    fake.edge_count = edge_count;
    return resolve_components(&lookup, name, colon + 1, &options, &world->resolution, &world->err);
}

/* The labels of the descriptor list as it is written. */
static char *written_labels(const struct world *world)
{
    int fd = openat(world->folder.fd, "list", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    cleanup_free char *text = NULL;
    cleanup_json json_t *list = NULL;
    char *labels = xstrdup("");
    struct error err = {0};

    assert_int_equal(resolution_write(world->resolution, fd, &err), 0);
    (void)close(fd);
    text = folder_read(&world->folder, "list");
    assert_int_equal(doc_parse_json(text, strlen(text), 1 << 20, &list, &err), 0);
    assert_string_equal(doc_text(list, "meta.schemaVersion"), "v2");
    for (size_t i = 0; i < json_array_size(doc_member(list, "components")); i++) {
        const json_t *entry = json_array_get(doc_member(list, "components"), i);
        char *more = xasprintf("%s%s%s:%s", labels, *labels ? " " : "",
                               doc_text(entry, "component.name") + strlen(ACME),
                               doc_text(entry, "component.version"));

        free(labels);
        labels = more;
    }
    return labels;
}

/* ---- tests ---- */

static void each_version_is_fetched_once_and_listed_depth_first(void **state)
{
    static const struct edge diamond[] = {
        {"root:1.0.0", "a:1.0.0"}, {"root:1.0.0", "b:1.0.0"}, {"a:1.0.0", "c:1.0.0"},
        {"b:1.0.0", "c:1.0.0"},    {"b:1.0.0", "c:2.0.0"},    {"c:2.0.0", "a:1.0.0"},
    };
    struct world *world = *state;
    cleanup_free char *labels = NULL;
    const char *from = NULL;
    const char *to = NULL;

    assert_int_equal(resolve(world, "root:1.0.0", NULL, diamond, array_length(diamond)), 0);
    labels = written_labels(world);
    assert_string_equal(labels, "root:1.0.0 a:1.0.0 c:1.0.0 b:1.0.0 c:2.0.0");
    assert_int_equal(fake.started, 5);
    assert_int_equal(resolution_count(world->resolution), 5);
    assert_int_equal(resolution_bytes(world->resolution), 50);
    assert_int_equal(world->progress.done, 5);
    assert_int_equal(world->progress.known, 5);
    assert_false(resolution_cycle(world->resolution, &from, &to));
}

static void a_cycle_ends_and_is_reported(void **state)
{
    static const struct edge cycle[] = {
        {"root:1.0.0", "a:1.0.0"}, {"a:1.0.0", "b:1.0.0"}, {"b:1.0.0", "root:1.0.0"}};
    struct world *world = *state;
    const char *from = NULL;
    const char *to = NULL;

    assert_int_equal(resolve(world, "root:1.0.0", NULL, cycle, array_length(cycle)), 0);
    assert_int_equal(fake.started, 3);
    assert_true(resolution_cycle(world->resolution, &from, &to));
    assert_string_equal(from, ACME "b:1.0.0");
    assert_string_equal(to, ACME "root:1.0.0");
}

/* c0 -> c1 -> ... */
static struct edge *make_chain(size_t edge_count)
{
    struct edge *edges = xcalloc(edge_count, sizeof(*edges));

    for (size_t i = 0; i < edge_count; i++) {
        (void)snprintf(edges[i].from, LABEL_BYTES, "c%zu:1.0.0", i);
        (void)snprintf(edges[i].to, LABEL_BYTES, "c%zu:1.0.0", i + 1);
    }
    return edges;
}

static void as_many_components_as_the_limit_are_resolved(void **state)
{
    struct world *world = *state;
    cleanup_free struct edge *edges = make_chain(RESOLVE_COMPONENTS_MAX - 1);

    assert_int_equal(resolve(world, "c0:1.0.0", NULL, edges, RESOLVE_COMPONENTS_MAX - 1), 0);
    assert_int_equal(resolution_count(world->resolution), RESOLVE_COMPONENTS_MAX);
}

static void one_component_above_the_limit_is_an_error(void **state)
{
    struct world *world = *state;
    cleanup_free struct edge *edges = make_chain(RESOLVE_COMPONENTS_MAX);

    assert_int_equal(resolve(world, "c0:1.0.0", NULL, edges, RESOLVE_COMPONENTS_MAX), -1);
    assert_int_equal(world->err.kind, ERROR_TOO_LARGE);
    assert_non_null(strstr(world->err.text, ACME "c500:1.0.0"));
    assert_int_equal(fake.started, RESOLVE_COMPONENTS_MAX);
}

/* root -> s0, s1, ... */
static void make_star(struct edge *edges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(edges[i].from, LABEL_BYTES, "root:1.0.0");
        (void)snprintf(edges[i].to, LABEL_BYTES, "s%zu:1.0.0", i);
    }
}

static void fetches_run_in_parallel_up_to_the_limit(void **state)
{
    struct world *world = *state;
    struct edge star[20];

    make_star(star, array_length(star));
    assert_int_equal(resolve(world, "root:1.0.0", NULL, star, array_length(star)), 0);
    assert_int_equal(fake.started, 21);
    assert_int_equal(fake.running_max, RESOLVE_PARALLEL_MAX);
}

static void the_first_failure_cancels_the_others(void **state)
{
    struct world *world = *state;
    struct edge star[20];

    make_star(star, array_length(star));
    fake.failing = "s5:1.0.0";
    assert_int_equal(resolve(world, "root:1.0.0", NULL, star, array_length(star)), -1);
    assert_int_equal(world->err.kind, ERROR_DENIED);
    assert_string_equal(world->err.text, "no entry to s5:1.0.0");
    assert_int_equal(fake.running, 0);
    assert_true(fake.started < 21);
}

static void the_resource_of_the_root_is_kept(void **state)
{
    static const struct edge one[] = {{"root:1.0.0", "a:1.0.0"}};
    struct world *world = *state;
    struct resolved_root root = {0};

    assert_int_equal(resolve(world, "root:1.0.0", "of-root", one, 1), 0);
    root = resolution_root(world->resolution);
    assert_string_equal(root.component_name, ACME "root");
    assert_string_equal(doc_text(root.resource, "name"), "of-root");
}

static void a_resource_that_the_root_lacks_is_an_error(void **state)
{
    struct world *world = *state;

    assert_int_equal(resolve(world, "root:1.0.0", "gone", NULL, 0), -1);
    assert_int_equal(world->err.kind, ERROR_NOT_FOUND);
    assert_non_null(strstr(world->err.text, "gone"));
}

#define resolve_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        resolve_test(each_version_is_fetched_once_and_listed_depth_first),
        resolve_test(a_cycle_ends_and_is_reported),
        resolve_test(as_many_components_as_the_limit_are_resolved),
        resolve_test(one_component_above_the_limit_is_an_error),
        resolve_test(fetches_run_in_parallel_up_to_the_limit),
        resolve_test(the_first_failure_cancels_the_others),
        resolve_test(the_resource_of_the_root_is_kept),
        resolve_test(a_resource_that_the_root_lacks_is_an_error),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
