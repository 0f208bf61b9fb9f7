// Looks at the page in the frame as a reader would, and writes what it found as JSON.
(async () => {
  "use strict";
  const frame = document.getElementById("page");
  const isThere = () => frame.contentDocument.readyState === "complete" && frame.contentDocument.getElementById("tip");
  // No timer here: under the browser's virtual time, waiting by the clock would use it up.
  if (!isThere()) await new Promise((done) => (frame.onload = done));
  const doc = frame.contentDocument, view = frame.contentWindow;
  const found = { complaints: [], figures: [], tips: [] };
  const complain = (text) => found.complaints.push(text);
  const seen = (element) => element.getClientRects().length > 0;

  // A screen that is too narrow must not scroll sideways.
  found.width = doc.documentElement.clientWidth;
  found.scrollWidth = doc.documentElement.scrollWidth;
  found.dark = view.matchMedia("(prefers-color-scheme: dark)").matches;
  found.scripts = doc.querySelectorAll("script").length;
  found.images = doc.querySelectorAll("img, object, embed, link[rel=stylesheet], iframe, script[src]").length;

  // Everything folded is opened, so that it is looked at too.
  doc.querySelectorAll("details").forEach((details) => (details.open = true));

  // Headings name the parts in order.
  const levels = [...doc.querySelectorAll("h1,h2,h3,h4,h5,h6")].map((h) => Number(h.tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1) complain("not one h1");
  levels.forEach((level, i) => { if (i && level > levels[i - 1] + 1) complain(`heading ${i} jumps from ${levels[i - 1]} to ${level}`); });
  if (!doc.documentElement.lang) complain("no language");
  doc.querySelectorAll("table").forEach((t) => { if (!t.caption) complain("a table without caption"); });
  doc.querySelectorAll("button").forEach((b) => { if (!b.textContent.trim()) complain("a button without words"); });

  // Colours: text against what it stands on, marks against the page.
  const rgb = (text) => {
    const parts = (text.match(/[\d.]+/g) || []).map(Number);
    return parts.length === 3 ? [...parts, 1] : parts;
  };
  const over = (top, below, alpha) => [0, 1, 2].map((i) => top[i] * alpha + below[i] * (1 - alpha));
  const light = (color) => {
    const part = (v) => ((v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(color[0]) + 0.7152 * part(color[1]) + 0.0722 * part(color[2]);
  };
  const contrast = (a, b) => {
    const [x, y] = [light(a), light(b)];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  };
  const page = rgb(view.getComputedStyle(doc.body).backgroundColor);
  found.page = page;
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = rgb(view.getComputedStyle(e).backgroundColor);
      if (color[3] > 0.99) return color;
    }
    return page;
  };
  found.leastContrast = 99;
  const judge = (text, color, back, least) => {
    const value = contrast(color, back);
    found.leastContrast = Math.min(found.leastContrast, value);
    if (value < least) complain(`contrast ${value.toFixed(2)} of "${text.slice(0, 40)}"`);
  };
  for (const element of doc.querySelectorAll("h1,h2,h3,h4,p,li,td,th,dt,dd,caption,figcaption,button,summary,pre,b,span")) {
    if (seen(element) && element.textContent.trim()) judge(element.textContent, rgb(view.getComputedStyle(element).color), behind(element), 4.5);
  }

  const style = doc.querySelector("style").textContent;
  for (const figure of doc.querySelectorAll("figure")) {
    const name = figure.dataset.name;
    const svgs = [...figure.querySelectorAll("svg")].filter(seen);
    if (svgs.length !== 1) { complain(`${name}: ${svgs.length} pictures are seen`); continue; }
    const svg = svgs[0];
    if (!svg.getAttribute("aria-label")) complain(`${name}: no label`);
    if (!figure.querySelector("figcaption").textContent.trim()) complain(`${name}: no caption`);
    const box = svg.getBoundingClientRect();
    if (box.right > found.width + 1) complain(`${name}: wider than the screen`);
    const frameBox = svg.viewBox.baseVal;
    for (const text of svg.querySelectorAll("text")) {
      const own = text.getBBox();
      // A T at the edge reaches over it by a pixel and a bit.
      if (own.x < -1.5 || own.x + own.width > frameBox.width + 1.5) complain(`${name}: "${text.textContent.slice(0, 40)}" is cut off`);
      const fill = rgb(view.getComputedStyle(text).fill);
      let back = page;
      const cell = text.previousElementSibling;
      if (text.classList.contains("cell-text") && cell) {
        const look = view.getComputedStyle(cell);
        back = over(rgb(look.fill), page, Number(look.fillOpacity));
      }
      judge(text.textContent, fill, back, 4.5);
    }
    for (const mark of svg.querySelectorAll(".bar, .dot, .block")) {
      const value = contrast(rgb(view.getComputedStyle(mark).fill), page);
      if (value < 3) { complain(`${name}: a mark with contrast ${value.toFixed(2)}`); break; }
    }

    // Its pixels: drawn apart from the page, with the page's colours.
    const copy = svg.cloneNode(true);
    copy.setAttribute("style", "display:block;max-width:none");
    copy.setAttribute("width", frameBox.width);
    copy.setAttribute("height", frameBox.height);
    const sheet = doc.createElementNS("http://www.w3.org/2000/svg", "style");
    sheet.textContent = style;
    copy.prepend(sheet);
    const image = new Image();
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(copy));
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = frameBox.width;
    canvas.height = frameBox.height;
    const pen = canvas.getContext("2d");
    pen.fillStyle = `rgb(${page.slice(0, 3).join(",")})`;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(image, 0, 0);
    const pixels = pen.getImageData(0, 0, canvas.width, canvas.height).data;
    let drawn = 0, coloured = 0;
    for (let i = 0; i < pixels.length; i += 4) {
      const [r, g, b] = [pixels[i], pixels[i + 1], pixels[i + 2]];
      if (Math.abs(r - page[0]) + Math.abs(g - page[1]) + Math.abs(b - page[2]) > 24) drawn++;
      if (Math.max(r, g, b) - Math.min(r, g, b) > 60) coloured++;
    }
    const all = pixels.length / 4;
    const marks = svg.querySelectorAll("[data-tip], [data-pts]").length;
    found.figures.push({ name, kind: figure.dataset.kind, drawn: drawn / all, coloured: coloured / all, marks, height: box.height });

    // Pointing at it: a mark says its words, a line those of its nearest point.
    const tip = doc.getElementById("tip");
    const pointAt = (target, x, y) => {
      target.dispatchEvent(new view.PointerEvent("pointermove", { bubbles: true, clientX: x, clientY: y }));
      return tip.style.display === "block" ? tip.textContent : "";
    };
    const marked = [...svg.querySelectorAll("[data-tip]:not(.sign)")].filter(seen);
    if (marked.length) {
      const mark = marked[marked.length >> 1], at = mark.getBoundingClientRect();
      const said = pointAt(mark, at.left, at.top);
      if (said !== mark.dataset.tip) complain(`${name}: pointing at a mark says "${said}"`);
      found.tips.push({ kind: figure.dataset.kind, said });
    }
    for (const line of svg.querySelectorAll("[data-pts]")) {
      const points = JSON.parse(line.dataset.pts);
      if (!points.length) continue;
      const point = points[points.length >> 1], scale = box.width / frameBox.width;
      const at = svg.getBoundingClientRect();
      const said = pointAt(svg, at.left + point[0] * scale, at.top + point[1] * scale);
      if (!said) complain(`${name}: pointing at a line says nothing`);
      found.tips.push({ kind: figure.dataset.kind, said });
      break;
    }
    doc.dispatchEvent(new view.KeyboardEvent("keydown", { key: "Escape" }));
    if (tip.style.display === "block") complain(`${name}: what was said stays`);
  }

  // Toggling a target takes its marks away and brings them back.
  found.toggles = 0;
  for (const button of doc.querySelectorAll("button[data-target]")) {
    const marks = [...doc.querySelectorAll(`svg [data-t="${button.dataset.target}"]:not(.sign)`)].filter(seen);
    button.click();
    if (!marks.length || marks.some(seen)) complain(`toggling ${button.dataset.target} leaves marks`);
    if (button.getAttribute("aria-pressed") !== "false") complain("a button does not say that it is off");
    button.click();
    if (!marks.every(seen)) complain(`toggling ${button.dataset.target} twice loses marks`);
    found.toggles++;
  }

  // The data come out as they are.
  found.downloads = [];
  // Nothing is saved here; what would be is looked at.
  view.HTMLAnchorElement.prototype.click = () => {};
  view.URL.createObjectURL = (blob) => { found.blob = blob; return "#"; };
  view.URL.revokeObjectURL = () => {};
  for (const button of doc.querySelectorAll("button[data-download]")) {
    button.click();
    const text = await found.blob.text();
    const csv = button.dataset.form !== "json";
    found.downloads.push({ name: button.dataset.name, lines: text.split("\n").length, head: csv ? text.split("\r\n")[0] : JSON.parse(text).schema });
  }
  delete found.blob;
  frame.remove();
  document.getElementById("found").textContent = JSON.stringify(found);
})().catch((error) => {
  document.getElementById("found").textContent = JSON.stringify({ complaints: [String(error && error.stack || error)], figures: [], tips: [], downloads: [] });
});
