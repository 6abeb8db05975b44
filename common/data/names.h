/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes' rules for names and labels, and names of our own that never collide. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

enum { NAME_MAX_LABEL = 63, NAME_MAX_SUBDOMAIN = 253, NAME_HASH_SIZE = 17 };

bool name_is_dns_label(const char *text);     /* RFC 1123, at most 63 */
bool name_is_dns_subdomain(const char *text); /* at most 253 */
bool name_is_label_value(const char *text);   /* empty is fine */
bool name_is_label_key(const char *text);     /* [prefix/]name */

/* 16 lower-case hex characters of sha256("namespace/name"): tells a-b/c from a/b-c. */
void name_hash(const char *namespace_name, const char *name, char ret_hash[NAME_HASH_SIZE]);

/* "<readable start of name>-<hash>[suffix]", a DNS label of at most max characters. */
char *name_make(const char *namespace_name, const char *name, const char *suffix, size_t max);

/* The text itself where it is a legal label value, else a legal readable start + "_" + hash of the
 * whole, which no object can have as its name. Belongs to the caller. */
char *name_label_value(const char *text);
