"use strict";
// The page draws the state that the server sends, and sends back which key was pressed.
// Text is always inserted as text, never as HTML.
const byId = id => document.getElementById(id);
const element = (kind, fields = {}) => Object.assign(document.createElement(kind), fields);
const canvas = byId("map");
let state = null, busy = false, layout = null, stopped = false;

async function ask(action, extra = {}) {
  if (busy || stopped) return;
  busy = true;
  try {
    const answer = await fetch(action, action === "state" ? {} : {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ number: state.map && state.map.number, ...extra }),
    });
    if (!answer.ok && answer.status !== 409) throw new Error(await answer.text());
    state = await answer.json();
    show();
    if (action === "stop") end("Finished. You can close this page.");
  } catch (error) {
    const gone = "The program has stopped. All labels are saved; start it again to continue.";
    report(error instanceof TypeError ? gone : error.message, "", "other");
  } finally {
    busy = false;
  }
}

function end(text) {
  stopped = true;
  report(text, "", "same");
  document.querySelectorAll("button").forEach(button => { button.disabled = true; });
}

function report(text, small, kind) {
  const message = byId("message");
  message.className = `message ${kind}`;
  message.textContent = text;
  if (small) message.append(element("small", { textContent: small }));
}

function show() {
  for (const name of ["labelled", "skipped", "left", "folder"]) {
    byId(name).textContent = state[name];
  }
  if (!byId("classes").children.length) state.classes.forEach(addClass);
  [...byId("classes").children].forEach((button, place) => {
    button.querySelector("output").textContent = state.classes[place].count;
    button.disabled = !state.map;
  });
  byId("undo").disabled = !state.undo;
  byId("skip").disabled = byId("guess").disabled = !state.map;
  canvas.hidden = !state.map;
  byId("done").hidden = Boolean(state.map);
  if (state.guess) {
    report(`The network predicts: ${state.guess}`, "Look again before you agree.", "");
  } else if (state.last) {
    const { label, guess, head, model } = state.last;
    const kind = !label ? "" : label === guess ? "same" : "other";
    const decision = label ? `You: ${label}` : "Skipped";
    report(`${decision}. The network: ${guess}.`, `That was head ${head} of ${model}.`, kind);
  } else report("", "", "");
  if (state.map) draw();
}

function addClass({ name, hint }, place) {
  const button = element("button", { type: "button", className: "class" });
  const words = element("span");
  words.append(element("b", { textContent: name }), element("small", { textContent: hint }));
  button.append(element("kbd", { textContent: place + 1 }), words, element("output"));
  button.addEventListener("click", () => ask("label", { label: name }));
  byId("classes").append(button);
}

function draw() {
  const { tokens, cells, second } = state.map, count = tokens.length;
  const context = canvas.getContext("2d");
  const size = Math.max(4, Math.min(34, Math.floor(620 / count))), side = size * count;
  const font = Math.max(7, Math.min(13, size - 1));
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
    const column = place % count, row = Math.floor(place / count);
    context.fillRect(margin + column * size, margin + row * size, size, size);
  });
  context.strokeStyle = "#9aa0a6";
  context.strokeRect(margin - 0.5, margin - 0.5, side + 1, side + 1);
  if (second) {
    const at = margin + second * size + 0.5;
    context.strokeStyle = "#d55e00";
    context.lineWidth = 2;
    context.beginPath();
    for (const start of [margin - 7, margin + side]) {
      context.moveTo(at, start); context.lineTo(at, start + 7);
      context.moveTo(start, at); context.lineTo(start + 7, at);
    }
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
  const sorted = [...values].sort((one, other) => one - other), last = sorted.length - 1;
  const place = share * last, low = Math.floor(place);
  return sorted[low] + (place - low) * (sorted[Math.min(low + 1, last)] - sorted[low]);
}

canvas.addEventListener("mousemove", event => {
  const scale = layout.full / canvas.getBoundingClientRect().width;
  const cell = offset => Math.floor((offset * scale - layout.margin) / layout.size);
  const column = cell(event.offsetX), row = cell(event.offsetY);
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
for (const name of ["undo", "skip", "guess", "stop"]) {
  byId(name).addEventListener("click", () => ask(name));
}
ask("state");
