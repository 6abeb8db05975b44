/* SPDX-License-Identifier: Apache-2.0 */
/* A resolved target: what main finds at TARGET_PATH, and what a target may not contain. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "common/base/buffer.h"
#include "common/base/error.h"

/* The Secret that a Target refers to (in its own namespace); NULL if it holds its config itself.
 * Borrowed. */
const char *target_secret_name(const json_t *target);

/* The content: the raw bytes of the Secret's key, or the whole Secret as a JSON object whose values
 * were read as YAML, or the text of spec.config, or "". secret is NULL where the target names none.
 * Fails with ERROR_INVALID (no such key, no text, no data); texts name keys, never values. */
int target_content(const json_t *target, const json_t *secret, struct buffer *ret_content,
                   struct error *err) must_check;

/* target.json: {"target": {apiVersion, kind, metadata, spec}, "content": "..."}; "null" without a
 * target. Metadata and spec are as read. Belongs to the caller, wipe_free() it. */
char *target_document(const json_t *target, const char *content, size_t size);

/* The kubeconfig in the content, if there is one, must load and must not make its reader open
 * files, run programs or be someone else: client-certificate, client-key, tokenFile, impersonation,
 * auth-provider, exec are ERROR_INVALID. */
int target_validate(const char *content, size_t size, struct error *err) must_check;
