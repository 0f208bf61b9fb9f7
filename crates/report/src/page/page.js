(() => {
  "use strict";
  const tip = document.getElementById("tip");
  const kept = new WeakMap();
  let spot = null;

  const hide = () => {
    tip.style.display = "none";
    if (spot) { spot.remove(); spot = null; }
  };

  const show = (text, x, y) => {
    tip.textContent = text;
    tip.style.display = "block";
    const box = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, x + 14), innerWidth - box.width - 8);
    const above = y - box.height - 12;
    tip.style.left = Math.max(8, left) + "px";
    tip.style.top = (above > 4 ? above : y + 18) + "px";
  };

  const points = (line) => {
    if (!kept.has(line)) kept.set(line, JSON.parse(line.dataset.pts));
    return kept.get(line);
  };

  // The point of a line that is nearest to a place of the picture, if any is near.
  const nearest = (svg, x, y) => {
    let best = null, least = 40 * 40;
    for (const line of svg.querySelectorAll("[data-pts]:not(.off)")) {
      for (const point of points(line)) {
        const far = (point[0] - x) ** 2 + (point[1] - y) ** 2;
        if (far < least) { least = far; best = point; }
      }
    }
    return best;
  };

  const point = (event) => {
    const svg = event.target.closest && event.target.closest("svg.chart");
    hide();
    if (!svg) return;
    const marked = event.target.closest("[data-tip]");
    if (marked) return show(marked.dataset.tip, event.clientX, event.clientY);
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    const found = nearest(svg, (event.clientX - box.left) * scale, (event.clientY - box.top) * scale);
    if (!found) return;
    spot = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    spot.setAttribute("class", "spot");
    spot.setAttribute("cx", found[0]);
    spot.setAttribute("cy", found[1]);
    spot.setAttribute("r", 5);
    svg.append(spot);
    show(found[2], event.clientX, event.clientY);
  };

  document.addEventListener("pointermove", point);
  document.addEventListener("pointerdown", point);
  document.addEventListener("scroll", hide, { passive: true });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

  for (const button of document.querySelectorAll("button[data-target]")) {
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      const marks = button.closest("section").querySelectorAll(`svg [data-t="${button.dataset.target}"]`);
      for (const mark of marks) if (!mark.classList.contains("sign")) mark.classList.toggle("off", !shown);
    });
  }

  // A name as a field of CSV, in which a spreadsheet sees no formula.
  const field = (text) => {
    const guarded = /^[=+\-@]/.test(text) ? "'" + text : text;
    return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
  };

  const offsets = (data) => {
    const rows = ["run,host,target,step,operation,round,offset,bytes,ns"];
    for (const repeat of data.repeats) {
      for (const { operation, kept } of repeat.offset_log) {
        const names = [data.run.id, data.run.host.name, repeat.target, repeat.step, operation].map(field);
        for (const place of kept) rows.push([...names, repeat.round, ...place].join(","));
      }
    }
    return rows.join("\r\n") + "\r\n";
  };

  for (const button of document.querySelectorAll("button[data-download]")) {
    button.addEventListener("click", () => {
      const data = JSON.parse(document.getElementById(button.dataset.download).textContent);
      const { form } = button.dataset, csv = form !== "json";
      const text = form === "csv" ? data.csv : form === "offsets" ? offsets(data.json) : JSON.stringify(data.json, null, 2) + "\n";
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type: csv ? "text/csv" : "application/json" }));
      link.download = button.dataset.name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }

  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.addEventListener("click", async () => {
      const command = document.getElementById(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(command.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(command);
        button.textContent = "Selected: copy it with the keyboard";
      }
    });
  }
})();
