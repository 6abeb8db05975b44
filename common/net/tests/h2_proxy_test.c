/* SPDX-License-Identifier: Apache-2.0 */
/* Multiplexed calls through an HTTP proxy. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/net/tests/h2_bench.h"

/* A proxy for one connection at a time. */
struct proxy {
    struct loop *loop;
    int listen_fd, client_fd, server_fd;
    int port;
    char request[512]; /* CONNECT and its headers */
    size_t request_size;
    size_t connect_count;
};

static int open_socket(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    return fd;
}

static void close_both(struct proxy *proxy)
{
    int *const fds[] = {&proxy->client_fd, &proxy->server_fd};

    for (size_t i = 0; i < array_length(fds); i++) {
        if (*fds[i] < 0)
            continue;
        loop_remove_fd(proxy->loop, *fds[i]);
        (void)close(*fds[i]);
        *fds[i] = -1;
    }
}

static void pass_on(struct proxy *proxy, int from, int to)
{
    char bytes[4096];
    ssize_t size = recv(from, bytes, sizeof(bytes), 0);

    if (size <= 0)
        close_both(proxy);
    else
        assert_int_equal(send(to, bytes, (size_t)size, 0), size);
}

static void on_server(void *data, uint32_t events)
{
    struct proxy *proxy = data;

    (void)events;
    pass_on(proxy, proxy->server_fd, proxy->client_fd);
}

static void open_tunnel(struct proxy *proxy)
{
    static const char established[] = "HTTP/1.1 200 Connection established\r\nX-Via: test\r\n\r\n";
    struct sockaddr_in address = {.sin_family = AF_INET};
    const char *port = strchr(proxy->request, ':');
    struct error err = {0};

    assert_non_null(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((uint16_t)strtoul(port + 1, NULL, 10));
    proxy->server_fd = open_socket();
    assert_int_equal(connect(proxy->server_fd, (const struct sockaddr *)&address, sizeof(address)),
                     0);
    assert_int_equal(loop_set_fd(proxy->loop, proxy->server_fd, EPOLLIN, on_server, proxy, &err),
                     0);
    assert_int_equal(send(proxy->client_fd, established, sizeof(established) - 1, 0),
                     (int)sizeof(established) - 1);
    proxy->connect_count++;
}

static void on_client(void *data, uint32_t events)
{
    struct proxy *proxy = data;
    ssize_t size = 0;

    (void)events;
    if (proxy->server_fd >= 0) {
        pass_on(proxy, proxy->client_fd, proxy->server_fd);
        return;
    }
    size = recv(proxy->client_fd, proxy->request + proxy->request_size,
                sizeof(proxy->request) - 1 - proxy->request_size, 0);
    if (size <= 0) {
        close_both(proxy);
        return;
    }
    proxy->request_size += (size_t)size;
    proxy->request[proxy->request_size] = '\0';
    if (strstr(proxy->request, "\r\n\r\n"))
        open_tunnel(proxy);
}

static void on_accept(void *data, uint32_t events)
{
    struct proxy *proxy = data;
    struct error err = {0};

    (void)events;
    close_both(proxy);
    proxy->request_size = 0;
    proxy->client_fd = accept4(proxy->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    assert_true(proxy->client_fd >= 0);
    assert_int_equal(loop_set_fd(proxy->loop, proxy->client_fd, EPOLLIN, on_client, proxy, &err),
                     0);
}

static void proxy_start(struct proxy *proxy, struct loop *loop)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    struct error err = {0};

    *proxy = (struct proxy){.loop = loop, .client_fd = -1, .server_fd = -1};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    proxy->listen_fd = open_socket();
    assert_int_equal(bind(proxy->listen_fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(proxy->listen_fd, 8), 0);
    assert_int_equal(getsockname(proxy->listen_fd, (struct sockaddr *)&address, &size), 0);
    proxy->port = ntohs(address.sin_port);
    assert_int_equal(loop_set_fd(loop, proxy->listen_fd, EPOLLIN, on_accept, proxy, &err), 0);
}

static void proxy_stop(struct proxy *proxy)
{
    close_both(proxy);
    loop_remove_fd(proxy->loop, proxy->listen_fd);
    (void)close(proxy->listen_fd);
}

static void the_environment_decides_whether_a_proxy_is_used(void **state)
{
    static const struct {
        const char *name, *no_proxy;
        bool is_used;
    } cases[] = {
        {"https_proxy", "", true},
        {"HTTPS_PROXY", "", true},
        {"all_proxy", "", true},
        {"ALL_PROXY", "other.example", true},
        {"https_proxy", "127.0.0.1", false},
        {"https_proxy", "*", false},
        {"http_proxy", "", false}, /* for http:// URLs only */
    };
    struct h2_bench *bench = *state;
    struct proxy proxy;
    cleanup_free char *url = NULL;

    proxy_start(&proxy, bench->loop);
    url = xasprintf("http://user:passw0rd@127.0.0.1:%d", proxy.port);
    bench->is_answering = true;
    for (size_t i = 0; i < array_length(cases); i++) {
        size_t before = proxy.connect_count;
        struct h2_call *call = NULL;

        (void)setenv(cases[i].name, url, 1);
        (void)setenv("no_proxy", cases[i].no_proxy, 1);
        h2_bench_restart(bench, (struct h2_options){0});
        call = h2_call_new(bench, "/path");
        call->request.bearer = "t0ken";
        h2_call_start(call);
        h2_run_until_done(call);
        (void)unsetenv(cases[i].name);
        (void)unsetenv("no_proxy");
        h2_assert_answered(call, 200, "/path");
        h2_assert_answered(h2_fetch(bench, "/again"), 200, "/again");
        assert_int_equal(bench->server.connection_count, 1);
        assert_int_equal(proxy.connect_count - before, cases[i].is_used ? 1 : 0);
        if (!cases[i].is_used)
            continue;
        assert_non_null(strstr(proxy.request, "CONNECT 127.0.0.1:"));
        assert_non_null(strstr(proxy.request, "Proxy-Authorization: Basic "));
        assert_null(strstr(proxy.request, "t0ken"));
    }
    proxy_stop(&proxy);
}

static void a_proxy_that_closes_its_tunnel_ends_the_calls(void **state)
{
    struct h2_bench *bench = *state;
    struct proxy proxy;
    cleanup_free char *url = NULL;
    struct h2_call *call = NULL;

    proxy_start(&proxy, bench->loop);
    url = xasprintf("http://127.0.0.1:%d", proxy.port);
    (void)setenv("https_proxy", url, 1);
    call = h2_get(bench, "/");
    (void)h2_run_until_request(bench, "/");
    close_both(&proxy);
    h2_run_until_done(call);
    (void)unsetenv("https_proxy");
    h2_assert_failed(call, ERROR_TEMPORARY, 0);
    proxy_stop(&proxy);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, h2_bench_setup, h2_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(the_environment_decides_whether_a_proxy_is_used),
        test(a_proxy_that_closes_its_tunnel_ends_the_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
