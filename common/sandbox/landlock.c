/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock through syscall(), as libc has no wrappers. The access rights are defined here because
 * the kernel headers of the build machine may be older than the running kernel. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "common/sandbox/parts.h"

#define RIGHT(bit_) (UINT64_C(1) << (bit_))
enum { VERSION_FLAG = 1, RULE_PATH_BENEATH = 1 };

static const uint64_t WRITE_FILE = RIGHT(1), READ_FILE = RIGHT(2), READ_DIR = RIGHT(3),
                      REMOVE_DIR = RIGHT(4), REMOVE_FILE = RIGHT(5), MAKE_DIR = RIGHT(7),
                      MAKE_REG = RIGHT(8), MAKE_SYM = RIGHT(12), REFER = RIGHT(13),
                      TRUNCATE = RIGHT(14);
static const uint64_t NET_BIND_TCP = RIGHT(0), NET_CONNECT_TCP = RIGHT(1);
static const uint64_t SCOPE_ABSTRACT_UNIX = RIGHT(0), SCOPE_SIGNAL = RIGHT(1);

struct ruleset {
    uint64_t filesystem, network, scoped;
};

struct rule {
    uint64_t allowed;
    int32_t parent_fd;
} __attribute__((packed));

/* Read by name resolution and TLS; each may be missing. */
static const char *const network_files[] = {
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    "/usr/lib/ssl",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
    "/etc/protocols",
    "/dev/urandom",
};

/* All file system rights that this version of the Landlock ABI can restrict. */
static uint64_t known_rights(int version)
{
    int bits = version >= 5 ? 16 : version >= 3 ? 15 : version >= 2 ? 14 : 13;

    return RIGHT(bits) - 1;
}

static struct ruleset ruleset_of(const struct sandbox_options *options, int version)
{
    struct ruleset ruleset = {.filesystem = known_rights(version)};

    if (version >= 4 && !options->is_listening)
        ruleset.network |= NET_BIND_TCP;
    if (version >= 4 && !options->is_network_allowed)
        ruleset.network |= NET_CONNECT_TCP;
    if (version >= 6)
        ruleset.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
    return ruleset;
}

/* A kernel rejects a structure with fields that it does not know. */
static size_t ruleset_size(int version)
{
    return version >= 6 ? sizeof(struct ruleset) : version >= 4 ? 16 : 8;
}

static int allow_path(int ruleset_fd, const struct sandbox_path *path, uint64_t known,
                      bool is_optional, struct error *err)
{
    uint64_t of_files = READ_FILE, of_directories = READ_FILE | READ_DIR;
    cleanup_close int fd = open(path->path, O_PATH | O_CLOEXEC);
    struct rule rule = {.parent_fd = fd};
    struct stat stat = {0};

    if (fd < 0 && is_optional && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
        return 0;
    if (fd < 0 || fstat(fd, &stat) < 0)
        return error_set_errno(err, errno, "open \"%s\" for the sandbox", path->path);
    if (path->is_writable) {
        of_files |= WRITE_FILE | TRUNCATE;
        of_directories |=
            of_files | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SYM | REFER;
    }
    rule.allowed = (S_ISDIR(stat.st_mode) ? of_directories : of_files) & known;
    if (syscall(SYS_landlock_add_rule, ruleset_fd, RULE_PATH_BENEATH, &rule, 0) < 0)
        return error_set_errno(err, errno, "allow \"%s\" in the sandbox", path->path);
    return 0;
}

static int allow_paths(int ruleset_fd, const struct sandbox_options *options, uint64_t known,
                       struct error *err)
{
    for (size_t i = 0; i < options->path_count; i++) {
        if (allow_path(ruleset_fd, &options->paths[i], known, false, err) < 0)
            return -1;
    }
    for (size_t i = 0; options->is_network_allowed && i < array_length(network_files); i++) {
        const struct sandbox_path path = {.path = network_files[i]};

        if (allow_path(ruleset_fd, &path, known, true, err) < 0)
            return -1;
    }
    return 0;
}

int landlock_enter(const struct sandbox_options *options, bool *ret_has_landlock, struct error *err)
{
    int version = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, VERSION_FLAG);
    struct ruleset ruleset = {0};
    cleanup_close int fd = -1;

    /* ENOSYS: not compiled in; EOPNOTSUPP: disabled at boot; EPERM: blocked by the seccomp profile
     * of the container runtime. */
    if (version < 0 && (errno == ENOSYS || errno == EOPNOTSUPP || errno == EPERM)) {
        *ret_has_landlock = false;
        return 0;
    }
    if (version < 0)
        return error_set_errno(err, errno, "query the Landlock ABI version");
    ruleset = ruleset_of(options, version);
    fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, ruleset_size(version), 0);
    if (fd < 0)
        return error_set_errno(err, errno, "create a Landlock ruleset");
    if (allow_paths(fd, options, known_rights(version), err) < 0)
        return -1;
    if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
        return error_set_errno(err, errno, "enforce the Landlock ruleset");
    *ret_has_landlock = true;
    return 0;
}
