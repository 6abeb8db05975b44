/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "deployer/pod/pull_error.h"

#define RPC(code_) "rpc error: code = " code_ " desc = "
#define UNPACK "failed to pull and unpack image \"reg.example/a/b:1\": "
#define RESOLVE UNPACK "failed to resolve reference \"reg.example/a/b:1\": "
#define HEAD "Head \"https://reg.example/v2/a/b/manifests/1\": "
#define HEAD_STATUS                                                                                \
    "unexpected status from HEAD request to https://reg.example/v2/a/b/manifests/1: "
#define TOKEN_STATUS                                                                               \
    "failed to authorize: failed to fetch anonymous token: unexpected status from GET request to " \
    "https://auth.example/token?scope=repository%3Aa%2Fb%3Apull&service=reg.example: "
#define READ                                                                                       \
    "initializing source docker://reg.example/a/b:1: reading manifest 1 in reg.example/a/b: "
#define PING                                                                                       \
    "initializing source docker://reg.example/a/b:1: pinging container registry reg.example: Get " \
    "\"https://reg.example/v2/\": "
#define LIMIT                                                                                      \
    "toomanyrequests: You have reached your pull rate limit. You may increase the limit by "       \
    "authenticating and upgrading: https://www.docker.com/increase-rate-limit"

/* Messages of the kubelet for a failed pull, by runtime. Host names are replaced. */
static const struct {
    const char *runtime, *message;
    bool is_refused;
} pulls[] = {
    {"containerd 1.6, not found", RPC("NotFound") RESOLVE "reg.example/a/b:1: not found", true},
    {"containerd 1.6, blob not found",
     RPC("NotFound") UNPACK "failed to copy: httpReadSeeker: failed open: could not fetch content "
                            "descriptor sha256:e439 (application/vnd.oci.image.manifest.v1+json) "
                            "from remote: not found",
     true},
    {"containerd 1.6, unauthorized",
     RPC("Unknown") RESOLVE
     "pulling from host reg.example failed with status code [manifests 1]: 401 Unauthorized",
     true},
    {"containerd 1.6, forbidden",
     RPC("Unknown") RESOLVE
     "pulling from host reg.example failed with status code [manifests 1]: 403 Forbidden",
     true},
    {"containerd 1.6, token refused",
     RPC("Unknown") RESOLVE "failed to authorize: failed to fetch oauth token: unexpected status: "
                            "401 Unauthorized",
     true},
    {"containerd 1.6, denied",
     RPC("Unknown") RESOLVE "pull access denied, repository does not exist or may require "
                            "authorization: server message: insufficient_scope: authorization "
                            "failed",
     true},
    {"containerd 1.6, no credentials",
     RPC("Unknown") RESOLVE "pull access denied, repository does not exist or may require "
                            "authorization: authorization failed: no basic auth credentials",
     true},
    {"containerd 1.6, rate limited",
     RPC("Unknown") UNPACK "failed to copy: httpReadSeeker: failed open: unexpected status code "
                           "https://reg.example/v2/a/b/manifests/sha256:8d0b: 429 Too Many "
                           "Requests - Server message: " LIMIT,
     false},
    {"containerd 1.6, timeout",
     RPC("DeadlineExceeded") RESOLVE "failed to do request: " HEAD
                                     "dial tcp 192.0.2.1:443: i/o timeout",
     false},
    {"containerd 1.6, unknown host",
     RPC("Unknown") RESOLVE "failed to do request: " HEAD
                            "dial tcp: lookup reg.example on 127.0.0.53:53: no such host",
     false},
    {"containerd 1.6, certificate",
     RPC("Unknown") RESOLVE "failed to do request: " HEAD
                            "x509: certificate signed by unknown authority",
     false},
    {"containerd 1.6, refused",
     RPC("Unknown") RESOLVE "failed to do request: " HEAD
                            "dial tcp 192.0.2.1:443: connect: connection refused",
     false},
    {"containerd 1.7, not found", RPC("NotFound") RESOLVE "reg.example/a/b:1: not found", true},
    {"containerd 1.7, unauthorized", RPC("Unknown") RESOLVE HEAD_STATUS "401 Unauthorized", true},
    {"containerd 1.7, forbidden", RPC("Unknown") RESOLVE HEAD_STATUS "403 Forbidden", true},
    {"containerd 1.7, token refused", RPC("Unknown") RESOLVE TOKEN_STATUS "401 Unauthorized", true},
    {"containerd 1.7, token forbidden", RPC("Unknown") RESOLVE TOKEN_STATUS "403 Forbidden", true},
    {"containerd 1.7, denied",
     RPC("Unknown") RESOLVE "pull access denied, repository does not exist or may require "
                            "authorization: server message: insufficient_scope: authorization "
                            "failed",
     true},
    {"containerd 1.7, rate limited", RPC("Unknown") RESOLVE HEAD_STATUS "429 Too Many Requests",
     false},
    {"containerd 1.7, unavailable", RPC("Unknown") RESOLVE HEAD_STATUS "503 Service Unavailable",
     false},
    {"containerd 1.7, token unavailable", RPC("Unknown") RESOLVE TOKEN_STATUS "504 Gateway Timeout",
     false},
    {"containerd 1.7, token timeout",
     RPC("Unknown") RESOLVE "failed to authorize: failed to fetch anonymous token: Get "
                            "\"https://auth.example/token?scope=repository%3Aa%2Fb%3Apull\": "
                            "net/http: TLS handshake timeout",
     false},
    {"containerd 1.7, certificate",
     RPC("Unknown") RESOLVE "failed to do request: " HEAD
                            "tls: failed to verify certificate: x509: certificate signed by "
                            "unknown authority",
     false},
    {"containerd 1.7, timeout",
     RPC("DeadlineExceeded") RESOLVE "failed to do request: " HEAD
                                     "dial tcp 192.0.2.1:443: i/o timeout",
     false},
    {"containerd 1.7, unknown host",
     RPC("Unknown") RESOLVE "failed to do request: " HEAD
                            "dial tcp: lookup reg.example on 10.96.0.10:53: no such host",
     false},
    /* A kubelet since 1.32 repeats the cause while it backs off; an older one does not. */
    {"containerd 2.x, not found",
     "Back-off pulling image \"reg.example/a/b:1\": ErrImagePull: " RPC("NotFound") RESOLVE
     "reg.example/a/b:1: not found",
     true},
    {"containerd 2.x, unauthorized",
     "Back-off pulling image \"reg.example/a/b:1\": ErrImagePull: " RESOLVE HEAD_STATUS
     "401 Unauthorized",
     true},
    {"containerd 2.x, forbidden", RESOLVE HEAD_STATUS "403 Forbidden", true},
    {"containerd 2.x, token refused", RESOLVE TOKEN_STATUS "401 Unauthorized", true},
    {"containerd 2.x, denied",
     RESOLVE "pull access denied, repository does not exist or may require authorization: server "
             "message: insufficient_scope: authorization failed",
     true},
    {"containerd 2.x, rate limited",
     UNPACK "failed to copy: httpReadSeeker: failed open: unexpected status from GET request to "
            "https://reg.example/v2/a/b/manifests/sha256:8d0b: 429 Too Many "
            "Requests\ntoomanyrequests: You have reached your unauthenticated pull rate limit. "
            "https://www.docker.com/increase-rate-limit",
     false},
    {"containerd 2.x, timeout",
     RESOLVE "failed to do request: " HEAD "net/http: TLS handshake timeout", false},
    {"containerd 2.x, unknown host",
     RESOLVE "failed to do request: " HEAD "dial tcp: lookup reg.example: Try again", false},
    {"containerd 2.x, plain http",
     RESOLVE "failed to do request: " HEAD "http: server gave HTTP response to HTTPS client",
     false},
    {"containerd 2.x, certificate",
     RESOLVE "failed to do request: " HEAD
             "tls: failed to verify certificate: x509: certificate signed by unknown authority",
     false},
    {"any, back-off", "Back-off pulling image \"reg.example/a/b:1\"", false},
    {"CRI-O, not found", RPC("Unknown") READ "manifest unknown: manifest unknown", true},
    {"CRI-O, no such repository",
     RPC("Unknown") READ "name unknown: repository name not known to registry", true},
    {"CRI-O, denied", RPC("Unknown") READ "denied: requested access to the resource is denied",
     true},
    {"CRI-O, two errors",
     RPC("Unknown") READ "errors:\ndenied: requested access to the resource is "
                         "denied\nunauthorized: authentication required",
     true},
    {"CRI-O, unauthorized",
     RPC("Unknown") READ "unauthorized: access to the requested resource is not authorized", true},
    {"CRI-O, wrong password",
     RPC("Unknown") "unable to retrieve auth token: invalid username/password: unauthorized: "
                    "incorrect username or password",
     true},
    {"CRI-O, token forbidden",
     RPC("Unknown") "initializing source docker://reg.example/a/b:1: Requesting bearer token: "
                    "invalid status code from registry 403 (Forbidden)",
     true},
    {"CRI-O, token refused",
     RPC("Unknown") "Requesting bearer token: invalid status code from registry 401 (Unauthorized)",
     true},
    {"CRI-O, rate limited", RPC("Unknown") READ LIMIT, false},
    {"CRI-O, rate limited, mirror refuses",
     RPC("Unknown") "initializing source docker://reg.example/a/b:1: (Mirrors also failed: "
                    "[mirror.example/a/b:1: reading manifest 1 in mirror.example/a/b: "
                    "unauthorized: authentication required]): reg.example/a/b:1: reading manifest "
                    "1 in reg.example/a/b: toomanyrequests: You have reached your pull rate limit.",
     false},
    {"CRI-O, rate limited, ping", RPC("Unknown") PING "too many requests to registry", false},
    {"CRI-O, timeout", RPC("Unknown") PING "dial tcp 192.0.2.1:443: i/o timeout", false},
    {"CRI-O, unknown host",
     RPC("Unknown") PING "dial tcp: lookup reg.example on 10.96.0.10:53: no such host", false},
    {"CRI-O, certificate",
     RPC("Unknown") PING "tls: failed to verify certificate: x509: certificate signed by unknown "
                         "authority",
     false},
    /* Names that look like a response. */
    {"containerd 2.x, timeout of an image with a misleading name",
     "failed to pull and unpack image \"reg.example/unauthorized:1\": failed to resolve reference "
     "\"reg.example/unauthorized:1\": failed to do request: i/o timeout",
     false},
    {"CRI-O, timeout of an image with a misleading name",
     RPC("Unknown") "reading manifest 1 in reg.example/denied: i/o timeout", false},
};

static void only_an_answer_of_the_registry_is_a_refusal(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(pulls); i++) {
        if (pull_is_refused(pulls[i].message) != pulls[i].is_refused)
            fail_msg("%s: %s", pulls[i].runtime, pulls[i].is_refused ? "not refused" : "refused");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_an_answer_of_the_registry_is_a_refusal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
