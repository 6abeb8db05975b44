/* SPDX-License-Identifier: Apache-2.0 */
/* The text formats of our documents, for the tables of rules.h. */
#pragma once

#include "deployer/validation/rules.h"

extern const struct text_format FORMAT_IMAGE;           /* an image reference */
extern const struct text_format FORMAT_NAME;            /* of a Kubernetes object */
extern const struct text_format FORMAT_LABEL_KEY;       /* [prefix/]name */
extern const struct text_format FORMAT_LABEL_VALUE;     /* may be empty */
extern const struct text_format FORMAT_DURATION;        /* of Go; at least rule->min ms */
extern const struct text_format FORMAT_TIMEOUT;         /* a duration from 0, or "none" */
extern const struct text_format FORMAT_INTERVAL;        /* a duration above 0 */
extern const struct text_format FORMAT_CRON;            /* five fields, or @daily ... */
extern const struct text_format FORMAT_QUANTITY;        /* "500m", "1Gi"; also of numbers */
extern const struct text_format FORMAT_RESOURCE_NAME;   /* cpu, memory, domain/name ... */
extern const struct text_format FORMAT_ENV_NAME;        /* not one that the deployer sets */
extern const struct text_format FORMAT_FILE_NAME;       /* without a directory; a Secret key */
extern const struct text_format FORMAT_PROGRAM;         /* one program, without arguments */
extern const struct text_format FORMAT_COMPONENT_NAME;  /* "example.com/acme/app" */
extern const struct text_format FORMAT_VERSION;         /* relaxed semver */
extern const struct text_format FORMAT_REPOSITORY_TYPE; /* of a repository context */

/* Variables that the deployer sets itself, so that an item must not. NULL at the end. All names
 * that start with RESERVED_ENV_PREFIX are reserved, too. */
extern const char *const RESERVED_ENV[];
#define RESERVED_ENV_PREFIX "LONGSHORE_"
