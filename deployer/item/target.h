/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves a Target to the file at TARGET_PATH, and checks its content. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "common/base/buffer.h"
#include "common/base/error.h"

/* The name of the Secret that a Target refers to, in its own namespace; NULL if it refers to none.
 * Borrowed. */
const char *target_secret_name(const json_t *target);

/* The content: the bytes of the Secret's key, or the whole Secret as a JSON object whose values are
 * parsed as YAML, or the text of spec.config, or "". secret is NULL if the target names none. Fails
 * with ERROR_INVALID (missing key, invalid data); messages name keys, but never contain values. */
int target_content(const json_t *target, const json_t *secret, struct buffer *ret_content,
                   struct error *err) must_check;

/* target.json: {"target": {apiVersion, kind, metadata, spec}, "content": "..."}; "null" without a
 * target. Metadata and spec are as read. Belongs to the caller, wipe_free() it. */
char *target_document(const json_t *target, const char *content, size_t size);

/* Checks the kubeconfig in the content, if there is one. ERROR_INVALID if it can't be parsed, or if
 * it would make its user open files, run programs or impersonate: client-certificate, client-key,
 * tokenFile, as, auth-provider, exec. */
int target_validate(const char *content, size_t size, struct error *err) must_check;
