/* SPDX-License-Identifier: Apache-2.0 */
/* What a configuration holds; for the files of kube/ and nobody else. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/kube/config.h"

enum { KUBE_CONFIG_MAX = 1024 * 1024, KUBE_TOKEN_MAX = 64 * 1024 };

struct kube_config {
    char *server; /* no slash at the end */
    char *namespace_name;
    char *ca_pem;             /* NULL: the system's bundle */
    char *cert_pem, *key_pem; /* both or none */
    char *token, *token_file; /* the file goes before */
    char *user, *password;
    char *server_name;
    bool is_insecure;
};

/* kubeconfig.c: from a parsed kubeconfig whose file names are absolute. Names of files are refused
 * unless are_files_allowed. */
int kube_config_from_doc(const json_t *doc, const char *context, bool are_files_allowed,
                         struct kube_config **ret_config, struct error *err) must_check;
/* Makes the names of files in doc absolute: those that are not are relative to directory. */
void kube_config_anchor_files(json_t *doc, const char *directory);

/* config.c: the text of a token file, without the white space around it. */
int kube_config_read_token(const char *path, char **ret_token, struct error *err) must_check;
/* Checks what must fit together (scheme, both halves of a pair, credentials need https). */
int kube_config_check(const struct kube_config *config, struct error *err) must_check;
