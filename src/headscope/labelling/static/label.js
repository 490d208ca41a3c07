"use strict";
// The page only draws what the server says, and tells it which key was pressed. All text goes in as text, never as HTML.
const byId = id => document.getElementById(id);
const canvas = byId("map");
let state = null, busy = false, layout = null, stopped = false;

async function ask(action, extra = {}) {
  if (busy || stopped) return;
  busy = true;
  try {
    const options = action === "state" ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ number: state.map && state.map.number, ...extra }) };
    const answer = await fetch(action, options);
    if (!answer.ok && answer.status !== 409) throw new Error(await answer.text());
    state = await answer.json();
    show();
    if (action === "stop") end("Finished. The page can be closed.");
  } catch (error) {
    tell(error instanceof TypeError ? "The program no longer answers. Everything labelled is saved; start it again to go on." : error.message, "", "other");
  } finally {
    busy = false;
  }
}

function end(text) {
  stopped = true;
  tell(text, "", "same");
  document.querySelectorAll("button").forEach(button => { button.disabled = true; });
}

function tell(text, small, kind) {
  const told = byId("told");
  told.className = `told ${kind}`;
  told.textContent = text;
  if (small) told.append(Object.assign(document.createElement("small"), { textContent: small }));
}

function show() {
  for (const name of ["labelled", "skipped", "left", "folder"]) byId(name).textContent = state[name];
  if (!byId("classes").children.length) state.classes.forEach(addClass);
  [...byId("classes").children].forEach((button, place) => {
    button.querySelector("output").textContent = state.classes[place].count;
    button.disabled = !state.map;
  });
  byId("undo").disabled = !state.undo;
  byId("skip").disabled = byId("guess").disabled = !state.map;
  canvas.hidden = !state.map;
  byId("done").hidden = Boolean(state.map);
  if (state.guess) tell(`The network says: ${state.guess}`, "Look again before you agree.", "");
  else if (state.last) {
    const { label, guess, head, model } = state.last;
    const words = label ? `You: ${label}. The network: ${guess}.` : `Skipped. The network: ${guess}.`;
    tell(words, `That was layer-head ${head} of ${model}.`, !label ? "" : label === guess ? "same" : "other");
  } else tell("", "", "");
  if (state.map) draw();
}

function addClass({ name, hint }, place) {
  const button = Object.assign(document.createElement("button"), { type: "button", className: "class" });
  const words = document.createElement("span");
  words.append(Object.assign(document.createElement("b"), { textContent: name }), Object.assign(document.createElement("small"), { textContent: hint }));
  button.append(Object.assign(document.createElement("kbd"), { textContent: place + 1 }), words, document.createElement("output"));
  button.addEventListener("click", () => ask("label", { label: name }));
  byId("classes").append(button);
}

function draw() {
  const { tokens, cells, second } = state.map, count = tokens.length, context = canvas.getContext("2d");
  const size = Math.max(4, Math.min(34, Math.floor(620 / count))), font = Math.max(7, Math.min(13, size - 1)), side = size * count;
  context.font = `${font}px system-ui, sans-serif`;
  const names = tokens.map(token => token.length > 14 ? token.slice(0, 13) + "…" : token);
  const margin = Math.ceil(Math.max(...names.map(name => context.measureText(name).width))) + 10;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = (margin + side + 8) * ratio; canvas.height = (margin + side + 8) * ratio;
  canvas.style.width = `${margin + side + 8}px`;
  layout = { margin, size, count, full: margin + side + 8 };
  context.scale(ratio, ratio);
  context.font = `${font}px system-ui, sans-serif`;
  // As the network sees it: relative to the 99th percentile of the map.
  const dark = Math.max(quantile(cells, 0.99), 0.255);
  cells.forEach((cell, place) => {
    const grey = Math.round(255 * (1 - Math.min(1, cell / dark)));
    context.fillStyle = `rgb(${grey},${grey},${grey})`;
    context.fillRect(margin + (place % count) * size, margin + Math.floor(place / count) * size, size, size);
  });
  context.strokeStyle = "#9aa0a6";
  context.strokeRect(margin - 0.5, margin - 0.5, side + 1, side + 1);
  if (second) {
    const at = margin + second * size + 0.5;
    context.strokeStyle = "#d55e00";
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(at, margin - 7); context.lineTo(at, margin); context.moveTo(margin - 7, at); context.lineTo(margin, at);
    context.moveTo(at, margin + side); context.lineTo(at, margin + side + 7); context.moveTo(margin + side, at); context.lineTo(margin + side + 7, at);
    context.stroke();
  }
  context.fillStyle = "#1c2530";
  context.textBaseline = "middle";
  names.forEach((name, place) => {
    const middle = margin + (place + 0.5) * size;
    context.textAlign = "right";
    context.fillText(name, margin - 8, middle);
    context.save();
    context.translate(middle, margin - 8);
    context.rotate(-Math.PI / 2);
    context.textAlign = "left";
    context.fillText(name, 0, 0);
    context.restore();
  });
}

function quantile(values, share) {
  const sorted = [...values].sort((one, other) => one - other), place = share * (sorted.length - 1), low = Math.floor(place);
  return sorted[low] + (place - low) * (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]);
}

canvas.addEventListener("mousemove", event => {
  const scale = layout.full / canvas.getBoundingClientRect().width;
  const column = Math.floor((event.offsetX * scale - layout.margin) / layout.size), row = Math.floor((event.offsetY * scale - layout.margin) / layout.size);
  if (Math.min(row, column) < 0 || Math.max(row, column) >= layout.count) return;
  const { tokens, cells } = state.map, weight = (cells[row * layout.count + column] / 255) ** 2;
  byId("cell").textContent = `${tokens[row]} → ${tokens[column]}: ${weight.toFixed(3)}`;
});
document.addEventListener("keydown", event => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || !state) return;
  const key = event.key.toLowerCase(), place = "12345".indexOf(key);
  if (key === "u") ask("undo");
  else if (key === "s" && state.map) ask("skip");
  else if (key === "g" && state.map) ask("guess");
  else if (place >= 0 && key && state.map) ask("label", { label: state.classes[place].name });
});
for (const name of ["undo", "skip", "guess", "stop"]) byId(name).addEventListener("click", () => ask(name));
ask("state");
