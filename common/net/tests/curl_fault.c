/* SPDX-License-Identifier: Apache-2.0 */
/* Makes functions of libcurl fail on request, see base/tests/fault.h. Link the test with
 * WRAP ${LONGSHORE_FAULT_FUNCTIONS} ${LONGSHORE_CURL_FUNCTIONS}. */
#include <curl/curl.h>
#include <stdarg.h>

#include "common/base/tests/fault.h"

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker wants these names. */
/* Each option has one value, not wider than a pointer. */
#define WRAP_SETOPT(result_, failed_, function_, handle_, option_)                                 \
    result_ __real_##function_(handle_ *handle, option_ option, ...);                              \
    result_ __wrap_##function_(handle_ *handle, option_ option, ...);                              \
    result_ __wrap_##function_(handle_ *handle, option_ option, ...)                               \
    {                                                                                              \
        va_list arguments;                                                                         \
        void *value = NULL;                                                                        \
                                                                                                   \
        va_start(arguments, option);                                                               \
        value = va_arg(arguments, void *);                                                         \
        va_end(arguments);                                                                         \
        return fault_occurs(#function_) ? (failed_) : __real_##function_(handle, option, value);   \
    }

WRAP_SETOPT(CURLcode, CURLE_UNKNOWN_OPTION, curl_easy_setopt, CURL, CURLoption)
WRAP_SETOPT(CURLMcode, CURLM_UNKNOWN_OPTION, curl_multi_setopt, CURLM, CURLMoption)

CURLMcode __real_curl_multi_add_handle(CURLM *multi, CURL *easy);
CURLMcode __wrap_curl_multi_add_handle(CURLM *multi, CURL *easy);
CURLMcode __wrap_curl_multi_add_handle(CURLM *multi, CURL *easy)
{
    return fault_occurs("curl_multi_add_handle") ? CURLM_INTERNAL_ERROR
                                                 : __real_curl_multi_add_handle(multi, easy);
}

CURLcode __real_curl_global_init(long flags);
CURLcode __wrap_curl_global_init(long flags);
CURLcode __wrap_curl_global_init(long flags)
{
    return fault_occurs("curl_global_init") ? CURLE_FAILED_INIT : __real_curl_global_init(flags);
}
/* NOLINTEND(bugprone-reserved-identifier) */
