/* SPDX-License-Identifier: Apache-2.0 */
/* How to reach an API server: from a kubeconfig or from the pod's service account. */
#pragma once

#include <stdbool.h>

#include "common/base/error.h"
#include "common/data/digest.h"
#include "common/data/names.h"

struct kube_config;

/* Reads the current context of a kubeconfig. Supported: CA, client certificate and key, inline or
 * as files relative to the kubeconfig; token, tokenFile, user and password, tls-server-name,
 * insecure-skip-tls-verify. ERROR_INVALID for exec, auth-provider and proxy-url, and for
 * credentials with an http:// server. On success *ret_config belongs to the caller. */
int kube_config_from_file(const char *path, struct kube_config **ret_config, struct error *err)
    must_check;
/* The same for a kubeconfig from an untrusted source, such as a Secret: names of files are refused.
 */
int kube_config_from_text(const char *text, struct kube_config **ret_config, struct error *err)
    must_check;
/* The service account of a pod: KUBERNETES_SERVICE_HOST and _PORT, with token and ca.crt in
 * directory (NULL: PATH_SERVICE_ACCOUNT). The client reads the token again when the file changes.
 * ERROR_NOT_FOUND if this is not a pod or no token is mounted. */
int kube_config_in_cluster(const char *directory, struct kube_config **ret_config,
                           struct error *err) must_check;
/* Looks where the Go deployer looks: path if given, else $KUBECONFIG, else the service account,
 * else
 * ~/.kube/config. */
int kube_config_default(const char *path, struct kube_config **ret_config, struct error *err)
    must_check;

void kube_config_free(struct kube_config *config);
define_cleanup(struct kube_config *, kube_config_free)
#define cleanup_kube_config __attribute__((cleanup(kube_config_freep)))

/* Identifies the cluster: 16 hex characters of a hash of server and CA. */
void kube_config_hash(const struct kube_config *config, char ret_hash[NAME_HASH_SIZE]);
enum { KUBE_IDENTITY_SIZE = 64 + 1 };
/* Hex of a hash of everything that decides which server is reached and how it is verified and, if
 * has_credentials, as whom. Not for messages: it is derived from secrets. */
void kube_config_identity(const struct kube_config *config, bool has_credentials,
                          char ret_identity[KUBE_IDENTITY_SIZE]);
/* A kubeconfig of it with everything inline, which contains credentials. A token file is read.
 * Belongs to the caller, wipe_free() it. */
int kube_config_text(const struct kube_config *config, char **ret_text, struct error *err)
    must_check;
/* Address and verification of the server. Borrowed. */
struct kube_server_address {
    const char *url;         /* without a slash at the end */
    const char *ca_pem;      /* NULL: the CA bundle of the system */
    const char *server_name; /* NULL: that of the URL */
    bool is_insecure;
};
struct kube_server_address kube_config_address(const struct kube_config *config);
/* The token, also from a file. *ret_token belongs to the caller, who frees it with wipe_free();
 * NULL: there are other credentials or none. */
int kube_config_token(const struct kube_config *config, char **ret_token, struct error *err)
    must_check;
/* The same configuration, which is freed when everybody who has it has freed it. It never changes:
 * a process with thousands of clusters needs each only once. */
struct kube_config *kube_config_share(struct kube_config *config);
struct kube_config *kube_config_copy(const struct kube_config *config);
/* A configuration of the same server and CA with a token instead of its credentials. */
struct kube_config *kube_config_with_token(const struct kube_config *config, const char *token);
