/* SPDX-License-Identifier: Apache-2.0 */
/* A fake registry: HTTP/1.1 on loopback, on the same loop as the client; the test provides the
 * responses. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/loop.h"

enum { FAKE_TEXT_MAX = 4096 };

struct fake_request {
    char method[16];
    char path[FAKE_TEXT_MAX];          /* with the query */
    char authorization[FAKE_TEXT_MAX]; /* "" where the header is missing, as for the others */
    char range[256], accept[FAKE_TEXT_MAX], host[256];
    char body[FAKE_TEXT_MAX];
};

struct fake_answer {
    int status;
    const char *headers; /* "Name: value\r\n" lines */
    const char *body;
    size_t size;
    bool is_cut; /* after cut bytes of the body the connection ends */
    size_t cut;
    bool is_dropped; /* no answer at all */
};

/* The answer is 200 with an empty body unless it is changed. */
typedef void fake_fn(void *data, const struct fake_request *request, struct fake_answer *answer);

struct fake_registry;

struct fake_registry *fake_registry_new(struct loop *loop, fake_fn *on_request, void *data);
void fake_registry_free(struct fake_registry *registry);
int fake_registry_port(const struct fake_registry *registry);
