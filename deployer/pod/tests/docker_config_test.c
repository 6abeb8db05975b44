/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/pod/docker_config.h"
#include "deployer/tests/sample.h"

/* The reported entries, joined. */
static void note(void *data, const struct docker_config_problem *problem)
{
    char **reported = data;
    char *longer = xasprintf("%s%s%s ", *reported, problem->is_helper ? "helper:" : "",
                             problem->entry ? problem->entry : "file");

    assert_null(strstr(problem->why, "canary"));
    free(*reported);
    *reported = longer;
}

static const struct {
    const char *config, *reported, *left;
    size_t count;
} configs[] = {
    {"{auths: {r.io: {username: u}}}", "", "{auths: {r.io: {username: u}}}", 1},
    /* OnRva2Vu is ":token" */
    {"{auths: {bad.io: {auth: OnRva2Vu}, r.io: {username: u}, worse.io: {auth: canary}}}",
     "bad.io worse.io ", "{auths: {r.io: {username: u}}}", 1},
    {"{auths: {'/x': {username: u}, r.io: {}}}", "/x ", "{auths: {r.io: {}}}", 0},
    {"{auths: {r.io: canary}}", "r.io ", "{auths: {}}", 0},
    {"{auths: 5}", "auths ", "{}", 0},
    {"{auths: null}", "", "{}", 0},
    {"{r.io: {username: u}, bad.io: {auth: '!'}}", "bad.io ", "{r.io: {username: u}}", 1},
    {"{credHelpers: {gcr.io: gcloud}, auths: {r.io: {username: u}}}", "helper:gcr.io ",
     "{credHelpers: {gcr.io: gcloud}, auths: {r.io: {username: u}}}", 1},
    {"{credsStore: desktop}", "helper:credsStore ", "{credsStore: desktop}", 0},
    {"{}", "", "{}", 0},
};

static void an_invalid_entry_is_reported_and_removed(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(configs); i++) {
        cleanup_json json_t *config = sample_doc(configs[i].config);
        cleanup_json json_t *left = sample_doc(configs[i].left);
        cleanup_free char *reported = xstrdup("");

        assert_int_equal(docker_config_clean(config, NULL, note, &reported), configs[i].count);
        assert_string_equal(reported, configs[i].reported);
        assert_true(json_equal(config, left));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_invalid_entry_is_reported_and_removed),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
