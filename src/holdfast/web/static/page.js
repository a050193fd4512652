// What a page does beyond plain HTML: keys, a question before what cannot be undone, copying, a note that is
// not lost, and whether it is live. Without this file everything can still be read and answered.
"use strict";

(() => {
  const byId = (id) => document.getElementById(id);
  const state = byId("state");
  const stream = byId("stream");
  const dialog = byId("confirm");
  document.documentElement.classList.add("scripted");

  // Whether it is live

  // A browser with many pages open gets them in single copies, and comes again for the next.
  let brief = false;

  // How long a server may be silent before the page says that it is lost: a restart takes less.
  const LOST_AFTER = 4000;
  let losing = 0;

  function sayLost(is) {
    const lost = byId("lost");
    clearTimeout(losing);
    losing = 0;
    if (!lost) return;
    if (!is) {
      lost.hidden = true;
      return;
    }
    const since = new Date().toLocaleTimeString(undefined, {
      hour: "2-digit", minute: "2-digit", timeZoneName: "short",
    });
    losing = setTimeout(() => {
      byId("lost-since").textContent = `It was last there at ${since}.`;
      lost.hidden = false;
    }, LOST_AFTER);
  }

  function say(word, text) {
    if (state && state.dataset.state !== word) {
      state.dataset.state = word;
      state.textContent = text;
      sayLost(word === "away");
    }
  }

  function sayOut() {
    say("out", "signed out: take a new link from the terminal");
  }

  stream?.addEventListener("brief", () => { brief = true; });
  document.addEventListener("htmx:sse:after:connection", () => {
    brief = false;
    say("live", "live");
  });
  document.addEventListener("htmx:sse:before:connection", (event) => {
    const again = event.detail.connection.attempt > 0;
    if (again && !brief && state?.dataset.state !== "out") say("away", "connecting…");
  });
  document.addEventListener("htmx:sse:error", (event) => {
    // 421: the server was started anew, under another name.
    if ([401, 421].includes(event.detail.status)) sayOut();
    else say("away", "connecting…");
  });

  // A tab in the background has no stream; its title still counts.
  const titles = `${stream?.getAttribute("hx-sse:connect")}&only=title`;
  setInterval(async () => {
    if (!stream || !document.hidden) return;
    try {
      const answer = await fetch(titles);
      if (answer.ok) document.title = await answer.text();
      else if ([401, 421].includes(answer.status)) sayOut();
    } catch {
      say("away", "connecting…");
    }
  }, 10000);

  const SETTLED = "This was settled elsewhere meanwhile. Nothing was sent.";

  function notify(text) {
    const notice = byId("notice");
    if (!notice) return;
    notice.textContent = text;
    notice.hidden = false;
    setTimeout(() => { notice.hidden = true; }, 8000);
  }

  // A question first

  let answered = null;
  let asker = null;

  // An update may have put another button in the place of the one that was pressed.
  function living(button, action) {
    if (button.isConnected) return button;
    return [...document.querySelectorAll("button")].find((one) => one.name === button.name
      && one.value === button.value && one.form?.getAttribute("action") === action);
  }

  function ask(question, button) {
    byId("confirm-question").textContent = question;
    byId("confirm-yes").textContent = button.textContent;
    const action = button.form.getAttribute("action");
    asker = () => living(button, action);
    answered = () => {
      const pressed = living(button, action);
      if (!pressed) return;
      pressed.dataset.sure = "yes";
      pressed.form.requestSubmit(pressed);
    };
    dialog.returnValue = "no";
    dialog.showModal();
  }

  function approving(button) {
    const note = byId("note")?.value.trim();
    if (!note) return button.dataset.approve;
    const short = note.length > 200 ? `${note.slice(0, 200)}…` : note;
    return `${button.dataset.approve} Your note goes with it: “${short}”`;
  }

  dialog?.addEventListener("close", () => {
    // The event comes late: a quick hand has the next question open by then, and this one is not its answer.
    if (dialog.open) return;
    const act = dialog.returnValue === "yes" ? answered : null;
    answered = asker = null;
    act?.();
  });

  // A note that one button wants holds up no other one, which the browser would refuse before it submits.
  document.addEventListener("click", (event) => event.target.closest("button") && byId("note")?.setCustomValidity(""), true);

  document.addEventListener("submit", async (event) => {
    const button = event.submitter;
    const form = event.target;
    if (!button || form.method !== "post") return;
    const note = byId("note");
    if (button.dataset.needsNote && note && !note.value.trim()) {
      event.preventDefault();
      note.setCustomValidity(button.dataset.needsNote);
      note.reportValidity();
      return;
    }
    if (button.dataset.sure === "reached") return;
    const isNoted = button.dataset.approve && note?.value.trim();
    if (button.dataset.sure !== "yes" && (button.dataset.confirm || isNoted)) {
      event.preventDefault();
      ask(button.dataset.confirm || approving(button), button);
      return;
    }
    // To a server that is not there a form would be lost, with what was typed into it.
    event.preventDefault();
    const action = form.getAttribute("action");
    try {
      await fetch("/sign-in", { method: "HEAD", cache: "no-store" });
    } catch {
      delete button.dataset.sure;
      notify("The server cannot be reached. Nothing was sent, and what you wrote is still here.");
      return;
    }
    const pressed = living(button, action);
    if (!pressed) {
      notify(SETTLED);
      return;
    }
    pressed.dataset.sure = "reached";
    pressed.form.requestSubmit(pressed);
    delete pressed.dataset.sure;
  });

  // A note that is not lost

  let typed = "";

  document.addEventListener("htmx:before:swap", () => {
    typed = byId("note")?.value || typed;
  });

  function keepNote() {
    const note = byId("note");
    const kept = byId("kept-note");
    if (note) {
      if (typed && !note.value) note.value = typed;
      typed = "";
      if (kept) kept.hidden = true;
    } else if (typed && kept) {
      byId("kept-text").value = typed;
      kept.hidden = false;
    }
    if (dialog?.open && asker && !asker()) {
      dialog.close("no");
      notify(SETTLED);
    }
  }

  byId("kept-close")?.addEventListener("click", () => {
    typed = "";
    byId("kept-note").hidden = true;
  });
  byId("kept-copy")?.addEventListener("click", () => navigator.clipboard.writeText(typed));

  // Copying

  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy);
    button.classList.add("copied");
    setTimeout(() => button.classList.remove("copied"), 1200);
  });

  // The reader's own time

  const SHORT = {
    month: "short", day: "numeric", hour: "2-digit", minute: "2-digit",
  };

  function tellTimes() {
    for (const time of document.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.valueOf())) continue;
      const whole = at.toLocaleString(undefined, { dateStyle: "long", timeStyle: "long" });
      time.title = `${whole} (${time.dateTime})`;
      if ("moment" in time.dataset) time.textContent = at.toLocaleString(undefined, SHORT);
    }
  }

  // Keys

  const chooseable = ".ask, .card, .rows > li, .told > li, .tasks > li, .fleet > tbody > tr";
  const cards = () => [...document.querySelectorAll(chooseable)].filter((card) => card.id);
  let chosen = "";
  let going = false;

  function move(step) {
    const all = cards();
    const at = all.findIndex((card) => card.id === chosen);
    const next = all[at < 0 ? 0 : Math.min(Math.max(at + step, 0), all.length - 1)];
    if (!next) return;
    all.forEach((card) => card.classList.toggle("chosen", card === next));
    chosen = next.id;
    next.tabIndex = -1;
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }

  function open() {
    const card = byId(chosen);
    const link = card?.querySelector("a");
    if (link) link.click();
    else card?.querySelector("summary")?.click();
    return Boolean(card);
  }

  const SEARCH = "history-q";

  function search() {
    const field = document.querySelector("[data-search]");
    if (field) field.focus();
    else location.assign(`/history#${SEARCH}`);
  }

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, button, a, summary");
    if (event.ctrlKey || event.metaKey || event.altKey || dialog?.open) return;
    if (event.key === "Escape") return void event.target.blur?.();
    if (typing && !(event.key.length === 1 && typing.matches("button, a, summary"))) return;
    if (going) {
      going = false;
      document.querySelector(`nav [data-key="${CSS.escape(event.key)}"]`)?.click();
      return;
    }
    const approve = document.querySelector("[data-approve]");
    if (event.key === "g") going = true;
    else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "Enter" && open()) event.preventDefault();
    else if (event.key === "a" && approve) ask(approving(approve), approve);
    else if (event.key === "/") {
      event.preventDefault();
      search();
    }
  });

  // An update makes the card anew; what was chosen stays so, and keeps the focus.
  document.addEventListener("htmx:after:swap", () => {
    const card = byId(chosen);
    if (card) {
      card.classList.add("chosen");
      card.tabIndex = -1;
      if (document.activeElement === document.body) card.focus({ preventScroll: true });
    }
    keepNote();
    tellTimes();
  });

  tellTimes();
  if (location.hash === `#${SEARCH}`) byId(SEARCH)?.focus();
})();
