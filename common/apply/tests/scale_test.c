/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of many objects grows like their number, not like its square. It is counted in
 * comparisons of texts, which do not depend on the machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/apply/cluster_stream.h"
#include "common/apply/inventory.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

enum {
    FEW = 500,
    MANY = 2000, /* four times as many */
    /* Sorting needs a little more than four times as many comparisons; the square would be 16. */
    TIMES_MAX = 6,
};

static size_t comparisons;

int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b)
{
    comparisons++;
    return __real_strcmp(a, b);
}

static void must_grow_linearly(size_t (*cost_of)(size_t count))
{
    size_t few = cost_of(FEW);
    size_t many = cost_of(MANY);

    print_message("%zu comparisons for %d objects, %zu for %d\n", few, FEW, many, MANY);
    /* Otherwise nothing is counted. */
    assert_true(few >= FEW);
    assert_true(many <= TIMES_MAX * few);
}

static struct object_ref ref_of(size_t number, bool has_uid)
{
    return (struct object_ref){
        .api_version = xstrdup("v1"),
        .kind = xstrdup("ConfigMap"),
        .namespace_name = xstrdup("example"),
        .name = xasprintf("object-%zu", number),
        .uid = has_uid ? xasprintf("uid-%zu", number) : NULL,
    };
}

/* The life of a list: a job records its objects, applies them, finds that half of them left the
 * list, and a deletion removes all. */
static size_t cost_of_inventory(size_t count)
{
    cleanup_inventory struct inventory recorded = {0};
    cleanup_inventory struct inventory planned = {0};
    cleanup_inventory struct inventory orphans = {0};
    cleanup_inventory struct inventory all = {0};

    for (size_t i = 0; i < count; i++)
        (void)inventory_add(&recorded, (struct inventory_entry){.ref = ref_of(i, false)});
    comparisons = 0;
    for (size_t i = 0; i < count; i++) {
        struct object_ref ref = ref_of(i, false);
        cleanup_free char *uid = xasprintf("uid-%zu", i);

        inventory_set_uid(&recorded, inventory_find(&recorded, &ref), uid);
        object_ref_done(&ref);
    }
    inventory_sort(&recorded);
    for (size_t i = 0; i < count; i += 2)
        (void)inventory_add(&planned, (struct inventory_entry){.ref = ref_of(i, i % 4 == 0)});
    orphans = inventory_orphans(&recorded, &planned);
    assert_int_equal(orphans.count, count / 2);
    all = inventory_copy(&recorded);
    for (size_t i = 0; i < count; i++)
        inventory_remove(&recorded, &all.entries[i].ref);
    assert_int_equal(recorded.count, 0);
    return comparisons;
}

static void the_list_of_applied_objects(void **state)
{
    (void)state;
    must_grow_linearly(cost_of_inventory);
}

struct stream_bench {
    struct cluster cluster;
    struct cluster_connection connection;
    size_t reported;
};

static void on_object(void *data, const json_t *object, const struct error *err)
{
    struct stream_bench *bench = data;

    assert_non_null(object);
    assert_null(err);
    bench->reported++;
}

static void take(struct cluster_stream *stream, size_t number, size_t version)
{
    cleanup_free char *name = xasprintf("object-%zu", number);
    cleanup_free char *version_text = xasprintf("%zu", version);
    cleanup_json json_t *object = json_object();

    doc_set_text(object, "metadata.name", name);
    doc_set_text(object, "metadata.namespace", "example");
    doc_set_text(object, "metadata.resourceVersion", version_text);
    cluster_stream_enter(stream);
    (void)cluster_stream_take(stream, object, false);
    cluster_stream_leave(stream);
}

/* Every object is waited for by somebody, and changes twice. */
static size_t cost_of_stream(size_t count)
{
    struct stream_bench bench = {.connection = {.watch_count = 1}};
    struct text_pool texts = {0};
    struct cluster_stream *stream = xcalloc(1, sizeof(*stream));
    struct cluster_interest **interests = xcalloc(count, sizeof(struct cluster_interest *));

    bench.cluster.streams = stream;
    stream->cluster = &bench.cluster;
    stream->connection = &bench.connection;
    text_map_init(&stream->versions, &texts);
    stream->namespace_name = "example";
    comparisons = 0;
    for (size_t i = 0; i < count; i++) {
        cleanup_free char *name = xasprintf("object-%zu", i);

        interests[i] = xcalloc(1, sizeof(*interests[i]));
        interests[i]->name = text_pool_take(&texts, name);
        interests[i]->on_object = on_object;
        interests[i]->data = &bench;
        cluster_stream_add(stream, interests[i]);
    }
    for (size_t round = 1; round <= 2; round++) {
        for (size_t i = 0; i < count; i++)
            take(stream, i, round * count + i);
    }
    assert_int_equal(bench.reported, 2 * count);
    for (size_t i = 0; i < count; i++)
        cluster_unwatch(interests[i]);
    /* The last one closed the stream. */
    assert_null(bench.cluster.streams);
    assert_int_equal(bench.connection.watch_count, 0);
    assert_int_equal(texts.texts.count, 0);
    text_pool_done(&texts);
    free(interests);
    return comparisons;
}

static void a_watch_with_many_interests(void **state)
{
    (void)state;
    must_grow_linearly(cost_of_stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_of_applied_objects),
        cmocka_unit_test(a_watch_with_many_interests),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
