/* SPDX-License-Identifier: Apache-2.0 */
#include "common/net/tests/h2_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "common/base/memory.h"
#include "common/fuzz/must.h"
#include "common/net/tests/h2_server_internal.h"

enum { OUTPUT_ENOUGH = 64 * 1024, BACKLOG = 1024 };

static void on_ready(void *data, uint32_t events);

void h2_close(struct h2_connection *connection)
{
    if (connection->fd < 0)
        return;
    loop_remove_fd(connection->server->loop, connection->fd);
    (void)close(connection->fd);
    connection->fd = -1;
    connection->server->open_count--;
}

void h2_hang_up(struct h2_connection *connection)
{
    if (connection->fd < 0)
        return;
    ERR_clear_error();
    (void)SSL_shutdown(connection->ssl);
    h2_close(connection);
}

void h2_freeze(struct h2_connection *connection)
{
    connection->is_frozen = true;
}

static void watch(struct h2_connection *connection)
{
    struct error err = {0};
    bool has_more = connection->output.size > 0 && !connection->is_frozen;
    uint32_t events = EPOLLIN | (has_more ? (uint32_t)EPOLLOUT : 0);

    if (connection->fd >= 0)
        must(loop_set_fd(connection->server->loop, connection->fd, events, on_ready, connection,
                         &err) == 0);
}

/* Whether OpenSSL only wants to be called again. Closes the connection otherwise. */
static bool is_waiting(struct h2_connection *connection, int result)
{
    int code = SSL_get_error(connection->ssl, result);

    /* The client under test runs in the same thread and shares OpenSSL's error queue. */
    ERR_clear_error();
    if (code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE)
        return true;
    h2_close(connection);
    return false;
}

void h2_flush(struct h2_connection *connection)
{
    while (connection->fd >= 0 && connection->is_handshake_done && !connection->is_frozen) {
        struct buffer *output = &connection->output;
        int size = 0;

        if (output->size < OUTPUT_ENOUGH)
            h2_session_fill(connection);
        if (output->size == 0)
            break;
        ERR_clear_error();
        size = SSL_write(connection->ssl, output->data, (int)output->size);
        if (size <= 0) {
            (void)is_waiting(connection, size);
            break;
        }
        buffer_consume(output, (size_t)size);
    }
    watch(connection);
}

void h2_send_garbage(struct h2_connection *connection, const char *text)
{
    struct error err = {0};

    must(buffer_append(&connection->output, text, strlen(text), &err) == 0);
    h2_flush(connection);
}

static void note_client(struct h2_connection *connection)
{
    X509 *shown = SSL_get1_peer_certificate(connection->ssl);
    char *subject = shown ? X509_NAME_oneline(X509_get_subject_name(shown), NULL, 0) : NULL;

    free(connection->server->client_subject);
    connection->server->client_subject = xstrdup_or_null(subject);
    OPENSSL_free(subject);
    X509_free(shown);
}

static bool shake_hands(struct h2_connection *connection)
{
    const unsigned char *protocol = NULL;
    unsigned size = 0;
    int result = 0;

    if (connection->is_handshake_done)
        return true;
    ERR_clear_error();
    result = SSL_accept(connection->ssl);
    if (result != 1) {
        (void)is_waiting(connection, result);
        return false;
    }
    connection->is_handshake_done = true;
    note_client(connection);
    if (connection->server->options.greeting) {
        h2_send_garbage(connection, connection->server->options.greeting);
        h2_freeze(connection);
        return true;
    }
    SSL_get0_alpn_selected(connection->ssl, &protocol, &size);
    if (size == 2 && memcmp(protocol, "h2", 2) == 0)
        h2_session_start(connection);
    return true;
}

void h2_request_arrived(struct h2_request *request)
{
    struct h2_connection *connection = request->connection;

    connection->arrivals = xreallocarray(connection->arrivals, connection->arrival_count + 1,
                                         sizeof(connection->arrivals[0]));
    connection->arrivals[connection->arrival_count++] =
        (struct h2_arrival){request, request->is_whole};
}

static void note_whole(struct h2_server *server, struct h2_request *request)
{
    server->requests =
        xreallocarray(server->requests, server->request_count + 1, sizeof(struct h2_request *));
    server->requests[server->request_count++] = request;
}

static void serve_arrivals(struct h2_connection *connection)
{
    struct h2_server *server = connection->server;

    for (size_t i = 0; i < connection->arrival_count; i++) {
        struct h2_request *request = connection->arrivals[i].request;

        if (connection->arrivals[i].is_whole) {
            note_whole(server, request);
            if (server->options.on_whole)
                server->options.on_whole(server->options.data, request);
        } else if (server->options.on_head) {
            server->options.on_head(server->options.data, request);
        }
    }
    connection->arrival_count = 0;
}

static void read_all(struct h2_connection *connection)
{
    char bytes[16384];
    int size = 0;

    while (connection->fd >= 0) {
        ERR_clear_error();
        size = SSL_read(connection->ssl, bytes, sizeof(bytes));
        if (size <= 0) {
            (void)is_waiting(connection, size);
            return;
        }
        if (connection->is_frozen)
            continue;
        if (!connection->session)
            h2_http1_read(connection, bytes, (size_t)size);
        else if (h2_session_read(connection, bytes, (size_t)size) < 0)
            h2_close(connection);
        serve_arrivals(connection);
    }
}

static void on_ready(void *data, uint32_t events)
{
    struct h2_connection *connection = data;

    (void)events;
    if (!shake_hands(connection))
        return;
    read_all(connection);
    h2_flush(connection);
}

static void on_accept(void *data, uint32_t events)
{
    struct h2_server *server = data;
    struct h2_connection *connection = xcalloc(1, sizeof(*connection));

    (void)events;
    connection->server = server;
    connection->fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    must(connection->fd >= 0);
    /* Like real servers: otherwise Nagle waits for the client's delayed acknowledgement. */
    must(setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)) == 0);
    connection->ssl = SSL_new(server->tls);
    must(connection->ssl && SSL_set_fd(connection->ssl, connection->fd) == 1);
    buffer_init(&connection->input, H2_BODY_MAX);
    buffer_init(&connection->output, H2_BODY_MAX);
    connection->next = server->connections;
    server->connections = connection;
    server->connection_count++;
    server->open_count++;
    if (!server->options.is_deaf)
        watch(connection);
}

static int choose_protocol(SSL *ssl, const unsigned char **ret_protocol, unsigned char *ret_size,
                           const unsigned char *offered, unsigned size, void *data)
{
    static const unsigned char both[] = "\x02h2\x08http/1.1";
    const struct h2_server *server = data;
    unsigned skipped = server->options.is_http1_only ? 3 : 0;
    unsigned char *chosen = NULL;

    (void)ssl;
    if (SSL_select_next_proto(&chosen, ret_size, both + skipped,
                              (unsigned)sizeof(both) - 1 - skipped, offered,
                              size) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *ret_protocol = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* Accept any client certificate; the test checks the subject. */
static int welcome_everybody(int is_good, X509_STORE_CTX *store)
{
    (void)is_good;
    (void)store;
    return 1;
}

static SSL_CTX *make_tls(struct h2_server *server)
{
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    BIO *cert = BIO_new_mem_buf(server->certificate.cert_pem, -1);
    BIO *key = BIO_new_mem_buf(server->certificate.key_pem, -1);
    X509 *x509 = PEM_read_bio_X509(cert, NULL, NULL, NULL);
    EVP_PKEY *private_key = PEM_read_bio_PrivateKey(key, NULL, NULL, NULL);

    must(tls && x509 && private_key);
    must(SSL_CTX_use_certificate(tls, x509) == 1);
    must(SSL_CTX_use_PrivateKey(tls, private_key) == 1);
    SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_alpn_select_cb(tls, choose_protocol, server);
    if (server->options.wants_certificate)
        SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, welcome_everybody);
    X509_free(x509);
    EVP_PKEY_free(private_key);
    BIO_free(cert);
    BIO_free(key);
    return tls;
}

void h2_server_start(struct h2_server *server, struct loop *loop, const struct h2_options *options)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    struct error err = {0};

    *server = (struct h2_server){.loop = loop, .options = *options};
    certificate_make(&server->certificate, "server",
                     options->alt_name ? options->alt_name : "IP:127.0.0.1");
    server->ca_pem = server->certificate.cert_pem;
    server->tls = make_tls(server);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    must(server->fd >= 0);
    must(bind(server->fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
    must(listen(server->fd, BACKLOG) == 0);
    must(getsockname(server->fd, (struct sockaddr *)&address, &size) == 0);
    server->port = ntohs(address.sin_port);
    must(loop_set_fd(loop, server->fd, EPOLLIN, on_accept, server, &err) == 0);
}

struct h2_request *h2_request_new(struct h2_connection *connection, int32_t stream_id)
{
    struct h2_request *request = xcalloc(1, sizeof(*request));

    request->connection = connection;
    request->stream_id = stream_id;
    buffer_init(&request->body, H2_BODY_MAX);
    buffer_init(&request->output, H2_BODY_MAX);
    request->next = connection->server->heads;
    connection->server->heads = request;
    return request;
}

void h2_request_add(struct h2_request *request, const char *name, size_t name_size,
                    const char *value, size_t value_size)
{
    char *name_text = xstrndup(name, name_size);
    char *value_text = xstrndup(value, value_size);
    char **place = strcmp(name_text, ":method") == 0      ? &request->method
                   : strcmp(name_text, ":path") == 0      ? &request->path
                   : strcmp(name_text, ":authority") == 0 ? &request->authority
                                                          : NULL;

    if (place) {
        free(name_text);
        free(*place);
        *place = value_text;
        return;
    }
    must(request->header_count < H2_HEADERS_MAX);
    request->headers[request->header_count].name = name_text;
    request->headers[request->header_count++].value = value_text;
}

const char *h2_request_header(const struct h2_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++) {
        if (strcasecmp(request->headers[i].name, name) == 0)
            return request->headers[i].value;
    }
    return NULL;
}

struct h2_request *h2_server_find(const struct h2_server *server, const char *path)
{
    for (size_t i = server->request_count; i > 0; i--) {
        if (strcmp(server->requests[i - 1]->path, path) == 0)
            return server->requests[i - 1];
    }
    return NULL;
}

size_t h2_server_count(const struct h2_server *server, const char *path)
{
    size_t count = 0;

    for (size_t i = 0; i < server->request_count; i++)
        count += strcmp(server->requests[i]->path, path) == 0;
    return count;
}

static void free_request(struct h2_request *request)
{
    for (size_t i = 0; i < request->header_count; i++) {
        free(request->headers[i].name);
        free(request->headers[i].value);
    }
    free(request->method);
    free(request->path);
    free(request->authority);
    free(request->trailers);
    buffer_done(&request->body);
    buffer_done(&request->output);
    free(request);
}

static void free_connection(struct h2_connection *connection)
{
    h2_close(connection);
    nghttp2_session_del(connection->session);
    SSL_free(connection->ssl);
    buffer_done(&connection->input);
    buffer_done(&connection->output);
    free(connection->arrivals);
    free(connection);
}

void h2_server_done(struct h2_server *server)
{
    if (!server->loop)
        return;
    while (server->connections) {
        struct h2_connection *connection = server->connections;

        server->connections = connection->next;
        free_connection(connection);
    }
    while (server->heads) {
        struct h2_request *request = server->heads;

        server->heads = request->next;
        free_request(request);
    }
    loop_remove_fd(server->loop, server->fd);
    (void)close(server->fd);
    SSL_CTX_free(server->tls);
    certificate_done(&server->certificate);
    free(server->client_subject);
    free(server->requests);
    server->loop = NULL;
}
