/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/registrations/graph.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/contract.h"

#define ARROW " → "

enum { MESSAGE_MAX = 4096 };

/* A list of numbers. */
struct numbers {
    size_t *items;
    size_t count;
};

/* The graph with types as numbers. */
struct network {
    const struct graph_deployer *deployers;
    size_t count;
    const char **types; /* sorted, without duplicates */
    size_t type_count;
    struct numbers *needs, *provides; /* of each deployer: types */
    struct numbers *users;            /* of each type: deployers that need it */
    struct numbers *providers;        /* of each type */
    bool *is_base;                    /* of each type */
};

/* ---- types as numbers ---- */

static void numbers_add(struct numbers *numbers, size_t number)
{
    /* Grows in powers of two. */
    if ((numbers->count & (numbers->count - 1)) == 0)
        numbers->items = xreallocarray(numbers->items, numbers->count ? numbers->count * 2 : 1,
                                       sizeof(*numbers->items));
    numbers->items[numbers->count++] = number;
}

static bool numbers_have(const struct numbers *numbers, size_t number)
{
    for (size_t i = 0; i < numbers->count; i++) {
        if (numbers->items[i] == number)
            return true;
    }
    return false;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t list_length(const char *const *list)
{
    size_t length = 0;

    while (list && list[length])
        length++;
    return length;
}

static size_t number_of(const struct network *network, const char *type)
{
    const char **found =
        bsearch(&type, network->types, network->type_count, sizeof(*network->types), compare);

    return (size_t)(found - network->types);
}

static void collect(struct network *network, const char *const *list)
{
    for (size_t i = 0; i < list_length(list); i++)
        network->types[network->type_count++] = list[i];
}

static void number_types(struct network *network, const char *const *base)
{
    size_t total = list_length(base);
    size_t unique = 0;

    for (size_t i = 0; i < network->count; i++)
        total +=
            list_length(network->deployers[i].needs) + list_length(network->deployers[i].provides);
    network->types = xcalloc(total + 1, sizeof(*network->types));
    collect(network, base);
    for (size_t i = 0; i < network->count; i++) {
        collect(network, network->deployers[i].needs);
        collect(network, network->deployers[i].provides);
    }
    qsort(network->types, network->type_count, sizeof(*network->types), compare);
    for (size_t i = 0; i < network->type_count; i++) {
        if (unique == 0 || strcmp(network->types[unique - 1], network->types[i]) != 0)
            network->types[unique++] = network->types[i];
    }
    network->type_count = unique;
}

/* Duplicates in a list count once. */
static void add_types(const struct network *network, const char *const *list,
                      struct numbers *ret_types, struct numbers *by_type, size_t deployer)
{
    for (size_t i = 0; i < list_length(list); i++) {
        size_t type = number_of(network, list[i]);

        if (numbers_have(ret_types, type))
            continue;
        numbers_add(ret_types, type);
        numbers_add(&by_type[type], deployer);
    }
}

static void network_init(struct network *network, const struct graph_deployer *deployers,
                         size_t count, const char *const *base)
{
    *network = (struct network){.deployers = deployers, .count = count};
    number_types(network, base);
    network->needs = xcalloc(count + 1, sizeof(*network->needs));
    network->provides = xcalloc(count + 1, sizeof(*network->provides));
    network->users = xcalloc(network->type_count + 1, sizeof(*network->users));
    network->providers = xcalloc(network->type_count + 1, sizeof(*network->providers));
    network->is_base = xcalloc(network->type_count + 1, sizeof(*network->is_base));
    for (size_t i = 0; i < list_length(base); i++)
        network->is_base[number_of(network, base[i])] = true;
    for (size_t i = 0; i < count; i++) {
        add_types(network, deployers[i].needs, &network->needs[i], network->users, i);
        add_types(network, deployers[i].provides, &network->provides[i], network->providers, i);
    }
}

static void network_done(struct network *network)
{
    for (size_t i = 0; i < network->count; i++) {
        free(network->needs[i].items);
        free(network->provides[i].items);
    }
    for (size_t i = 0; i < network->type_count; i++) {
        free(network->users[i].items);
        free(network->providers[i].items);
    }
    free(network->needs);
    free(network->provides);
    free(network->users);
    free(network->providers);
    free(network->is_base);
    free(network->types);
}

/* ---- the least fixpoint ---- */

/* What is served eventually, and the deployers in the order in which they can be installed. */
struct fixpoint {
    bool *is_served; /* of each type */
    bool *is_live;   /* of each deployer: all its needs are served */
    size_t *missing; /* of each deployer: needs that are not served yet */
    struct numbers order;
};

static void fixpoint_done(struct fixpoint *fixpoint)
{
    free(fixpoint->is_served);
    free(fixpoint->is_live);
    free(fixpoint->missing);
    free(fixpoint->order.items);
}

static void serve(const struct network *network, struct fixpoint *fixpoint, size_t type)
{
    if (fixpoint->is_served[type])
        return;
    fixpoint->is_served[type] = true;
    for (size_t i = 0; i < network->users[type].count; i++) {
        size_t user = network->users[type].items[i];

        if (--fixpoint->missing[user] == 0)
            numbers_add(&fixpoint->order, user);
    }
}

/* Every edge is followed once. is_excluded: deployers that do not exist; NULL: none. */
static void find_fixpoint(const struct network *network, const bool *is_excluded,
                          struct fixpoint *ret_fixpoint)
{
    struct fixpoint fixpoint = {
        .is_served = xcalloc(network->type_count + 1, sizeof(bool)),
        .is_live = xcalloc(network->count + 1, sizeof(bool)),
        .missing = xcalloc(network->count + 1, sizeof(size_t)),
    };

    for (size_t i = 0; i < network->count; i++) {
        fixpoint.missing[i] = network->needs[i].count;
        if (fixpoint.missing[i] == 0)
            numbers_add(&fixpoint.order, i);
    }
    for (size_t i = 0; i < network->type_count; i++) {
        if (network->is_base[i])
            serve(network, &fixpoint, i);
    }
    for (size_t i = 0; i < fixpoint.order.count; i++) {
        size_t deployer = fixpoint.order.items[i];

        fixpoint.is_live[deployer] = true;
        if (!network->deployers[deployer].serves_host || (is_excluded && is_excluded[deployer]))
            continue;
        for (size_t k = 0; k < network->provides[deployer].count; k++)
            serve(network, &fixpoint, network->provides[deployer].items[k]);
    }
    *ret_fixpoint = fixpoint;
}

/* ---- reasons ---- */

/* Texts that exceed the maximum are cut at the end of a part. */
static void say(struct buffer *text, const char *separator, const char *type, const char *name)
{
    struct error err = {0};

    (void)!buffer_append_text(text, &err, "%s%s%s%s%s", separator, type, name ? " (" : "",
                              name ? name : "", name ? ")" : "");
}

/* The first need that is not served, those that explain themselves first: without any provider,
 * then without a provider that serves the host Target. */
static size_t blocked_need(const struct network *network, const struct fixpoint *fixpoint,
                           size_t deployer, enum graph_state *ret_state)
{
    const struct numbers *needs = &network->needs[deployer];
    size_t found = 0;

    *ret_state = GRAPH_FREE;
    for (size_t i = 0; i < needs->count; i++) {
        const struct numbers *providers = &network->providers[needs->items[i]];
        enum graph_state state = GRAPH_DEPLOYER_MISSING;

        if (fixpoint->is_served[needs->items[i]])
            continue;
        if (providers->count > 0)
            state = GRAPH_SELECTOR_MISMATCH;
        for (size_t k = 0; k < providers->count; k++) {
            if (network->deployers[providers->items[k]].serves_host)
                state = GRAPH_DEPENDENCY_CYCLE;
        }
        /* The states are in the order of preference. */
        if (*ret_state == GRAPH_FREE || state < *ret_state) {
            *ret_state = state;
            found = needs->items[i];
        }
    }
    return found;
}

static size_t blocked_provider(const struct network *network, size_t type)
{
    const struct numbers *providers = &network->providers[type];

    for (size_t i = 0; i < providers->count; i++) {
        if (network->deployers[providers->items[i]].serves_host)
            return providers->items[i];
    }
    return providers->items[0];
}

static char *finish(struct buffer *path, enum graph_state state, const char *type,
                    const char *provider)
{
    cleanup_free char *start = buffer_take(path);

    if (state == GRAPH_DEPLOYER_MISSING)
        return xasprintf(
            "%s: no deployer of this environment serves items of type %s; register one, or "
            "correct the type",
            start, type);
    if (state == GRAPH_SELECTOR_MISMATCH)
        return xasprintf(
            "%s: the target selectors of the environment do not match its own host Target, "
            "so %s will not serve the item there",
            start, provider);
    return xasprintf(
        "%s: none of them can be installed first; remove one of these dependencies, or "
        "register another deployer for one of the types",
        start);
}

/* Follows blocked needs to their providers until the reason is found: a need that cannot be served,
 * or a deployer that comes twice. */
static void explain(const struct network *network, const struct fixpoint *fixpoint, size_t deployer,
                    struct graph_verdict *ret_verdict)
{
    cleanup_buffer struct buffer path = {0};
    cleanup_free bool *is_visited = xcalloc(network->count + 1, sizeof(bool));
    size_t at = deployer;

    buffer_init(&path, MESSAGE_MAX);
    say(&path, "", network->deployers[deployer].name, NULL);
    for (;;) {
        enum graph_state state = GRAPH_FREE;
        size_t type = blocked_need(network, fixpoint, at, &state);
        const char *provider = NULL;

        is_visited[at] = true;
        if (state != GRAPH_DEPLOYER_MISSING) {
            at = blocked_provider(network, type);
            provider = network->deployers[at].name;
        }
        say(&path, ARROW, network->types[type], provider);
        if (state != GRAPH_DEPENDENCY_CYCLE || is_visited[at]) {
            ret_verdict->state = state;
            ret_verdict->message = finish(&path, state, network->types[type], provider);
            return;
        }
    }
}

/* Whether every need is served by the base or by a deployer that is ready. */
static void look_for_wait(const struct network *network, size_t deployer,
                          struct graph_verdict *ret_verdict)
{
    const struct numbers *needs = &network->needs[deployer];

    for (size_t i = 0; i < needs->count; i++) {
        const struct numbers *providers = &network->providers[needs->items[i]];
        const struct graph_deployer *slow = NULL;
        bool is_ready = network->is_base[needs->items[i]];

        for (size_t k = 0; k < providers->count && !is_ready; k++) {
            const struct graph_deployer *provider = &network->deployers[providers->items[k]];

            is_ready = provider->serves_host && provider->is_ready;
            if (!slow && provider->serves_host)
                slow = provider;
        }
        if (is_ready || !slow)
            continue;
        ret_verdict->state = GRAPH_WAITING;
        ret_verdict->message =
            xasprintf("waits for deployer %s, which serves items of type %s (%s%s)", slow->name,
                      network->types[needs->items[i]], slow->phase ? "phase " : "not installed yet",
                      slow->phase ? slow->phase : "");
        return;
    }
}

/* ---- interface ---- */

void graph_solve(const struct graph_deployer *deployers, size_t count, const char *const *base,
                 struct graph *ret_graph)
{
    struct network network = {0};
    struct fixpoint fixpoint = {0};
    size_t ordered = 0;

    *ret_graph = (struct graph){.verdicts = xcalloc(count + 1, sizeof(*ret_graph->verdicts)),
                                .order = xcalloc(count + 1, sizeof(*ret_graph->order)),
                                .count = count};
    network_init(&network, deployers, count, base);
    find_fixpoint(&network, NULL, &fixpoint);
    for (size_t i = 0; i < fixpoint.order.count; i++)
        ret_graph->order[ordered++] = fixpoint.order.items[i];
    for (size_t i = 0; i < count; i++) {
        if (fixpoint.is_live[i]) {
            look_for_wait(&network, i, &ret_graph->verdicts[i]);
            continue;
        }
        ret_graph->order[ordered++] = i;
        explain(&network, &fixpoint, i, &ret_graph->verdicts[i]);
    }
    fixpoint_done(&fixpoint);
    network_done(&network);
}

void graph_done(struct graph *graph)
{
    for (size_t i = 0; i < graph->count; i++)
        free(graph->verdicts[i].message);
    free(graph->verdicts);
    free(graph->order);
    *graph = (struct graph){0};
}

bool graph_is_blocked(enum graph_state state)
{
    return state > GRAPH_WAITING;
}

const char *graph_reason(enum graph_state state)
{
    static const char *const reasons[] = {
        [GRAPH_FREE] = "Free",
        [GRAPH_WAITING] = "WaitingForDeployer",
        [GRAPH_DEPLOYER_MISSING] = "DeployerMissing",
        [GRAPH_SELECTOR_MISMATCH] = "SelectorMismatch",
        [GRAPH_DEPENDENCY_CYCLE] = "DependencyCycle",
    };

    return reasons[state];
}

/* ---- removal ---- */

/* The first installed deployer that could not be served without number index; -1: none. *ret_type:
 * the type it needs. */
static ssize_t find_holder(const struct network *network, const bool *is_installed, size_t index,
                           size_t *ret_type)
{
    cleanup_free bool *is_excluded = xcalloc(network->count + 1, sizeof(bool));
    struct fixpoint without = {0};
    ssize_t holder = -1;

    for (size_t i = 0; i < network->count; i++)
        is_excluded[i] = !is_installed[i] || i == index;
    find_fixpoint(network, is_excluded, &without);
    for (size_t i = 0; i < network->provides[index].count && holder < 0; i++) {
        size_t type = network->provides[index].items[i];
        const struct numbers *users = &network->users[type];

        for (size_t k = 0; k < users->count && holder < 0; k++) {
            if (users->items[k] == index || !is_installed[users->items[k]] ||
                without.is_served[type] || !network->deployers[index].serves_host)
                continue;
            holder = (ssize_t)users->items[k];
            *ret_type = type;
        }
    }
    fixpoint_done(&without);
    return holder;
}

void graph_removal(const struct graph_deployer *deployers, size_t count, const char *const *base,
                   const bool *is_installed, const bool *is_leaving, size_t index,
                   struct removal *ret_removal)
{
    cleanup_buffer struct buffer path = {0};
    cleanup_free bool *is_visited = xcalloc(count + 1, sizeof(bool));
    cleanup_free char *text = NULL;
    struct network network = {0};
    const char *first = NULL;
    size_t at = index;

    *ret_removal = (struct removal){0};
    network_init(&network, deployers, count, base);
    buffer_init(&path, MESSAGE_MAX);
    say(&path, "", deployers[index].name, NULL);
    for (;;) {
        size_t type = 0;
        ssize_t holder = find_holder(&network, is_installed, at, &type);

        if (holder < 0)
            break;
        is_visited[at] = true;
        at = (size_t)holder;
        say(&path, " ← ", network.types[type], deployers[at].name);
        if (!first) {
            first = deployers[at].name;
            ret_removal->state = REMOVAL_NEEDED;
            ret_removal->message =
                xasprintf("deployer %s is installed by items of type %s, which only "
                          "this deployer serves; remove %s first",
                          first, network.types[type], first);
        }
        if (!is_leaving[at])
            break;
        if (is_visited[at]) {
            text = buffer_take(&path);
            free(ret_removal->message);
            ret_removal->state = REMOVAL_CYCLE;
            ret_removal->message =
                xasprintf("%s: each of them is needed to uninstall the next; delete one of their "
                          "Installations with the annotation " ANNOTATION_DELETE_WITHOUT_UNINSTALL
                          ": \"true\"",
                          text);
            break;
        }
    }
    network_done(&network);
}
