/* SPDX-License-Identifier: Apache-2.0 */
/* One socket accepts the connections of all clusters: it is bound to the loopback device, and the
 * local address of a connection says which cluster it is for. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "e2e/fleet/fleet.h"

enum { BACKLOG = 4096, ACCEPTS_PER_TURN = 64 };

static int select_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_size,
                           const unsigned char *in, unsigned in_size, void *data)
{
    static const unsigned char protocols[] = "\x02h2\x08http/1.1";
    unsigned char *selected = NULL;

    (void)ssl;
    (void)data;
    if (SSL_select_next_proto(&selected, out_size, protocols, sizeof(protocols) - 1, in, in_size) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *out = selected;
    return SSL_TLSEXT_ERR_OK;
}

/* Called in the handshake. The cluster is in the application data of the connection. */
static int give_certificate(SSL *ssl, void *data)
{
    const struct fleet *fleet = data;
    const struct cluster *cluster = SSL_get_app_data(ssl);
    struct error err = {0};

    return authority_certify(fleet_authority(fleet, cluster->index), ssl,
                             fleet_address(fleet, cluster->index), &err) == 0;
}

static int make_tls(struct fleet *fleet, struct error *err)
{
    fleet->tls = SSL_CTX_new(TLS_server_method());
    if (!fleet->tls || SSL_CTX_set_min_proto_version(fleet->tls, TLS1_2_VERSION) != 1)
        return error_set(err, ERROR_INTERNAL, "cannot set up TLS");
    SSL_CTX_set_mode(fleet->tls, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                     SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                     SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(fleet->tls, SSL_SESS_CACHE_OFF); /* tickets only */
    SSL_CTX_set_alpn_select_cb(fleet->tls, select_protocol, NULL);
    SSL_CTX_set_cert_cb(fleet->tls, give_certificate, fleet);
    return 0;
}

static int make_socket(uint32_t address, uint16_t port, bool is_on_device, struct error *err)
{
    cleanup_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in name = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
    const int on = 1;

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
        return error_set_errno(err, errno, "create a socket");
    if (is_on_device && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3) < 0)
        return error_set_errno(err, errno, "bind a socket to the loopback device");
    if (bind(fd, (struct sockaddr *)&name, sizeof(name)) < 0 || listen(fd, BACKLOG) < 0)
        return error_set_errno(err, errno, "listen on port %u", port);
    return steal_fd(&fd);
}

/* The cluster with this local address; NULL: there is none. */
static struct cluster *cluster_of(const struct fleet *fleet, int fd)
{
    struct sockaddr_in name = {0};
    socklen_t size = sizeof(name);
    uint32_t index = 0;

    if (getsockname(fd, (struct sockaddr *)&name, &size) < 0)
        return NULL;
    index = ntohl(name.sin_addr.s_addr) - fleet->settings.first_address;
    return index < fleet->settings.cluster_count ? &fleet->clusters[index] : NULL;
}

/* Sessions resume only in the same cluster, and not after its certificate was replaced. */
static SSL *make_session(const struct fleet *fleet, struct cluster *cluster, int fd)
{
    uint32_t context[] = {cluster->index, cluster->certificate_generation};
    SSL *ssl = SSL_new(fleet->tls);

    if (!ssl || SSL_set_fd(ssl, fd) != 1 || SSL_set_app_data(ssl, cluster) != 1 ||
        SSL_set_session_id_context(ssl, (const unsigned char *)context, sizeof(context)) != 1) {
        SSL_free(ssl);
        return NULL;
    }
    SSL_set_accept_state(ssl);
    return ssl;
}

static void reset(int fd)
{
    struct linger linger = {.l_onoff = 1};

    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    (void)close(fd);
}

static void start(struct fleet *fleet, int fd)
{
    struct cluster *cluster = cluster_of(fleet, fd);
    const int on = 1;
    SSL *ssl = NULL;

    if (cluster && faults_has(&cluster->faults, FAULT_DOWN))
        cluster = NULL;
    if (cluster)
        ssl = make_session(fleet, cluster, fd);
    if (!ssl) {
        reset(fd);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    connection_start(&fleet->host, cluster, &cluster->connections, fd, ssl,
                     faults_has(&cluster->faults, FAULT_SILENT));
}

static void on_connect(void *data, uint32_t events)
{
    struct fleet *fleet = data;

    (void)events;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        int fd = accept4(fleet->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0)
            return;
        start(fleet, fd);
    }
}

static void on_control_connect(void *data, uint32_t events)
{
    struct fleet *fleet = data;
    int fd = accept4(fleet->control_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    (void)events;
    if (fd >= 0)
        connection_start(&fleet->control_host, NULL, &fleet->control_connections, fd, NULL, false);
}

int fleet_listen(struct fleet *fleet, struct error *err)
{
    if (make_tls(fleet, err) < 0)
        return -1;
    fleet->fd = make_socket(INADDR_ANY, fleet->settings.port, true, err);
    if (fleet->fd < 0)
        return -1;
    fleet->control_fd = make_socket(INADDR_LOOPBACK, fleet->settings.control_port, false, err);
    if (fleet->control_fd < 0 ||
        loop_set_fd(fleet->loop, fleet->fd, EPOLLIN, on_connect, fleet, err) < 0)
        return -1;
    return loop_set_fd(fleet->loop, fleet->control_fd, EPOLLIN, on_control_connect, fleet, err);
}
