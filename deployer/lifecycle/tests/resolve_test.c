/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/parse.h"
#include "deployer/lifecycle/resolve.h"

#define LABELS(labels_) "'metadata':{'name':'k','namespace':'kcp-system','labels':{" labels_ "}}"
#define BETA "'operator.kyma-project.io/beta':'true'"
#define INTERNAL "'operator.kyma-project.io/internal':'TRUE'"
#define TEMPLATE(name_, labels_, spec_)                                                            \
    "'" name_ "':{'metadata':{'name':'" name_ "','generation':1,'labels':{" labels_                \
    "}},'spec':{" spec_ "}}"

/* harbour: regular 1.0.0, fast 1.1.0, gone 9.0.0 (without a template), slow 2.0.0 (needs a
 * window), typo 3.0.0 (an invalid path). pilot is mandatory. old has no release meta, only labelled
 * templates. */
static const char releases_text[] =
    "{'harbour':{'spec':{'ocmComponentName':'io/harbour','channels':["
    "{'channel':'regular','version':'1.0.0'},{'channel':'fast','version':'1.1.0'},"
    "{'channel':'gone','version':'9.0.0'},{'channel':'slow','version':'2.0.0'},"
    "{'channel':'typo','version':'3.0.0'}]}},"
    "'beta':{'spec':{'ocmComponentName':'io/"
    "beta','channels':[{'channel':'regular','version':'1.0.0'}"
    ",{'channel':'inside','version':'1.1.0'},{'channel':'both','version':'1.2.0'}]}},"
    "'pilot':{'spec':{'ocmComponentName':'io/pilot','mandatory':{'version':'1.0.0'}}}}";
static const char templates_text
    [] = "{" TEMPLATE("harbour-1.0.0", "", "") "," TEMPLATE("harbour-1.1.0", "", "") "," TEMPLATE("harbour-2.0.0", "", "'requiresDowntime':true") "," TEMPLATE("harbour-3.0.0", "", "'customStateCheck':[{'jsonPath':'status.phase','value':'up','mappedState':'Ready'},{'jsonPath':'status[','value':'a','mappedState':'Error'}]") "," TEMPLATE(
        "beta-1.0.0", BETA,
        "") "," TEMPLATE("beta-1.1.0", INTERNAL,
                         "") "," TEMPLATE("beta-1.2.0", BETA "," INTERNAL,
                                          "") "," TEMPLATE("old-a",
                                                           "'operator.kyma-project."
                                                           "io/module-name':'old'",
                                                           "'channel':'fast','"
                                                           "descriptor':{'"
                                                           "component':{'name':'io/"
                                                           "old','version':'0.1.0'}"
                                                           "}") "," TEMPLATE("old-"
                                                                             "b",
                                                                             "'oper"
                                                                             "ator."
                                                                             "kyma-"
                                                                             "proje"
                                                                             "ct."
                                                                             "io/"
                                                                             "modul"
                                                                             "e-"
                                                                             "name'"
                                                                             ":'"
                                                                             "old'",
                                                                             "'chan"
                                                                             "nel':"
                                                                             "'regu"
                                                                             "lar',"
                                                                             "'vers"
                                                                             "ion':"
                                                                             "'0.2."
                                                                             "0'") "," TEMPLATE("si"
                                                                                                "ng"
                                                                                                "l"
                                                                                                "e",
                                                                                                "'o"
                                                                                                "pe"
                                                                                                "ra"
                                                                                                "to"
                                                                                                "r."
                                                                                                "ky"
                                                                                                "ma"
                                                                                                "-p"
                                                                                                "ro"
                                                                                                "je"
                                                                                                "ct"
                                                                                                ".i"
                                                                                                "o/"
                                                                                                "mo"
                                                                                                "du"
                                                                                                "le"
                                                                                                "-n"
                                                                                                "am"
                                                                                                "e'"
                                                                                                ":'"
                                                                                                "si"
                                                                                                "ng"
                                                                                                "le"
                                                                                                "'",
                                                                                                "'c"
                                                                                                "ha"
                                                                                                "nn"
                                                                                                "el"
                                                                                                "':"
                                                                                                "'f"
                                                                                                "as"
                                                                                                "t'"
                                                                                                ",'"
                                                                                                "ve"
                                                                                                "rs"
                                                                                                "io"
                                                                                                "n'"
                                                                                                ":'"
                                                                                                "0."
                                                                                                "3."
                                                                                                "0"
                                                                                                "'") "}";

static const char always_text[] =
    "{\"default\":{\"days\":[\"Mon\",\"Tue\",\"Wed\",\"Thu\",\"Fri\",\"Sat\",\"Sun\"],"
    "\"begin\":\"00:00:00Z\",\"end\":\"00:00:00Z\"}}";
static const char once_text[] =
    "{\"default\":{\"begin\":\"1970-02-01T00:00:00Z\",\"end\":\"1970-02-02T00:00:00Z\"}}";

enum window { NO_POLICY, WINDOW_OPEN, WINDOW_LATER };

struct row {
    const char *labels, *status, *spec;
    enum window window;
    enum choice_kind kind;
    const char *version; /* NULL: not checked */
    bool has_state;
    enum module_state state;
    const char *message; /* contained */
};

#define ONE(module_) "{'channel':'regular','modules':[{" module_ "}]}"
#define HARBOUR(version_) "[{'name':'harbour','channel':'fast','version':'" version_ "'}]"

static const struct row rows[] = {
    {"", "[]", ONE("'name':'harbour'"), NO_POLICY, CHOICE_INSTALL, "1.0.0", false, 0, ""},
    {"", "[]", ONE("'name':'harbour','channel':'fast'"), NO_POLICY, CHOICE_INSTALL, "1.1.0", false,
     0, ""},
    {"", "[]", "{'modules':[{'name':'harbour'}]}", NO_POLICY, CHOICE_INSTALL, "1.0.0", false, 0,
     ""},
    {"", "[]", ONE("'name':'harbour','channel':'none'"), NO_POLICY, CHOICE_FAIL, "", true,
     MODULE_ERROR, "\"none\" is not a channel"},

    /* What the catalog lacks is a warning, and never touches what is installed. */
    {"", "[]", ONE("'name':'unknown'"), NO_POLICY, CHOICE_FAIL, "", true, MODULE_WARNING,
     "there is no ModuleReleaseMeta kcp-system/unknown"},
    {"", "[{'name':'unknown','version':'1.0.0'}]", ONE("'name':'unknown'"), NO_POLICY, CHOICE_KEEP,
     "", true, MODULE_WARNING, "there is no ModuleReleaseMeta"},
    {"", HARBOUR("1.0.0"), ONE("'name':'harbour','channel':'other'"), NO_POLICY, CHOICE_KEEP, "",
     true, MODULE_WARNING, "has no channel other"},
    {"", HARBOUR("1.0.0"), ONE("'name':'harbour','channel':'gone'"), NO_POLICY, CHOICE_FAIL,
     "9.0.0", true, MODULE_WARNING, "there is no ModuleTemplate kcp-system/harbour-9.0.0"},

    /* No downgrade. */
    {"", HARBOUR("1.1.0"), ONE("'name':'harbour'"), NO_POLICY, CHOICE_KEEP, NULL, true,
     MODULE_WARNING,
     "module template update not allowed: ignore channel skew (from fast to regular), as a higher "
     "version (1.1.0) of the module was previously installed"},
    {"", HARBOUR("1.0.0"), ONE("'name':'harbour','channel':'fast'"), NO_POLICY, CHOICE_INSTALL,
     "1.1.0", false, 0, ""},
    {"", HARBOUR("1.1.0-rc1"), ONE("'name':'harbour','channel':'fast'"), NO_POLICY, CHOICE_INSTALL,
     "1.1.0", false, 0, ""},

    /* A template that cannot be used is an error, and never touches what is installed. */
    {"", "[]", ONE("'name':'harbour','channel':'typo'"), NO_POLICY, CHOICE_FAIL, "3.0.0", true,
     MODULE_ERROR,
     "ModuleTemplate kcp-system/harbour-3.0.0: spec.customStateCheck[1].jsonPath: invalid JSONPath "
     "at offset 7"},
    {"", HARBOUR("1.1.0"), ONE("'name':'harbour','channel':'typo'"), NO_POLICY, CHOICE_KEEP, NULL,
     true, MODULE_ERROR, "spec.customStateCheck[1].jsonPath: invalid JSONPath"},
    {"", HARBOUR("3.0.0"), ONE("'name':'harbour','channel':'typo'"), NO_POLICY, CHOICE_KEEP, NULL,
     true, MODULE_ERROR, "ModuleTemplate kcp-system/harbour-3.0.0"},

    /* Windows: for updates to a version that needs one. */
    {"", "[]", ONE("'name':'harbour','channel':'slow'"), NO_POLICY, CHOICE_INSTALL, "2.0.0", false,
     0, ""},
    {"", HARBOUR("2.0.0"), ONE("'name':'harbour','channel':'slow'"), NO_POLICY, CHOICE_INSTALL,
     "2.0.0", false, 0, ""},
    {"", HARBOUR("1.1.0"), ONE("'name':'harbour','channel':'slow'"), NO_POLICY, CHOICE_KEEP, NULL,
     true, MODULE_ERROR, "needs a maintenance window, but no policy is configured"},
    {"", HARBOUR("1.1.0"), ONE("'name':'harbour','channel':'slow'"), WINDOW_OPEN, CHOICE_INSTALL,
     "2.0.0", false, 0, ""},
    {"", HARBOUR("1.1.0"), ONE("'name':'harbour','channel':'slow'"), WINDOW_LATER, CHOICE_KEEP,
     NULL, false, 0, "waiting for next maintenance window to update module version"},
    {"", HARBOUR("1.1.0"),
     "{'channel':'slow','skipMaintenanceWindows':true,'modules':[{'name':'harbour'}]}",
     WINDOW_LATER, CHOICE_INSTALL, "2.0.0", false, 0, ""},

    /* Who may have what. */
    {"", "[]", ONE("'name':'beta'"), NO_POLICY, CHOICE_REVOKE, NULL, true, MODULE_ERROR,
     "module template not allowed: beta module"},
    {BETA, "[]", ONE("'name':'beta'"), NO_POLICY, CHOICE_INSTALL, "1.0.0", false, 0, ""},
    {INTERNAL, "[]", ONE("'name':'beta','channel':'inside'"), NO_POLICY, CHOICE_INSTALL, "1.1.0",
     false, 0, ""},
    {BETA, "[]", ONE("'name':'beta','channel':'both'"), NO_POLICY, CHOICE_REVOKE, NULL, true,
     MODULE_ERROR, "module template not allowed: internal module"},
    {BETA "," INTERNAL, "[]", ONE("'name':'beta','channel':'both'"), NO_POLICY, CHOICE_INSTALL,
     "1.2.0", false, 0, ""},
    /* Its Manifest belongs to the mandatory installation and must stay. */
    {"", "[]", ONE("'name':'pilot'"), NO_POLICY, CHOICE_FAIL, "", true, MODULE_ERROR,
     "module pilot is mandatory"},

    /* Templates of the first API version. */
    {"", "[]", ONE("'name':'old','channel':'fast'"), NO_POLICY, CHOICE_INSTALL, "0.1.0", false, 0,
     ""},
    {"", "[]", ONE("'name':'old'"), NO_POLICY, CHOICE_INSTALL, "0.2.0", false, 0, ""},
    {"", "[]", ONE("'name':'single'"), NO_POLICY, CHOICE_INSTALL, "0.3.0", false, 0, ""},
    {"", "[]", ONE("'name':'old','channel':'neither'"), NO_POLICY, CHOICE_FAIL, "", true,
     MODULE_WARNING, "there is no ModuleReleaseMeta kcp-system/old"},

    {"", HARBOUR("1.1.0"), ONE("'name':'harbour','managed':false"), NO_POLICY, CHOICE_RELEASE,
     "1.1.0", false, 0, ""},
    {"", HARBOUR("1.1.0"), "{'channel':'regular'}", NO_POLICY, CHOICE_REMOVE, "1.1.0", false, 0,
     ""},
};

static struct maintenance_policy *policy_of(enum window window)
{
    const char *text = window == WINDOW_OPEN ? always_text : once_text;
    struct maintenance_policy *policy = NULL;
    struct error err = {0};

    if (window != NO_POLICY && maintenance_parse(text, strlen(text), &policy, &err) < 0)
        fail_msg("%s", err.text);
    return policy;
}

static void modules_are_resolved(void **state)
{
    cleanup_json json_t *releases = parse(releases_text), *templates = parse(templates_text);

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        const struct row *row = &rows[i];
        cleanup_maintenance struct maintenance_policy *policy = policy_of(row->window);
        cleanup_free char *text = NULL;
        cleanup_json json_t *kyma = NULL, *spec = parse(row->spec);
        cleanup_choices struct choices choices = {0};

        assert_true(asprintf(&text, "{" LABELS("%s") ",'status':{'modules':%s}}", row->labels,
                             row->status) > 0);
        kyma = parse(text);
        choices = resolve_modules(&(struct resolve_input){
            .kyma = kyma,
            .spec = spec,
            .catalog = {releases, templates, "kcp-system"},
            .policy = policy,
            .now_unix_ms = 1000,
            .window_least_ms = 20L * 60 * 1000,
        });
        print_message("%s %s\n", row->spec, row->status);
        assert_int_equal(choices.count, 1);
        print_message("  -> %s %s\n", choices.choices->version, choices.choices->message);
        assert_int_equal(choices.choices->kind, row->kind);
        assert_int_equal(choices.choices->has_state, row->has_state);
        if (row->has_state)
            assert_int_equal(choices.choices->state, row->state);
        if (row->version)
            assert_string_equal(choices.choices->version, row->version);
        assert_non_null(strstr(choices.choices->message, row->message));
        assert_int_equal(choices.choices->is_maintenance,
                         row->window == WINDOW_LATER && row->kind == CHOICE_KEEP);
        assert_int_equal(choices_next_window(&choices),
                         choices.choices->is_maintenance ? choices.choices->window_unix_ms : 0);
        assert_int_equal(choices.choices->template != NULL, row->kind == CHOICE_INSTALL);
    }
}

static void the_order_is_that_of_the_spec(void **state)
{
    cleanup_json json_t *releases = parse(releases_text), *templates = parse(templates_text);
    cleanup_json json_t *spec = parse("{'modules':[{'name':'single'},{'name':''},{'name':'harbour',"
                                      "'customResourcePolicy':'Ignore'}]}");
    cleanup_json json_t *kyma = parse("{'status':{'modules':[{'name':'z'},{'name':'harbour'},"
                                      "{'name':'b'},{'name':'a'}]}}");
    cleanup_choices struct choices choices = resolve_modules(&(struct resolve_input){
        .kyma = kyma, .spec = spec, .catalog = {releases, templates, "kcp-system"}});
    static const char *const expected[] = {"single", "harbour", "a", "b", "z"};

    (void)state;
    assert_int_equal(choices.count, array_length(expected));
    for (size_t i = 0; i < choices.count; i++) {
        assert_string_equal(choices.choices[i].name, expected[i]);
        assert_int_equal(choices.choices[i].kind, i < 2 ? CHOICE_INSTALL : CHOICE_REMOVE);
        assert_int_equal(choices.choices[i].is_resource_ignored, i == 1);
    }
    assert_non_null(choices.choices[1].entry);
    assert_null(choices.choices[0].entry);
}

static void the_first_window_is_waited_for(void **state)
{
    struct module_choice list[] = {{.window_unix_ms = 0},
                                   {.window_unix_ms = 50},
                                   {.window_unix_ms = 20},
                                   {.window_unix_ms = 0}};

    (void)state;
    assert_int_equal(choices_next_window(&(struct choices){list, array_length(list)}), 20);
    assert_int_equal(choices_next_window(&(struct choices){list, 1}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_are_resolved),
        cmocka_unit_test(the_order_is_that_of_the_spec),
        cmocka_unit_test(the_first_window_is_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
