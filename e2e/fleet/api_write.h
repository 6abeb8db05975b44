/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the API: what create, update, patch and apply have in common. */
#pragma once

#include "e2e/fleet/api.h"
#include "e2e/fleet/managed.h"

enum { API_BODY_MAX = 3 * 1024 * 1024 };

/* The body as an object of the kind of the request. -1: the response is made. */
int api_parse_object(const struct api_call *call, json_t **ret_object, struct reply *reply)
    must_check;
/* Who writes: the parameter fieldManager, or the program's name in the user agent. The manager
 * belongs to the caller. */
char *api_manager(const struct api_call *call);
struct managed_by api_managed_by(const struct api_call *call, const char *manager);

/* Creates the object, or responds with the reason why it cannot be created. is_applied:
 * managedFields are complete. */
void api_create_object(const struct api_call *call, json_t *object, bool is_applied,
                       struct reply *reply);
/* Replaces before by after, which may be changed. */
void api_change_object(const struct api_call *call, const json_t *before, json_t *after,
                       bool is_applied, struct reply *reply);
/* Responds with an object of the store. */
void api_reply_object(const struct api_call *call, int code, const struct record *record,
                      struct reply *reply);
void api_reply_invalid(const struct api_call *call, const char *name, json_t *causes,
                       struct reply *reply); /* takes causes over */
void api_reply_conflict(const struct api_call *call, const char *text, struct reply *reply);
