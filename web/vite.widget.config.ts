import { defineConfig } from "vite";

/** The notebook widget: one module that anywidget loads; its style sheet is page.css. */
export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: process.env.HEADSCOPE_OUT ?? "../src/headscope/page/static",
    emptyOutDir: false,
    modulePreload: false,
    rolldownOptions: {
      input: "src/widget.tsx",
      preserveEntrySignatures: "strict",
      output: { format: "es", entryFileNames: "widget.js", codeSplitting: false },
    },
  },
});
