/* SPDX-License-Identifier: Apache-2.0 */
/* TLS for connections that http_connection.c drives itself. All connections of a client share one
 * SSL_CTX; what differs between servers (authorities, client certificate, name) belongs to the
 * connection and is freed after its handshake. Private to common/net.
 *
 * OpenSSL's error queue belongs to the thread and must be empty before a call whose result is
 * passed to SSL_get_error(). */
#pragma once

#include <openssl/ssl.h>

#include "common/net/http_transport.h"

struct http_tls_context;

/* Small until the first http_tls_open(), which creates the SSL_CTX. */
struct http_tls_context *http_tls_context_new(void);
void http_tls_context_free(struct http_tls_context *context); /* NULL is fine */

/* Prepares a handshake over a connected socket, offering HTTP/2 and HTTP/1.1. tls may be NULL and
 * is not used after this; fd stays the caller's. *session is resumed unless it is NULL, and is
 * replaced by each session that the server offers. ERROR_DENIED: certificates that cannot be used.
 */
int http_tls_open(struct http_tls_context *context, const struct http_tls *tls,
                  const struct http_url *url, int fd, SSL_SESSION **session, SSL **ret_ssl,
                  struct error *err) must_check;
/* Frees what only the handshake needed. */
void http_tls_trim(const struct http_tls_context *context, SSL *ssl);
/* Tells the server that the connection ends, if is_alive, and frees it. NULL is fine. */
void http_tls_close(SSL *ssl, bool is_alive);

/* Sets err to the reason why an operation failed, other than that it has to wait. ERROR_DENIED: the
 * server's certificate is not trusted. */
void http_tls_error(SSL *ssl, const char *what, struct error *err);
