/* SPDX-License-Identifier: Apache-2.0 */
/* One pair: describes its situation, decides, starts what has to be done, and remembers what is to
 * be reported. */
#include <string.h>

#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/registrations/conditions.h"
#include "deployer/registrations/kinds.h"
#include "deployer/registrations/manager.h"
#include "deployer/registrations/view.h"

/* The name that its objects have already, else a new one. Belongs to the caller. */
static char *name_of_pair(const struct environment_view *view, const struct candidate *candidate)
{
    struct manager *manager = view->manager;
    const char *known = known_owned_name(known_get(manager->owned, view->name, candidate->name));
    const char *release =
        doc_text(candidate->installation, "spec.importDataMappings." IMPORT_RELEASE_NAME);
    cleanup_free char *plain = NULL;
    const char *registration = NULL;
    const char *environment = NULL;
    const json_t *other = NULL;

    if (release && name_is_dns_subdomain(release))
        return xstrdup(release);
    if (known)
        return xstrdup(known);
    plain = pair_name(candidate->name, view->name, false);
    other = manager_find(manager, SOURCE_INSTALLATIONS, plain);
    if (!other)
        other = manager_find(manager, SOURCE_ACCOUNTS, plain);
    if ((other && pair_of_object(other, &registration, &environment) &&
         (strcmp(registration, candidate->name) != 0 || strcmp(environment, view->name) != 0)) ||
        pair_name_is_ambiguous(candidate->name, view->name,
                               manager->sources[SOURCE_REGISTRATIONS].objects,
                               manager->sources[SOURCE_ENVIRONMENTS].objects))
        return pair_name(candidate->name, view->name, true);
    return steal(&plain);
}

/* Identifies the jobs of the deployers that it needs: another one has become ready if it changes.
 * False: there are none. */
static bool hash_of_providers(const struct environment_view *view, size_t index,
                              char ret_hash[NAME_HASH_SIZE])
{
    cleanup_json json_t *jobs = json_object();
    cleanup_free char *text = NULL;

    for (size_t i = 0; i < view->count; i++) {
        const struct candidate *candidate = &view->candidates[i];
        const char *job = doc_text(candidate->installation, "status.jobIDFinished");

        for (const char **type = candidate->type_list; *type && job && i != index; type++) {
            for (const char **need = view->candidates[index].need_list; *need; need++) {
                if (strcmp(*type, *need) == 0)
                    (void)json_object_set_new(jobs, candidate->name, json_string(job));
            }
        }
    }
    text = doc_dump_sorted(jobs);
    name_hash("providers", text, ret_hash);
    return json_object_size(jobs) > 0;
}

static bool is_failed(const json_t *installation)
{
    return installation_is_finished(installation) &&
           strcmp(doc_text_or(installation, "status.phase", ""), PHASE_FAILED) == 0;
}

/* Describes an account, binding or Target of the pair's name: ours, somebody else's, or absent. */
static const json_t *find_owned(const struct environment_view *view, const struct pair *pair,
                                const struct candidate *candidate, enum source source,
                                struct pair_situation *situation)
{
    const json_t *object = manager_find(view->manager, source, pair->name);

    if (!object || pair_owns(pair, object, doc_text(candidate->installation, "metadata.uid")))
        return object;
    situation->is_name_taken = true;
    return NULL;
}

static void describe_access(const struct environment_view *view, struct pair *pair,
                            const struct candidate *candidate, struct pair_situation *situation)
{
    const json_t *binding = find_owned(view, pair, candidate, SOURCE_BINDINGS, situation);
    const json_t *target = find_owned(view, pair, candidate, SOURCE_TARGETS, situation);
    int64_t now = clock_unix_ms(loop_clock(view->manager->loop));
    int64_t renewal = target ? pair_renewal_unix_ms(target, now) : 0;
    uint64_t renewals = 0;

    situation->is_access_by_agent = pair_is_access_by_agent(view->environment);
    situation->has_account = find_owned(view, pair, candidate, SOURCE_ACCOUNTS, situation);
    situation->has_binding = binding;
    situation->is_binding_current = binding && pair_binding_is_current(pair, binding);
    situation->has_target = target;
    situation->is_target_current = target && pair_target_is_current(pair, target);
    situation->is_token_due = renewal > 0 && renewal <= now;
    if (number_parse(target && view_annotation(target, ANNOTATION_TOKEN_RENEWALS)
                         ? view_annotation(target, ANNOTATION_TOKEN_RENEWALS)
                         : "",
                     INT64_MAX, &renewals))
        pair->renewals = (int64_t)renewals;
    if (renewal > now && situation->has_target)
        loop_timer_start_at_latest(&view->manager->renewal_timer, (uint64_t)(renewal - now));
}

static void describe_job(const struct environment_view *view, size_t index,
                         struct pair_situation *situation, const char *providers,
                         bool has_providers)
{
    const json_t *installation = view->candidates[index].installation;
    const char *job = doc_text_or(installation, "status.jobID", "");
    const char *interrupted = view_annotation(installation, ANNOTATION_INTERRUPTED);
    const char *known = view_annotation(installation, ANNOTATION_PROVIDERS);

    situation->is_job_running =
        *job && strcmp(job, doc_text_or(installation, "status.jobIDFinished", "")) != 0;
    situation->is_interrupted = interrupted && strcmp(interrupted, job) == 0;
    /* An interrupted job continues, and one that found no deployer is repeated when there is one. A
     * job that failed for another reason is not repeated. */
    situation->is_retry_due =
        view->candidates[index].need_list[0] && is_failed(installation) &&
        situation->dependencies == GRAPH_FREE &&
        (situation->is_interrupted || (known ? strcmp(known, providers) != 0 : has_providers));
    situation->is_marked = view_annotation(installation, ANNOTATION_DELETE_WITHOUT_UNINSTALL);
}

/* What the status says about the pair. */
static void remember(const struct environment_view *view, size_t index,
                     const struct pair_decision *decision, const char *message,
                     const struct pair *pair)
{
    const struct candidate *candidate = &view->candidates[index];
    const struct pair_task *task = pair_task_find(view->manager, candidate->name, view->name);
    bool is_ready = view->deployers[index].is_ready && !candidate->is_leaving && !*decision->reason;
    const char *phase = is_ready                       ? "Ready"
                        : *decision->reason            ? decision->reason
                        : view->deployers[index].phase ? view->deployers[index].phase
                                                       : "Pending";
    cleanup_json json_t *result = result_make(
        candidate->installation ? doc_text_or(candidate->installation, "metadata.name", "")
                                : pair->name,
        phase, task && task->problem ? task->problem : message, is_ready,
        !candidate->is_leaving && view->is_accepted &&
            graph_is_blocked(view->graph.verdicts[index].state));
    json_t *all = json_object_get(view->manager->results, candidate->name);

    if (!all) {
        all = json_object();
        (void)json_object_set_new(view->manager->results, candidate->name, all);
    }
    if (json_equal(json_object_get(all, view->name), result))
        return;
    (void)json_object_set(all, view->name, result);
    report_touch(view->manager, 'r', candidate->name);
    report_touch(view->manager, 'e', view->name);
}

static void forget(const struct environment_view *view, const char *registration)
{
    json_t *all = json_object_get(view->manager->results, registration);

    if (json_object_del(all, view->name) == 0) {
        report_touch(view->manager, 'r', registration);
        report_touch(view->manager, 'e', view->name);
    }
    if (all && json_object_size(all) == 0)
        (void)json_object_del(view->manager->results, registration);
}

/* The message for a reason of a decision. Belongs to the caller. */
static char *message_of(const struct environment_view *view, size_t index,
                        const struct pair_situation *now, const char *reason,
                        const struct removal *removal, const char *name)
{
    const struct candidate *candidate = &view->candidates[index];

    if (strcmp(reason, "ServesItems") == 0)
        return xasprintf(
            "%zu DeployItems were deployed by this deployer and still exist; delete them "
            "first, or set the annotation " ANNOTATION_FORCE_REMOVAL ": \"true\"",
            now->items);
    if (strcmp(reason, "NameConflict") == 0)
        return xasprintf(
            "an account, ClusterRoleBinding or Target with the name %s exists and does not "
            "belong to this deployer; rename or delete it",
            name);
    if (strcmp(reason, "WaitingForAcceptance") == 0)
        return xstrdup("the environment is not accepted");
    if (strcmp(reason, "NotPrepared") == 0)
        return xstrdup(!candidate->is_valid ? "the registration is not valid"
                       : view->problem      ? view->problem
                                            : "the environment is not prepared yet");
    if (removal->message)
        return xstrdup(removal->message);
    if (view->graph.verdicts[index].message && !candidate->is_leaving)
        return xstrdup(view->graph.verdicts[index].message);
    return xstrdup(doc_text_or(candidate->installation, "status.lastError.message", ""));
}

/* Whether the API server has accepted a patch for this, and the Installation still differs.
 * Without this check a field that the server drops or changes would be written, and a job started,
 * for ever. */
static bool is_in_vain(const struct manager *manager, const json_t *installation, const char *hash)
{
    const json_t *last =
        doc_member(manager->patched, doc_text_or(installation, "metadata.name", ""));

    /* The patch raises the generation by one at most; a higher one is somebody else's change. */
    return last && strcmp(json_string_value(json_array_get(last, 0)), hash) == 0 &&
           doc_integer_or(installation, "metadata.generation", 0) <=
               json_integer_value(json_array_get(last, 1)) + 1;
}

/* Identifies what a patch of the Installation is to achieve. */
static void hash_of_wanted(const struct pair *pair, const json_t *installation,
                           char ret_hash[NAME_HASH_SIZE])
{
    cleanup_json json_t *spec = pair_installation_spec(pair);
    cleanup_free char *text = doc_dump_sorted(spec);
    cleanup_free char *all =
        xasprintf("%lld %d %s", (long long)pair->renewals, pair_has_finalizer(installation), text);

    name_hash("wanted", all, ret_hash);
}

void evaluate_pair(struct environment_view *view, size_t index)
{
    struct manager *manager = view->manager;
    const struct candidate *candidate = &view->candidates[index];
    cleanup_free char *name = name_of_pair(view, candidate);
    cleanup_free char *message = NULL;
    cleanup_json json_t *patch = NULL;
    char providers[NAME_HASH_SIZE] = {0};
    char patch_hash[NAME_HASH_SIZE] = {0};
    struct removal removal = {0};
    struct pair pair = {.environment = view->environment,
                        .registration = candidate->registration,
                        .namespace_name = manager->settings.namespace_name,
                        .name = name,
                        .role = manager->settings.role,
                        .providers = providers};
    struct pair_situation now = {
        .is_wanted = view->exists && !candidate->is_leaving,
        .is_accepted = view->is_accepted,
        .is_prepared =
            view->is_prepared && candidate->is_valid && pair_has_finalizer(candidate->registration),
        .has_installation = candidate->installation,
        .is_deleting = view_is_deleting(candidate->installation),
        .is_uninstalled =
            candidate->installation && installation_is_uninstalled(candidate->installation),
        .is_ready = view->deployers[index].is_ready,
        .dependencies = view->graph.verdicts[index].state,
        .items = (size_t)json_integer_value(doc_member(manager->served, name)),
        .is_forced = view_annotation(view->environment, ANNOTATION_FORCE_REMOVAL) ||
                     view_annotation(candidate->registration, ANNOTATION_FORCE_REMOVAL),
        .is_without_uninstall =
            view->is_leaving &&
            view_annotation(view->environment, ANNOTATION_DELETE_WITHOUT_UNINSTALL),
    };
    struct pair_decision decision = {0};
    const char *detail = NULL;

    describe_access(view, &pair, candidate, &now);
    describe_job(view, index, &now, providers, hash_of_providers(view, index, providers));
    if (candidate->installation && now.is_wanted && now.is_prepared)
        patch = pair_installation_patch(&pair, candidate->installation);
    if (patch)
        hash_of_wanted(&pair, candidate->installation, patch_hash);
    now.is_installation_current =
        !patch || is_in_vain(manager, candidate->installation, patch_hash);
    if (candidate->is_leaving && candidate->installation)
        graph_removal(view->deployers, view->count, view->base_list, view->is_installed,
                      view->is_leaving_list, index, &removal);
    now.removal = removal.state;
    decision = pair_decide(&now);
    message = message_of(view, index, &now, decision.reason, &removal, name);
    if (decision.action == PAIR_INTERRUPT)
        detail = doc_text_or(candidate->installation, "status.jobID", "");
    else if (decision.action == PAIR_RETRY)
        detail = providers;
    else if (decision.action == PAIR_PATCH_INSTALLATION)
        detail = patch_hash;
    if (decision.action != PAIR_NONE)
        act_on_pair(manager, &pair, decision.action, candidate->installation, detail);
    if (candidate->is_leaving && !candidate->installation && !now.has_account && !now.has_binding &&
        !now.has_target)
        forget(view, candidate->name);
    else
        remember(view, index, &decision, message, &pair);
    free(removal.message);
}

void forget_vanished(const struct environment_view *view)
{
    cleanup_json json_t *vanished = json_array();
    const char *registration = NULL;
    json_t *value = NULL;
    size_t i = 0;

    doc_foreach(view->manager->results, registration, value)
    {
        bool is_candidate = false;

        for (size_t k = 0; k < view->count && !is_candidate; k++)
            is_candidate = strcmp(view->candidates[k].name, registration) == 0;
        if (!is_candidate && json_object_get(value, view->name))
            (void)json_array_append_new(vanished, json_string(registration));
    }
    json_array_foreach(vanished, i, value)
    {
        forget(view, json_string_value(value));
    }
}
