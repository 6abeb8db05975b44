/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a configuration. Private to common/kube. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/kube/config.h"

enum { KUBE_CONFIG_MAX = 1024 * 1024, KUBE_TOKEN_MAX = 64 * 1024 };

struct kube_config {
    char *server;             /* without a slash at the end */
    char *ca_pem;             /* NULL: the CA bundle of the system */
    char *cert_pem, *key_pem; /* both or none */
    char *token, *token_file; /* the file takes precedence */
    char *user, *password;
    char *server_name;
    bool is_insecure;
    bool is_in_cluster; /* the service account of this pod */
    size_t shares;      /* kube_config_share() */
};

/* kubeconfig.c: from a parsed kubeconfig whose file names are absolute. Fails if it names files and
 * they are not allowed. */
int kube_config_from_doc(const json_t *doc, bool are_files_allowed, struct kube_config **ret_config,
                         struct error *err) must_check;
/* Makes the file names in doc absolute; relative ones are relative to directory. */
void kube_config_anchor_files(json_t *doc, const char *directory);

/* config.c: the content of a token file without surrounding white space. */
int kube_config_read_token(const char *path, char **ret_token, struct error *err) must_check;
/* Checks the server's URL, and that credentials are not sent over http://. */
int kube_config_check(const struct kube_config *config, struct error *err) must_check;
