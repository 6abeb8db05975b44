/* SPDX-License-Identifier: Apache-2.0 */
#include "common/net/http_tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/net/http_trust.h"

/* Parsing the CA bundle of a system takes as long as ten handshakes. */
enum { STORES_MAX = 16 };

/* Authorities that were used lately. */
struct trust {
    struct buffer pem;
    X509_STORE *store;
};

struct http_tls_context {
    SSL_CTX *ssl;                    /* NULL before the first connection */
    EVP_PKEY *no_key;                /* see forget_key() */
    struct trust stores[STORES_MAX]; /* most recently used first */
    size_t store_count;
};

/* ---- The context ---- */

static int keep_session(SSL *ssl, SSL_SESSION *session)
{
    SSL_SESSION **place = SSL_get_app_data(ssl);

    SSL_SESSION_free(*place);
    *place = session;
    return 1; /* the reference is ours */
}

/* Otherwise OpenSSL would ask at the terminal. */
static int no_password(char *text, int size, int is_writing, void *data)
{
    (void)text;
    (void)size;
    (void)is_writing;
    (void)data;
    return 0;
}

struct http_tls_context *http_tls_context_new(void)
{
    return xcalloc(1, sizeof(struct http_tls_context));
}

/* Not before the first connection: an SSL_CTX takes about 200 KB, a fifth of the memory of
 * longshore-init, which needs it only if it reads from an API server. */
static void open_context(struct http_tls_context *context)
{
    static const unsigned char protocols[] = "\x02h2\x08http/1.1";
    static const unsigned char no_key[32] = {0};

    if (context->ssl)
        return;
    context->ssl = SSL_CTX_new(TLS_client_method());
    context->no_key = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, no_key, sizeof(no_key));
    if (!context->ssl || !context->no_key ||
        SSL_CTX_set_min_proto_version(context->ssl, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_alpn_protos(context->ssl, protocols, sizeof(protocols) - 1) != 0)
        out_of_memory();
    SSL_CTX_set_verify(context->ssl, SSL_VERIFY_PEER, NULL);
    /* What could not be written is written later, possibly from another address. */
    (void)SSL_CTX_set_mode(context->ssl,
                           SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    /* HTTP/2 itself shows whether a response is complete, and OpenSSL would not resume the session
     * of a connection that ended so. */
    (void)SSL_CTX_set_options(context->ssl, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_read_ahead(context->ssl, 1); /* one read per record instead of two */
    (void)SSL_CTX_set_session_cache_mode(context->ssl,
                                         SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context->ssl, keep_session);
}

static void trust_done(struct trust *trust)
{
    buffer_done(&trust->pem);
    X509_STORE_free(trust->store);
}

void http_tls_context_free(struct http_tls_context *context)
{
    if (!context)
        return;
    while (context->store_count)
        trust_done(&context->stores[--context->store_count]);
    SSL_CTX_free(context->ssl);
    EVP_PKEY_free(context->no_key);
    free(context);
}

/* ---- Authorities ---- */

static const char *reason(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_last_error());

    return text ? text : "unknown reason";
}

static int parse_store(const struct buffer *pem, X509_STORE **ret_store, struct error *err)
{
    X509_STORE *store = X509_STORE_new();
    BIO *bio = BIO_new_mem_buf(pem->data ? pem->data : "", (int)pem->size);
    STACK_OF(X509_INFO) *all = bio ? PEM_X509_INFO_read_bio(bio, NULL, no_password, NULL) : NULL;
    int count = 0;

    if (!store || !bio)
        out_of_memory();
    for (int i = 0; all && i < sk_X509_INFO_num(all); i++) {
        const X509_INFO *info = sk_X509_INFO_value(all, i);

        if (info->x509)
            count += X509_STORE_add_cert(store, info->x509);
        if (info->crl)
            (void)X509_STORE_add_crl(store, info->crl);
    }
    sk_X509_INFO_pop_free(all, X509_INFO_free);
    BIO_free(bio);
    if (count == 0) {
        X509_STORE_free(store);
        return error_set(err, ERROR_DENIED,
                         "the CA certificates that are configured for the server cannot be read");
    }
    *ret_store = store;
    return 0;
}

static void use_first(struct http_tls_context *context, size_t place)
{
    struct trust used = context->stores[place];

    memmove(&context->stores[1], &context->stores[0], place * sizeof(used));
    context->stores[0] = used;
}

/* Borrowed until the next call. */
static int find_store(struct http_tls_context *context, const struct http_tls *tls,
                      X509_STORE **ret_store, struct error *err)
{
    struct trust trust = {0};
    size_t place = 0;

    if (http_trust_read(tls, &trust.pem, err) < 0) {
        buffer_done(&trust.pem);
        return -1;
    }
    while (place < context->store_count &&
           (context->stores[place].pem.size != trust.pem.size ||
            memcmp(context->stores[place].pem.data, trust.pem.data, trust.pem.size) != 0))
        place++;
    if (place < context->store_count) {
        buffer_done(&trust.pem);
    } else {
        if (parse_store(&trust.pem, &trust.store, err) < 0) {
            buffer_done(&trust.pem);
            return -1;
        }
        if (context->store_count == STORES_MAX)
            trust_done(&context->stores[--context->store_count]);
        place = context->store_count++;
        context->stores[place] = trust;
    }
    use_first(context, place);
    *ret_store = context->stores[0].store;
    return 0;
}

/* ---- One connection ---- */

static int set_identity(SSL *ssl, const char *cert_pem, const char *key_pem, struct error *err)
{
    BIO *certs = BIO_new_mem_buf(cert_pem, -1);
    BIO *keys = BIO_new_mem_buf(key_pem, -1);
    X509 *cert = certs ? PEM_read_bio_X509_AUX(certs, NULL, no_password, NULL) : NULL;
    EVP_PKEY *key = keys ? PEM_read_bio_PrivateKey(keys, NULL, no_password, NULL) : NULL;
    bool is_good = cert && key && SSL_use_certificate(ssl, cert) == 1;

    while (is_good) {
        X509 *issuer = PEM_read_bio_X509(certs, NULL, no_password, NULL);

        if (!issuer)
            break;
        is_good = SSL_add0_chain_cert(ssl, issuer) == 1;
        if (!is_good)
            X509_free(issuer);
    }
    ERR_clear_error(); /* the end of the certificates is an error */
    is_good = is_good && SSL_use_PrivateKey(ssl, key) == 1;
    X509_free(cert);
    EVP_PKEY_free(key);
    BIO_free(certs);
    BIO_free(keys);
    return is_good ? 0
                   : error_set(err, ERROR_DENIED,
                               "the client certificate and its key cannot be used: %s", reason());
}

/* The name without the brackets of an IPv6 address and without the dot at the end. */
static char *bare_name(const char *host)
{
    size_t length = strlen(host);

    if (host[0] == '[' && host[length - 1] == ']')
        return xstrndup(host + 1, length - 2);
    return xstrndup(host, length > 1 && host[length - 1] == '.' ? length - 1 : length);
}

static int set_name(SSL *ssl, const char *host, struct error *err)
{
    cleanup_free char *name = bare_name(host);
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    unsigned char address[sizeof(struct in6_addr)];
    bool is_address =
        inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;

    /* A certificate that is listed as an authority is trusted even if it is not self-signed. */
    (void)X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (is_address ? X509_VERIFY_PARAM_set1_ip_asc(param, name) == 1
                   : X509_VERIFY_PARAM_set1_host(param, name, 0) == 1 &&
                         SSL_set_tlsext_host_name(ssl, name) == 1)
        return 0;
    return error_set(err, ERROR_INVALID, "invalid server name \"%s\"", name);
}

static int set_trust(struct http_tls_context *context, SSL *ssl, const struct http_tls *tls,
                     const struct http_url *url, struct error *err)
{
    X509_STORE *store = NULL;

    if (set_name(ssl, tls && tls->server_name ? tls->server_name : url->host, err) < 0)
        return -1;
    if (tls && tls->is_insecure) {
        SSL_set_verify(ssl, SSL_VERIFY_NONE, NULL);
        return 0;
    }
    if (find_store(context, tls, &store, err) < 0)
        return -1;
    (void)SSL_set1_verify_cert_store(ssl, store);
    return 0;
}

int http_tls_open(struct http_tls_context *context, const struct http_tls *tls,
                  const struct http_url *url, int fd, SSL_SESSION **session, SSL **ret_ssl,
                  struct error *err)
{
    SSL *ssl = NULL;

    if (tls && !tls->cert_pem != !tls->key_pem)
        return error_set(err, ERROR_INVALID, HTTP_TRUST_INCOMPLETE);
    open_context(context);
    ssl = SSL_new(context->ssl);
    if (!ssl || SSL_set_fd(ssl, fd) != 1)
        out_of_memory();
    ERR_clear_error();
    if (set_trust(context, ssl, tls, url, err) < 0 ||
        (tls && tls->cert_pem && set_identity(ssl, tls->cert_pem, tls->key_pem, err) < 0)) {
        SSL_free(ssl);
        return -1;
    }
    if (*session)
        (void)SSL_set_session(ssl, *session);
    (void)SSL_set_app_data(ssl, session);
    SSL_set_connect_state(ssl);
    *ret_ssl = ssl;
    return 0;
}

/* The session holds the server's certificate, and OpenSSL cannot be made to drop it. Most of its
 * memory is the public key, an elliptic curve with its precomputed numbers: 3 KB. Nothing uses it
 * after the handshake, so all certificates share a small one from then on. */
static void forget_key(const struct http_tls_context *context, const SSL *ssl)
{
    X509 *certificate = SSL_get0_peer_certificate(ssl);

    if (certificate && X509_set_pubkey(certificate, context->no_key) != 1)
        out_of_memory();
}

void http_tls_trim(const struct http_tls_context *context, SSL *ssl)
{
    forget_key(context, ssl);
    (void)SSL_set1_verify_cert_store(ssl, NULL);
    SSL_certs_clear(ssl);
}

void http_tls_close(SSL *ssl, bool is_alive)
{
    if (!ssl)
        return;
    ERR_clear_error();
    if (is_alive && SSL_is_init_finished(ssl))
        (void)SSL_shutdown(ssl);
    /* Otherwise OpenSSL would not resume the session of a connection that broke. */
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    ERR_clear_error();
    SSL_free(ssl);
}

static void set_verify_error(SSL *ssl, long verified, struct error *err)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    const char *name = X509_VERIFY_PARAM_get0_host(param, 0);
    char *address = X509_VERIFY_PARAM_get1_ip_asc(param);

    if (verified == X509_V_ERR_HOSTNAME_MISMATCH || verified == X509_V_ERR_IP_ADDRESS_MISMATCH)
        (void)error_set(err, ERROR_DENIED, "the server's certificate is not valid for \"%s\"",
                        name      ? name
                        : address ? address
                                  : "");
    else
        (void)error_set(err, ERROR_DENIED, "the server's certificate is not trusted: %s",
                        X509_verify_cert_error_string(verified));
    OPENSSL_free(address);
}

void http_tls_error(SSL *ssl, const char *what, struct error *err)
{
    unsigned long code = ERR_peek_error();
    long verified = SSL_get_verify_result(ssl);

    if (verified != X509_V_OK && SSL_get_verify_mode(ssl) != SSL_VERIFY_NONE &&
        !SSL_is_init_finished(ssl))
        set_verify_error(ssl, verified, err);
    else if (code && ERR_reason_error_string(code))
        (void)error_set(err, ERROR_TEMPORARY, "%s: %s", what, ERR_reason_error_string(code));
    else
        (void)error_set(err, ERROR_TEMPORARY, "%s", what);
}
