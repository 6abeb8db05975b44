# SPDX-License-Identifier: Apache-2.0
"""The status page as a browser shows it."""

import json

LARGE = (1280, 800)
PAGE_ROWS = 50


def fresh(browser, page, fragment="", size=LARGE, scheme="light"):
    """Opens the page anew and waits until it is live."""
    browser.size(*size)
    browser.color_scheme(scheme)
    browser.open("about:blank")
    browser.wait("location.href == 'about:blank'")
    browser.open(page.address + fragment)
    wait_live(browser)


def wait_live(browser):
    browser.wait("document.querySelector('#link')?.dataset.state == 'live' && document.querySelector('#caption').innerText != ''")


def names(browser):
    return browser.run("[...document.querySelectorAll('#rows tr')].map((line) => line.dataset.key)")


def wait_total(browser, total):
    browser.wait(f"document.querySelector('#caption').innerText.startsWith('{total:,} ')", f"{total} rows")


def wait_state(browser, name, count):
    """Until the card of a state shows this number."""
    browser.wait(f"document.querySelector('button[data-state={name}] b')?.innerText == '{count:,}'", f"{count} rows in state {name}")


def wait_empty(browser):
    browser.wait("document.querySelector('#empty').checkVisibility() && document.querySelector('#empty').innerText == 'Nothing matches the filter.'")


def fill(browser, field, value):
    """What a user does who replaces the content of a field."""
    browser.run(f"""(document.querySelector('{field}').value = {json.dumps(value)},
        document.querySelector('{field}').dispatchEvent(new Event('input')))""")


def assert_no_other_hosts(browser):
    assert browser.errors == []
    assert [url for url in browser.requests if not url.startswith(("http://127.0.0.1:", "about:"))] == [], "requests to other hosts"
