/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the API server in api_bench.h share. Only for api_*.c. */
#pragma once

#include "common/apply/tests/api_bench.h"

enum { API_LINE_MAX = 2048 };

#define API_CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"

struct api_request {
    char method[16];
    char path[API_LINE_MAX];  /* without the query */
    char query[API_LINE_MAX]; /* decoded */
    bool is_apply;
    json_t *body;
};

/* api_server.c */
struct api_request api_request_parse(const char *text);
/* The value of a query parameter, or NULL. Belongs to the caller. */
char *api_request_parameter(const struct api_request *request, const char *name);
void api_server_on_request(void *data, struct loopback_connection *connection, const char *text);

/* api_store.c */
bool api_is_in(const char *path, const char *collection);
bool api_matches(const json_t *object, const char *name, const char *label);
void api_send_event(const struct api_watcher *watcher, const json_t *entry);
/* Stores an object with a new version and tells the watches. Takes object over. */
void api_store(struct api_bench *bench, const char *path, json_t *object, const char *type);
/* Adds what a new object has. */
void api_complete(struct api_bench *bench, json_t *object);
void api_merge_patch(json_t *target, const json_t *patch); /* RFC 7386 */
