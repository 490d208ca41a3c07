import { defineConfig } from "vite";

/** The notebook widget: a module that anywidget loads; its style sheet is page.css. */
export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: process.env.HEADSCOPE_OUT ?? "../src/headscope/page/static",
    emptyOutDir: false,
    modulePreload: false,
    cssCodeSplit: false,
    lib: { entry: "src/widget.tsx", formats: ["es"], fileName: () => "widget.js" },
    rolldownOptions: { output: { assetFileNames: "widget[extname]" } },
  },
});
