// A chart is drawn when it comes near the window, so that a page of many opens at once; all are before printing.
const waiting = new Map([...document.querySelectorAll("script.spec")].map(element => [document.getElementById(element.dataset.for), element.textContent]));
// A chart that would be shrunk beside another one, and its text with it, gets the whole width.
const widen = chart => {
  const drawing = chart.querySelector("svg.marks");
  if (drawing && drawing.viewBox.baseVal.width > 1.04 * chart.clientWidth) chart.closest("figure").classList.add("wide");
};
const draw = chart => {
  const text = waiting.get(chart);
  waiting.delete(chart);
  if (text) vegaEmbed(chart, JSON.parse(text), OPTIONS).then(() => widen(chart));
};
const watcher = new IntersectionObserver(seen => seen.filter(entry => entry.isIntersecting).forEach(entry => { watcher.unobserve(entry.target); draw(entry.target); }), { rootMargin: "900px" });
[...waiting.keys()].forEach(chart => watcher.observe(chart));
window.addEventListener("beforeprint", () => [...waiting.keys()].forEach(draw));
for (const table of document.querySelectorAll("table.sortable")) {
  table.querySelectorAll("th button").forEach((button, column) => {
    let down = false;
    button.addEventListener("click", () => {
      down = !down;
      // A row without a value comes last either way.
      const value = row => { const text = row.cells[column].dataset.value; return text === "" ? -Infinity : down ? Number(text) : -Number(text); };
      const rows = [...table.tBodies[0].rows].sort((a, b) => value(b) - value(a) || 0);
      table.tBodies[0].append(...rows);
    });
  });
}
