/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/token.h"

#include <errno.h>
#include <sys/stat.h>

#include "common/base/memory.h"
#include "common/kube/config_internal.h"

void kube_token_init(struct kube_token *token, const char *text, const char *file)
{
    *token = (struct kube_token){.file = file, .text = file ? NULL : xstrdup_or_null(text)};
}

void kube_token_done(struct kube_token *token)
{
    wipe_free(token->text);
    *token = (struct kube_token){0};
}

static bool is_current(const struct kube_token *token, const struct stat *info, uint64_t now_ms)
{
    return token->text && !token->is_stale && now_ms - token->read_ms < KUBE_TOKEN_PERIOD_MS &&
           info->st_dev == token->device && info->st_ino == token->inode &&
           info->st_mtim.tv_sec == token->changed.tv_sec &&
           info->st_mtim.tv_nsec == token->changed.tv_nsec;
}

int kube_token_get(struct kube_token *token, uint64_t now_ms, const char **ret_text,
                   struct error *err)
{
    struct stat info = {0};
    struct error problem = {0};
    char *text = NULL;

    if (token->file) {
        if (stat(token->file, &info) < 0)
            (void)error_set_errno(&problem, errno, "token file \"%s\"", token->file);
        else if (!is_current(token, &info, now_ms) &&
                 kube_config_read_token(token->file, &text, &problem) < 0)
            text = NULL; /* it may be in the process of being replaced: keep the old one */
    }
    if (text) {
        wipe_free(token->text);
        token->text = text;
        token->device = info.st_dev;
        token->inode = info.st_ino;
        token->changed = info.st_mtim;
        token->read_ms = now_ms;
        token->is_stale = false;
    } else if (problem.kind != ERROR_NONE && !token->text) {
        *err = problem;
        return -1;
    }
    *ret_text = token->text;
    return 0;
}
