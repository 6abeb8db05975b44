/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/spec.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/validation/quantity.h"

/* Position of the flags among the arguments of clone(). */
#ifdef __s390x__
enum { CLONE_FLAGS_INDEX = 1 };
#else
enum { CLONE_FLAGS_INDEX = 0 };
#endif

const json_t *spec_container(const json_t *pod, const char *name)
{
    static const char *const lists[] = {"spec.containers", "spec.initContainers"};
    const json_t *container = NULL;
    size_t index = 0;

    for (size_t i = 0; i < array_length(lists); i++) {
        json_array_foreach(doc_get(pod, lists[i]), index, container)
        {
            if (strcmp(doc_text_or(container, "name", ""), name) == 0)
                return container;
        }
    }
    return NULL;
}

int64_t spec_memory_bytes(const char *quantity)
{
    long double bytes = 0;
    int64_t whole = 0;

    if (!quantity_parse(quantity, &bytes) || bytes >= (long double)INT64_MAX)
        return -1;
    whole = (int64_t)bytes;
    return (long double)whole < bytes ? whole + 1 : whole;
}

static void append_all(json_t *list, const json_t *more)
{
    const json_t *item = NULL;
    size_t index = 0;

    json_array_foreach(more, index, item) json_array_append_new(list, json_deep_copy(item));
}

/* Kubernetes expands $(NAME) in commands and arguments of a pod, not in those of an image. */
static void append_expanded(json_t *list, const json_t *arguments, char *const *environment)
{
    const json_t *argument = NULL;
    size_t index = 0;

    json_array_foreach(arguments, index, argument)
    {
        cleanup_free char *text = spec_expand(environment, json_string_value(argument));

        json_array_append_new(list, json_string(text));
    }
}

/* In Kubernetes, command replaces the image's entrypoint and its Cmd. */
json_t *spec_program(const json_t *pod, const json_t *image_config)
{
    const json_t *container = spec_container(pod, CONTAINER_MAIN);
    const json_t *command = doc_get(container, "command");
    const json_t *args = doc_get(container, "args");
    char **environment = spec_own_environment(pod, container);
    json_t *list = json_array();

    if (json_array_size(command))
        append_expanded(list, command, environment);
    else
        append_all(list, doc_get(image_config, "Entrypoint"));
    if (json_array_size(args))
        append_expanded(list, args, environment);
    else if (!json_array_size(command))
        append_all(list, doc_get(image_config, "Cmd"));
    spec_environment_free(environment);
    return list;
}

static json_t *make_args(const struct spec_request *request)
{
    json_t *list = NULL;

    if (!request->shell)
        return spec_program(request->pod, request->image_config);
    list = json_array();
    for (const char *const *argument = request->shell; *argument; argument++)
        json_array_append_new(list, json_string(*argument));
    return list;
}

static int make_process(const struct spec_request *request, const json_t *container,
                        json_t **ret_process, struct error *err)
{
    cleanup_json json_t *args = make_args(request);
    const char *directory = doc_text_or(request->image_config, "WorkingDir", "");
    char **environment = NULL;
    json_t *list = json_array();

    if (json_array_size(args) == 0) {
        json_decref(list);
        return error_set(
            err, ERROR_INVALID,
            "neither the image nor the item names a program to run; set spec.config.command");
    }
    environment = spec_environment(request->pod, container, request->image_config);
    for (char **text = environment; *text; text++)
        json_array_append_new(list, json_string(*text));
    if (request->has_terminal)
        json_array_append_new(list, json_string("TERM=xterm"));
    spec_environment_free(environment);
    *ret_process = json_pack(
        "{s:b, s:{s:i, s:i, s:[i, i]}, s:O, s:o, s:s, s:b, s:{s:[], s:[], s:[], s:[], s:[]}}",
        "terminal", request->has_terminal, "user", "uid", POD_UID_NUMBER, "gid", POD_GID_NUMBER,
        "additionalGids", POD_FSGROUP_NUMBER, POD_GID_NUMBER, "args", args, "env", list, "cwd",
        *directory ? directory : "/", "noNewPrivileges", 1, "capabilities", "bounding", "effective",
        "inheritable", "permitted", "ambient");
    return 0;
}

static void add_mount(json_t *mounts, const char *target, const char *type, const char *source,
                      const char *options)
{
    json_t *list = json_array();

    while (*options) {
        size_t length = strcspn(options, ",");

        json_array_append_new(list, json_stringn(options, length));
        options += length + (options[length] == ',');
    }
    json_array_append_new(mounts, json_pack("{s:s, s:s, s:s, s:o}", "destination", target, "type",
                                            type, "source", source, "options", list));
}

static json_t *make_mounts(const struct spec_request *request)
{
    json_t *mounts = json_array();

    add_mount(mounts, "/proc", "proc", "proc", "nosuid,noexec,nodev");
    add_mount(mounts, "/dev", "tmpfs", "tmpfs", "nosuid,strictatime,mode=755,size=65536k");
    add_mount(mounts, "/dev/pts", "devpts", "devpts",
              request->has_user_namespace
                  ? "nosuid,noexec,newinstance,ptmxmode=0666,mode=0620"
                  : "nosuid,noexec,newinstance,ptmxmode=0666,mode=0620,gid=5");
    add_mount(mounts, "/dev/mqueue", "mqueue", "mqueue", "nosuid,noexec,nodev");
    add_mount(mounts, "/dev/shm", "tmpfs", "shm", "nosuid,noexec,nodev,mode=1777,size=65536k");
    /* In a user namespace, mounting sysfs needs a network namespace of the same user. Without one
     * the machine's /sys is bind-mounted, read-only. */
    if (request->has_user_namespace && request->has_network)
        add_mount(mounts, "/sys", "none", "/sys", "rbind,nosuid,noexec,nodev,ro");
    else
        add_mount(mounts, "/sys", "sysfs", "sysfs", "nosuid,noexec,nodev,ro");
    for (size_t i = 0; i < request->mount_count; i++)
        add_mount(mounts, request->mounts[i].target, "none", request->mounts[i].source,
                  request->mounts[i].is_writable ? "rbind,rprivate,rw" : "rbind,rprivate,ro");
    return mounts;
}

static json_t *text_list(const char *const *texts, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_string(texts[i]));
    return list;
}

/* Takes names and arguments (may be NULL) over. */
static void add_rule(json_t *rules, json_t *names, int errno_value, json_t *arguments)
{
    json_array_append_new(rules,
                          json_pack("{s:o, s:s, s:i, s:o*}", "names", names, "action",
                                    "SCMP_ACT_ERRNO", "errnoRet", errno_value, "args", arguments));
}

/* System calls that the default profile of containerd denies to a process without capabilities. */
static json_t *make_seccomp(void)
{
    static const int64_t namespace_flags[] = {CLONE_NEWNS,  CLONE_NEWCGROUP, CLONE_NEWUTS,
                                              CLONE_NEWIPC, CLONE_NEWUSER,   CLONE_NEWPID,
                                              CLONE_NEWNET};
    static const char *const denied[] = {"acct",
                                         "add_key",
                                         "bpf",
                                         "clock_adjtime",
                                         "clock_settime",
                                         "create_module",
                                         "delete_module",
                                         "finit_module",
                                         "fsconfig",
                                         "fsmount",
                                         "fsopen",
                                         "fspick",
                                         "get_kernel_syms",
                                         "get_mempolicy",
                                         "init_module",
                                         "io_uring_enter",
                                         "io_uring_register",
                                         "io_uring_setup",
                                         "ioperm",
                                         "iopl",
                                         "kcmp",
                                         "kexec_file_load",
                                         "kexec_load",
                                         "keyctl",
                                         "lookup_dcookie",
                                         "mbind",
                                         "mount",
                                         "mount_setattr",
                                         "move_mount",
                                         "move_pages",
                                         "name_to_handle_at",
                                         "nfsservctl",
                                         "open_by_handle_at",
                                         "open_tree",
                                         "perf_event_open",
                                         "pivot_root",
                                         "process_vm_readv",
                                         "process_vm_writev",
                                         "query_module",
                                         "quotactl",
                                         "reboot",
                                         "request_key",
                                         "set_mempolicy",
                                         "setns",
                                         "settimeofday",
                                         "stime",
                                         "swapoff",
                                         "swapon",
                                         "sysfs",
                                         "umount",
                                         "umount2",
                                         "unshare",
                                         "uselib",
                                         "userfaultfd",
                                         "ustat",
                                         "vm86",
                                         "vm86old"};
    json_t *rules = json_array();

    add_rule(rules, text_list(denied, array_length(denied)), EPERM, NULL);
    /* The flags of clone3() are in memory, which a filter cannot read. With ENOSYS, libraries fall
     * back to clone(). */
    add_rule(rules, json_pack("[s]", "clone3"), ENOSYS, NULL);
    for (size_t i = 0; i < array_length(namespace_flags); i++)
        add_rule(rules, json_pack("[s]", "clone"), EPERM,
                 json_pack("[{s:i, s:I, s:I, s:s}]", "index", CLONE_FLAGS_INDEX, "value",
                           (json_int_t)namespace_flags[i], "valueTwo",
                           (json_int_t)namespace_flags[i], "op", "SCMP_CMP_MASKED_EQ"));
    return json_pack("{s:s, s:o}", "defaultAction", "SCMP_ACT_ALLOW", "syscalls", rules);
}

static json_t *make_namespaces(const struct spec_request *request)
{
    static const char *const always[] = {"pid", "ipc", "uts", "mount"};
    json_t *list = json_array();

    for (size_t i = 0; i < array_length(always); i++)
        json_array_append_new(list, json_pack("{s:s}", "type", always[i]));
    if (!request->has_network)
        json_array_append_new(list, json_pack("{s:s}", "type", "network"));
    return list;
}

/* In bytes; -1: none. Kubernetes accepts numbers as quantities, too. */
static int64_t memory_limit(const json_t *container)
{
    const json_t *limit = doc_get(container, "resources.limits.memory");
    cleanup_free char *number = json_is_number(limit) ? doc_dump(limit) : NULL;
    const char *text = number ? number : json_string_value(limit);

    return text ? spec_memory_bytes(text) : -1;
}

static json_t *make_linux(const struct spec_request *request, const json_t *container)
{
    static const char *const masked[] = {"/proc/acpi",
                                         "/proc/asound",
                                         "/proc/interrupts",
                                         "/proc/kcore",
                                         "/proc/keys",
                                         "/proc/latency_stats",
                                         "/proc/timer_list",
                                         "/proc/timer_stats",
                                         "/proc/sched_debug",
                                         "/proc/scsi",
                                         "/sys/devices/virtual/powercap",
                                         "/sys/firmware"};
    static const char *const read_only[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                                            "/proc/sysrq-trigger"};
    int64_t bytes = memory_limit(container);
    json_t *section =
        json_pack("{s:o, s:o, s:o, s:o}", "namespaces", make_namespaces(request), "seccomp",
                  make_seccomp(), "maskedPaths", text_list(masked, array_length(masked)),
                  "readonlyPaths", text_list(read_only, array_length(read_only)));

    if (request->cgroup) {
        json_object_set_new(section, "cgroupsPath", json_string(request->cgroup));
        if (bytes > 0)
            doc_set_new(section, "resources.memory.limit", json_integer(bytes));
    }
    return section;
}

int spec_make(const struct spec_request *request, json_t **ret_spec, struct error *err)
{
    const json_t *container = spec_container(request->pod, CONTAINER_MAIN);
    json_t *process = NULL;

    if (!container)
        return error_set(err, ERROR_INTERNAL, "the pod has no container \"%s\"", CONTAINER_MAIN);
    if (make_process(request, container, &process, err) < 0)
        return -1;
    *ret_spec = json_pack("{s:s, s:o, s:{s:s, s:b}, s:s, s:o, s:o}", "ociVersion", "1.0.2",
                          "process", process, "root", "path", request->rootfs, "readonly", 0,
                          "hostname", doc_text_or(request->pod, "metadata.name", "longshore"),
                          "mounts", make_mounts(request), "linux", make_linux(request, container));
    return 0;
}
