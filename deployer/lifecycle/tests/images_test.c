/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/parse.h"
#include "deployer/lifecycle/images.h"

#define DIGEST "sha256:9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a9a"

static void references_are_split(void **state)
{
    static const struct {
        const char *text, *location, *key, *digest;
    } rows[] = {
        {"myimage:1.2.3", "docker.io/library", "myimage:1.2.3", ""},
        {"example.com:5000/myapp/myimage:3.2.1", "example.com:5000/myapp", "myimage:3.2.1", ""},
        {"localhost:5111/myimage@" DIGEST, "localhost:5111", "myimage", DIGEST},
        {"a.io/b/c:1.0@" DIGEST, "a.io/b", "c:1.0", DIGEST},
        {"team/tool", "docker.io/team", "tool", ""},
    };

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        cleanup_image_name struct image_name name = {0};
        struct error err = {0};

        assert_int_equal(image_name_parse(rows[i].text, &name, &err), 0);
        assert_string_equal(name.location, rows[i].location);
        assert_string_equal(name.key, rows[i].key);
        assert_string_equal(name.digest, rows[i].digest);
    }
}

static void check(const char *kind, const char *before, const char *after)
{
    cleanup_json json_t *images = parse("['new.io/x/crane:1.0@" DIGEST "','new.io/y/crane:1.0',"
                                        "'new.io/x/helper:2','not a reference',5]");
    cleanup_json json_t *object = parse(before), *expected = parse(after);
    struct error err = {0};

    doc_set_text(object, "kind", kind);
    doc_set_text(expected, "kind", kind);
    assert_int_equal(images_localize(object, images, &err), 0);
    assert_true(json_equal(object, expected));
}

#define WORKLOAD(containers_)                                                                      \
    "{'apiVersion':'apps/v1','metadata':{'name':'w'},'spec':{'template':{'spec':{" containers_     \
    "}}}}"
#define BEFORE                                                                                     \
    WORKLOAD("'initContainers':[{'name':'i','image':'old.io/helper:2'}],"                          \
             "'containers':[{'name':'a','image':'old.io/p/crane:1.0','env':["                      \
             "{'name':'IMG','value':'helper:2'},{'name':'X','value':'not: a ref'},"                \
             "{'name':'Y','valueFrom':{}}]},{'name':'b','image':'crane:2.0'}]")

static void workloads_get_the_images_of_the_descriptor(void **state)
{
    static const char after[] =
        WORKLOAD("'initContainers':[{'name':'i','image':'new.io/x/helper:2'}],"
                 "'containers':[{'name':'a','image':'new.io/x/crane:1.0@" DIGEST "','env':["
                 "{'name':'IMG','value':'new.io/x/helper:2'},{'name':'X','value':'not: a ref'},"
                 "{'name':'Y','valueFrom':{}}]},{'name':'b','image':'crane:2.0'}]");

    (void)state;
    check("Deployment", BEFORE, after);
    check("StatefulSet", BEFORE, after);
    check("DaemonSet", BEFORE, BEFORE);
}

static void an_image_that_is_no_reference_is_named(void **state)
{
    cleanup_json json_t *images = parse("['new.io/x/crane:1.0']");
    cleanup_json json_t *object = parse(WORKLOAD("'containers':[{'name':'a','image':'UPPER//x'}]"));
    struct error err = {0};

    (void)state;
    doc_set_text(object, "kind", "Deployment");
    assert_int_equal(images_localize(object, images, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.text, "Deployment w: container a: image \"UPPER//x\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_are_split),
        cmocka_unit_test(workloads_get_the_images_of_the_descriptor),
        cmocka_unit_test(an_image_that_is_no_reference_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
