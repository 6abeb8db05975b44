/* SPDX-License-Identifier: Apache-2.0 */
/* Library functions that a connection needs fail while it is in use. */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>
#include <nghttp2/nghttp2.h>

#include "common/base/memory.h"
#include "common/base/tests/fault.h"
#include "common/net/tests/h2_bench.h"

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker wants these names. */
int32_t __real_nghttp2_submit_request(nghttp2_session *session,
                                      const nghttp2_priority_spec *priority, const nghttp2_nv *all,
                                      size_t count, const nghttp2_data_provider *body, void *data);
int32_t __wrap_nghttp2_submit_request(nghttp2_session *session,
                                      const nghttp2_priority_spec *priority, const nghttp2_nv *all,
                                      size_t count, const nghttp2_data_provider *body, void *data);
int32_t __wrap_nghttp2_submit_request(nghttp2_session *session,
                                      const nghttp2_priority_spec *priority, const nghttp2_nv *all,
                                      size_t count, const nghttp2_data_provider *body, void *data)
{
    if (fault_occurs("nghttp2_submit_request"))
        return NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE;
    return __real_nghttp2_submit_request(session, priority, all, count, body, data);
}

/* Client and server share a loop; the client's socket is the one whose peer is the server's port.
 */
static int server_port;
static unsigned watch_count;

static bool is_of_client(int fd)
{
    struct sockaddr_in peer = {0};
    socklen_t size = sizeof(peer);

    return getpeername(fd, (struct sockaddr *)&peer, &size) == 0 &&
           ntohs(peer.sin_port) == server_port;
}

int __real_loop_set_fd(struct loop *loop, int fd, uint32_t events, loop_fd_fn *callback, void *data,
                       struct error *err);
int __wrap_loop_set_fd(struct loop *loop, int fd, uint32_t events, loop_fd_fn *callback, void *data,
                       struct error *err);
int __wrap_loop_set_fd(struct loop *loop, int fd, uint32_t events, loop_fd_fn *callback, void *data,
                       struct error *err)
{
    if (is_of_client(fd)) {
        watch_count++;
        if (fault_occurs("loop_set_fd"))
            return error_set_errno(err, ENOSPC, "watch descriptor %d", fd);
    }
    return __real_loop_set_fd(loop, fd, events, callback, data, err);
}
/* NOLINTEND(bugprone-reserved-identifier) */

static void a_connection_without_free_streams_is_replaced(void **state)
{
    struct h2_bench *bench = *state;

    bench->is_answering = true;
    h2_assert_answered(h2_fetch(bench, "/"), 200, "/");
    fault_arm("nghttp2_submit_request", 1, 0);
    h2_assert_answered(h2_fetch(bench, "/next"), 200, "/next");
    assert_true(fault_disarm());
    assert_int_equal(bench->server.connection_count, 2);
    assert_int_equal(bench->server.request_count, 2);
    h2_run_until_open(bench, &bench->server, 1);
}

static void a_waiting_call_moves_to_the_replacement_connection(void **state)
{
    struct h2_bench *bench = *state;

    bench->is_answering = true;
    fault_arm("nghttp2_submit_request", 1, 0);
    h2_assert_answered(h2_fetch(bench, "/"), 200, "/");
    assert_true(fault_disarm());
    assert_int_equal(bench->server.connection_count, 2);
}

static void calls_fail_if_epoll_rejects_their_connection(void **state)
{
    struct h2_bench *bench = *state;
    struct h2_call *call = NULL;
    unsigned ours = 0;

    server_port = bench->server.port;
    bench->is_answering = true;
    watch_count = 0;
    h2_assert_answered(h2_fetch(bench, "/"), 200, "/");
    ours = watch_count; /* the last one; curl made the others to connect */
    h2_close(bench->server.connections);
    h2_run_idle(bench);
    fault_arm("loop_set_fd", ours, ENOSPC);
    call = h2_fetch(bench, "/next");
    assert_true(fault_disarm());
    h2_assert_failed(call, ERROR_TEMPORARY, 0);
    assert_non_null(strstr(call->err.text, "watch descriptor"));
    h2_assert_answered(h2_fetch(bench, "/again"), 200, "/again");
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, h2_bench_setup, h2_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(a_connection_without_free_streams_is_replaced),
        test(a_waiting_call_moves_to_the_replacement_connection),
        test(calls_fail_if_epoll_rejects_their_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
