/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
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
    /* Variables of the pod are expanded in its command and args, not in those of the image. */
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
    assert_string_equal(groups, "[2000,3000]"); /* containerd adds the primary group, too */
}

static bool has_text(const json_t *list, const char *text)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (strcmp(json_string_value(json_array_get(list, i)), text) == 0)
            return true;
    }
    return false;
}

/* System calls that lead out of a container or into the kernel. */
static const char *const dangerous[] = {
    "add_key",
    "bpf",
    "delete_module",
    "finit_module",
    "fsconfig",
    "fsmount",
    "fsopen",
    "init_module",
    "io_uring_setup",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "mount",
    "mount_setattr",
    "move_mount",
    "open_tree",
    "pivot_root",
    "open_by_handle_at",
    "perf_event_open",
    "process_vm_readv",
    "reboot",
    "request_key",
    "process_vm_writev",
    "name_to_handle_at",
    "setns",
    "settimeofday",
    "swapon",
    "umount2",
    "unshare",
    "userfaultfd",
    "clock_settime",
    "swapoff",
    "quotactl",
    "acct",
    "umount",
};

static void seccomp_denies_every_dangerous_system_call(void **state)
{
    cleanup_json json_t *pod = pod_of("{\"command\":[\"/c\"]}");
    cleanup_json json_t *spec = NULL;
    struct spec_request request = {.pod = pod, .rootfs = "/r"};
    struct error err = {0};
    const json_t *rules = NULL;
    const json_t *rule = NULL;
    int64_t denied_flags = 0;

    (void)state;
    assert_int_equal(spec_make(&request, &spec, &err), 0);
    assert_string_equal(doc_text_or(spec, "linux.seccomp.defaultAction", ""), "SCMP_ACT_ALLOW");
    rules = doc_get(spec, "linux.seccomp.syscalls");
    rule = json_array_get(rules, 0);
    assert_string_equal(doc_text_or(rule, "action", ""), "SCMP_ACT_ERRNO");
    assert_int_equal(doc_integer_or(rule, "errnoRet", 0), EPERM);
    assert_null(doc_get(rule, "args"));
    for (size_t i = 0; i < array_length(dangerous); i++) {
        if (!has_text(doc_get(rule, "names"), dangerous[i]))
            fail_msg("%s is allowed", dangerous[i]);
    }
    rule = json_array_get(rules, 1);
    assert_true(has_text(doc_get(rule, "names"), "clone3"));
    assert_int_equal(doc_integer_or(rule, "errnoRet", 0), ENOSYS);
    for (size_t i = 2; i < json_array_size(rules); i++) {
        const json_t *argument = json_array_get(doc_get(json_array_get(rules, i), "args"), 0);

        rule = json_array_get(rules, i);
        assert_true(has_text(doc_get(rule, "names"), "clone"));
        assert_string_equal(doc_text_or(rule, "action", ""), "SCMP_ACT_ERRNO");
        assert_string_equal(doc_text_or(argument, "op", ""), "SCMP_CMP_MASKED_EQ");
        assert_int_equal(doc_integer_or(argument, "value", 0),
                         doc_integer_or(argument, "valueTwo", -1));
        denied_flags |= doc_integer_or(argument, "value", 0);
    }
    /* CLONE_NEWNS, _NEWCGROUP, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID and _NEWNET */
    assert_int_equal(denied_flags, 0x7e020000);
}

/* The lists of containerd's default specification. */
static void masks_the_kernel_files_that_a_cluster_masks(void **state)
{
    cleanup_json json_t *pod = pod_of("{\"command\":[\"/c\"]}");
    cleanup_json json_t *spec = NULL;
    struct spec_request request = {.pod = pod, .rootfs = "/r"};
    struct error err = {0};
    cleanup_free char *masked = NULL;
    cleanup_free char *read_only = NULL;

    (void)state;
    assert_int_equal(spec_make(&request, &spec, &err), 0);
    masked = doc_dump(doc_get(spec, "linux.maskedPaths"));
    read_only = doc_dump(doc_get(spec, "linux.readonlyPaths"));
    assert_string_equal(masked,
                        "[\"/proc/acpi\",\"/proc/asound\",\"/proc/interrupts\",\"/proc/kcore\","
                        "\"/proc/keys\",\"/proc/latency_stats\",\"/proc/timer_list\","
                        "\"/proc/timer_stats\",\"/proc/sched_debug\",\"/proc/scsi\","
                        "\"/sys/devices/virtual/powercap\",\"/sys/firmware\"]");
    assert_string_equal(read_only, "[\"/proc/bus\",\"/proc/fs\",\"/proc/irq\",\"/proc/sys\","
                                   "\"/proc/sysrq-trigger\"]");
}

static const json_t *mount_at(const json_t *spec, const char *target)
{
    const json_t *mounts = doc_get(spec, "mounts");

    for (size_t i = 0; i < json_array_size(mounts); i++) {
        const json_t *mount = json_array_get(mounts, i);

        if (strcmp(doc_text_or(mount, "destination", ""), target) == 0)
            return mount;
    }
    return NULL;
}

static void mounts_are_read_only_unless_the_request_says_otherwise(void **state)
{
    static const struct spec_mount mounts[] = {{"/on/host/shared", "/shared", true},
                                               {"/on/host/script", "/script", false}};
    static const struct {
        const char *target, *source, *options;
    } expected[] = {
        {"/shared", "/on/host/shared", "[\"rbind\",\"rprivate\",\"rw\"]"},
        {"/script", "/on/host/script", "[\"rbind\",\"rprivate\",\"ro\"]"},
        {"/proc", "proc", "[\"nosuid\",\"noexec\",\"nodev\"]"},
        {"/dev/mqueue", "mqueue", "[\"nosuid\",\"noexec\",\"nodev\"]"},
    };
    cleanup_json json_t *pod = pod_of("{\"command\":[\"/c\"]}");

    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        bool is_user = variant & 1;
        bool has_network = variant & 2;
        cleanup_json json_t *spec = NULL;
        struct spec_request request = {.pod = pod,
                                       .rootfs = "/r",
                                       .mounts = mounts,
                                       .mount_count = array_length(mounts),
                                       .has_user_namespace = is_user,
                                       .has_network = has_network};
        struct error err = {0};

        assert_int_equal(spec_make(&request, &spec, &err), 0);
        for (size_t i = 0; i < array_length(expected); i++) {
            const json_t *mount = mount_at(spec, expected[i].target);
            cleanup_free char *options = doc_dump(doc_get(mount, "options"));

            assert_string_equal(doc_text_or(mount, "source", ""), expected[i].source);
            assert_string_equal(options, expected[i].options);
        }
        assert_true(has_text(doc_get(mount_at(spec, "/sys"), "options"), "ro"));
        assert_true(has_text(doc_get(mount_at(spec, "/dev"), "options"), "nosuid"));
        assert_int_equal(json_array_size(doc_get(spec, "mounts")), 6 + array_length(mounts));
    }
}

static void has_its_own_namespaces(void **state)
{
    static const char *const expected[] = {
        "[{\"type\":\"pid\"},{\"type\":\"ipc\"},{\"type\":\"uts\"},{\"type\":\"mount\"},"
        "{\"type\":\"network\"}]",
        "[{\"type\":\"pid\"},{\"type\":\"ipc\"},{\"type\":\"uts\"},{\"type\":\"mount\"}]",
    };
    cleanup_json json_t *pod = pod_of("{\"command\":[\"/c\"]}");

    (void)state;
    for (int has_network = 0; has_network < 2; has_network++) {
        cleanup_json json_t *spec = NULL;
        struct spec_request request = {.pod = pod, .rootfs = "/r", .has_network = has_network};
        struct error err = {0};
        cleanup_free char *text = NULL;

        assert_int_equal(spec_make(&request, &spec, &err), 0);
        text = doc_dump(doc_get(spec, "linux.namespaces"));
        assert_string_equal(text, expected[has_network]);
    }
}

static void limits_memory_if_there_is_a_cgroup(void **state)
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

static void parses_quantities_of_memory(void **state)
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
        cmocka_unit_test(seccomp_denies_every_dangerous_system_call),
        cmocka_unit_test(masks_the_kernel_files_that_a_cluster_masks),
        cmocka_unit_test(mounts_are_read_only_unless_the_request_says_otherwise),
        cmocka_unit_test(has_its_own_namespaces),
        cmocka_unit_test(limits_memory_if_there_is_a_cgroup),
        cmocka_unit_test(builds_the_environment_as_a_kubelet_does),
        cmocka_unit_test(parses_quantities_of_memory),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
