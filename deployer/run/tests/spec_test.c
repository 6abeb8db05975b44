/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/run/spec.h"

static json_t *parse(const char *text)
{
    struct error err = {0};
    json_t *doc = NULL;

    if (doc_parse_json(text, strlen(text), 65536, &doc, &err) < 0)
        fail_msg("%s", err.text);
    return doc;
}

static json_t *pod_of(const char *main)
{
    cleanup_json json_t *container = parse(main);

    doc_set_text(container, "name", CONTAINER_MAIN);
    return json_pack("{s:{s:s,s:s}, s:{s:[O]}}", "metadata", "name", "a-pod", "namespace", "ns",
                     "spec", "containers", container);
}

static const struct {
    const char *container, *image, *args; /* args NULL: refused */
} programs[] = {
    {"{}", "{\"Entrypoint\":[\"/a\"],\"Cmd\":[\"b\"]}", "[\"/a\",\"b\"]"},
    {"{\"command\":[\"/c\"]}", "{\"Entrypoint\":[\"/a\"],\"Cmd\":[\"b\"]}", "[\"/c\"]"},
    {"{\"args\":[\"d\"]}", "{\"Entrypoint\":[\"/a\"],\"Cmd\":[\"b\"]}", "[\"/a\",\"d\"]"},
    {"{\"command\":[\"/c\"],\"args\":[\"d\"]}", "{\"Entrypoint\":[\"/a\"]}", "[\"/c\",\"d\"]"},
    {"{}", "{\"Cmd\":[\"/b\"]}", "[\"/b\"]"},
    /* Variables of the pod in the pod's words, and nowhere else. */
    {"{\"command\":[\"$(V)\",\"$$(V)\"],\"args\":[\"$(P) $(echo $$) $$ $(\",\"\"],"
     "\"env\":[{\"name\":\"V\",\"value\":\"v\"}]}",
     "{\"Env\":[\"P=p\"]}", "[\"v\",\"$(V)\",\"$(P) $(echo $$) $ $(\",\"\"]"},
    {"{\"env\":[{\"name\":\"V\",\"value\":\"v\"}]}", "{\"Cmd\":[\"$(V)\"]}", "[\"$(V)\"]"},
    {"{}", "{}", NULL},
};

static void chooses_the_program_as_a_kubelet_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(programs); i++) {
        cleanup_json json_t *pod = pod_of(programs[i].container);
        cleanup_json json_t *image = parse(programs[i].image);
        cleanup_json json_t *spec = NULL;
        struct spec_request request = {.pod = pod, .image_config = image, .rootfs = "/r"};
        struct error err = {0};
        int result = spec_make(&request, &spec, &err);

        assert_int_equal(result, programs[i].args ? 0 : -1);
        if (programs[i].args) {
            cleanup_free char *args = doc_dump(doc_get(spec, "process.args"));

            assert_string_equal(args, programs[i].args);
        } else {
            assert_int_equal(err.kind, ERROR_INVALID);
        }
    }
}

static void gives_main_no_privilege(void **state)
{
    cleanup_json json_t *pod = pod_of("{\"command\":[\"/c\"]}");
    cleanup_json json_t *spec = NULL;
    struct spec_request request = {.pod = pod, .rootfs = "/r"};
    struct error err = {0};
    cleanup_free char *capabilities = NULL;
    cleanup_free char *groups = NULL;

    (void)state;
    assert_int_equal(spec_make(&request, &spec, &err), 0);
    capabilities = doc_dump_sorted(doc_get(spec, "process.capabilities"));
    assert_string_equal(
        capabilities,
        "{\"ambient\":[],\"bounding\":[],\"effective\":[],\"inheritable\":[],\"permitted\":[]}");
    assert_true(doc_bool_or(spec, "process.noNewPrivileges", false));
    assert_int_equal(doc_integer_or(spec, "process.user.uid", 0), POD_UID_NUMBER);
    assert_int_equal(doc_integer_or(spec, "process.user.gid", 0), POD_GID_NUMBER);
    groups = doc_dump(doc_get(spec, "process.user.additionalGids"));
    assert_string_equal(groups,
                        "[2000,3000]"); /* a node's runtime puts the first group there, too */
    assert_non_null(doc_get(spec, "linux.seccomp"));
}

static void has_no_network_unless_told(void **state)
{
    cleanup_json json_t *pod = pod_of("{\"command\":[\"/c\"]}");

    (void)state;
    for (int has_network = 0; has_network < 2; has_network++) {
        cleanup_json json_t *spec = NULL;
        struct spec_request request = {.pod = pod, .rootfs = "/r", .has_network = has_network};
        struct error err = {0};
        cleanup_free char *text = NULL;

        assert_int_equal(spec_make(&request, &spec, &err), 0);
        text = doc_dump(doc_get(spec, "linux.namespaces"));
        assert_int_equal(strstr(text, "network") != NULL, !has_network);
    }
}

static void limits_memory_where_a_cgroup_can_be_made(void **state)
{
    static const char *const containers[] = {
        "{\"command\":[\"/c\"],\"resources\":{\"limits\":{\"memory\":\"64Mi\"}}}",
        "{\"command\":[\"/c\"],\"resources\":{\"limits\":{\"memory\":67108864}}}",
    };

    (void)state;
    for (size_t i = 0; i < array_length(containers); i++) {
        cleanup_json json_t *pod = pod_of(containers[i]);
        cleanup_json json_t *with = NULL;
        cleanup_json json_t *without = NULL;
        struct spec_request request = {.pod = pod, .rootfs = "/r", .cgroup = "/x"};
        struct error err = {0};

        assert_int_equal(spec_make(&request, &with, &err), 0);
        assert_int_equal(doc_integer_or(with, "linux.resources.memory.limit", 0), 64 << 20);
        request.cgroup = NULL;
        assert_int_equal(spec_make(&request, &without, &err), 0);
        assert_null(doc_get(without, "linux.cgroupsPath"));
    }
}

static void builds_the_environment_as_a_kubelet_does(void **state)
{
    static const char *const wanted[] = {"A=2",        "PATH=/bin",      "HOSTNAME=a-pod",
                                         "NAME=a-pod", "B=2-$(PATH)-$x", "D=$(A)"};
    cleanup_json json_t *pod = pod_of(
        "{\"env\":[{\"name\":\"A\",\"value\":\"2\"},"
        "{\"name\":\"NAME\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.name\"}}},"
        "{\"name\":\"B\",\"value\":\"$(A)-$(PATH)-$x\"},{\"name\":\"D\",\"value\":\"$$(A)\"}]}");
    cleanup_json json_t *image = parse("{\"Env\":[\"A=1\",\"PATH=/bin\",\"broken\"]}");
    char **environment = spec_environment(pod, spec_container(pod, CONTAINER_MAIN), image);

    (void)state;
    for (size_t i = 0; i < array_length(wanted); i++)
        assert_string_equal(environment[i], wanted[i]);
    assert_null(environment[array_length(wanted)]);
    spec_environment_free(environment);
}

static const struct {
    const char *text;
    int64_t bytes;
} quantities[] = {
    {"0", 0},
    {"128974848", 128974848},
    {"129M", 129000000},
    {"123Mi", 128974848},
    {"1.5Gi", 1610612736},
    {"1k", 1000},
    {"x", -1},
    {"", -1},
    {"5Zi", -1},
    {"-1", -1},
    {"1e3", 1000},
    {"1Pi", 1125899906842624},
    {"1.1k", 1100},
    {"0.1M", 100000},
    {"1500m", 2},
    {"7Ei", 8070450532247928832},
    {"8Ei", -1},
    {"99999999999999999999", -1},
    {"nan", -1},
    {"inf", -1},
    {"0x10", -1},
    {" 1", -1},
    {"1 ", -1},
};

static void reads_quantities_of_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(quantities); i++)
        assert_int_equal(spec_memory_bytes(quantities[i].text), quantities[i].bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chooses_the_program_as_a_kubelet_does),
        cmocka_unit_test(gives_main_no_privilege),
        cmocka_unit_test(has_no_network_unless_told),
        cmocka_unit_test(limits_memory_where_a_cgroup_can_be_made),
        cmocka_unit_test(builds_the_environment_as_a_kubelet_does),
        cmocka_unit_test(reads_quantities_of_memory),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
