/* SPDX-License-Identifier: Apache-2.0 */
/* The seccomp allow-list: the system calls of libc (glibc and musl, static and dynamic), of curl
 * with OpenSSL and both resolvers, and of our own event loop and file code. Any other one kills the
 * process, among them execve, fork, ptrace, mount, bpf, keyctl, io_uring, setuid, chown, mknod. */
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <termios.h>

#include "common/sandbox/parts.h"

/* Unknown to older versions of libseccomp and of the kernel headers. */
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

/* clang-format off */
static const int always[] = {
    /* memory; mmap and mprotect: see add_memory() */
    SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(membarrier),
    /* descriptors */
    SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(preadv), SCMP_SYS(write),
    SCMP_SYS(writev), SCMP_SYS(pwrite64), SCMP_SYS(pwritev), SCMP_SYS(close), SCMP_SYS(close_range),
    SCMP_SYS(lseek), SCMP_SYS(_llseek), SCMP_SYS(dup), SCMP_SYS(dup2), SCMP_SYS(dup3),
    SCMP_SYS(pipe), SCMP_SYS(pipe2), SCMP_SYS(fcntl), SCMP_SYS(fcntl64), SCMP_SYS(eventfd2),
    SCMP_SYS(sendfile), SCMP_SYS(copy_file_range), SCMP_SYS(fadvise64), SCMP_SYS(flock),
    /* files, further restricted by Landlock */
    SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(openat2), SCMP_SYS(stat), SCMP_SYS(lstat),
    SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(fstatat64), SCMP_SYS(statx), SCMP_SYS(statfs),
    SCMP_SYS(fstatfs), SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2),
    SCMP_SYS(getdents64), SCMP_SYS(getcwd), SCMP_SYS(readlink), SCMP_SYS(readlinkat),
    SCMP_SYS(mkdir), SCMP_SYS(mkdirat), SCMP_SYS(unlink), SCMP_SYS(unlinkat), SCMP_SYS(rmdir),
    SCMP_SYS(rename), SCMP_SYS(renameat), SCMP_SYS(renameat2), SCMP_SYS(linkat),
    SCMP_SYS(symlinkat), SCMP_SYS(chmod), SCMP_SYS(fchmod), SCMP_SYS(fchmodat), SCMP_SYS(utimensat),
    SCMP_SYS(ftruncate), SCMP_SYS(fallocate), SCMP_SYS(fsync), SCMP_SYS(fdatasync),
    SCMP_SYS(syncfs), SCMP_SYS(umask),
    /* waiting */
    SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(select), SCMP_SYS(pselect6), SCMP_SYS(epoll_create1),
    SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_pwait2),
    SCMP_SYS(timerfd_create), SCMP_SYS(timerfd_settime), SCMP_SYS(timerfd_gettime),
    SCMP_SYS(signalfd4), SCMP_SYS(nanosleep), SCMP_SYS(clock_nanosleep), SCMP_SYS(alarm),
    SCMP_SYS(setitimer),
    /* signals and threads; clone and tgkill: see add_threads() */
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigpending), SCMP_SYS(rt_sigtimedwait), SCMP_SYS(sigaltstack), SCMP_SYS(sigreturn),
    SCMP_SYS(restart_syscall), SCMP_SYS(futex), SCMP_SYS(futex_time64), SCMP_SYS(set_robust_list),
    SCMP_SYS(get_robust_list), SCMP_SYS(set_tid_address), SCMP_SYS(rseq), SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_getparam), SCMP_SYS(sched_getscheduler),
    SCMP_SYS(getcpu), SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(arch_prctl),
    /* identity, time, resources */
    SCMP_SYS(getpid), SCMP_SYS(getppid), SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(geteuid),
    SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(getresuid), SCMP_SYS(getresgid),
    SCMP_SYS(getgroups), SCMP_SYS(capget), SCMP_SYS(uname), SCMP_SYS(sysinfo), SCMP_SYS(getrusage),
    SCMP_SYS(getrlimit), SCMP_SYS(times), SCMP_SYS(time), SCMP_SYS(gettimeofday),
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(getrandom),
};
/* clang-format on */

/* clang-format off */
static const int of_network[] = {
    /* bind: for the netlink socket of getaddrinfo(); Landlock forbids it for TCP */
    SCMP_SYS(connect),    SCMP_SYS(bind),       SCMP_SYS(getsockname), SCMP_SYS(getpeername),
    SCMP_SYS(getsockopt), SCMP_SYS(setsockopt), SCMP_SYS(sendto),      SCMP_SYS(recvfrom),
    SCMP_SYS(sendmsg),    SCMP_SYS(recvmsg),    SCMP_SYS(sendmmsg),    SCMP_SYS(recvmmsg),
    SCMP_SYS(shutdown),   SCMP_SYS(socketpair),
};
/* clang-format on */

static const int of_listening[] = {SCMP_SYS(listen), SCMP_SYS(accept), SCMP_SYS(accept4)};

static const int families[] = {AF_INET, AF_INET6, AF_NETLINK};

/* Terminals, and SIOCGIFNAME and SIOCGIFINDEX for interface names in IPv6 addresses. */
static const unsigned long ioctls[] = {TCGETS,  TIOCGWINSZ, FIONBIO, FIONREAD,
                                       FIOCLEX, 0x8910,     0x8933};

/* The functions below return 0 or a negative errno, as libseccomp does. */
static int add_all(scmp_filter_ctx filter, const int *calls, size_t count)
{
    int result = 0;

    for (size_t i = 0; i < count && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
    return result;
}

static int add_if_equal(scmp_filter_ctx filter, uint32_t action, int call, unsigned argument,
                        uint64_t value)
{
    const struct scmp_arg_cmp compare = {
        .arg = argument, .op = SCMP_CMP_EQ, .datum_a = value, .datum_b = 0};

    return seccomp_rule_add_array(filter, action, call, 1, &compare);
}

static int add_if_masked(scmp_filter_ctx filter, int call, unsigned argument, uint64_t mask,
                         uint64_t value)
{
    const struct scmp_arg_cmp compare = {
        .arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};

    return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 1, &compare);
}

/* Memory is never both writable and executable. */
static int add_memory(scmp_filter_ctx filter, int call)
{
    static const uint64_t allowed[] = {0, PROT_WRITE, PROT_EXEC};
    int result = 0;

    for (size_t i = 0; i < array_length(allowed) && result == 0; i++)
        result = add_if_masked(filter, call, 2, PROT_WRITE | PROT_EXEC, allowed[i]);
    return result;
}

/* Allows threads, but no processes. The flags of clone3 are in memory, where seccomp can't check
 * them; on ENOSYS libc falls back to clone. */
static int add_threads(scmp_filter_ctx filter)
{
    int result = add_if_masked(filter, SCMP_SYS(clone), 0, CLONE_THREAD, CLONE_THREAD);

    if (result == 0)
        result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    if (result == 0) /* raise(), abort() */
        result = add_if_equal(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 0, (uint64_t)getpid());
    if (result == 0) /* get, not set */
        result = add_if_equal(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2, 0);
    if (result == 0)
        result = add_if_equal(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 0, PR_SET_NAME);
    if (result == 0) /* newer glibc names its heap areas */
        result = add_if_equal(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 0, PR_SET_VMA);
    return result;
}

static int add_sockets(scmp_filter_ctx filter, const struct sandbox_options *options)
{
    int result = add_all(filter, of_network, array_length(of_network));

    for (size_t i = 0; i < array_length(families) && result == 0; i++)
        result = add_if_equal(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 0, (uint64_t)families[i]);
    /* getaddrinfo() tries nscd first and works without it. */
    if (result == 0)
        result = add_if_equal(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 0, AF_UNIX);
    if (result == 0 && options->is_listening)
        result = add_all(filter, of_listening, array_length(of_listening));
    return result;
}

static int add_rules(scmp_filter_ctx filter, const struct sandbox_options *options)
{
    int result = add_all(filter, always, array_length(always));

    if (result == 0)
        result = add_memory(filter, SCMP_SYS(mmap));
    if (result == 0)
        result = add_memory(filter, SCMP_SYS(mprotect));
    for (size_t i = 0; i < array_length(ioctls) && result == 0; i++)
        result = add_if_equal(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, ioctls[i]);
    if (result == 0)
        result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), __NR_fchmodat2, 0);
    if (result == 0)
        result = add_threads(filter);
    if (result == 0 && (options->is_network_allowed || options->is_listening))
        result = add_sockets(filter, options);
    return result;
}

static void filter_release(scmp_filter_ctx *filter)
{
    if (*filter)
        seccomp_release(*filter);
}

int filter_enter(const struct sandbox_options *options, struct error *err)
{
    __attribute__((cleanup(filter_release))) scmp_filter_ctx filter =
        seccomp_init(SCMP_ACT_KILL_PROCESS);
    int result = 0;

    if (!filter)
        return error_set(err, ERROR_INTERNAL, "create the seccomp filter: out of memory");
    result = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (result == 0)
        result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    if (result == 0)
        result = add_rules(filter, options);
    if (result == 0)
        result = seccomp_load(filter);
    if (result != 0)
        return error_set_errno(err, -result, "load the seccomp filter");
    return 0;
}
