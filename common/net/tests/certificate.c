/* SPDX-License-Identifier: Apache-2.0 */
#include "common/net/tests/certificate.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "common/base/memory.h"
#include "common/fuzz/must.h"

static char *take_text(BIO *bio)
{
    char *bytes = NULL;
    long size = BIO_get_mem_data(bio, &bytes);
    char *text = xstrndup(bytes, (size_t)size);

    BIO_free(bio);
    return text;
}

static void add_extension(X509 *x509, int nid, const char *value)
{
    X509V3_CTX context = {0};
    X509_EXTENSION *extension = NULL;

    X509V3_set_ctx(&context, x509, x509, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    must(extension && X509_add_ext(x509, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

void certificate_make(struct certificate *certificate, const char *common_name,
                      const char *alt_name)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x509 = X509_new();
    BIO *cert = BIO_new(BIO_s_mem());
    BIO *private_key = BIO_new(BIO_s_mem());
    X509_NAME *name = X509_get_subject_name(x509);

    must(key && cert && private_key);
    must(X509_set_version(x509, X509_VERSION_3) == 1);
    must(ASN1_INTEGER_set(X509_get_serialNumber(x509), 1) == 1);
    must(X509_gmtime_adj(X509_getm_notBefore(x509), -3600) != NULL);
    must(X509_gmtime_adj(X509_getm_notAfter(x509), 86400) != NULL);
    must(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)common_name,
                                    -1, -1, 0) == 1);
    must(X509_set_issuer_name(x509, name) == 1);
    must(X509_set_pubkey(x509, key) == 1);
    add_extension(x509, NID_basic_constraints, "critical,CA:TRUE");
    if (alt_name)
        add_extension(x509, NID_subject_alt_name, alt_name);
    must(X509_sign(x509, key, EVP_sha256()) > 0);
    must(PEM_write_bio_X509(cert, x509) == 1);
    must(PEM_write_bio_PrivateKey(private_key, key, NULL, NULL, 0, NULL, NULL) == 1);
    certificate->cert_pem = take_text(cert);
    certificate->key_pem = take_text(private_key);
    X509_free(x509);
    EVP_PKEY_free(key);
}

void certificate_done(struct certificate *certificate)
{
    free(certificate->cert_pem);
    free(certificate->key_pem);
    *certificate = (struct certificate){0};
}
