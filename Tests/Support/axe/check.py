#!/usr/bin/env python3
"""Checks pages with axe-core, in the browser that the tests use.

    check.py [--without-labels] CHROMIUM URL...

Each page is looked at in light and in dark, once a form or a list of forms is on it. The rules are those of
WCAG 2.2, levels A and AA. Prints a line for each look, and what is wrong. Exits with 1 if anything is, or if axe found nothing to
check. --without-labels takes the labels of the inputs away first: a proof that it can fail.
"""
import argparse
import sys

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# A form is drawn in a closed shadow, into which axe cannot look.
OPEN = """
const attach = Element.prototype.attachShadow;
Element.prototype.attachShadow = function (options) {
  return attach.call(this, { ...options, mode: 'open' });
};
"""
UNLABEL = """() => {
  for (const host of document.querySelectorAll('*')) {
    for (const label of host.shadowRoot?.querySelectorAll('label') ?? []) {
      label.replaceWith(...label.querySelectorAll('input'));
    }
  }
}"""


def look(browser, url, scheme, without_labels):
    """How many rules are violated, and how many hold."""
    context = browser.new_context(
        color_scheme=scheme, reduced_motion="reduce", bypass_csp=True,
        viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.add_init_script(OPEN)
    page.goto(url)
    page.wait_for_selector("dialog[open], nav a", timeout=20_000)
    if without_labels:
        page.evaluate(UNLABEL)
    results = Axe().run(page, options={"runOnly": RULES})
    held = len(results.response["passes"])
    print(f"{url} {scheme}: {results.violations_count} violated, {held} hold")
    # The library's own report stops at what is within a shadow.
    for violation in results.response["violations"]:
        for node in violation["nodes"]:
            print(f"  {violation['id']}: {violation['help']}: {node['html'][:200]}")
    context.close()
    return results.violations_count, held


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-labels", action="store_true")
    parser.add_argument("chromium")
    parser.add_argument("url", nargs="+")
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=options.chromium, args=["--no-sandbox", "--disable-gpu"])
        looks = [
            look(browser, url, scheme, options.without_labels)
            for url in options.url for scheme in ("light", "dark")]
        browser.close()
    return int(any(violated or held < 5 for violated, held in looks))


if __name__ == "__main__":
    sys.exit(main())
