/** Whether the notebook is dark; undefined where that cannot be known. */
export function notebookIsDark(page: Document = document): boolean | undefined {
  const { body, documentElement: html } = page;
  const jupyter = body.dataset.jpThemeLight;
  if (jupyter) return jupyter === "false";
  const colab = html.getAttribute("theme");
  if (colab === "dark" || colab === "light") return colab === "dark";
  const words = [...body.classList, ...html.classList];
  if (words.includes("vscode-high-contrast-light")) return false;
  if (words.some((one) => /^(vscode-dark|vscode-high-contrast|dark|dark-theme)$/.test(one))) return true;
  if (words.some((one) => /^(vscode-light|light|light-theme)$/.test(one))) return false;
  return undefined;
}

/** Call back when the notebook's theme may have changed; returns how to stop. */
export function watchTheme(changed: () => void): () => void {
  const observer = new MutationObserver(changed);
  const attributeFilter = ["class", "data-jp-theme-light", "theme"];
  for (const element of [document.body, document.documentElement]) {
    observer.observe(element, { attributes: true, attributeFilter });
  }
  return () => observer.disconnect();
}
