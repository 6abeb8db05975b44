/* SPDX-License-Identifier: Apache-2.0 */
/* A status page about objects of watches, each of which is one row: for commands whose objects say
 * in their status what the page shows. It is fed with the events of the watches and knows nothing
 * else of the command. Details are read from the API server when they are asked for. */
#pragma once

#include <stdbool.h>

#include "common/base/loop.h"
#include "common/kube/client.h"
#include "common/kube/watch.h"
#include "deployer/page/page.h"
#include "deployer/serve/server.h"

/* One for each kind of the page, in the same order. */
struct watched_kind {
    struct kube_resource resource;
    /* Fills what the object says; row->name is filled already. Texts are borrowed from the object
     * or from scratch. */
    void (*read)(void *data, const json_t *object, struct row *row, char scratch[ROWS_TEXT_MAX]);
    /* The document of page_detail_answer(). New reference. */
    json_t *(*describe)(void *data, const json_t *object);
    void (*forget)(void *data, const char *name); /* the object is gone; may be NULL */
};

struct watched_options {
    struct loop *loop;
    struct kube *kube;
    const char *namespace_name; /* of all objects; NULL: they have none */
    bool is_authenticated;
    const char *program;
    const struct page_kind *kinds;
    const struct watched_kind *watched;
    size_t kind_count;
    bool (*is_leader)(const void *command);
    const void *command; /* for is_leader */
    void *data;          /* for read and describe */
};

struct watched_page;

/* All of options and the server are borrowed. */
struct watched_page *watched_page_new(const struct watched_options *options, struct server *server);
/* The same for the option --ui: mode is "off", "on", or "token" for authentication, which replaces
 * is_authenticated. NULL for "off", and if there is no server, which is logged. */
struct watched_page *watched_page_open(struct watched_options *options, const char *mode,
                                       struct server *server);
bool watched_page_is_authenticated(const char *mode);
/* After server_free(). NULL is fine. */
void watched_page_free(struct watched_page *page);
/* An event of the watch on this kind. page may be NULL. */
void watched_page_event(struct watched_page *page, size_t kind, enum kube_event event,
                        const json_t *object);

/* ---- For read() and describe() ---- */

int64_t watched_time(const json_t *object, const char *path);       /* 0: none */
const char *watched_label(const json_t *object, const char *label); /* "": none */
const char *watched_untrue(const json_t *conditions);               /* type of the first that is
                                                                     * not true; "": none */
