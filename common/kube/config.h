/* SPDX-License-Identifier: Apache-2.0 */
/* How to reach an API server: from a kubeconfig or from the pod's service account. */
#pragma once

#include "common/base/error.h"
#include "common/data/names.h"

struct kube_config;

/* A kubeconfig file or its text: current context, or the one named. Inline data and files (relative
 * to the file) for CA, client certificate and key, token, tokenFile, basic user, tls-server-name,
 * insecure-skip-tls-verify, proxy-url refused. exec and auth-provider are ERROR_INVALID with the
 * way out. A text can't name files: it may come from a Secret that somebody else wrote. Credentials
 * are refused with an http:// server. context may be NULL. */
int kube_config_from_file(const char *path, const char *context, struct kube_config **ret_config,
                          struct error *err) must_check;
int kube_config_from_text(const char *text, const char *context, struct kube_config **ret_config,
                          struct error *err) must_check;
/* KUBERNETES_SERVICE_HOST/PORT with token and ca.crt in directory (NULL: the contract's). The token
 * is read again when the file changes. ERROR_NOT_FOUND where this is no pod or no token is mounted.
 */
int kube_config_in_cluster(const char *directory, struct kube_config **ret_config,
                           struct error *err) must_check;
/* As the Go deployer looks: path if given, else $KUBECONFIG, else in-cluster, else ~/.kube/config.
 */
int kube_config_default(const char *path, struct kube_config **ret_config, struct error *err)
    must_check;

void kube_config_free(struct kube_config *config);
define_cleanup(struct kube_config *, kube_config_free)
#define cleanup_kube_config __attribute__((cleanup(kube_config_freep)))

const char *kube_config_server(const struct kube_config *config); /* "https://..." */
/* Tells clusters apart: 16 hex characters of a hash of server and CA. */
void kube_config_hash(const struct kube_config *config, char ret_hash[NAME_HASH_SIZE]);
const char *kube_config_namespace(const struct kube_config *config); /* NULL if none is given */
