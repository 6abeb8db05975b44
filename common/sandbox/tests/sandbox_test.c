/* SPDX-License-Identifier: Apache-2.0 */
/* A process can't leave the sandbox, so each case runs in a child process. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/base/tests/skip.h"
#include "common/sandbox/parts.h"

enum { DONE = 0, FAILED = 1, NOT_ENTERED = 2 };

struct place {
    char *root, *open, *shown, *hidden; /* root/{open,shown,hidden} */
};

/* Returns DONE or FAILED; runs inside the sandbox. */
typedef int case_fn(const struct place *place);

static int make_place(void **state)
{
    struct place *place = xcalloc(1, sizeof(*place));

    place->root = xstrdup("/tmp/longshore-sandbox-XXXXXX");
    assert_non_null(mkdtemp(place->root));
    place->open = xasprintf("%s/open", place->root);
    place->shown = xasprintf("%s/shown", place->root);
    place->hidden = xasprintf("%s/hidden", place->root);
    assert_int_equal(mkdir(place->open, 0777), 0);
    for (int i = 0; i < 2; i++) {
        cleanup_close int fd = open(i ? place->shown : place->hidden, O_CREAT | O_WRONLY, 0666);

        assert_int_equal(write(fd, "text", 4), 4);
    }
    *state = place;
    return 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;

    (void)unlink(place->shown);
    (void)unlink(place->hidden);
    (void)rmdir(place->open);
    (void)rmdir(place->root);
    free(place->root);
    free(place->open);
    free(place->shown);
    free(place->hidden);
    free(place);
    return 0;
}

/* The wait status of a child that enters the sandbox and runs the case. */
static int run_inside(const struct place *place, bool is_network_allowed, bool is_listening,
                      case_fn *run)
{
    const struct sandbox_path paths[] = {{.path = place->open, .is_writable = true},
                                         {.path = place->shown}};
    const struct sandbox_options options = {.paths = paths,
                                            .path_count = array_length(paths),
                                            .is_network_allowed = is_network_allowed,
                                            .is_listening = is_listening};
    pid_t child = fork();
    int status = 0;

    assert_true(child >= 0);
    if (child == 0) {
        struct sandbox_result result = {0};
        struct error err = {0};

        if (sandbox_enter(&options, &result, &err) < 0) {
            (void)fprintf(stderr, "%s\n", err.text);
            _exit(NOT_ENTERED);
        }
        _exit(run(place));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static long landlock_version(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
}

static void need_landlock(long needed)
{
    long version = landlock_version();

    if (version >= needed)
        return;
    if (version < 0)
        skip_because("this kernel has no Landlock, the test needs version %ld\n", needed);
    else
        skip_because("this kernel has Landlock %ld, the test needs %ld\n", version, needed);
}

static int write_rename_remove(const struct place *place)
{
    const struct timespec times[2] = {{.tv_sec = 5}, {.tv_sec = 6}};
    int directory_fd = open(place->open, O_RDONLY | O_DIRECTORY);
    int fd = openat(directory_fd, "file", O_CREAT | O_EXCL | O_WRONLY, 0600);

    return directory_fd >= 0 && fd >= 0 && write(fd, "x", 1) == 1 && fchmod(fd, 0640) == 0 &&
                   futimens(fd, times) == 0 && ftruncate(fd, 0) == 0 && fsync(fd) == 0 &&
                   mkdirat(directory_fd, "sub", 0700) == 0 &&
                   renameat(directory_fd, "file", directory_fd, "sub/other") == 0 &&
                   symlinkat("x", directory_fd, "link") == 0 &&
                   unlinkat(directory_fd, "link", 0) == 0 &&
                   unlinkat(directory_fd, "sub/other", 0) == 0 &&
                   unlinkat(directory_fd, "sub", AT_REMOVEDIR) == 0
               ? DONE
               : FAILED;
}

static int read_shown(const struct place *place)
{
    char text[8] = {0};
    int fd = open(place->shown, O_RDONLY);

    return fd >= 0 && read(fd, text, sizeof(text)) == 4 && strcmp(text, "text") == 0 ? DONE
                                                                                     : FAILED;
}

static void *give_back(void *data)
{
    return data;
}

static int start_thread(const struct place *place)
{
    pthread_t thread;
    int value = 0;
    void *result = NULL;

    (void)place;
    return pthread_create(&thread, NULL, give_back, &value) == 0 &&
                   pthread_join(thread, &result) == 0 && result == &value
               ? DONE
               : FAILED;
}

static int wait_with_epoll_and_signalfd(const struct place *place)
{
    struct epoll_event event = {.events = EPOLLIN};
    struct signalfd_siginfo info = {0};
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC), signal_fd = -1;
    sigset_t signals;

    (void)place;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGUSR1);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, signal_fd, &event) == 0 && raise(SIGUSR1) == 0 &&
                   epoll_wait(epoll_fd, &event, 1, -1) == 1 &&
                   read(signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info) &&
                   info.ssi_signo == SIGUSR1
               ? DONE
               : FAILED;
}

/* getaddrinfo() uses resolv.conf, hosts, nscd and netlink. A forbidden call would kill the process;
 * a machine without a hosts file may not know the name. */
static int resolve_localhost(const struct place *place)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int result = getaddrinfo("localhost", "443", &hints, &found);

    (void)place;
    if (result == 0)
        freeaddrinfo(found);
    return result == 0 || result == EAI_NONAME || result == EAI_AGAIN ? DONE : FAILED;
}

static int is_refused(int socket_fd, uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    return connect(socket_fd, (const struct sockaddr *)&address, sizeof(address)) < 0 &&
           errno == ECONNREFUSED;
}

static int connect_to_closed_port(const struct place *place)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)place;
    return fd >= 0 && is_refused(fd, 1) ? DONE : FAILED;
}

static int listen_on_loopback(const struct place *place)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)place;
    return fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
                   listen(fd, 1) == 0
               ? DONE
               : FAILED;
}

static int has_no_capabilities(const struct place *place)
{
    cap_t now = cap_get_proc(), none = cap_init();

    (void)place;
    return cap_compare(now, none) == 0 ? DONE : FAILED;
}

static int has_no_core(const struct place *place)
{
    struct rlimit limit = {.rlim_cur = 1};

    (void)place;
    return getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur == 0 ? DONE : FAILED;
}

static const struct {
    const char *name;
    case_fn *run;
    bool is_network_allowed, is_listening;
} allowed[] = {
    {"files are written, renamed and removed beneath a writable path", write_rename_remove, false,
     false},
    {"a path that is shown can be read", read_shown, false, false},
    {"threads start", start_thread, false, false},
    {"the loop waits for signals", wait_with_epoll_and_signalfd, false, false},
    {"names are resolved", resolve_localhost, true, false},
    {"connections are allowed", connect_to_closed_port, true, false},
    {"a listener listens", listen_on_loopback, true, true},
    {"no capability is left", has_no_capabilities, false, false},
    {"no core is written", has_no_core, false, false},
};

static void allowed_calls_work(void **state)
{
    for (size_t i = 0; i < array_length(allowed); i++) {
        int status = run_inside(*state, allowed[i].is_network_allowed, allowed[i].is_listening,
                                allowed[i].run);

        if (!WIFEXITED(status) || WEXITSTATUS(status) != DONE)
            fail_msg("%s: status 0x%x", allowed[i].name, (unsigned)status);
    }
}

static int run_program(const struct place *place)
{
    char *arguments[] = {(char[]){"true"}, NULL};

    (void)place;
    (void)execv("/bin/true", arguments);
    return DONE;
}

static int start_process(const struct place *place)
{
    pid_t child = fork();

    (void)place;
    if (child == 0)
        _exit(DONE);
    return DONE;
}

static int attach(const struct place *place)
{
    (void)place;
    (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    return DONE;
}

static int leave_namespace(const struct place *place)
{
    (void)place;
    (void)unshare(CLONE_NEWUSER);
    return DONE;
}

static int make_device(const struct place *place)
{
    cleanup_free char *path = xasprintf("%s/fifo", place->open);

    (void)mkfifo(path, 0600);
    return DONE;
}

static int raise_limit(const struct place *place)
{
    const struct rlimit limit = {.rlim_cur = 1, .rlim_max = 1};

    (void)place;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    return DONE;
}

static int make_code(const struct place *place)
{
    const int no_fd = -1;

    (void)place;
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, no_fd,
                0) == MAP_FAILED
               ? FAILED
               : DONE;
}

static int open_socket(const struct place *place)
{
    (void)place;
    return socket(AF_INET, SOCK_STREAM, 0) < 0 ? FAILED : DONE;
}

static int open_packet_socket(const struct place *place)
{
    (void)place;
    return socket(AF_PACKET, SOCK_RAW, 0) < 0 ? FAILED : DONE;
}

static int only_listen(const struct place *place)
{
    (void)place;
    (void)listen(0, 1);
    return DONE;
}

static int kill_parent(const struct place *place)
{
    (void)place;
    (void)kill(getppid(), 0);
    return DONE;
}

static const struct {
    const char *name;
    case_fn *run;
    bool is_network_allowed;
} forbidden[] = {
    {"execve", run_program, true},
    {"fork", start_process, true},
    {"ptrace", attach, true},
    {"unshare", leave_namespace, true},
    {"mknod", make_device, true},
    {"setrlimit", raise_limit, true},
    {"memory that can be written and run", make_code, true},
    {"socket without network", open_socket, false},
    {"packet socket", open_packet_socket, true},
    {"listen without listening", only_listen, true},
    {"kill", kill_parent, true},
};

static void forbidden_calls_die_of_sigsys(void **state)
{
    if (SANDBOX_IS_SANITIZED) /* without a seccomp filter */
        return;
    for (size_t i = 0; i < array_length(forbidden); i++) {
        int status = run_inside(*state, forbidden[i].is_network_allowed, false, forbidden[i].run);

        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
            fail_msg("%s: status 0x%x", forbidden[i].name, (unsigned)status);
    }
}

static bool is_denied(int fd)
{
    return fd < 0 && errno == EACCES;
}

static int reach_out(const struct place *place)
{
    cleanup_free char *fifo = xasprintf("%s/new", place->root);
    cleanup_free char *moved = xasprintf("%s/moved", place->open);

    return is_denied(open(place->hidden, O_RDONLY)) && is_denied(open(place->shown, O_WRONLY)) &&
                   is_denied(open("/etc/passwd", O_RDONLY)) &&
                   is_denied(open(fifo, O_CREAT | O_WRONLY, 0600)) &&
                   is_denied(open(place->root, O_RDONLY | O_DIRECTORY)) &&
                   is_denied(unlink(place->shown)) && rename(place->hidden, moved) < 0
               ? DONE
               : FAILED;
}

static int bind_port(const struct place *place)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)place;
    return is_denied(bind(fd, (const struct sockaddr *)&address, sizeof(address))) ? DONE : FAILED;
}

static void files_outside_of_the_paths_cant_be_opened(void **state)
{
    need_landlock(1);
    assert_int_equal(run_inside(*state, true, false, reach_out), 0);
}

static void tcp_bind_is_forbidden_unless_listening(void **state)
{
    need_landlock(4);
    assert_int_equal(run_inside(*state, true, false, bind_port), 0);
}

static void the_bounding_set_is_dropped_if_permitted(void **state)
{
    pid_t child = fork();
    int status = 0;

    (void)state;
    if (child == 0) {
        cap_t now = cap_get_proc(), none = cap_init();
        cap_flag_value_t is_allowed = CAP_CLEAR;
        struct error err = {0};

        (void)cap_get_flag(now, CAP_SETPCAP, CAP_EFFECTIVE, &is_allowed);
        if (capabilities_drop(&err) < 0)
            _exit(FAILED);
        (void)cap_free(now);
        now = cap_get_proc();
        _exit(cap_compare(now, none) == 0 &&
                      (is_allowed == CAP_CLEAR || cap_get_bound(CAP_SYS_ADMIN) == 0)
                  ? DONE
                  : FAILED);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_path_that_does_not_exist_is_an_error(void **state)
{
    const struct sandbox_path path = {.path = "/nowhere/at/all"};
    const struct sandbox_options options = {.paths = &path, .path_count = 1};
    struct sandbox_result result = {0};
    struct error err = {0};
    pid_t child = -1;
    int status = 0;

    (void)state;
    need_landlock(1);
    child = fork();
    if (child == 0)
        _exit(sandbox_enter(&options, &result, &err) < 0 && err.kind == ERROR_NOT_FOUND &&
                      strstr(err.text, "\"/nowhere/at/all\"")
                  ? DONE
                  : FAILED);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(allowed_calls_work, make_place, remove_place),
        cmocka_unit_test_setup_teardown(forbidden_calls_die_of_sigsys, make_place, remove_place),
        cmocka_unit_test_setup_teardown(files_outside_of_the_paths_cant_be_opened, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(tcp_bind_is_forbidden_unless_listening, make_place,
                                        remove_place),
        cmocka_unit_test(the_bounding_set_is_dropped_if_permitted),
        cmocka_unit_test(a_path_that_does_not_exist_is_an_error),
    };

    return skip_exit_code(cmocka_run_group_tests(tests, NULL, NULL));
}
