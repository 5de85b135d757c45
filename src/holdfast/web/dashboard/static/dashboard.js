// Make pages dynamic: update them, draw charts, and ask before actions.
"use strict";
(() => {
  const BEAT_MS = 3000;
  const SCALE = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16, HEIGHT = 180 * SCALE;
  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

  // --- Login: move the pass from the link into a cookie.

  const login = $("#login");
  if (login && location.hash.startsWith("#token=")) {
    $("#pass").value = decodeURIComponent(location.hash.slice("#token=".length));
    history.replaceState(null, "", location.pathname);
    // If a visitor is logged in already, the visitor must press the button to replace that session.
    if (!$("#present")) login.submit();
  }
  if (!$("#live")) return;

  // --- Updates: only while the page is visible and the reader is not using it.

  // Do not update the page while the reader points at a control: a press must hit the control that
  // the reader saw.
  const CONTROL = "a, button, select, summary, label, option, input:not([type=checkbox])";
  const STILL_MS = 1000, LOOKING_MS = 10000, SETTLING_MS = 400;
  let paused = false, pressed = false, movedAt = -Infinity, touchedAt = -Infinity;

  function isBusy() {
    const live = $("#live"), active = document.activeElement, selected = getSelection(), now = performance.now();
    return $("#sure").open
      || pressed
      || now - movedAt < STILL_MS  // the pointer may be moving to a control
      || $$("input[name^=id]:checked", live).length > 0
      || $(`:is(${CONTROL}):hover`, live)
      || live.contains(active) && active.matches(CONTROL)
      || now - touchedAt < LOOKING_MS && (live.contains(active) || $("input:hover", live))
      || !selected.isCollapsed && live.contains(selected.anchorNode);
  }

  function beat() {
    const held = !paused && Boolean(isBusy());
    document.body.classList.toggle("held", held);
    $("#pause").textContent = paused ? "Paused" : held ? "Held" : "Live";
    if (!document.hidden && !paused && !held) htmx.trigger("#live", "beat");
  }

  function pause(on) {
    paused = on;
    $("#pause").setAttribute("aria-pressed", String(on));
    beat();
  }

  setInterval(beat, BEAT_MS);
  $("#pause").addEventListener("click", () => pause(!paused));
  document.addEventListener("visibilitychange", () => { if (!document.hidden) beat(); });
  addEventListener("online", beat);
  // Reload a page that the browser restores from its history, because it shows old data.
  addEventListener("pageshow", ({ persisted }) => { if (persisted) location.reload(); });
  document.addEventListener("keydown", (event) => {
    touchedAt = performance.now();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && !$("#sure").open && $("#live").contains(document.activeElement)) document.activeElement.blur();
    if (event.target.matches("input, select, textarea")) return;
    if (event.key === "p") pause(!paused);
    if (event.key === "/" && $("[type=search]")) { event.preventDefault(); $("[type=search]").focus(); }
  });

  const still = () => { pressed = false; touchedAt = performance.now(); };

  document.addEventListener("pointerdown", () => { pressed = true; touchedAt = performance.now(); }, true);
  for (const name of ["pointerup", "pointercancel", "dragend"])
    document.addEventListener(name, () => setTimeout(still), true);  // not before the click event
  addEventListener("blur", still);
  document.addEventListener("pointermove", ({ target, buttons, movementX, movementY }) => {
    if (!buttons) pressed = false;  // there is no pointerup event after the menu of the browser
    if (!movementX && !movementY) return;
    touchedAt = performance.now();
    if ($("#live").contains(target)) movedAt = touchedAt;
  }, true);

  // Ignore the second click of a double click: it could confirm the question that the first opened.
  document.addEventListener("click", (event) => {
    if (event.detail < 2 || !event.target.closest("form[method=post] button, #sure button")) return;
    event.preventDefault();
    event.stopPropagation();
  }, true);

  // --- A notice while the dashboard cannot be reached.

  const away = (on) => { $("#away").hidden = !on; document.body.classList.toggle("stale", on); };
  for (const name of ["htmx:sendError", "htmx:timeout", "htmx:responseError"])
    document.addEventListener(name, () => away(true));
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    // Show a response with status 503: it is the page that explains why the server is unavailable.
    if (detail.xhr.status === 503 && detail.serverResponse.includes('id="live"')) {
      detail.shouldSwap = true;
      detail.isError = false;
    }
    if (detail.shouldSwap) away(false);
    // Drop an update that arrives after the reader has paused the page or started to use it.
    const late = detail.requestConfig.triggeringEvent?.type === "beat" && (paused || isBusy());
    if (late) detail.shouldSwap = false;
    if (detail.shouldSwap) remember();
  });
  document.addEventListener("htmx:afterSwap", () => { restore(); refresh(); });

  // --- Keep unfolded details open. If an update has moved rows, ignore presses for a moment.

  const identity = (each) => each.href || new URLSearchParams(new FormData(each)).toString();
  const order = () => $$("#live tbody a, #live form[method=post]").map(identity).join("\n");
  let kept = {}, settling = 0;

  function remember() {
    kept = { open: $$("details[open][id]", $("#live")).map((each) => each.id), order: order() };
  }

  function restore() {
    for (const id of kept.open || []) document.getElementById(id)?.setAttribute("open", "");
    if (kept.order === order()) return;
    document.documentElement.classList.add("settling");
    clearTimeout(settling);
    settling = setTimeout(() => document.documentElement.classList.remove("settling"), SETTLING_MS);
  }

  // --- Charts.

  const plots = new Map();

  const tone = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

  const CLOCK = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };  // "8:27:00 PM" is cut at the edge
  const seconds = new Intl.DateTimeFormat(undefined, { ...CLOCK, second: "2-digit" });
  const hours = new Intl.DateTimeFormat(undefined, CLOCK);
  const days = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

  function times(u, ticks, axis, space, step) {  // *step*: a narrow chart has only one tick
    const format = step < 60 ? seconds : step < 86400 ? hours : days;
    return ticks.map((tick) => format.format(tick * 1000));
  }

  function axis(options) {
    const line = { stroke: tone("line"), width: 1 };
    return { stroke: tone("faint"), font: `${11 * SCALE}px system-ui, sans-serif`, grid: line, ticks: { ...line, size: 4 }, ...options };
  }

  function drawn(place, { times: starts, lines, unit }) {
    return new uPlot({
      width: place.clientWidth, height: HEIGHT,
      legend: { show: false },
      padding: [null, 28 * SCALE, null, null],  // space for the right half of the last time label
      cursor: { y: false, points: { size: 6 } },
      scales: { y: { range: (u, low, high) => [Math.min(low * 1.1, 0), Math.max(high * 1.1, 1)] } },
      axes: [axis({ size: 30 * SCALE, space: 90 * SCALE, values: times }), axis({ size: 48 * SCALE, values: (u, ticks) => ticks.map((tick) => compact.format(tick) + unit) })],
      series: [{}, ...lines.map((line) => ({
        label: line.name, stroke: tone(line.tone), width: 2, fill: tone(line.tone) + "22", points: { show: false },
      }))],
    }, [starts, ...lines.map((line) => line.values)], place);
  }

  function charts() {
    const seen = new Set();
    for (const figure of $$("[data-chart]")) {
      const data = JSON.parse(figure.dataset.chart), place = $(".plot", figure);
      seen.add(data.name);
      const before = plots.get(data.name);
      if (before && before.series.length === data.lines.length + 1) {
        place.append(before.root);
        before.setData([data.times, ...data.lines.map((line) => line.values)]);
      } else {
        plots.set(data.name, drawn(place, data));
      }
    }
    for (const name of plots.keys()) if (!seen.has(name)) plots.delete(name);
  }

  function redraw() {
    for (const plot of plots.values()) plot.destroy();
    plots.clear();
    charts();
  }

  addEventListener("resize", () => {
    for (const plot of plots.values())
      plot.setSize({ width: plot.root.parentElement.clientWidth, height: HEIGHT });
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  // --- Selecting rows, and questions before actions.

  const chosen = (form) => $$("input[name^=id]:checked", form);

  document.addEventListener("change", ({ target }) => {
    if (target.matches("[data-all]"))
      for (const box of $$("input[name^=id]", target.form)) box.checked = target.checked;
    if (target.form && target.type === "checkbox") count(target.form);
    if (target.matches("select[data-go]")) target.form.requestSubmit();
  });

  function count(form) {
    for (const button of $$("button[data-chosen]", form)) {
      button.disabled = chosen(form).length === 0;
      button.textContent = button.dataset.chosen.replace("{n}", chosen(form).length || "selected");
    }
  }

  // Show a question that names the tasks or the queue, and send the form after a "yes".
  function ask(form) {
    if (!form.reportValidity()) return;
    const dialog = $("#sure"), question = $(".sure", form).cloneNode(true), boxes = chosen(form);
    for (const place of $$("[data-field]", question)) place.textContent = form.elements[place.dataset.field].value;
    for (const place of $$("[data-counted]", question)) {
      place.textContent = `${boxes.length} ${place.dataset.counted}${boxes.length === 1 ? "" : "s"}`;
      if (boxes.length === 1) place.append(": ", named(boxes[0].dataset.named));
    }
    $("#sure-what").replaceChildren(...question.childNodes);
    dialog.returnValue = "no";
    dialog.addEventListener("close", () => {
      if (dialog.returnValue !== "yes") return;
      form.dataset.asked = "yes";
      form.requestSubmit();
      delete form.dataset.asked;  // ask again if the reader submits the form another time
    }, { once: true });
    dialog.showModal();
  }

  function named(text) {
    const name = document.createElement("bdi");
    name.textContent = text;
    return name;
  }

  document.addEventListener("click", ({ target }) => {
    const form = target.closest("button[type=button]")?.form;
    if (form && $(".sure", form)) ask(form);
  });
  document.addEventListener("keydown", (event) => {
    const { form, type } = event.target;
    if (event.key !== "Enter" || type !== "number" || !form || !$(".sure", form)) return;
    event.preventDefault();
    ask(form);
  });
  document.addEventListener("submit", (event) => {
    if ($(".sure", event.target) && !event.target.dataset.asked) event.preventDefault();
  });

  // --- On a narrow screen, rows become cards. Their cells show the titles of the columns.

  function label(table) {
    const titles = $$("thead th", table).map((cell) => cell.textContent.trim());
    for (const row of $$("tbody tr", table))
      [...row.cells].forEach((cell, i) => { if (titles[i]) cell.dataset.label = titles[i]; });
    table.classList.add("cards");
  }

  // --- Times in the time zone of the reader.

  // The text of *element*, with the codes that it shows in place of hidden characters.
  function plain(element) {
    const copy = element.cloneNode(true);
    for (const code of $$("[data-code]", copy)) code.textContent = code.dataset.code;
    return copy.textContent.trim();
  }

  function refresh() {
    for (const time of $$(".as-of time")) time.textContent = seconds.format(new Date(time.dateTime));
    for (const form of $$("form")) count(form);
    for (const table of $$(".wide > table")) label(table);
    for (const each of $$(".cut, .who b")) each.title = plain(each);
    for (const select of $$("select")) select.title = select.selectedOptions[0]?.textContent.trim() ?? "";
    for (const field of $$("[placeholder]")) field.title = field.placeholder;
    charts();
  }

  // Do not use `scrollIntoView`: afterwards the Tab key would start behind the skip link.
  const current = $(".bar [aria-current]"), bar = $(".bar nav");
  if (current) bar.scrollLeft = current.offsetLeft - (bar.clientWidth - current.offsetWidth) / 2;
  refresh();
})();
