(() => {
  "use strict";
  const box = document.querySelector(".search");
  if (!box) return;
  box.hidden = false;
  const field = box.querySelector("input"), list = box.querySelector("ul"), said = box.querySelector("p");
  const MOST = 40;
  let entries = null;

  // What can be found is fetched when somebody begins to search.
  const load = () => {
    if (entries) return;
    entries = [];
    const script = document.createElement("script");
    script.src = box.dataset.entries;
    script.onload = () => {
      entries = window.lodestoneSearch.map(([kind, name, words, page]) =>
        ({ kind, name, page, text: `${kind} ${name} ${words}`.toLowerCase(), words }));
      search();
    };
    document.head.append(script);
  };

  const search = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    list.replaceChildren();
    said.textContent = "";
    if (!words.length || !entries) return;
    const found = entries.filter((entry) => words.every((word) => entry.text.includes(word)));
    for (const entry of found.slice(0, MOST)) {
      const line = document.createElement("li"), link = document.createElement("a"), more = document.createElement("span");
      link.href = entry.page;
      link.textContent = entry.name;
      more.textContent = `${entry.kind} ${entry.words}`;
      line.append(link, more);
      list.append(line);
    }
    said.textContent = found.length > MOST ? `${found.length} found, ${MOST} shown` : `${found.length} found`;
  };

  field.addEventListener("focus", load);
  field.addEventListener("input", () => { load(); search(); });
})();
