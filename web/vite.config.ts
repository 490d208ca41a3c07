import { defineConfig } from "vite";

/** The page of a report and of the explorer: one script and one style sheet, nothing else. */
export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: process.env.HEADSCOPE_OUT ?? "../src/headscope/page/static",
    emptyOutDir: false,
    assetsInlineLimit: 0,
    modulePreload: false,
    cssCodeSplit: false,
    rolldownOptions: {
      input: "src/main.tsx",
      output: {
        format: "iife",
        entryFileNames: "page.js",
        assetFileNames: "page[extname]",
      },
    },
  },
});
