/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/registrations/graph.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "common/base/memory.h"

enum { DEPLOYERS_MAX = 10, TYPES_MAX = 6 };

/* "name: provided types > needed types", separated by blanks. A leading '-': does not serve the
 * host Target; '+': ready. */
struct deployer_text {
    struct graph_deployer deployer;
    char *text;
    const char *provides[TYPES_MAX], *needs[TYPES_MAX];
};

static void parse(const char *line, struct deployer_text *ret_deployer)
{
    char *rest = NULL;
    const char **list = ret_deployer->provides;
    size_t count = 0;

    *ret_deployer = (struct deployer_text){.text = xstrdup(line)};
    ret_deployer->deployer.serves_host = line[0] != '-';
    ret_deployer->deployer.is_ready = line[0] == '+';
    ret_deployer->deployer.phase = line[0] == '+' ? "Succeeded" : NULL;
    ret_deployer->deployer.name =
        strtok_r(ret_deployer->text + (line[0] == '-' || line[0] == '+'), ": ", &rest);
    for (char *word = NULL; (word = strtok_r(NULL, ": ", &rest));) {
        if (strcmp(word, ">") == 0) {
            list = ret_deployer->needs;
            count = 0;
            continue;
        }
        list[count++] = word;
    }
    ret_deployer->deployer.provides = ret_deployer->provides;
    ret_deployer->deployer.needs = ret_deployer->needs;
}

static size_t parse_all(const char *const *lines, struct deployer_text *ret_texts,
                        struct graph_deployer *ret_deployers)
{
    size_t count = 0;

    for (; lines[count]; count++) {
        parse(lines[count], &ret_texts[count]);
        ret_deployers[count] = ret_texts[count].deployer;
    }
    return count;
}

static void free_all(struct deployer_text *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i].text);
}

static const struct {
    const char *name;
    const char *lines[DEPLOYERS_MAX];
    const char *base[3];
    const char *reasons; /* in the order of the lines */
    const char *order;   /* names */
    const char *message; /* part of the message of the last deployer; or NULL */
} cases[] = {
    {"nothing is needed", {"a: A"}, {0}, "Free", "a", NULL},
    {"served by the base", {"a: A > H"}, {"H"}, "Free", "a", NULL},
    {"a chain is installed in order",
     {"c: C > B", "b: B > A", "a: A > H"},
     {"H"},
     "WaitingForDeployer WaitingForDeployer Free",
     "a b c",
     NULL},
    {"a chain whose first deployer is ready",
     {"+a: A > H", "b: B > A", "c: C > B"},
     {"H"},
     "Free Free WaitingForDeployer",
     "a b c",
     "waits for deployer b, which serves items of type B (not installed yet)"},
    {"a diamond needs both sides",
     {"d: D > B C", "b: B > A", "c: C > A", "+a: A"},
     {0},
     "WaitingForDeployer Free Free Free",
     "a b c d",
     NULL},
    {"a self-loop", {"a: A > A"}, {0}, "DependencyCycle", "a", "a → A (a): none of them can be"},
    {"a cycle of two, with the whole path",
     {"alpha: example.com/alpha > example.com/beta", "beta: example.com/beta > example.com/alpha"},
     {0},
     "DependencyCycle DependencyCycle",
     "alpha beta",
     "beta → example.com/alpha (alpha) → example.com/beta (beta): none of them"},
    {"a cycle of three, and one that waits for it",
     {"a: A > B", "b: B > C", "c: C > A", "d: D > A"},
     {0},
     "DependencyCycle DependencyCycle DependencyCycle DependencyCycle",
     "a b c d",
     "d → A (a) → B (b) → C (c) → A (a): none"},
    {"a second provider breaks the cycle",
     {"a: A > B", "b: B > A", "+other: A"},
     {0},
     "WaitingForDeployer Free Free",
     "other b a",
     NULL},
    {"the base breaks the cycle",
     {"a: A > B", "b: B > A"},
     {"A"},
     "WaitingForDeployer Free",
     "b a",
     NULL},
    {"a missing type",
     {"a: A > X"},
     {"H"},
     "DeployerMissing",
     "a",
     "a → X: no deployer of this environment serves items of type X"},
    {"a missing type further down",
     {"b: B > X", "a: A > B"},
     {0},
     "DeployerMissing DeployerMissing",
     "b a",
     "a → B (b) → X: no deployer"},
    {"a missing type counts before a cycle",
     {"b: B > A", "a: A > B X"},
     {0},
     "DeployerMissing DeployerMissing",
     "b a",
     "a → X: no deployer"},
    {"selectors that do not match the host Target",
     {"-helm: H", "a: A > H"},
     {0},
     "Free SelectorMismatch",
     "helm a",
     "a → H (helm): the target selectors of the environment do not match its own host Target, so "
     "helm"},
    {"another provider matches",
     {"-helm: H", "+h: H", "a: A > H"},
     {0},
     "Free Free Free",
     "helm h a",
     NULL},
    {"alternatives and conjunctions",
     {"a: A > B C", "b1: B > X", "+b2: B", "+c: C"},
     {0},
     "Free DeployerMissing Free Free",
     "b2 c a b1",
     NULL},
    {"types that are listed twice", {"+a: A A", "b: B > A A"}, {0}, "Free Free", "a b", NULL},
};

static void the_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct deployer_text texts[DEPLOYERS_MAX] = {0};
        struct graph_deployer deployers[DEPLOYERS_MAX] = {0};
        size_t count = parse_all(cases[i].lines, texts, deployers);
        struct graph graph = {0};
        char reasons[400] = "";
        char order[200] = "";

        graph_solve(deployers, count, cases[i].base, &graph);
        for (size_t k = 0; k < count; k++) {
            size_t reason_size = strlen(reasons);
            size_t order_size = strlen(order);

            (void)snprintf(reasons + reason_size, sizeof(reasons) - reason_size, "%s%s",
                           k ? " " : "", graph_reason(graph.verdicts[k].state));
            (void)snprintf(order + order_size, sizeof(order) - order_size, "%s%s", k ? " " : "",
                           deployers[graph.order[k]].name);
        }
        if (strcmp(reasons, cases[i].reasons) != 0 || strcmp(order, cases[i].order) != 0)
            fail_msg("%s: %s; %s", cases[i].name, reasons, order);
        if (cases[i].message && !strstr(graph.verdicts[count - 1].message, cases[i].message))
            fail_msg("%s: %s", cases[i].name, graph.verdicts[count - 1].message);
        graph_done(&graph);
        free_all(texts, count);
    }
}

/* ---- random graphs against brute force ---- */

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 8;
}

static const char *const type_names[TYPES_MAX] = {"A", "B", "C", "D", "E", "F"};

struct random_deployer {
    unsigned provides, needs; /* sets of types as bits */
    bool serves_host;
    const char *provide_list[TYPES_MAX + 1], *need_list[TYPES_MAX + 1];
    char name[32];
};

static void list_types(unsigned set, const char **ret_list)
{
    for (size_t i = 0; i < TYPES_MAX; i++) {
        if (set & (1U << i))
            *ret_list++ = type_names[i];
    }
    *ret_list = NULL;
}

/* The least fixpoint is the intersection of all sets of types that are closed under the rules. */
static unsigned brute_force(const struct random_deployer *deployers, size_t count, unsigned base)
{
    unsigned least = (1U << TYPES_MAX) - 1;

    for (unsigned set = 0; set < 1U << TYPES_MAX; set++) {
        bool is_closed = (set & base) == base;

        for (size_t i = 0; i < count && is_closed; i++) {
            if (deployers[i].serves_host && (deployers[i].needs & ~set) == 0)
                is_closed = (deployers[i].provides & ~set) == 0;
        }
        if (is_closed)
            least &= set;
    }
    return least;
}

static void check_order(const struct random_deployer *deployers, const struct graph *graph,
                        unsigned base)
{
    unsigned served = base;

    for (size_t i = 0; i < graph->count; i++) {
        size_t at = graph->order[i];

        if (graph_is_blocked(graph->verdicts[at].state))
            break;
        assert_int_equal(deployers[at].needs & ~served, 0);
        if (deployers[at].serves_host)
            served |= deployers[at].provides;
    }
}

static void random_graphs_agree_with_brute_force(void **state)
{
    uint32_t seed = 23;
    size_t blocked_count = 0;

    (void)state;
    for (size_t round = 0; round < 4000; round++) {
        struct random_deployer random[DEPLOYERS_MAX] = {0};
        struct graph_deployer deployers[DEPLOYERS_MAX] = {0};
        const char *base[TYPES_MAX + 1] = {0};
        size_t count = 1 + next_random(&seed) % DEPLOYERS_MAX;
        unsigned base_set = next_random(&seed) % 4 == 0 ? 1U << next_random(&seed) % TYPES_MAX : 0;
        struct graph graph = {0};
        unsigned live = 0;

        list_types(base_set, base);
        for (size_t i = 0; i < count; i++) {
            (void)snprintf(random[i].name, sizeof(random[i].name), "d%zu", i);
            random[i].provides =
                1U << next_random(&seed) % TYPES_MAX | (unsigned)(next_random(&seed) % 3 == 0)
                                                           << next_random(&seed) % TYPES_MAX;
            random[i].needs = next_random(&seed) & ((1U << TYPES_MAX) - 1);
            random[i].needs &= next_random(&seed);
            random[i].serves_host = next_random(&seed) % 5 != 0;
            list_types(random[i].provides, random[i].provide_list);
            list_types(random[i].needs, random[i].need_list);
            deployers[i] = (struct graph_deployer){.name = random[i].name,
                                                   .provides = random[i].provide_list,
                                                   .needs = random[i].need_list,
                                                   .serves_host = random[i].serves_host};
        }
        live = brute_force(random, count, base_set);
        graph_solve(deployers, count, base, &graph);
        for (size_t i = 0; i < count; i++) {
            bool is_blocked = (random[i].needs & ~live) != 0;

            assert_int_equal(graph_is_blocked(graph.verdicts[i].state), is_blocked);
            blocked_count += is_blocked;
        }
        check_order(random, &graph, base_set);
        graph_done(&graph);
    }
    assert_true(blocked_count > 2000 && blocked_count < 20000);
}

/* ---- a long chain ---- */

static void a_chain_of_a_thousand(void **state)
{
    enum { LENGTH = 1000 };
    static char names[LENGTH][32];
    static const char *lists[LENGTH][2];
    struct graph_deployer *deployers = xcalloc(LENGTH, sizeof(*deployers));
    struct graph graph = {0};

    (void)state;
    for (size_t i = 0; i < LENGTH; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "t%zu", i);
        lists[i][0] = names[i];
        deployers[i] = (struct graph_deployer){.name = names[i],
                                               .provides = lists[i],
                                               .needs = i ? lists[i - 1] : NULL,
                                               .serves_host = true};
    }
    graph_solve(deployers, LENGTH, NULL, &graph);
    for (size_t i = 0; i < LENGTH; i++) {
        assert_int_equal(graph.order[i], i);
        assert_int_equal(graph.verdicts[i].state, i ? GRAPH_WAITING : GRAPH_FREE);
    }
    graph_done(&graph);
    free(deployers);
}

/* ---- removal ---- */

static const struct {
    const char *name;
    const char *lines[DEPLOYERS_MAX];
    const char *base[2];
    const char *flags;  /* of each: i installed, l installed and leaving, - neither */
    const char *states; /* of each that is leaving: y may go, n needed, c cycle; others . */
    const char *message;
} removals[] = {
    {"nothing needs it", {"a: A > H", "b: B > H"}, {"H"}, "ll", "yy", NULL},
    {"in reverse order",
     {"a: A > H", "b: B > A", "c: C > B"},
     {"H"},
     "lll",
     "nny",
     "deployer b is installed by items of type A, which only this deployer serves; remove b first"},
    {"one that stays needs it", {"a: A", "b: B > A"}, {0}, "li", "n.", "remove b first"},
    {"one that is not installed does not", {"a: A", "b: B > A"}, {0}, "l-", "y.", NULL},
    {"another provider is installed", {"a: A", "b: B > A", "a2: A"}, {0}, "lii", "y..", NULL},
    {"another provider is not installed", {"a: A", "b: B > A", "a2: A"}, {0}, "li-", "n..", NULL},
    {"the base serves the type", {"a: A", "b: B > A"}, {"A"}, "li", "y.", NULL},
    {"two providers that both leave go one after the other",
     {"a: A", "a2: A", "b: B > A"},
     {0},
     "lll",
     "yyy",
     NULL},
    {"a cycle that was installed",
     {"a: A > B", "b: B > A"},
     {0},
     "ll",
     "cc",
     "a ← A (b) ← B (a): each of them is needed to uninstall the next"},
    {"a cycle with one that stays", {"a: A > B", "b: B > A"}, {0}, "li", "n.", "remove b first"},
    {"it needs only itself", {"a: A > A"}, {0}, "l", "y", NULL},
    {"it does not serve the host Target", {"-a: A", "b: B > A"}, {0}, "li", "y.", NULL},
};

static void removal_is_in_reverse_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(removals); i++) {
        struct deployer_text texts[DEPLOYERS_MAX] = {0};
        struct graph_deployer deployers[DEPLOYERS_MAX] = {0};
        size_t count = parse_all(removals[i].lines, texts, deployers);
        bool is_installed[DEPLOYERS_MAX] = {0};
        bool is_leaving[DEPLOYERS_MAX] = {0};

        for (size_t k = 0; k < count; k++) {
            is_installed[k] = removals[i].flags[k] != '-';
            is_leaving[k] = removals[i].flags[k] == 'l';
        }
        for (size_t k = 0; k < count; k++) {
            struct removal removal = {0};

            if (!is_leaving[k])
                continue;
            graph_removal(deployers, count, removals[i].base, is_installed, is_leaving, k,
                          &removal);
            if ("ync"[removal.state] != removals[i].states[k])
                fail_msg("%s: %s: %d %s", removals[i].name, deployers[k].name, removal.state,
                         removal.message ? removal.message : "");
            if (k == 0 && removals[i].message && !strstr(removal.message, removals[i].message))
                fail_msg("%s: %s", removals[i].name, removal.message);
            free(removal.message);
        }
        free_all(texts, count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table),
        cmocka_unit_test(random_graphs_agree_with_brute_force),
        cmocka_unit_test(a_chain_of_a_thousand),
        cmocka_unit_test(removal_is_in_reverse_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
