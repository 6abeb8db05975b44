/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/authority.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>

#include "common/base/memory.h"

enum { VALID_S = 30 * 24 * 3600 };

struct authority {
    EVP_PKEY *key, *server_key; /* all server certificates have the same key */
    X509 *certificate;
    char *pem;
};

static bool add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context = {0};
    X509_EXTENSION *extension = NULL;
    bool is_added = false;

    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    is_added = extension && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return is_added;
}

/* A certificate that is not signed yet; NULL if OpenSSL fails. */
static X509 *make_certificate(const char *common_name, EVP_PKEY *key, long serial)
{
    X509 *certificate = X509_new();

    if (certificate && X509_set_version(certificate, X509_VERSION_3) == 1 &&
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial) == 1 &&
        X509_gmtime_adj(X509_getm_notBefore(certificate), -3600) &&
        X509_gmtime_adj(X509_getm_notAfter(certificate), VALID_S) &&
        X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                   (const unsigned char *)common_name, -1, -1, 0) == 1 &&
        X509_set_pubkey(certificate, key) == 1)
        return certificate;
    X509_free(certificate);
    return NULL;
}

static char *pem_of(X509 *certificate)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *bytes = NULL, *text = NULL;

    if (bio && PEM_write_bio_X509(bio, certificate) == 1)
        text = xstrndup(bytes, (size_t)BIO_get_mem_data(bio, &bytes));
    BIO_free(bio);
    return text;
}

int authority_new(const char *common_name, struct authority **ret_authority, struct error *err)
{
    cleanup_authority struct authority *authority = xcalloc(1, sizeof(*authority));
    X509 *certificate = NULL;

    authority->key = EVP_EC_gen("P-256");
    authority->server_key = EVP_EC_gen("P-256");
    if (authority->key && authority->server_key)
        certificate = authority->certificate = make_certificate(common_name, authority->key, 1);
    if (!certificate ||
        X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) != 1 ||
        !add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE") ||
        !add_extension(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign") ||
        !add_extension(certificate, certificate, NID_subject_key_identifier, "hash") ||
        X509_sign(certificate, authority->key, EVP_sha256()) == 0)
        return error_set(err, ERROR_INTERNAL, "cannot make a certificate authority");
    authority->pem = pem_of(certificate);
    if (!authority->pem)
        return error_set(err, ERROR_INTERNAL, "cannot write the certificate of the authority");
    *ret_authority = steal(&authority);
    return 0;
}

void authority_free(struct authority *authority)
{
    if (!authority)
        return;
    EVP_PKEY_free(authority->key);
    EVP_PKEY_free(authority->server_key);
    X509_free(authority->certificate);
    free(authority->pem);
    free(authority);
}

const char *authority_pem(const struct authority *authority)
{
    return authority->pem;
}

int authority_certify(const struct authority *authority, SSL *ssl, uint32_t address,
                      struct error *err)
{
    char name[64];
    X509 *certificate = NULL;
    bool is_done = false;

    (void)snprintf(name, sizeof(name), "IP:%u.%u.%u.%u", address >> 24, address >> 16 & 255,
                   address >> 8 & 255, address & 255);
    certificate = make_certificate("fleet", authority->server_key, (long)address);
    is_done =
        certificate &&
        X509_set_issuer_name(certificate, X509_get_subject_name(authority->certificate)) == 1 &&
        add_extension(certificate, authority->certificate, NID_subject_alt_name, name) &&
        add_extension(certificate, authority->certificate, NID_ext_key_usage, "serverAuth") &&
        X509_sign(certificate, authority->key, EVP_sha256()) > 0 &&
        SSL_use_certificate(ssl, certificate) == 1 &&
        SSL_use_PrivateKey(ssl, authority->server_key) == 1;
    X509_free(certificate);
    return is_done ? 0 : error_set(err, ERROR_INTERNAL, "cannot make a certificate");
}
