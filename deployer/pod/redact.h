/* SPDX-License-Identifier: Apache-2.0 */
/* Redaction: the output of a program can contain its inputs (credentials, imports) and its state.
 * struct redaction collects these values; pod/mask.h removes them from text before it becomes part
 * of a status. If the state can't be read, only the output of main is dropped, since the other
 * containers do not have it. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Redacting shorter values would make most logs unreadable. REDACT_VALUES_MAX bounds the work for
 * inputs (at most 1 MiB) that consist of very many values. */
enum { REDACT_LENGTH_MIN = 6, REDACT_DIGITS_MIN = 6, REDACT_VALUES_MAX = 256 * 1024 };

/* The values to redact; items ends with NULL. Zeroed memory is an empty list that is not known to
 * be complete. */
struct redaction {
    char **items;
    size_t count, capacity;
    bool is_known;       /* all inputs were read; set by the caller */
    bool is_state_known; /* the state was read, possibly only in part (is_state_incomplete) */
    bool is_incomplete;  /* some inputs can't be redacted: too many, too deep, invalid base64 */
    bool is_state_incomplete; /* part of the state can't be redacted: too large, damaged, missing */
};

/* Adds the values in a Secret's data: strings and longer numbers, also inside JSON, YAML and
 * base64; the lines of longer texts; of programs and command lines what may be a secret
 * (secret_finder.h). */
void redaction_add_secret(struct redaction *redaction, const json_t *secret);
/* Adds the values in a text file of the state. */
void redaction_add_state_text(struct redaction *redaction, const char *text, size_t size);
/* Removes values that may be shown: a text, the images of a pod. */
void redaction_exempt(struct redaction *redaction, const char *shown);
void redaction_exempt_images(struct redaction *redaction, const json_t *pod);
void redaction_done(struct redaction *redaction); /* wipes them */

/* The redacted output of main, which belongs to the caller. NULL if the secrets are not known. A
 * placeholder if not everything can be redacted. */
char *redaction_apply(const struct redaction *redaction, const char *text);
/* Whether the output of main may be shown. */
bool redaction_is_complete(const struct redaction *redaction);

/* A copy of a pod (new reference) with redacted messages of the containers and the kubelet. If the
 * secrets are not known, messages of and about main and of injected containers are removed. */
json_t *redaction_apply_to_pod(const json_t *pod, const struct redaction *redaction);
/* Whether the status of a pod contains messages that must be redacted. Messages of injected
 * containers that have ended do not count: they are used only if they are the cause of a failure.
 */
bool redaction_is_needed(const json_t *pod);
/* Whether main has started, so that it can have printed anything. */
bool redaction_has_main_started(const json_t *pod);
