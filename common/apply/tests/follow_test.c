/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/follow.h"
#include "common/apply/tests/fake_cluster.h"
#include "common/base/memory.h"

/* What the callbacks saw, as a text: "kind configmaps; object a; absent; error ...". */
struct seen {
    char text[2000];
    struct follow *follow;
    enum error_kind last_kind;
    char object_kind[100]; /* apiVersion and kind of the last object */
    bool is_stopping;      /* follow_stop() from inside the next callback */
};

static void note(struct seen *seen, const char *what, const char *detail)
{
    size_t length = strlen(seen->text);

    (void)snprintf(seen->text + length, sizeof(seen->text) - length, "%s%s%s%s", length ? "; " : "",
                   what, detail[0] ? " " : "", detail);
    if (seen->is_stopping)
        follow_stop(seen->follow);
}

static void on_kind(void *data, const struct kind *kind)
{
    note(data, "kind", kind->plural);
}

static void on_object(void *data, const json_t *object, const struct error *err)
{
    ((struct seen *)data)->last_kind = err ? err->kind : ERROR_NONE;
    if (object)
        (void)snprintf(((struct seen *)data)->object_kind,
                       sizeof(((struct seen *)data)->object_kind), "%s %s",
                       doc_text_or(object, "apiVersion", "-"), doc_text_or(object, "kind", "-"));
    if (object)
        note(data, err ? "gone" : "object", doc_text_or(object, "metadata.name", ""));
    else
        note(data, err ? "error" : "absent", err ? err->text : "");
}

static void start(struct cluster *cluster, struct seen *seen, const char *kind_name,
                  const char *namespace_name, const char *name)
{
    const struct follow_options options = {.cluster = cluster,
                                           .api_version = "v1",
                                           .kind_name = kind_name,
                                           .namespace_name = namespace_name,
                                           .name = name,
                                           .label_selector = name ? NULL : "a=b",
                                           .on_object = on_object,
                                           .data = seen};

    seen->text[0] = '\0';
    seen->follow = follow_start(&options);
    assert_string_equal(seen->text, "");
    fake_run(cluster);
}

static void an_object_is_watched_once_its_kind_is_known(void **state)
{
    struct cluster *cluster = *state;
    struct seen seen = {0};

    cluster->is_lookup_slow = true;
    start(cluster, &seen, "ConfigMap", "ns", "a");
    assert_null(follow_kind(seen.follow));
    fake_answer_lookup(cluster, "ConfigMap", ERROR_NONE);
    assert_string_equal(follow_kind(seen.follow)->plural, "configmaps");
    fake_deliver(cluster, "configmaps ns/a", "{'metadata': {'name': 'a'}}");
    fake_deliver(cluster, "configmaps ns/a", NULL);
    fake_deliver_error(cluster, "configmaps ns/a", ERROR_DENIED, "forbidden");
    assert_string_equal(seen.text, "object a; absent; error forbidden");
    follow_stop(seen.follow);
}

/* The objects of a list have neither, those of a watch have both. */
static void objects_have_apiVersion_and_kind(void **state)
{
    struct cluster *cluster = *state;
    struct seen seen = {0};

    start(cluster, &seen, "ConfigMap", "ns", "a");
    fake_deliver(cluster, "configmaps ns/a", "{'metadata': {'name': 'a'}}");
    assert_string_equal(seen.object_kind, "v1 ConfigMap");
    fake_deliver(cluster, "configmaps ns/a",
                 "{'apiVersion': 'v2', 'kind': 'Other', 'metadata': {'name': 'a'}}");
    assert_string_equal(seen.object_kind, "v2 Other");
    follow_stop(seen.follow);
}

static void a_known_kind_is_not_looked_up(void **state)
{
    struct cluster *cluster = *state;
    struct seen seen = {0};
    char group[] = "", version[] = "v1", plural[] = "configmaps";
    const struct kind kind = {group, version, plural, true};
    const struct follow_options options = {.cluster = cluster,
                                           .api_version = "v1",
                                           .kind = &kind,
                                           .namespace_name = "ns",
                                           .name = "a",
                                           .on_object = on_object,
                                           .data = &seen};

    seen.follow = follow_start(&options);
    assert_int_equal(cluster->lookup_count, 0);
    /* At once, so that those who start together share a watch. */
    assert_true(fake_is_watched(cluster, "configmaps ns/a"));
    follow_stop(seen.follow);
}

static void the_kind_alone_is_found_without_a_watch(void **state)
{
    struct cluster *cluster = *state;
    struct seen seen = {0};
    const struct follow_options options = {.cluster = cluster,
                                           .api_version = "v1",
                                           .kind_name = "Secret",
                                           .on_kind = on_kind,
                                           .on_object = on_object,
                                           .data = &seen};

    seen.follow = follow_start(&options);
    fake_run(cluster);
    assert_string_equal(seen.text, "kind secrets");
    assert_int_equal(cluster->watch_count, 0);
    follow_stop(seen.follow);
}

static void selections_are_watched_with_their_labels(void **state)
{
    struct cluster *cluster = *state;
    struct seen seen = {0};

    start(cluster, &seen, "ConfigMap", NULL, NULL);
    fake_deliver(cluster, "configmaps ?a=b", "{'metadata': {'name': 'x'}}");
    fake_deliver(cluster, "configmaps ?a=b", NULL);
    fake_deliver_gone(cluster, "configmaps ?a=b", "{'metadata': {'name': 'x'}}");
    assert_string_equal(seen.text, "object x; absent; gone x");
    follow_stop(seen.follow);
    start(cluster, &seen, "ConfigMap", "ns", NULL);
    assert_true(fake_is_watched(cluster, "configmaps ns/?a=b"));
    follow_stop(seen.follow);
}

static void a_reference_must_fit_the_scope_of_its_kind(void **state)
{
    struct cluster *cluster = *state;
    struct seen seen = {0};

    start(cluster, &seen, "ConfigMap", NULL, "a");
    assert_string_equal(
        seen.text, "error ConfigMap a: the kind is namespaced, but the reference has no namespace");
    follow_stop(seen.follow);
    start(cluster, &seen, "Namespace", "ns", NULL);
    assert_string_equal(
        seen.text,
        "error Namespace: the kind is cluster-scoped, so namespace ns has no such object");
    follow_stop(seen.follow);
    assert_int_equal(cluster->watch_count, 0);
    /* A superfluous namespace of a single object is ignored, as by the Go deployer. */
    start(cluster, &seen, "Namespace", "ns", "a");
    assert_true(fake_is_watched(cluster, "namespaces a"));
    follow_stop(seen.follow);
}

static void what_fails_is_reported_and_retried_with_back_off(void **state)
{
    struct cluster *cluster = *state;
    struct seen seen = {0};

    start(cluster, &seen, "Unknown", "ns", "a");
    assert_string_equal(seen.text, "error the cluster has no kind Unknown");
    fake_advance(cluster, FOLLOW_RETRY_FIRST_MS / 2 - 1);
    assert_int_equal(cluster->lookup_count, 1);
    fake_advance(cluster, FOLLOW_RETRY_FIRST_MS);
    assert_int_equal(cluster->lookup_count, 2);
    follow_stop(seen.follow);

    cluster->find_error = ERROR_INVALID;
    start(cluster, &seen, "ConfigMap", "ns", "a");
    follow_stop(seen.follow);
    start(cluster, &seen, "ConfigMap", "ns", "a");
    assert_string_equal(seen.text, "error lookup refused");
    cluster->find_error = ERROR_NONE;
    cluster->watch_error = ERROR_TOO_LARGE;
    fake_advance(cluster, FOLLOW_RETRY_FIRST_MS);
    assert_string_equal(seen.text, "error lookup refused; error watch refused");
    cluster->watch_error = ERROR_NONE;
    fake_advance(cluster, 2 * FOLLOW_RETRY_FIRST_MS);
    assert_true(fake_is_watched(cluster, "configmaps ns/a"));
    follow_stop(seen.follow);
}

static void a_watch_that_gets_404_says_nothing_until_the_kind_was_looked_up_again(void **state)
{
    struct cluster *cluster = *state;
    struct seen seen = {0};

    start(cluster, &seen, "ConfigMap", "ns", "a");
    fake_deliver_error(cluster, "configmaps ns/a", ERROR_NOT_FOUND, "404 page not found");
    assert_int_equal(seen.last_kind, ERROR_TEMPORARY);
    assert_int_equal(cluster->forget_count, 1);
    assert_false(fake_is_watched(cluster, "configmaps ns/a"));
    assert_null(follow_kind(seen.follow));
    fake_advance(cluster, FOLLOW_RETRY_FIRST_MS);
    assert_int_equal(cluster->lookup_count, 2);
    fake_deliver_error(cluster, "configmaps ns/a", ERROR_NOT_FOUND, "404 page not found");
    fake_advance(cluster, FOLLOW_RETRY_FIRST_MS - 1);
    assert_int_equal(cluster->lookup_count, 2); /* the second time it waits longer */
    cluster->lookup_error = ERROR_NOT_FOUND;
    fake_advance(cluster, FOLLOW_RETRY_FIRST_MS + 1);
    assert_int_equal(seen.last_kind, ERROR_NOT_FOUND);
    follow_stop(seen.follow);
}

static void it_can_be_stopped_at_every_point(void **state)
{
    struct cluster *cluster = *state;
    struct seen seen = {0};

    follow_stop(NULL);
    cluster->is_lookup_slow = true;
    start(cluster, &seen, "ConfigMap", "ns", "a");
    follow_stop(seen.follow); /* while the kind is looked up */
    cluster->is_lookup_slow = false;

    seen.is_stopping = true;
    start(cluster, &seen, "Unknown", "ns", "a"); /* from inside the report of an error */
    assert_string_equal(seen.text, "error the cluster has no kind Unknown");
    start(cluster, &seen, "ConfigMap", "ns", "a");
    fake_deliver(cluster, "configmaps ns/a", "{'metadata': {'name': 'a'}}");
    assert_false(fake_is_watched(cluster, "configmaps ns/a"));

    start(cluster, &seen, "ConfigMap", "ns", "a");
    fake_deliver_error(cluster, "configmaps ns/a", ERROR_NOT_FOUND, "404");
    assert_false(fake_is_watched(cluster, "configmaps ns/a"));
}

static void credentials_that_are_refused_are_reported_to_the_cluster(void **state)
{
    struct cluster *cluster = *state;
    struct seen seen = {0};
    struct error refused = {.kind = ERROR_DENIED, .http_status = 401, .text = "refused"};
    const struct fake_part *interest = NULL;

    start(cluster, &seen, "ConfigMap", "ns", "a");
    fake_deliver_error(cluster, "configmaps ns/a", ERROR_DENIED, "forbidden");
    assert_int_equal(cluster->unauthorized_count, 0);
    interest = fake_interest(cluster, "configmaps ns/a");
    interest->on_object(interest->data, NULL, &refused);
    assert_int_equal(cluster->unauthorized_count, 1);
    assert_string_equal(seen.text, "error forbidden; error refused");
    follow_stop(seen.follow);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, fake_setup, fake_teardown)
    const struct CMUnitTest tests[] = {
        test(an_object_is_watched_once_its_kind_is_known),
        test(objects_have_apiVersion_and_kind),
        test(a_known_kind_is_not_looked_up),
        test(the_kind_alone_is_found_without_a_watch),
        test(selections_are_watched_with_their_labels),
        test(a_reference_must_fit_the_scope_of_its_kind),
        test(what_fails_is_reported_and_retried_with_back_off),
        test(credentials_that_are_refused_are_reported_to_the_cluster),
        test(a_watch_that_gets_404_says_nothing_until_the_kind_was_looked_up_again),
        test(it_can_be_stopped_at_every_point),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
