// @vitest-environment jsdom
import { expect, test } from "vitest";

import { notebookIsDark } from "../src/notebook";

function page(html: string, body: string): Document {
  return new DOMParser().parseFromString(`<html ${html}><body ${body}></body></html>`, "text/html");
}

test.each([
  ["", 'data-jp-theme-light="true"', false],
  ["", 'data-jp-theme-light="false"', true],
  ["", 'class="vscode-dark"', true],
  ["", 'class="vscode-light"', false],
  ["", 'class="vscode-high-contrast"', true],
  ["", 'class="vscode-high-contrast vscode-high-contrast-light"', false],
  ['theme="dark"', "", true],
  ['theme="light"', "", false],
  ["", 'class="dark"', true],
  ["", "", undefined],
  ["", 'class="darkroom"', undefined],
])("a page with <html %s><body %s> is dark: %s", (html, body, dark) => {
  expect(notebookIsDark(page(html, body))).toBe(dark);
});
