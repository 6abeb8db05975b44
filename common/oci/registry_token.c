/* SPDX-License-Identifier: Apache-2.0 */
/* Authorization of calls: credentials, challenges and bearer tokens. Calls that need the same token
 * share one request. */
#include <string.h>

#include "common/base/memory.h"
#include "common/oci/registry_internal.h"

struct registry_token {
    struct registry_token *next;
    struct registry *registry;
    struct registry_host *host;
    char *scope;
    const struct credential *credential; /* used to get it; NULL: anonymous */
    char *value;                         /* NULL: not received yet */
    uint64_t expires_ms;
    struct http_call *http;
    bool is_refresh; /* the current request uses an identity token (OAuth2) */
    bool is_refresh_unknown;
    struct registry_call *waiters;
};

static void token_free(struct registry_token *token)
{
    http_cancel(token->http);
    wipe_free(token->value);
    free(token->scope);
    free(token);
}

void registry_tokens_free(struct registry_host *host)
{
    while (host->tokens) {
        struct registry_token *token = host->tokens;

        host->tokens = token->next;
        token_free(token);
    }
}

const struct credential *registry_credential(const struct registry *registry,
                                             const struct registry_host *host,
                                             const char *repository)
{
    return registry->keyring ? keyring_find(registry->keyring, host->name, repository) : NULL;
}

void registry_token_forget_waiter(struct registry_call *call)
{
    struct registry_call **place = NULL;

    if (!call->waits_for)
        return;
    place = &call->waits_for->waiters;
    while (*place && *place != call)
        place = &(*place)->next_waiter;
    if (*place)
        *place = call->next_waiter;
    call->waits_for = NULL;
}

/* Continues or fails all waiting calls. */
static void token_settled(struct registry_token *token, const struct error *err)
{
    while (token->waiters) {
        struct registry_call *call = token->waiters;

        token->waiters = call->next_waiter;
        call->waits_for = NULL;
        if (err)
            registry_call_fail(call, err);
        else
            registry_call_send(call, token->value, NULL);
    }
}

static void token_start(struct registry_token *token);

/* 0 for a success status, otherwise the error. */
static int judge_answer(struct registry_token *token, const struct http_response *response,
                        struct error *err)
{
    int status = response->status;

    if (status >= 200 && status < 300)
        return 0;
    if (status == 401 || status == 403 || status == 400)
        (void)error_set(err, ERROR_DENIED,
                        token->credential
                            ? "the token server of registry \"%s\" rejected the credentials (%d)"
                            : "the token server of registry \"%s\" rejected anonymous access (%d)",
                        token->host->name, status);
    else if (status == 408 || status == 429 || status >= 500)
        (void)error_set(err, ERROR_TEMPORARY,
                        "the token server of registry \"%s\" responded with %d", token->host->name,
                        status);
    else
        (void)error_set(err, ERROR_INVALID, "the token server of registry \"%s\" responded with %d",
                        token->host->name, status);
    err->http_status = status;
    err->retry_after_ms = http_retry_after_ms(response, REGISTRY_RETRY_AFTER_MAX_MS);
    return -1;
}

static void on_token(void *data, const struct http_response *response, const struct error *err)
{
    struct registry_token *token = data;
    struct registry *registry = token->registry;
    struct error failure = {0};
    uint64_t life_ms = 0;

    token->http = NULL;
    if (err->kind != ERROR_NONE) {
        failure = *err;
        (void)error_wrap(&failure, "token server of registry \"%s\"", token->host->name);
        token_settled(token, &failure);
        return;
    }
    /* 404 and 405: the server does not support OAuth2. Retry with the older GET request. */
    if (token->is_refresh && (response->status == 404 || response->status == 405)) {
        token->is_refresh_unknown = true;
        token_start(token);
        return;
    }
    if (judge_answer(token, response, &failure) < 0 ||
        auth_parse_token(response->body->data ? response->body->data : "", response->body->size,
                         &token->value, &life_ms, &failure) < 0) {
        token_settled(token, &failure);
        return;
    }
    /* Expire it early, so that it is still valid when a request arrives. */
    token->expires_ms = loop_now_ms(registry->loop) + life_ms - life_ms / 10;
    token_settled(token, NULL);
}

static int send_token_request(struct registry_token *token, struct error *err)
{
    struct registry_host *host = token->host;
    const struct credential *credential = token->credential;
    bool has_identity = credential && credential->identity_token && *credential->identity_token;
    cleanup_realm struct realm realm = {0};
    cleanup_free char *url = NULL;
    cleanup_wipe char *form = NULL;
    struct http_header header = {"Content-Type", "application/x-www-form-urlencoded"};
    struct http_request request = {.method = "GET",
                                   .body_max = TOKEN_ANSWER_MAX_BYTES,
                                   .redirects_max = REGISTRY_REDIRECTS_MAX,
                                   .is_plain_http_allowed = host->is_plain,
                                   .total_timeout_ms = REGISTRY_STALL_MS,
                                   .on_done = on_token,
                                   .data = token};

    if (auth_check_realm(host->realm, host->name, host->is_plain, &realm, err) < 0)
        return -1;
    request.tls = auth_is_realm_of(host->contact, realm.host) ? &host->tls : &token->registry->tls;
    token->is_refresh = has_identity && !token->is_refresh_unknown;
    if (token->is_refresh) {
        form = auth_refresh_form(host->service, token->scope, credential->identity_token);
        url = xstrdup(host->realm);
        request.method = "POST";
        request.headers = &header;
        request.header_count = 1;
        request.body = form;
        request.body_size = strlen(form);
        request.redirects_max = 0; /* the body contains the secret */
    } else {
        url = auth_token_url(host->realm, host->service, token->scope);
        if (credential && credential->username) {
            request.basic_user = credential->username;
            request.basic_password = has_identity           ? credential->identity_token
                                     : credential->password ? credential->password
                                                            : "";
        }
    }
    request.url = url;
    return http_start(token->registry->http, &request, &token->http, err);
}

static void token_start(struct registry_token *token)
{
    struct error err = {0};

    wipe_free(token->value);
    token->value = NULL;
    if (send_token_request(token, &err) < 0)
        token_settled(token, &err);
}

static struct registry_token *find_token(struct registry_call *call, const char *scope,
                                         const struct credential *credential)
{
    struct registry_host *host = call->host;
    struct registry_token *token = NULL;

    for (token = host->tokens; token; token = token->next) {
        if (token->credential == credential && strcmp(token->scope, scope) == 0)
            return token;
    }
    token = xcalloc(1, sizeof(*token));
    token->registry = call->registry;
    token->host = host;
    token->scope = xstrdup(scope);
    token->credential = credential;
    token->next = host->tokens;
    host->tokens = token;
    return token;
}

/* The credentials for the realm: those of the registry only if it is in the same domain. */
static const struct credential *credential_for_realm(struct registry_call *call)
{
    const struct registry *registry = call->registry;
    const struct credential *own = registry_credential(registry, call->host, call->repository);
    cleanup_realm struct realm realm = {0};
    struct error ignored = {0};

    call->is_realm_foreign = false;
    if (!own || auth_parse_realm(call->host->realm, &realm, &ignored) < 0 ||
        auth_is_realm_of(call->host->name, realm.host))
        return own;
    call->is_realm_foreign = true;
    return keyring_find_host(registry->keyring, realm.host);
}

static void authorize_by_token(struct registry_call *call)
{
    const struct credential *own =
        registry_credential(call->registry, call->host, call->repository);
    cleanup_free char *usual = xasprintf("repository:%s:pull", call->repository);
    struct registry_token *token = NULL;

    call->is_authorized = true;
    if (own && own->registry_token && *own->registry_token) {
        registry_call_send(call, own->registry_token, NULL);
        return;
    }
    token = find_token(call, call->wanted_scope ? call->wanted_scope : usual,
                       credential_for_realm(call));
    if (token->value && loop_now_ms(call->registry->loop) < token->expires_ms) {
        registry_call_send(call, token->value, NULL);
        return;
    }
    call->waits_for = token;
    call->next_waiter = token->waiters;
    token->waiters = call;
    if (!token->http)
        token_start(token);
}

void registry_authorize(struct registry_call *call)
{
    switch (call->host->scheme) {
    case ACCESS_ANONYMOUS:
        call->is_authorized = false;
        registry_call_send(call, NULL, NULL);
        return;
    case ACCESS_BASIC: {
        const struct credential *credential =
            registry_credential(call->registry, call->host, call->repository);

        call->is_authorized = credential && credential->username;
        registry_call_send(call, NULL, call->is_authorized ? credential : NULL);
        return;
    }
    case ACCESS_BEARER:
        authorize_by_token(call);
        return;
    }
}

static void drop_token(struct registry_call *call)
{
    for (struct registry_token *token = call->host->tokens; token; token = token->next) {
        if (!token->http && token->value)
            token->expires_ms = 0;
    }
}

static int denied(const struct registry_call *call, const char *why, struct error *err)
{
    (void)error_set(err, ERROR_DENIED, "access to \"%s/%s\" is denied: %s", call->host->name,
                    call->repository, why);
    err->http_status = 401;
    return -1;
}

static const char *why_refused(const struct registry_call *call)
{
    if (call->is_realm_foreign)
        return "the registry refers to a token server of another domain, which is not sent the "
               "credentials; add an entry for that host to the pull secret if it can be trusted";
    if (!registry_credential(call->registry, call->host, call->repository))
        return "no credentials configured for it";
    return "the registry rejected the credentials";
}

bool registry_learn_challenge(struct registry_call *call, const struct http_response *response,
                              struct error *err)
{
    struct registry_host *host = call->host;
    cleanup_challenge struct challenge challenge = {0};
    const char *header = NULL;

    for (size_t i = 0; (header = http_response_header_at(response, "WWW-Authenticate", i)); i++)
        challenge_add(&challenge, header);
    if (call->is_authorized && call->authorizations >= REGISTRY_AUTHORIZATIONS_MAX) {
        (void)denied(call, why_refused(call), err);
        return false;
    }
    call->authorizations++;
    if (challenge.realm) {
        host->scheme = ACCESS_BEARER;
        free(host->realm);
        free(host->service);
        free(call->wanted_scope);
        host->realm = steal(&challenge.realm);
        host->service = steal(&challenge.service);
        call->wanted_scope = challenge.scope && *challenge.scope ? steal(&challenge.scope) : NULL;
        drop_token(call);
        return true;
    }
    if (challenge.is_basic) {
        const struct credential *credential =
            registry_credential(call->registry, host, call->repository);

        if (!credential || !credential->username) {
            (void)denied(
                call,
                "the registry requires a user name and password, and none are configured for it",
                err);
            return false;
        }
        host->scheme = ACCESS_BASIC;
        return true;
    }
    (void)denied(call, "the registry offers no supported authentication scheme", err);
    return false;
}
