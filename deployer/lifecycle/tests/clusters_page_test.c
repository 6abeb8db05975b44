/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "deployer/lifecycle/clusters_page.h"
#include "deployer/lifecycle/names.h"
#include "deployer/page/tests/ask.h"

struct place {
    struct clock_fake clock;
    struct asker asker;
    struct watched_page *page;
};

static bool is_leader(const void *data)
{
    (void)data;
    return true;
}

static int set_up(void **state)
{
    struct place *place = xcalloc(1, sizeof(*place));
    struct watched_options options = CLUSTERS_PAGE;

    clock_fake_init(&place->clock, (int64_t)1700000000 * 1000);
    if (ask_start(&place->asker, &place->clock.clock) < 0)
        return -1;
    options.namespace_name = "kcp-system";
    options.is_leader = is_leader;
    options.loop = place->asker.loop;
    place->page = watched_page_new(&options, place->asker.server);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;

    server_free(place->asker.server);
    watched_page_free(place->page);
    loop_free(place->asker.loop);
    free(place);
    return 0;
}

static void show(struct place *place, enum clusters_page_kind kind, enum kube_event event,
                 const char *name, const char *state)
{
    json_t *object =
        json_pack("{s:{s:s,s:{s:s,s:s}},s:{s:s,s:s},s:{s:s,s:[{s:s,s:s,s:s}]}}", "metadata", "name",
                  name, "labels", KYMA_LABEL_KYMA_NAME, "sea", KYMA_LABEL_MODULE_NAME, "harbour",
                  "spec", "channel", "regular", "version", "1.2.3", "status", "state", state,
                  "conditions", "type", "Modules", "status", "False", "reason", "Ready");

    watched_page_event(place->page, kind, event, object);
    json_decref(object);
}

/* "cluster/name state, " for each row, by name. */
static void assert_rows(struct place *place, const char *kind, const char *expected)
{
    cleanup_free char *path = xasprintf("/ui/api/v1/rows?kind=%s&order=name", kind);
    char rows[512] = "";
    json_t *doc = NULL;

    assert_int_equal(ask(&place->asker, path), 200);
    doc = ask_document(&place->asker);
    for (size_t i = 0; i < json_array_size(doc_member(doc, "rows")); i++) {
        const json_t *row = json_array_get(doc_member(doc, "rows"), i);

        (void)snprintf(rows + strlen(rows), sizeof(rows) - strlen(rows), "%s/%s %s %s %s, ",
                       doc_text_or(row, "namespace", ""), doc_text_or(row, "name", ""),
                       doc_text_or(row, "type", ""), doc_text_or(row, "state", ""),
                       doc_text_or(row, "reason", "-"));
    }
    assert_string_equal(rows, expected);
    json_decref(doc);
}

static void clusters_and_modules_follow_the_watches(void **state)
{
    struct place *place = *state;

    watched_page_event(place->page, CLUSTERS_PAGE_KYMAS, KUBE_EVENT_LISTING, NULL);
    show(place, CLUSTERS_PAGE_KYMAS, KUBE_EVENT_LISTED, "lake", "Ready");
    show(place, CLUSTERS_PAGE_KYMAS, KUBE_EVENT_LISTED, "sea", "Error");
    watched_page_event(place->page, CLUSTERS_PAGE_KYMAS, KUBE_EVENT_SYNCED, NULL);
    show(place, CLUSTERS_PAGE_MANIFESTS, KUBE_EVENT_ADDED, "sea-harbour", "");
    assert_rows(place, "clusters", "/lake regular Ready -, /sea regular Error Modules, ");
    assert_rows(place, "modules", "sea/sea-harbour harbour 1.2.3 Processing Modules, ");
    show(place, CLUSTERS_PAGE_MANIFESTS, KUBE_EVENT_MODIFIED, "sea-harbour", "Warning");
    show(place, CLUSTERS_PAGE_KYMAS, KUBE_EVENT_DELETED, "lake", "Deleting");
    assert_rows(place, "clusters", "/sea regular Error Modules, ");
    assert_rows(place, "modules", "sea/sea-harbour harbour 1.2.3 Warning Modules, ");
}

static void what_a_new_list_does_not_have_is_gone(void **state)
{
    struct place *place = *state;

    for (int round = 0; round < 2; round++) {
        watched_page_event(place->page, CLUSTERS_PAGE_KYMAS, KUBE_EVENT_LISTING, NULL);
        show(place, CLUSTERS_PAGE_KYMAS, KUBE_EVENT_LISTED, "sea", "Ready");
        if (round == 0)
            show(place, CLUSTERS_PAGE_KYMAS, KUBE_EVENT_LISTED, "lake", "Ready");
        watched_page_event(place->page, CLUSTERS_PAGE_KYMAS, KUBE_EVENT_SYNCED, NULL);
    }
    assert_rows(place, "clusters", "/sea regular Ready -, ");
    assert_int_equal(ask(&place->asker, "/ui/api/v1/row?kind=clusters&name=lake"), 404);
}

static void without_a_page_events_are_ignored(void **state)
{
    (void)state;
    watched_page_event(NULL, CLUSTERS_PAGE_KYMAS, KUBE_EVENT_SYNCED, NULL);
    watched_page_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(clusters_and_modules_follow_the_watches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_new_list_does_not_have_is_gone, set_up, tear_down),
        cmocka_unit_test(without_a_page_events_are_ignored),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
